#include "sim/report/predict_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/report/run_report.hpp"
#include "sim/report/table.hpp"

namespace ptxwire::sim {
namespace {

using nlohmann::json;

constexpr double kLeastShownWait = 0.03;  ///< share of a role's time, before or after

/// "+4.9", "-5.8"; "0.0" of what rounds to nothing.
std::string signed_fixed(double value, int digits) {
  const std::string text = fixed(value, digits);
  if (text.find_first_of("123456789") == std::string::npos) return fixed(0, digits);
  return (value < 0 ? "" : "+") + text;
}

/// The comparison, line by line: a figure with its change, or a heading.
class Comparison {
 public:
  Comparison()
      : table_({{""}, {"base", Align::right}, {"changed", Align::right}, {"change", Align::right}}) {}

  void heading(const std::string& words) {
    table_.add({});
    table_.add({words});
  }
  /// Change in per cent of the base.
  void figure(const std::string& name, double before, double after) {
    const std::string change = before != 0 ? signed_percent(100 * (after - before) / before) : "";
    table_.add({name, fixed(before, 1), fixed(after, 1), change});
  }
  void count(const std::string& name, uint64_t before, uint64_t after) {
    const double change = static_cast<double>(after) - static_cast<double>(before);
    table_.add({name, std::to_string(before), std::to_string(after), signed_fixed(change, 0)});
  }
  /// Shares in per cent, their change in points.
  void share(const std::string& name, double before, double after) {
    table_.add({name, fixed(100 * before, 0), fixed(100 * after, 0),
                signed_fixed(100 * (after - before), 0) + " pt"});
  }
  void microseconds(const std::string& name, double before, double after) {
    table_.add({name, fixed(before, 1), fixed(after, 1), signed_fixed(after - before, 1) + " us"});
  }
  [[nodiscard]] std::string text() const { return table_.text(2); }

 private:
  Table table_;
};

void compare_times(Comparison& comparison, const Outcome& base, const Outcome& changed) {
  comparison.figure("time, us", base.time_us, changed.time_us);
  comparison.figure("  last call on rank 0, us", base.time_us_rank0, changed.time_us_rank0);
  for (const KernelTime& before : base.kernels) {
    for (const KernelTime& after : changed.kernels) {
      if (before.role == after.role) {
        comparison.figure("  " + before.role + " kernel, slowest rank", before.max_us, after.max_us);
      }
    }
  }
  for (const Figure& before : base.figures)
    for (const Figure& after : changed.figures)
      if (before.name == after.name)
        comparison.figure(before.name + ", " + before.unit, before.value, after.value);
  if (!base.figures.empty()) return;  // a microbenchmark has no bandwidth of another definition
  comparison.figure("logical GB/s", base.logical_gb_per_s, changed.logical_gb_per_s);
  comparison.figure("on NVLink, GB/s", base.wire_gb_per_s, changed.wire_gb_per_s);
  comparison.share("share of the speed of light, %", base.bound_share, changed.bound_share);
}

void compare_resources(Comparison& comparison, const Bottleneck& base, const Bottleneck& changed) {
  comparison.heading("busy, % of the time (the busiest link or GPU)");
  for (const ResourceUse& before : base.resources) {
    for (const ResourceUse& after : changed.resources) {
      if (before.name == after.name) comparison.share("  " + before.name, before.peak, after.peak);
    }
  }
}

/// Pairs of kernels, those of the base first.
void compare_evictions(Comparison& comparison, const MemoryAccount& base, const MemoryAccount& changed) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const MemoryAccount* account : {&base, &changed})
    for (const L2Evictions& pair : account->evictions)
      if (std::find(pairs.begin(), pairs.end(), std::pair{pair.evictor, pair.victim}) == pairs.end())
        pairs.emplace_back(pair.evictor, pair.victim);
  if (pairs.empty()) return;
  comparison.heading("L2 lines taken on all GPUs");
  for (const auto& [evictor, victim] : pairs)
    comparison.count(fmt::format("  {} of {}", evictor, victim), base.evicted(evictor, victim),
                     changed.evicted(evictor, victim));
}

const WaitShare* find_wait(const RoleProfile& role, const std::string& reason) {
  const auto found = std::find_if(role.waits.begin(), role.waits.end(),
                                  [&](const WaitShare& wait) { return wait.reason == reason; });
  return found != role.waits.end() ? &*found : nullptr;
}

/// The base's waits in its order, then those that only the change brought.
void compare_role(Comparison& comparison, const RoleProfile& base, const RoleProfile& changed) {
  comparison.heading(base.kernel + ", " + base.role + ": us per warp");
  std::vector<std::string> reasons;
  for (const RoleProfile* role : {&base, &changed}) {
    for (const WaitShare& wait : role->waits) {
      const bool known = std::find(reasons.begin(), reasons.end(), wait.reason) != reasons.end();
      if (!known && wait.share >= kLeastShownWait) reasons.push_back(wait.reason);
    }
  }
  for (const std::string& reason : reasons) {
    const WaitShare* before = find_wait(base, reason);
    const WaitShare* after = find_wait(changed, reason);
    comparison.microseconds("  " + reason, before != nullptr ? before->us : 0,
                            after != nullptr ? after->us : 0);
  }
}

void compare_roles(Comparison& comparison, const Bottleneck& base, const Bottleneck& changed) {
  for (const RoleProfile& before : base.roles) {
    for (const RoleProfile& after : changed.roles) {
      if (before.kernel == after.kernel && before.role == after.role) compare_role(comparison, before, after);
    }
  }
}

std::string cache_words(bool base, bool changed) {
  if (base && changed) return "both taken from the cache, nothing was simulated now";
  return base ? "the base was taken from the cache" : "the changed run was taken from the cache";
}

}  // namespace

std::string predict_text(const Prediction& prediction) {
  const Outcome& base = prediction.base;
  const Outcome& changed = prediction.changed;
  Comparison comparison;
  compare_times(comparison, base, changed);
  compare_resources(comparison, base.bottleneck, changed.bottleneck);
  compare_evictions(comparison, base.memory.all_gpus, changed.memory.all_gpus);
  compare_roles(comparison, base.bottleneck, changed.bottleneck);
  std::string text = wrapped(base.scenario + "  " + joined(base.settings), 2);
  text += wrapped("changed to  " + joined(changed.settings), 2) + '\n' + comparison.text() + '\n';
  text += named_line("bound by", "base: " + base.bottleneck.binding);
  text += named_line("", "changed: " + changed.bottleneck.binding);
  text += named_line("interval", "none: there is no calibration whose coverage was measured");
  text += named_line("result", "base " + result_words(base));
  text += named_line("", "changed " + result_words(changed));
  if (base.from_cache || changed.from_cache) {
    text += named_line("cache", cache_words(base.from_cache, changed.from_cache));
  }
  return text;
}

std::string predict_json(const Prediction& prediction) {
  const auto optional = [](const auto& value) { return value ? json(*value) : json(nullptr); };
  const json document = {
      {"base", run_document(prediction.base)},
      {"changed", run_document(prediction.changed)},
      {"delta_pct", prediction.delta_pct},
      {"interval_pct", {optional(prediction.interval_low_pct), optional(prediction.interval_high_pct)}},
      {"in_range", optional(prediction.in_range)}};
  return json_text(document, JsonLayout::indented);
}

}  // namespace ptxwire::sim
