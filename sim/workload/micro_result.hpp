// What a microbenchmark's kernels wrote about themselves, and the figures that follow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/units.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

/// One figure with its unit, such as clk_per_access in clk.
struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
};

/// kernels/micro/report.cuh, one per CTA.
struct MicroRecord {
  uint64_t clk = 0, accesses = 0, bytes = 0;
  uint32_t checksum = 0, sm = 0;
};
static_assert(sizeof(MicroRecord) == 32);

struct MicroOutput {
  std::vector<MicroRecord> records;  ///< of all launches
  std::vector<uint32_t> samples;     ///< clocks of single accesses; empty if the kernel does not take them
  models::Picoseconds duration{};    ///< first CTA placed to last CTA drained, over all launches
  double clock_hz = 0;
  double flop = 0;  ///< of all launches; 0: the scenario does not say
};

/// Everything that the output gives:
///   kernel_us             us        the kernel's duration, first CTA placed to last drained
///   clk_per_access        clk       mean over the CTAs of clocks over accesses
///   bytes_per_clk         B/clk     bytes of all CTAs over the clocks of the slowest
///   bytes_per_clk_per_sm  B/clk/SM  the same over the SMs that took part
///   inner_gb_per_s        GB/s      bytes_per_clk at the clock of the SMs: without launch and drain
///   gb_per_s              GB/s      bytes of all CTAs over the kernel's duration, as a profiler shows it
///   tflop_per_s           TFLOP/s   with `flop`: over the kernel's duration
/// and with samples, which are split into two groups so that each lies nearest to its own median:
///   mean_clk            clk    of all
///   near_clk, far_clk   clk    medians of the two groups
///   far_share           ratio  of the upper group
std::vector<Figure> micro_figures(const MicroOutput& output);

/// All names, for messages.
std::span<const std::string_view> micro_figure_names();

/// The figure in another unit of its kind (GB/s, TB/s). Error: the unit is of another kind.
Expected<double> figure_in_unit(const Figure& figure, std::string_view unit);

}  // namespace ptxwire::sim
