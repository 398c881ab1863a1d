// Tensor maps as arguments of a microbenchmark's kernel:
//
//   arguments = [{ tensor_map = { buffer = "a", type = "bf16", dims = ["k", "m"], box = [64, 128],
//                                 swizzle = "128B" } }, "m", "k", "report"]
//
// Lists start with the innermost dimension. Not written: dense strides (bytes, of all dimensions but the
// innermost: `strides`), no swizzle, `element_strides` of 1, `l2_promotion` "none" ("64B", "128B", "256B"),
// `fill` "zero" ("nan").
#pragma once

#include <string>
#include <vector>

#include "sim/memory/tensor_map.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

struct MicroCount;
struct MicroScenario;

struct MicroTensorMap {
  std::string buffer;
  TensorMapFields fields;  ///< what stands in the file as words
  std::vector<MicroCount> dims, strides, box, element_strides;
};

/// The map for the buffer at `address`. Errors: lists that do not fit each other, what encode_tensor_map
/// refuses.
Expected<TensorMap> micro_tensor_map(const MicroScenario& micro, const MicroTensorMap& map, uint64_t address);

}  // namespace ptxwire::sim
