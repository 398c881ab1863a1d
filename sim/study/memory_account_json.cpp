#include <nlohmann/json.hpp>

#include "sim/study/memory_account_json.hpp"

namespace ptxwire::sim {
namespace {

using nlohmann::json;

json account_json(const MemoryAccount& account) {
  json holdings = json::array(), evictions = json::array();
  for (const L2Holding& holding : account.holdings)
    holdings.push_back(
        {{"kernel", holding.kernel}, {"lines_at_end", holding.lines}, {"peak_lines", holding.peak_lines}});
  for (const L2Evictions& pair : account.evictions)
    evictions.push_back({{"evictor", pair.evictor}, {"victim", pair.victim}, {"lines", pair.lines}});
  return {{"l2_lines", account.l2_lines},
          {"l2_read_bytes", account.l2_read_bytes},
          {"l2_read_miss_bytes", account.l2_read_miss_bytes},
          {"l2_write_bytes", account.l2_write_bytes},
          {"l2_holdings", std::move(holdings)},
          {"l2_evictions", std::move(evictions)},
          {"hbm_read_bytes", account.hbm_read_bytes},
          {"hbm_write_bytes", account.hbm_write_bytes},
          {"hbm_row_hits", account.hbm_row_hits},
          {"hbm_row_openings", account.hbm_row_openings},
          {"hbm_turnarounds", account.hbm_turnarounds}};
}

MemoryAccount account_of(const json& entry) {
  MemoryAccount account{.l2_lines = entry.at("l2_lines"),
                        .l2_read_bytes = entry.at("l2_read_bytes"),
                        .l2_read_miss_bytes = entry.at("l2_read_miss_bytes"),
                        .l2_write_bytes = entry.at("l2_write_bytes"),
                        .hbm_read_bytes = entry.at("hbm_read_bytes"),
                        .hbm_write_bytes = entry.at("hbm_write_bytes"),
                        .hbm_row_hits = entry.at("hbm_row_hits"),
                        .hbm_row_openings = entry.at("hbm_row_openings"),
                        .hbm_turnarounds = entry.at("hbm_turnarounds")};
  for (const json& holding : entry.at("l2_holdings"))
    account.holdings.push_back({holding.at("kernel"), holding.at("lines_at_end"), holding.at("peak_lines")});
  for (const json& pair : entry.at("l2_evictions"))
    account.evictions.push_back({pair.at("evictor"), pair.at("victim"), pair.at("lines")});
  return account;
}

}  // namespace

json memory_json(const RunMemory& memory) {
  return {{"gpu0", account_json(memory.gpu0)}, {"all_gpus", account_json(memory.all_gpus)}};
}

RunMemory memory_from_json(const json& entry) {
  return {account_of(entry.at("gpu0")), account_of(entry.at("all_gpus"))};
}

}  // namespace ptxwire::sim
