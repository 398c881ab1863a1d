#include "sim/report/memory_report.hpp"

#include <algorithm>

#include "sim/report/table.hpp"

namespace ptxwire::sim {
namespace {

constexpr size_t kShownVictims = 4;    ///< columns; what others lost is summed up
constexpr size_t kLongestHeader = 14;  ///< of a victim's name

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

uint64_t lost_by(const MemoryAccount& account, const std::string& victim) {
  uint64_t lines = 0;
  for (const L2Evictions& pair : account.evictions)
    if (pair.victim == victim) lines += pair.lines;
  return lines;
}

/// Kernels that lost lines, the largest loss first.
std::vector<std::string> victims_of(const MemoryAccount& account) {
  std::vector<std::string> victims;
  for (const L2Evictions& pair : account.evictions)
    if (std::find(victims.begin(), victims.end(), pair.victim) == victims.end())
      victims.push_back(pair.victim);
  std::stable_sort(victims.begin(), victims.end(), [&](const std::string& a, const std::string& b) {
    return lost_by(account, a) > lost_by(account, b);
  });
  return victims;
}

std::string shortened(const std::string& name) {
  return name.size() <= kLongestHeader ? name : name.substr(0, kLongestHeader - 2) + "..";
}

}  // namespace

std::string memory_words(const MemoryAccount& account) {
  const auto amount = [](uint64_t count) { return bytes(static_cast<double>(count)); };
  std::string text = "L2 read " + amount(account.l2_read_bytes) + " (" +
                     share_percent(share(account.l2_read_miss_bytes, account.l2_read_bytes)) +
                     " missed), written " + amount(account.l2_write_bytes) + "; HBM read " +
                     amount(account.hbm_read_bytes) + ", written " + amount(account.hbm_write_bytes);
  const uint64_t requests = account.hbm_row_hits + account.hbm_row_openings;
  if (requests != 0) text += ", " + share_percent(share(account.hbm_row_hits, requests)) + " to open rows";
  return text;
}

std::string l2_text(const RunMemory& memory) {
  const MemoryAccount& gpu = memory.gpu0;
  std::vector<std::string> victims = victims_of(gpu);
  const bool more = victims.size() > kShownVictims;
  if (more) victims.resize(kShownVictims);
  std::vector<Table::Column> columns{
      {"L2 lines of GPU 0"}, {"at end", Align::right}, {"at most", Align::right}};
  for (const std::string& victim : victims) columns.push_back({"took of " + shortened(victim), Align::right});
  if (more) columns.push_back({"of others", Align::right});
  if (!victims.empty()) columns.push_back({"on all GPUs", Align::right});
  Table table(std::move(columns));
  for (const L2Holding& holding : gpu.holdings) {
    const std::string& kernel = holding.kernel;
    std::vector<std::string> cells{kernel, share_percent(share(holding.lines, gpu.l2_lines)),
                                   share_percent(share(holding.peak_lines, gpu.l2_lines))};
    uint64_t taken = 0, shown = 0, everywhere = 0;
    for (const L2Evictions& pair : gpu.evictions)
      if (pair.evictor == kernel) taken += pair.lines;
    for (const L2Evictions& pair : memory.all_gpus.evictions)
      if (pair.evictor == kernel) everywhere += pair.lines;
    for (const std::string& victim : victims) {
      const uint64_t lines = gpu.evicted(kernel, victim);
      cells.push_back(std::to_string(lines));
      shown += lines;
    }
    if (more) cells.push_back(std::to_string(taken - shown));
    if (!victims.empty()) cells.push_back(std::to_string(everywhere));
    table.add(std::move(cells));
  }
  return table.empty() ? "" : '\n' + table.text(2);
}

}  // namespace ptxwire::sim
