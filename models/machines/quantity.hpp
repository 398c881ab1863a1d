// Numbers with units, as people write them: "25 GB/s", "600 ns", "32 KiB", "22 clk".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/error.hpp"

namespace ptxwire::models {

/// What a quantity measures. Two units fit together only within one dimension.
enum class Dimension : uint8_t { count, ratio, bytes, time, frequency, rate, cycles, bytes_per_cycle };

/// "B, kB, KiB, MB, MiB, GB, GiB": the units of a dimension, for messages.
std::string_view units_of(Dimension dimension);

/// Factor from `unit` to the base unit of `dimension` (1, 1, B, ps, Hz, B/s, clk, B/clk). Errors: unit
/// unknown or of another dimension; the message lists the units that fit. The error names no file.
Expected<double> unit_factor(std::string_view unit, Dimension dimension);

/// A number and the unit written behind it (empty if none).
struct WrittenQuantity {
  double value = 0;
  std::string_view unit;
};

/// Splits "25 GB/s" or "16B" or "8". Errors: no number at the front, or not a finite one.
Expected<WrittenQuantity> split_quantity(std::string_view text);

}  // namespace ptxwire::models
