// What `measure` prints:
//
//   micro_chase_l1 on NVIDIA H200 (CUDA driver 12.8, 1980 MHz): correct, 20 calls after one that does not
//   count
//
//                      median      least       most  unit
//   clk_per_access      40.01      40.01      40.02  clk
//   time                12.35      12.29      13.06  us
#pragma once

#include <string>

#include "sim/measure/gpu_run.hpp"

namespace ptxwire::sim {

std::string measure_text(const std::string& scenario, const GpuRunResult& result);

}  // namespace ptxwire::sim
