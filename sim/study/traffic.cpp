#include "sim/study/traffic.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "models/machines/quantity.hpp"
#include "sim/study/csv.hpp"
#include "sim/study/text_file.hpp"

namespace ptxwire::sim {
namespace {

/// Flows are computed in signed 64-bit bytes.
constexpr double kMostBytes = 1e18;

/// Whole bytes of "4096" or "4 KiB".
Expected<uint64_t> parse_bytes(std::string_view text) {
  const Error expected{.message = "expected a number of bytes such as 4096 or '4 KiB', found '" +
                                  std::string(text) + "'"};
  const Expected<models::WrittenQuantity> quantity = models::split_quantity(text);
  if (!quantity) return expected;
  const Expected<double> factor =
      models::unit_factor(quantity->unit.empty() ? "B" : quantity->unit, models::Dimension::bytes);
  if (!factor) return Error{.message = factor.error().message};
  const double bytes = quantity->value * *factor;
  if (!(bytes >= 0 && bytes <= kMostBytes) || bytes != std::floor(bytes)) return expected;
  return static_cast<uint64_t>(bytes);
}

std::optional<uint32_t> parse_gpu(std::string_view text, uint32_t gpus) {
  uint32_t gpu = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), gpu);
  if (failed != std::errc() || end != text.data() + text.size() || gpu >= gpus) return std::nullopt;
  return gpu;
}

Expected<void> check_total(const models::TrafficMatrix& traffic) {
  double total = 0;
  for (uint32_t from = 0; from < traffic.gpus(); ++from)
    for (uint32_t to = 0; to < traffic.gpus(); ++to)
      total += static_cast<double>(traffic.at(models::GpuId{from}, models::GpuId{to}));
  if (total <= kMostBytes) return {};
  return Error{.message = "expected at most 1e18 bytes in all"};
}

}  // namespace

Expected<models::TrafficMatrix> read_traffic(const std::string& path, uint32_t gpus) {
  const Expected<std::string> text = read_whole_file(path);
  if (!text) return text.error();
  const Expected<std::vector<CsvRecord>> records = parse_csv(*text, path);
  if (!records) return records.error();
  const auto bad = [&](uint32_t line, std::string message) {
    return Error{std::move(message), path, line, 1, {}};
  };
  if (records->empty() || records->front().fields != std::vector<std::string>{"from", "to", "bytes"})
    return bad(1, "expected the header 'from,to,bytes'");
  models::TrafficMatrix traffic(gpus);
  for (size_t i = 1; i < records->size(); ++i) {
    const auto& [line, fields] = (*records)[i];
    const auto from = parse_gpu(fields[0], gpus), to = parse_gpu(fields[1], gpus);
    if (!from || !to)
      return bad(line, "expected a GPU from 0 to " + std::to_string(gpus - 1) + ", found '" +
                           fields[from ? 1 : 0] + "'");
    const Expected<uint64_t> bytes = parse_bytes(fields[2]);
    if (!bytes) return bad(line, bytes.error().message);
    uint64_t& sum = traffic.at(models::GpuId{*from}, models::GpuId{*to});
    if (static_cast<double>(sum) + static_cast<double>(*bytes) > kMostBytes)
      return bad(line, "expected at most 1e18 bytes in all");
    sum += *bytes;
  }
  if (Expected<void> fits = check_total(traffic); !fits) return bad(1, fits.error().message);
  return traffic;
}

Expected<models::TrafficMatrix> all_to_all_traffic(std::string_view text, uint32_t gpus) {
  const Expected<uint64_t> bytes = parse_bytes(text);
  if (!bytes) return bytes.error();
  models::TrafficMatrix traffic(gpus);
  for (uint32_t from = 0; from < gpus; ++from)
    for (uint32_t to = 0; to < gpus; ++to)
      if (from != to) traffic.at(models::GpuId{from}, models::GpuId{to}) = *bytes;
  if (Expected<void> fits = check_total(traffic); !fits) return fits.error();
  return traffic;
}

uint64_t total_bytes(const models::TrafficMatrix& traffic) {
  uint64_t sum = 0;
  for (uint32_t from = 0; from < traffic.gpus(); ++from)
    for (uint32_t to = 0; to < traffic.gpus(); ++to)
      if (from != to) sum += traffic.at(models::GpuId{from}, models::GpuId{to});
  return sum;
}

}  // namespace ptxwire::sim
