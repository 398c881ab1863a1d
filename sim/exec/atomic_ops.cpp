#include "sim/exec/atomic_ops.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace ptxwire::sim {
namespace {

using ptx::AtomicOp;
using ptx::Type;

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1F;
  const uint32_t mantissa = bits & 0x3FF;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | mantissa << 13);
  const float magnitude =
      exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                    : std::ldexp(static_cast<float>(mantissa | 0x400), static_cast<int>(exponent) - 25);
  return sign != 0 ? -magnitude : magnitude;
}

/// Rounds to a binary format with `mantissa_bits` and exponent bias `bias`, to nearest even.
uint16_t float_to_small(float value, int mantissa_bits, int bias, uint16_t infinity, uint16_t canonical_nan) {
  if (std::isnan(value)) return canonical_nan;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (std::isinf(value)) return sign | infinity;
  if (magnitude == 0) return sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  double scaled = std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent));
  if (scaled >= std::ldexp(2.0, mantissa_bits)) {
    scaled /= 2;
    ++exponent;
  }
  const auto mantissa = static_cast<uint32_t>(scaled);
  const uint32_t hidden = 1U << mantissa_bits;
  const uint32_t field = mantissa >= hidden ? static_cast<uint32_t>(exponent + bias) : 0;
  const uint32_t bits = field << mantissa_bits | (mantissa & (hidden - 1));
  return sign | static_cast<uint16_t>(std::min<uint32_t>(bits, infinity));
}

uint16_t add_half(uint16_t a, uint16_t b) {
  return float_to_small(half_to_float(a) + half_to_float(b), 10, 15, 0x7C00, 0x7FFF);
}
uint16_t add_bfloat(uint16_t a, uint16_t b) {
  return float_to_small(std::bit_cast<float>(static_cast<uint32_t>(a) << 16) +
                            std::bit_cast<float>(static_cast<uint32_t>(b) << 16),
                        7, 127, 0x7F80, 0x7FFF);
}

// Of two halves (bfloat16 is the upper half of a float) the smaller or larger; a NaN loses to a number.
uint16_t min_max_small(AtomicOp operation, bool bfloat, uint16_t a, uint16_t b) {
  const auto value = [&](uint16_t bits) {
    return bfloat ? std::bit_cast<float>(static_cast<uint32_t>(bits) << 16) : half_to_float(bits);
  };
  const float x = value(a), y = value(b);
  if (std::isnan(x)) return std::isnan(y) ? 0x7FFF : b;
  if (std::isnan(y)) return a;
  const bool a_less = x < y || (x == y && (a & 0x8000) != 0);
  return a_less == (operation == AtomicOp::min) ? a : b;
}

bool is_small_float(Type type) {
  return type == Type::f16 || type == Type::bf16 || type == Type::f16x2 || type == Type::bf16x2;
}

uint64_t min_max_halves(AtomicOp operation, Type type, uint64_t a, uint64_t b) {
  const bool bfloat = type == Type::bf16 || type == Type::bf16x2;
  const uint32_t low = min_max_small(operation, bfloat, static_cast<uint16_t>(a), static_cast<uint16_t>(b));
  if (ptx::type_bytes(type) == 2) return low;
  return low | static_cast<uint32_t>(min_max_small(operation, bfloat, static_cast<uint16_t>(a >> 16),
                                                   static_cast<uint16_t>(b >> 16)))
                   << 16;
}

template <typename T>
uint64_t min_max(AtomicOp operation, uint64_t a, uint64_t b) {
  const T x = static_cast<T>(a);
  const T y = static_cast<T>(b);
  return static_cast<uint64_t>(operation == AtomicOp::min ? std::min(x, y) : std::max(x, y));
}

float flushed(uint64_t bits, bool flush) {
  const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
  return flush && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}

