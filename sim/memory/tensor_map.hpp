// Tensor maps: what bulk tensor copies know of a tensor in global memory and of the box that they move.
//
// The driver's CUtensorMap is opaque, so the 128 bytes here have a layout of our own (little endian):
//
//   bytes      field
//   0..3       "PTXT"
//   4          version, 1
//   5          type (TensorType)      6  rank             7  swizzle (TensorSwizzle)
//   8          interleave (0)         9  l2 promotion    10  out-of-bounds fill
//   16..23     global address
//   24..43     size of each dimension less 1, 32 bits each
//   44..53     box, 16 bits each
//   54..58     element strides, 8 bits each
//   64..103    byte strides, 64 bits each; that of dimension 0 is 0
//
// All other bytes are 0.
//
// A kernel takes it as a parameter `.param .align 64 .b8 name[128]`, or finds it in global or constant
// memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ptx_frontend/program.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

/// Numbered as CUtensorMapDataType.
enum class TensorType : uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz,
  count
};
/// Numbered as CUtensorMapSwizzle; the modes behind these belong to later architectures.
enum class TensorSwizzle : uint8_t { none, b32, b64, b128, count };
/// Numbered as CUtensorMapL2promotion: bytes that a miss brings into L2.
enum class TensorPromotion : uint8_t { none, b64, b128, b256, count };
enum class TensorFill : uint8_t { zero, nan, count };

uint32_t tensor_type_bytes(TensorType type);
bool is_float(TensorType type);

inline constexpr size_t kTensorMapBytes = 128, kTensorMapAlign = 64;
inline constexpr uint32_t kMaxTensorRank = 5;

/// Where a kernel reads it, it is aligned to kTensorMapAlign.
struct TensorMap {
  std::array<uint8_t, kTensorMapBytes> bytes{};
};

/// The arguments of cuTensorMapEncodeTiled, and what a map says once it is read. Dimension 0 is the
/// innermost.
struct TensorMapFields {
  TensorType type = TensorType::u8;
  uint32_t rank = 1;
  uint64_t address = 0;
  std::array<uint64_t, kMaxTensorRank> dims{};
  std::array<uint64_t, kMaxTensorRank>
      strides{};  ///< bytes from one index of dimension d to the next; not [0]
  std::array<uint32_t, kMaxTensorRank> box{};
  std::array<uint32_t, kMaxTensorRank> element_strides{1, 1, 1, 1, 1};  ///< [0] is not used
  TensorSwizzle swizzle = TensorSwizzle::none;
  TensorPromotion promotion = TensorPromotion::none;
  TensorFill fill = TensorFill::zero;

  [[nodiscard]] uint32_t element_bytes() const { return tensor_type_bytes(type); }
  /// Elements of the box along a dimension: every element_strides[d]-th of box[d].
  [[nodiscard]] uint32_t box_elements(uint32_t d) const {
    return d == 0 ? box[0] : (box[d] + element_strides[d] - 1) / element_strides[d];
  }
  /// Of the box in shared memory.
  [[nodiscard]] uint32_t row_bytes() const { return box[0] * element_bytes(); }
  [[nodiscard]] uint64_t box_bytes() const;
  /// Where byte `at` of shared memory goes: chunks of 16 bytes change places within the swizzle's span.
  [[nodiscard]] uint32_t swizzled(uint32_t at) const;
};

/// Refuses what cuTensorMapEncodeTiled refuses (CUDA driver API 13.0): rank 1 to 5; address a multiple of 16;
/// dimensions 1 to 2^32; strides multiples of 16 below 2^40, each at least as large as the dimension; box 1
/// to 256 with rows of a multiple of 16 bytes, and no longer than the span of the swizzle; element strides 1
/// to 8; NaN fill only of floating-point types.
Expected<TensorMap> encode_tensor_map(const TensorMapFields& fields);

/// tensormap.replace: one field, at `ordinal` where it has one per dimension (PTX ISA 9.7.9.26: the rank is
/// one less, types have numbers of their own). Other fields may not fit it until they are replaced too.
/// Errors: no tensor map, a value that no map can hold.
Expected<void> replace_tensor_field(std::span<uint8_t, kTensorMapBytes> bytes, ptx::TensorField field,
                                    uint32_t ordinal, uint64_t value);

/// Nothing if the bytes are not a tensor map.
std::optional<TensorMapFields> decode_tensor_map(std::span<const uint8_t, kTensorMapBytes> bytes);

}  // namespace ptxwire::sim
