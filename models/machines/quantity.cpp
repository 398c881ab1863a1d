#include "models/machines/quantity.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace ptxwire::models {
namespace {

struct Unit {
  std::string_view name;
  Dimension dimension;
  double factor;
};

constexpr double kKi = 1024.0, kMi = kKi * kKi, kGi = kMi * kKi;

constexpr std::array kUnits{
    Unit{"count", Dimension::count, 1},
    Unit{"ratio", Dimension::ratio, 1},
    Unit{"%", Dimension::ratio, 0.01},
    Unit{"B", Dimension::bytes, 1},
    Unit{"kB", Dimension::bytes, 1e3},
    Unit{"KiB", Dimension::bytes, kKi},
    Unit{"MB", Dimension::bytes, 1e6},
    Unit{"MiB", Dimension::bytes, kMi},
    Unit{"GB", Dimension::bytes, 1e9},
    Unit{"GiB", Dimension::bytes, kGi},
    Unit{"ps", Dimension::time, 1},
    Unit{"ns", Dimension::time, 1e3},
    Unit{"us", Dimension::time, 1e6},
    Unit{"ms", Dimension::time, 1e9},
    Unit{"s", Dimension::time, 1e12},
    Unit{"Hz", Dimension::frequency, 1},
    Unit{"kHz", Dimension::frequency, 1e3},
    Unit{"MHz", Dimension::frequency, 1e6},
    Unit{"GHz", Dimension::frequency, 1e9},
    Unit{"B/s", Dimension::rate, 1},
    Unit{"kB/s", Dimension::rate, 1e3},
    Unit{"MB/s", Dimension::rate, 1e6},
    Unit{"MiB/s", Dimension::rate, kMi},
    Unit{"GB/s", Dimension::rate, 1e9},
    Unit{"GiB/s", Dimension::rate, kGi},
    Unit{"TB/s", Dimension::rate, 1e12},
    Unit{"Gb/s", Dimension::rate, 1.25e8},
    Unit{"clk", Dimension::cycles, 1},
    Unit{"B/clk", Dimension::bytes_per_cycle, 1},
};

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::string_view units_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::count:
      return "count";
    case Dimension::ratio:
      return "ratio, %";
    case Dimension::bytes:
      return "B, kB, KiB, MB, MiB, GB, GiB";
    case Dimension::time:
      return "ps, ns, us, ms, s";
    case Dimension::frequency:
      return "Hz, kHz, MHz, GHz";
    case Dimension::rate:
      return "B/s, kB/s, MB/s, MiB/s, GB/s, GiB/s, TB/s, Gb/s";
    case Dimension::cycles:
      return "clk";
    case Dimension::bytes_per_cycle:
      return "B/clk";
  }
  return {};
}

Expected<double> unit_factor(std::string_view unit, Dimension dimension) {
  for (const Unit& known : kUnits)
    if (known.name == unit && known.dimension == dimension) return known.factor;
  return Error{.message = "wrong unit '" + std::string(unit) + "', expected one of " +
                          std::string(units_of(dimension))};
}

Expected<WrittenQuantity> split_quantity(std::string_view text) {
  text = trim(text);
  WrittenQuantity quantity;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), quantity.value);
  if (failure != std::errc{} || !std::isfinite(quantity.value))
    return Error{.message = "'" + std::string(text) + "': expected a number at the front"};
  quantity.unit = trim(text.substr(static_cast<size_t>(end - text.data())));
  return quantity;
}

}  // namespace ptxwire::models
