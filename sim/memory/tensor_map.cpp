#include "sim/memory/tensor_map.hpp"

#include <fmt/format.h>

#include <cstring>

namespace ptxwire::sim {
namespace {

constexpr std::array<uint8_t, 4> kMagic = {'P', 'T', 'X', 'T'};
constexpr uint8_t kVersion = 1;
constexpr size_t kVersionAt = 4, kTypeAt = 5, kRankAt = 6, kSwizzleAt = 7, kPromotionAt = 9, kFillAt = 10;
constexpr size_t kAddressAt = 16, kDimsAt = 24, kBoxAt = 44, kElementStridesAt = 54, kStridesAt = 64;

constexpr uint64_t kMaxDim = 1ULL << 32, kStrideLimit = 1ULL << 40;
constexpr uint32_t kMaxBox = 256, kMaxElementStride = 8, kAlign = 16;

uint32_t swizzle_span(TensorSwizzle swizzle) {
  return swizzle == TensorSwizzle::none ? 0 : 16U << static_cast<unsigned>(swizzle);
}

Error refuse(std::string message) { return Error{.message = "tensor map: " + std::move(message)}; }

template <typename T>
void put(std::span<uint8_t, kTensorMapBytes> bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <typename T>
T get(std::span<const uint8_t, kTensorMapBytes> bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Expected<void> check_dimension(const TensorMapFields& fields, uint32_t d) {
  if (fields.dims[d] == 0 || fields.dims[d] > kMaxDim)
    return refuse(fmt::format("dimension {} has {} elements, expected 1 to 2^32", d, fields.dims[d]));
  if (fields.box[d] == 0 || fields.box[d] > kMaxBox)
    return refuse(fmt::format("the box has {} elements along dimension {}, expected 1 to {}", fields.box[d],
                              d, kMaxBox));
  if (d == 0) return {};
  if (fields.element_strides[d] == 0 || fields.element_strides[d] > kMaxElementStride)
    return refuse(fmt::format("element stride {} of dimension {}, expected 1 to {}",
                              fields.element_strides[d], d, kMaxElementStride));
  if (fields.strides[d] % kAlign != 0 || fields.strides[d] >= kStrideLimit)
    return refuse(fmt::format("stride {} of dimension {}, expected a multiple of {} bytes below 2^40",
                              fields.strides[d], d, kAlign));
  if (fields.strides[d] < fields.dims[d - 1])
    return refuse(fmt::format("stride {} of dimension {} is less than the {} elements of the one before",
                              fields.strides[d], d, fields.dims[d - 1]));
  return {};
}

}  // namespace

uint32_t tensor_type_bytes(TensorType type) {
  switch (type) {
    case TensorType::u8:
      return 1;
    case TensorType::u16:
    case TensorType::f16:
    case TensorType::bf16:
      return 2;
    case TensorType::u64:
    case TensorType::s64:
    case TensorType::f64:
      return 8;
    default:
      return 4;
  }
}

bool is_float(TensorType type) { return type >= TensorType::f16; }

uint64_t TensorMapFields::box_bytes() const {
  uint64_t bytes = row_bytes();
  for (uint32_t d = 1; d < rank; ++d) bytes *= box_elements(d);
  return bytes;
}

uint32_t TensorMapFields::swizzled(uint32_t at) const {
  if (swizzle == TensorSwizzle::none) return at;
  const uint32_t mask = swizzle_span(swizzle) / kAlign - 1;
  return at ^ (at / 128 & mask) * kAlign;
}

Expected<TensorMap> encode_tensor_map(const TensorMapFields& fields) {
  if (fields.rank == 0 || fields.rank > kMaxTensorRank)
    return refuse(fmt::format("rank {}, expected 1 to {}", fields.rank, kMaxTensorRank));
  if (fields.type >= TensorType::count || fields.swizzle >= TensorSwizzle::count ||
      fields.promotion >= TensorPromotion::count || fields.fill >= TensorFill::count)
    return refuse("type, swizzle, promotion or fill is none of those that sm_90 has");
  if (fields.address % kAlign != 0)
    return refuse(fmt::format("global address {:#x}, expected a multiple of {}", fields.address, kAlign));
  for (uint32_t d = 0; d < fields.rank; ++d)
    if (auto good = check_dimension(fields, d); !good) return good.error();
  if (fields.row_bytes() % kAlign != 0)
    return refuse(
        fmt::format("a row of the box has {} bytes, expected a multiple of {}", fields.row_bytes(), kAlign));
  if (const uint32_t span = swizzle_span(fields.swizzle); span != 0 && fields.row_bytes() > span)
    return refuse(fmt::format("a row of the box has {} bytes, a swizzle of {} bytes takes no more than that",
                              fields.row_bytes(), span));
  if (fields.fill == TensorFill::nan && !is_float(fields.type))
    return refuse("a fill with NaN, but the type is an integer");
  TensorMap map;
  const std::span<uint8_t, kTensorMapBytes> bytes(map.bytes);
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  put(bytes, kVersionAt, kVersion);
  put(bytes, kTypeAt, fields.type);
  put(bytes, kRankAt, static_cast<uint8_t>(fields.rank));
  put(bytes, kSwizzleAt, fields.swizzle);
  put(bytes, kPromotionAt, fields.promotion);
  put(bytes, kFillAt, fields.fill);
  put(bytes, kAddressAt, fields.address);
  for (size_t d = 0; d < fields.rank; ++d) {
    put(bytes, kDimsAt + 4 * d, static_cast<uint32_t>(fields.dims[d] - 1));
    put(bytes, kBoxAt + 2 * d, static_cast<uint16_t>(fields.box[d]));
    put(bytes, kElementStridesAt + d, static_cast<uint8_t>(d == 0 ? 1 : fields.element_strides[d]));
    put(bytes, kStridesAt + 8 * d, d == 0 ? uint64_t{0} : fields.strides[d]);
  }
  return map;
}

namespace {

bool is_tensor_map(std::span<const uint8_t, kTensorMapBytes> bytes) {
  return std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0 && bytes[kVersionAt] == kVersion;
}

/// By number of tensormap.replace.
constexpr std::array<TensorType, 13> kReplacedTypes = {
    TensorType::u8,   TensorType::u16,  TensorType::u32,     TensorType::s32,     TensorType::u64,
    TensorType::s64,  TensorType::f16,  TensorType::f32,     TensorType::f32_ftz, TensorType::f64,
    TensorType::bf16, TensorType::tf32, TensorType::tf32_ftz};

}  // namespace

Expected<void> replace_tensor_field(std::span<uint8_t, kTensorMapBytes> bytes, ptx::TensorField field,
                                    uint32_t ordinal, uint64_t value) {
  using ptx::TensorField;
  if (!is_tensor_map(bytes)) return refuse("the bytes are none");
  const auto limited = [&](uint64_t limit) { return value < limit && ordinal < kMaxTensorRank; };
  const size_t at = ordinal;
  switch (field) {
    case TensorField::global_address:
      put(bytes, kAddressAt, value);
      return {};
    case TensorField::rank:
      if (!limited(kMaxTensorRank)) break;
      put(bytes, kRankAt, static_cast<uint8_t>(value + 1));
      return {};
    case TensorField::box_dim:
      if (!limited(kMaxBox + 1)) break;
      put(bytes, kBoxAt + 2 * at, static_cast<uint16_t>(value));
      return {};
    case TensorField::global_dim:
      if (!limited(kMaxDim)) break;
      put(bytes, kDimsAt + 4 * at, static_cast<uint32_t>(value - 1));
      return {};
    case TensorField::global_stride:  // those of the dimensions from the second on
      if (!limited(kStrideLimit) || ordinal + 1 >= kMaxTensorRank) break;
      put(bytes, kStridesAt + 8 * (at + 1), value);
      return {};
    case TensorField::element_stride:
      if (!limited(kMaxElementStride + 1)) break;
      put(bytes, kElementStridesAt + at, static_cast<uint8_t>(value));
      return {};
    case TensorField::elemtype:
      if (!limited(kReplacedTypes.size())) break;
      put(bytes, kTypeAt, kReplacedTypes[value]);
      return {};
    case TensorField::interleave_layout:
      if (value != 0) return refuse("interleaved layouts are not executed by this version");
      return {};
    case TensorField::swizzle_mode:
      if (!limited(static_cast<uint64_t>(TensorSwizzle::count))) break;
      put(bytes, kSwizzleAt, static_cast<TensorSwizzle>(value));
      return {};
    case TensorField::fill_mode:
      if (!limited(static_cast<uint64_t>(TensorFill::count))) break;
      put(bytes, kFillAt, static_cast<TensorFill>(value));
      return {};
    case TensorField::none:
      break;
  }
  return refuse(fmt::format("{} is no value for the field", value));
}

std::optional<TensorMapFields> decode_tensor_map(std::span<const uint8_t, kTensorMapBytes> bytes) {
  if (!is_tensor_map(bytes)) return {};
  TensorMapFields fields;
  fields.type = get<TensorType>(bytes, kTypeAt);
  fields.rank = bytes[kRankAt];
  fields.swizzle = get<TensorSwizzle>(bytes, kSwizzleAt);
  fields.promotion = get<TensorPromotion>(bytes, kPromotionAt);
  fields.fill = get<TensorFill>(bytes, kFillAt);
  fields.address = get<uint64_t>(bytes, kAddressAt);
  if (fields.rank == 0 || fields.rank > kMaxTensorRank) return {};
  for (size_t d = 0; d < fields.rank; ++d) {
    fields.dims[d] = uint64_t{get<uint32_t>(bytes, kDimsAt + 4 * d)} + 1;
    fields.box[d] = get<uint16_t>(bytes, kBoxAt + 2 * d);
    fields.element_strides[d] = bytes[kElementStridesAt + d];
    fields.strides[d] = get<uint64_t>(bytes, kStridesAt + 8 * d);
  }
  if (!encode_tensor_map(fields)) return {};  // what no encoder made
  return fields;
}

}  // namespace ptxwire::sim
