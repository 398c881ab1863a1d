#include "sim/exec/matrix_operand.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace ptxwire::sim {

using ptx::MatrixElement;

namespace {

constexpr uint32_t kChunkBytes = 16;  ///< what a swizzle moves
constexpr uint32_t kLineBytes = 128;

uint32_t field(uint64_t bits, unsigned low) { return static_cast<uint32_t>(bits >> low & 0x3FFF) << 4; }

/// A swizzle of 32, 64 or 128 bytes exchanges chunks within that many bytes by the number of the line of 128
/// bytes: of its address, less where the pattern starts.
uint32_t swizzled(const MatrixDescriptor& descriptor, uint32_t address) {
  if (descriptor.swizzle_bytes == 0) return address;
  const uint32_t mask = descriptor.swizzle_bytes / kChunkBytes - 1;
  const uint32_t line = address / kLineBytes - descriptor.base_offset;
  return address ^ (line & mask) * kChunkBytes;
}

/// k innermost: chunk 0 or 1 of a row. Rows follow each other within groups of eight.
uint32_t k_major(const MatrixDescriptor& descriptor, uint32_t row, uint32_t chunk) {
  const bool plain = descriptor.swizzle_bytes == 0;
  const uint32_t pitch = plain ? kChunkBytes : descriptor.swizzle_bytes;
  return descriptor.start + row % 8 * pitch + row / 8 * descriptor.stride_offset +
         chunk * (plain ? descriptor.leading_offset : kChunkBytes);
}

/// m or n innermost: eight elements from `row` on, at depth k.
uint32_t row_major(const MatrixDescriptor& descriptor, uint32_t row, uint32_t k) {
  const uint32_t chunk = row / 8;
  if (descriptor.swizzle_bytes == 0)
    return descriptor.start + chunk * descriptor.stride_offset + k % 8 * kChunkBytes +
           k / 8 * descriptor.leading_offset;
  const uint32_t wide = descriptor.swizzle_bytes / kChunkBytes;
  return descriptor.start + chunk % wide * kChunkBytes + chunk / wide * descriptor.leading_offset +
         k % 8 * descriptor.swizzle_bytes + k / 8 * descriptor.stride_offset;
}

float bfloat_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// e4m3 has no infinity, and NaN where all bits but the sign are set; e5m2 is the upper half of an f16.
float small_to_float(MatrixElement element, uint8_t bits) {
  if (element == MatrixElement::e5m2) return half_to_float(static_cast<uint16_t>(bits << 8));
  const uint32_t exponent = bits >> 3 & 0xF, mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return std::bit_cast<float>(0x7FFFFFFFU);
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -9)
                              : std::ldexp(static_cast<float>(8 + mantissa), static_cast<int>(exponent) - 10);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

std::array<float, 256> table_of(MatrixElement element) {
  std::array<float, 256> table{};
  for (unsigned bits = 0; bits < table.size(); ++bits)
    table[bits] = small_to_float(element, static_cast<uint8_t>(bits));
  return table;
}

const std::array<float, 256>& small_floats(MatrixElement element) {
  static const std::array<float, 256> e4m3 = table_of(MatrixElement::e4m3);
  static const std::array<float, 256> e5m2 = table_of(MatrixElement::e5m2);
  return element == MatrixElement::e4m3 ? e4m3 : e5m2;
}

}  // namespace

MatrixDescriptor MatrixDescriptor::decode(uint64_t bits) {
  static constexpr std::array<uint32_t, 4> kSwizzles = {0, 128, 64, 32};
  return {.start = field(bits, 0),
          .leading_offset = field(bits, 16),
          .stride_offset = field(bits, 32),
          .base_offset = static_cast<uint32_t>(bits >> 49 & 7),
          .swizzle_bytes = kSwizzles[bits >> 62]};
}

bool gather_operand(const MatrixDescriptor& descriptor, bool transposed, uint32_t rows,
                    std::span<const uint8_t> shared, uint8_t* out) {
  const auto chunk_at = [&](uint32_t address) -> const uint8_t* {
    const uint32_t at = swizzled(descriptor, address);
    return at + kChunkBytes <= shared.size() ? shared.data() + at : nullptr;
  };
  if (!transposed) {
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t chunk = 0; chunk < 2; ++chunk) {
        const uint8_t* source = chunk_at(k_major(descriptor, row, chunk));
        if (source == nullptr) return false;
        std::memcpy(out + row * kOperandRowBytes + chunk * kChunkBytes, source, kChunkBytes);
      }
    }
    return true;
  }
  for (uint32_t row = 0; row < rows; row += 8) {
    for (uint32_t k = 0; k < 16; ++k) {
      const uint8_t* source = chunk_at(row_major(descriptor, row, k));
      if (source == nullptr) return false;
      for (uint32_t i = 0; i < 8; ++i)
        std::memcpy(out + (row + i) * kOperandRowBytes + k * 2, source + i * 2, 2);
    }
  }
  return true;
}

uint32_t widen_row(MatrixElement element, bool negate, const uint8_t* row, float* out) {
  const auto read = [&]<typename Bits>(Bits /*width*/, auto value_of) {
    constexpr uint32_t kCount = kOperandRowBytes / sizeof(Bits);
    for (uint32_t i = 0; i < kCount; ++i) {
      Bits bits{};
      std::memcpy(&bits, row + i * sizeof(Bits), sizeof(Bits));
      const float value = value_of(bits);
      out[i] = negate ? -value : value;
    }
    return kCount;
  };
  switch (element) {
    case MatrixElement::f16:
      return read(uint16_t{}, half_to_float);
    case MatrixElement::bf16:
      return read(uint16_t{}, bfloat_to_float);
    case MatrixElement::tf32:
      return read(uint32_t{}, [](uint32_t bits) { return std::bit_cast<float>(bits & ~0x1FFFU); });
    case MatrixElement::e4m3:
    case MatrixElement::e5m2:
      return read(uint8_t{}, [&](uint8_t bits) { return small_floats(element)[bits]; });
    case MatrixElement::s8:
      return read(uint8_t{}, [](uint8_t bits) { return static_cast<float>(static_cast<int8_t>(bits)); });
    case MatrixElement::u8:
      return read(uint8_t{}, [](uint8_t bits) { return static_cast<float>(bits); });
    case MatrixElement::none:
    case MatrixElement::b1:
      break;
  }
  return 0;
}

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1F, mantissa = bits & 0x3FF;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 0xFF : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

uint16_t float_to_half(float value) {
  if (std::isnan(value)) return 0x7FFF;
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return sign | 0x7C00;  // half-way beyond the largest
  if (magnitude < 0x1p-14F)  // subnormal: a multiple of 2^-24; the largest carries into the exponent
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24F)));
  const auto bits = std::bit_cast<uint32_t>(magnitude);
  const uint32_t rounded = bits + 0xFFF + (bits >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112U << 10)));
}

}  // namespace ptxwire::sim
