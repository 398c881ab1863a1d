#include "sim/workload/micro_tensor.hpp"

#include <fmt/format.h>

#include "sim/workload/micro.hpp"

namespace ptxwire::sim {
namespace {

/// Puts a list into the entries of `out` from `first` on. Error: another length.
template <typename T>
Expected<void> take(const MicroScenario& micro, const char* name, const std::vector<MicroCount>& list,
                    uint32_t first, uint32_t rank, std::array<T, kMaxTensorRank>& out) {
  if (list.size() != rank - first)
    return Error{.message = fmt::format("tensor map: '{}' has {} entries, expected {}", name, list.size(),
                                        rank - first),
                 .path = {},
                 .hint = {}};
  for (uint32_t d = first; d < rank; ++d) {
    const auto value = evaluate(micro, list[d - first]);
    if (!value) return value.error();
    out[d] = static_cast<T>(*value);
    if (out[d] != *value)
      return Error{.message = fmt::format("tensor map: '{}' holds {}", name, *value), .path = {}, .hint = {}};
  }
  return {};
}

}  // namespace

Expected<TensorMap> micro_tensor_map(const MicroScenario& micro, const MicroTensorMap& map,
                                     uint64_t address) {
  TensorMapFields fields = map.fields;
  fields.address = address;
  fields.rank = static_cast<uint32_t>(map.dims.size());
  if (fields.rank == 0 || fields.rank > kMaxTensorRank)
    return Error{.message = fmt::format("tensor map: 'dims' has {} entries, expected 1 to {}", fields.rank,
                                        kMaxTensorRank),
                 .path = {},
                 .hint = {}};
  if (auto done = take(micro, "dims", map.dims, 0, fields.rank, fields.dims); !done) return done.error();
  if (auto done = take(micro, "box", map.box, 0, fields.rank, fields.box); !done) return done.error();
  if (!map.element_strides.empty())
    if (auto done =
            take(micro, "element_strides", map.element_strides, 0, fields.rank, fields.element_strides);
        !done)
      return done.error();
  if (!map.strides.empty()) {
    if (auto done = take(micro, "strides", map.strides, 1, fields.rank, fields.strides); !done)
      return done.error();
  } else {
    uint64_t stride = fields.element_bytes();
    for (uint32_t d = 1; d < fields.rank; ++d) fields.strides[d] = stride *= fields.dims[d - 1];
  }
  return encode_tensor_map(fields);
}

}  // namespace ptxwire::sim