uint64_t add(Type type, uint64_t a, uint64_t b, bool flush_subnormals) {
  switch (type) {
    case Type::f32: {
      const float sum = flushed(a, flush_subnormals) + flushed(b, flush_subnormals);
      if (std::isnan(sum)) return 0x7FFFFFFFU;
      return std::bit_cast<uint32_t>(flushed(std::bit_cast<uint32_t>(sum), flush_subnormals));
    }
    case Type::f64: {
      const double sum = std::bit_cast<double>(a) + std::bit_cast<double>(b);
      return std::isnan(sum) ? 0x7FFFFFFFFFFFFFFFULL : std::bit_cast<uint64_t>(sum);
    }
    case Type::f16:
      return add_half(static_cast<uint16_t>(a), static_cast<uint16_t>(b));
    case Type::bf16:
      return add_bfloat(static_cast<uint16_t>(a), static_cast<uint16_t>(b));
    case Type::f16x2:
      return add_half(static_cast<uint16_t>(a), static_cast<uint16_t>(b)) |
             static_cast<uint32_t>(add_half(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16)))
                 << 16;
    case Type::bf16x2:
      return add_bfloat(static_cast<uint16_t>(a), static_cast<uint16_t>(b)) |
             static_cast<uint32_t>(add_bfloat(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16)))
                 << 16;
    default:
      return a + b;
  }
}

}  // namespace

uint64_t apply_atomic(AtomicOp operation, Type type, uint64_t old_value, uint64_t operand, uint64_t swap,
                      bool flush_subnormals) {
  switch (operation) {
    case AtomicOp::add:
      return add(type, old_value, operand, flush_subnormals);
    case AtomicOp::min:
    case AtomicOp::max:
      if (is_small_float(type)) return min_max_halves(operation, type, old_value, operand);
      if (type == Type::s32) return min_max<int32_t>(operation, old_value, operand);
      if (type == Type::s64) return min_max<int64_t>(operation, old_value, operand);
      return type_bytes(type) == 8 ? min_max<uint64_t>(operation, old_value, operand)
                                   : min_max<uint32_t>(operation, old_value, operand);
    case AtomicOp::inc:
      return static_cast<uint32_t>(old_value) >= static_cast<uint32_t>(operand) ? 0 : old_value + 1;
    case AtomicOp::dec:
      return static_cast<uint32_t>(old_value) == 0 ||
                     static_cast<uint32_t>(old_value) > static_cast<uint32_t>(operand)
                 ? operand
                 : old_value - 1;
    case AtomicOp::and_op:
      return old_value & operand;
    case AtomicOp::or_op:
      return old_value | operand;
    case AtomicOp::xor_op:
      return old_value ^ operand;
    case AtomicOp::exch:
      return operand;
    case AtomicOp::cas:
      return old_value == operand ? swap : old_value;
    case AtomicOp::none:
      break;
  }
  return old_value;
}

void apply_atomic_bytes(ptx::AtomicOp operation, ptx::Type type, uint32_t bytes, uint8_t* memory,
                        uint8_t* operand, const uint8_t* swap, bool flush_subnormals) {
  const uint32_t element = ptx::type_bytes(type);
  if (bytes > element) {
    for (uint32_t offset = 0; offset < bytes; offset += element)
      apply_atomic_bytes(operation, type, element, memory + offset, operand + offset, swap, flush_subnormals);
    return;
  }
  if (bytes == 16) {
    std::array<uint8_t, 16> old_value{};
    std::memcpy(old_value.data(), memory, 16);
    if (operation == ptx::AtomicOp::exch) {
      std::memcpy(memory, operand, 16);
    } else if (std::memcmp(memory, operand, 16) == 0) {
      std::memcpy(memory, swap, 16);
    }
    std::memcpy(operand, old_value.data(), 16);
    return;
  }
  uint64_t old_value = 0;
  uint64_t a = 0;
  uint64_t b = 0;
  std::memcpy(&old_value, memory, bytes);
  std::memcpy(&a, operand, bytes);
  if (operation == ptx::AtomicOp::cas) std::memcpy(&b, swap, bytes);
  const uint64_t value = apply_atomic(operation, type, old_value, a, b, flush_subnormals);
  std::memcpy(memory, &value, bytes);
  std::memcpy(operand, &old_value, bytes);
}

}  // namespace ptxwire::sim
