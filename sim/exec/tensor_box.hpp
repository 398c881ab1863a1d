// One box of a tensor on its way: which bytes of global memory it is made of, and where they lie in the box.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "models/base/transaction.hpp"
#include "sim/memory/tensor_map.hpp"

namespace ptxwire::sim {

struct TensorBox {
  TensorMapFields map;
  std::array<int32_t, kMaxTensorRank> at{};  ///< coordinates of its first element; may be outside

  /// Bytes that lie together in global memory and within one line of it.
  struct Piece {
    uint64_t address = 0;
    uint32_t offset = 0;  ///< in the box
    uint16_t bytes = 0;
    uint16_t data = 0;  ///< place in a transaction; set by its user
  };

  /// Calls visit(row, address, first, bytes) for each row of the box in order: bytes [first, first + bytes)
  /// of it are inside the tensor, at `address`. `bytes` is 0 for rows that are outside.
  template <typename Visit>
  void for_each_row(Visit&& visit) const {
    uint32_t rows = 1;
    for (uint32_t d = 1; d < map.rank; ++d) rows *= map.box_elements(d);
    const int64_t begin = std::max<int64_t>(at[0], 0);
    const int64_t end = std::min<int64_t>(int64_t{at[0]} + map.box[0], static_cast<int64_t>(map.dims[0]));
    const uint32_t element = map.element_bytes();
    for (uint32_t row = 0; row < rows; ++row) {
      uint64_t address = map.address + static_cast<uint64_t>(begin) * element;
      bool inside = begin < end;
      uint32_t rest = row;
      for (uint32_t d = 1; d < map.rank; ++d) {
        const int64_t index = at[d] + int64_t{rest % map.box_elements(d)} * map.element_strides[d];
        rest /= map.box_elements(d);
        inside = inside && index >= 0 && index < static_cast<int64_t>(map.dims[d]);
        address += static_cast<uint64_t>(index) * map.strides[d];
      }
      if (inside) {
        visit(row, address, static_cast<uint32_t>(begin - at[0]) * element,
              static_cast<uint32_t>(end - begin) * element);
      } else {
        visit(row, uint64_t{0}, 0U, 0U);
      }
    }
  }

  /// Calls visit(piece) for everything that is inside.
  template <typename Visit>
  void for_each_piece(Visit&& visit) const {
    for_each_row([&](uint32_t row, uint64_t address, uint32_t first, uint32_t bytes) {
      for (uint32_t done = 0; done < bytes;) {
        const auto in_line =
            static_cast<uint32_t>(models::kLineBytes - (address + done) % models::kLineBytes);
        const uint32_t part = std::min(bytes - done, in_line);
        visit(Piece{address + done, row * map.row_bytes() + first + done, static_cast<uint16_t>(part), 0});
        done += part;
      }
    });
  }
};

}  // namespace ptxwire::sim
