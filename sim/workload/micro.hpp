// A microbenchmark scenario: any kernel on one or more GPUs, the memory it works on, and what it must leave
// behind. The part of a scenario file with kernel = "micro" that other kernels do not have:
//
//   kernel = "micro"
//   ptx = "micro/chase.ptx"          # a file, or one of kernels/
//   entry = "chase_l2"
//   figure = "clk_per_access"        # what the scenario is about; the others that it gives are shown beside
//   it
//
//   [values]                         # numbers by name, changed by --set values.accesses=1024
//   ctas = 1                         # the launch: ctas, ctas_y, ctas_z, threads, threads_y, cluster, shared
//                                    # (dynamic), registers (per thread, for occupancy; 0: estimated);
//                                    default 1, # shared 0. flop: of all launches, for the figure tflop_per_s
//   accesses = 4096
//   footprint = "32 KiB"
//
//   [buffers.ring]
//   bytes = "footprint"              # a number, a name, or a list of them: their product
//   content = { fill = "chase", stride = 128 }
//
//   [[launches]]                     # each on a stream of its own, all at once
//   gpu = 0
//   arguments = ["ring", "accesses", "report"]   # or a tensor map: micro_tensor.hpp
//
// A buffer with `heap = true` lies at the same place in the symmetric heap of every GPU: kernels name it by
// its address in their own. The argument "rdma" is what a kernel needs to post (RdmaState of
// kernels/src/rdma.cuh); then all GPUs have NICs and [values] queues (1) queue pairs to each other one, and
// `network` says how they are joined.
//
//   [checksum]
//   kind = "chase"
//   buffer = "ring"
//   accesses = "accesses"
//
// `report` is the memory for the kernel's own record, one per CTA (kernels/micro/report.cuh). The checksum in
// it, and the memory after the run where a buffer has `after`, are compared with what the host computes.
#pragma once

#include <toml++/toml.h>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/micro_tensor.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

struct Scenario;

/// A product of numbers ("4 KiB", "16") and names of values.
struct MicroCount {
  std::vector<std::string> factors;
};

/// What is in a buffer, by 32-bit words.
struct MicroContent {
  enum class Fill : uint8_t {
    zero,
    index,     ///< word w holds w modulo `period` words (0: w itself)
    chase,     ///< a ring of 64-bit addresses, one every `stride` bytes, each of the next one; their order is
               ///< drawn
    counters,  ///< `value` every `stride` bytes, zero between
    bf16_integers,  ///< bf16 whole numbers drawn from -`value` to `value`; `seed` tells matrices apart
    bf16_product,   ///< `after`: the product of buffers `left` [rows][depth] and `right` [columns][depth],
                    ///< transposed, both bf16_integers, in bf16
  };
  Fill fill = Fill::zero;
  MicroCount stride, period, value, seed;
  MicroCount rows, columns, depth;
  std::string left, right;
};

struct MicroBuffer {
  std::string name;
  MicroCount gpu, bytes;
  MicroContent content;               ///< before each call
  std::optional<MicroContent> after;  ///< after the last one; nothing: whatever
  bool in_heap = false;               ///< the symmetric heap
  bool samples = false;  ///< the kernel writes the clocks of every single access here, 32 bits each
};

struct MicroArgument {
  std::string text;                          ///< the name of a buffer, "report", "rdma", or a count
  std::optional<MicroTensorMap> tensor_map;  ///< instead of `text`
};

struct MicroLaunch {
  MicroCount gpu;
  std::vector<MicroArgument> arguments;
};

/// What the sum over all records' checksums must be, modulo 2^32.
struct MicroChecksum {
  enum class Kind : uint8_t {
    chase,  ///< offsets of the nodes that `lanes` chases of `accesses` visit; lane l starts at node l *
            ///< lane_nodes
    words,  ///< all words in the last `tail` bytes (0: all) of each of `parts` equal parts of `buffer`, as it
            ///< is after the run where that is stated
    tickets,  ///< what `value` additions of 1, spread evenly over `counters`, find there
    rounds,   ///< 1 + 2 + ... + `value`
    value,    ///< `value` itself
  };
  Kind kind = Kind::value;
  std::string buffer;
  MicroCount accesses, lanes, lane_nodes, parts, tail, counters, value;
  MicroCount times;  ///< the sum counts so many times
};

struct MicroScenario {
  std::map<std::string, MicroCount, std::less<>> values;
  std::vector<MicroBuffer> buffers;
  std::vector<MicroLaunch> launches;
  MicroChecksum checksum;
};

/// The names of the tables above, and whether `name` is one of them.
std::span<const std::string_view> micro_tables();
bool is_micro_table(std::string_view name);

/// Reads one of these tables. Errors name file and line: unknown key (with the nearest one), wrong type.
Expected<void> read_micro_table(MicroScenario& micro, const std::string& path, std::string_view name,
                                const toml::node& node);

/// Sets a value that the scenario has. Error: there is none of this name (with the nearest one).
Expected<void> set_micro_value(MicroScenario& micro, std::string_view name, std::string_view text);

/// The number that a count stands for. Errors: a word that is neither a number nor the name of a value, a
/// unit other than of bytes, values that name each other in a circle, a product beyond 2^53. `otherwise`
/// where nothing is written.
Expected<uint64_t> evaluate(const MicroScenario& micro, const MicroCount& count, uint64_t otherwise = 0);

/// Whether a launch takes the argument "rdma".
bool uses_rdma(const MicroScenario& micro);

/// The value of this name, or `otherwise`.
Expected<uint64_t> value_or(const MicroScenario& micro, std::string_view name, uint64_t otherwise);

/// Settings that do not fit each other: names that are not there, GPUs beyond the scenario's ranks, rings
/// without nodes, launches of nothing. Called by validate() for kernel = "micro".
Expected<void> validate_micro(const Scenario& scenario);

}  // namespace ptxwire::sim
