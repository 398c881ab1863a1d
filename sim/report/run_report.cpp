#include "sim/report/run_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/memory_report.hpp"
#include "sim/report/table.hpp"

namespace ptxwire::sim {
namespace {

using nlohmann::json;

constexpr size_t kShownWaits = 4;

std::string kernels_text(const std::vector<KernelTime>& kernels) {
  std::string text;
  for (const KernelTime& kernel : kernels) {
    text += (text.empty() ? "" : ", ") + kernel.role + ' ' + fixed(kernel.rank0_us, 1) + " us";
    if (kernel.max_us > kernel.rank0_us) text += " (slowest " + fixed(kernel.max_us, 1) + ')';
  }
  return text;
}

std::string waits_text(const RoleProfile& role) {
  std::string text;
  for (size_t i = 0; i < std::min(kShownWaits, role.waits.size()); ++i) {
    const WaitShare& wait = role.waits[i];
    text += (text.empty() ? "" : ", ") + wait.reason + ' ' + share_percent(wait.share) + " (" +
            fixed(wait.us, wait.us < 10 ? 1 : 0) + " us)";
  }
  return text;
}

std::string figures_text(const std::vector<Figure>& figures) {
  Table table({{"figure"}, {"value", Align::right}, {"unit"}});
  for (const Figure& figure : figures) table.add({figure.name, fixed(figure.value, 2), figure.unit});
  return table.empty() ? "" : '\n' + table.text(2);
}

/// What each kernel of a pair takes alone and beside the other, and why it lost.
std::string parts_text(const std::vector<PairPart>& parts) {
  Table table({{"kernel"},
               {"side"},
               {"alone us", Align::right},
               {"together us", Align::right},
               {"slowdown", Align::right},
               {"beside the other", Align::right}});
  for (const PairPart& part : parts)
    table.add({part.name, part.side, fixed(part.alone_us, 1), fixed(part.together_us, 1),
               fixed(part.slowdown(), 3), share_percent(part.overlap)});
  std::string text = table.empty() ? "" : '\n' + table.text(2);
  for (const PairPart& part : parts) {
    std::string losses;
    for (const LossShare& loss : part.losses)
      losses += (losses.empty() ? "" : ", ") + loss.cause + ' ' + fixed(loss.us, 1);
    if (!losses.empty())
      text +=
          "  " +
          wrapped(part.name + " lost " + fixed(part.together_us - part.alone_us, 1) + " us: " + losses, 2, 4);
  }
  return text;
}

std::string resources_text(const Bottleneck& bottleneck) {
  Table table({{"resource"}, {"mean", Align::right}, {"peak", Align::right}});
  for (const ResourceUse& use : bottleneck.resources) {
    table.add({use.name, share_percent(use.mean), share_percent(use.peak)});
  }
  return table.empty() ? "" : '\n' + table.text(2);
}

std::string roles_text(const Bottleneck& bottleneck) {
  Table table({{"warps of"}, {"count", Align::right}, {"spent their time on (share, us per warp)"}});
  for (const RoleProfile& role : bottleneck.roles) {
    table.add({role.kernel + ", " + role.role, std::to_string(role.warps), waits_text(role)});
  }
  return table.empty() ? "" : '\n' + table.text_wrapped(2);
}

std::string path_text(const Bottleneck& bottleneck) {
  if (bottleneck.path.empty()) return "";
  std::string text = "\n  chain of waits, from what ended last\n";
  for (size_t i = 0; i < bottleneck.path.size(); ++i) {
    const PathStep& step = bottleneck.path[i];
    text += "  " + std::to_string(i + 1) + "  " +
            wrapped(step.where + ": " + step.reason + ' ' + share_percent(step.share) + ", waiting for " +
                        step.leads_to,
                    5, 5);
  }
  return text;
}

/// Where the time of each kernel went, waits followed to what ends them.
std::string blame_text(const Bottleneck& bottleneck) {
  std::string text;
  for (const Blame& blame : bottleneck.blame) {
    std::string list;
    for (const BlameShare& share : blame.shares)
      list += (list.empty() ? "" : "; ") + share.cause + ' ' + share_percent(share.share);
    text += "  " + wrapped(blame.kernel + ": " + list, 2, 5);
  }
  return text.empty() ? text : "\n  causes, waits followed to what ends them\n" + text;
}

std::string cost_words(const Outcome& outcome) {
  std::string text = duration(outcome.wall_s) + " wall, " +
                     bytes(static_cast<double>(outcome.peak_rss_bytes)) + " memory, " +
                     count(static_cast<double>(outcome.warp_instructions)) + " warp instructions, " +
                     count(static_cast<double>(outcome.events)) + " events";
  if (outcome.from_cache) text += "; taken from the cache, nothing was simulated now";
  return text;
}

std::string time_words(const Outcome& outcome) {
  std::string words = fixed(outcome.time_us, 1) + " us per call (";
  if (outcome.sampled) {
    words += "sampled, +-" + fixed(outcome.sampled->error_pct, 1) +
             " %: " + share_percent(outcome.sampled->executed_share) + " of the call executed)";
    return words + (outcome.sampled->steady ? "" : "; no steady phase was found");
  }
  words += "simulated)";
  if (outcome.time_us_rank0 != outcome.time_us)
    words += ", the last on rank 0 " + fixed(outcome.time_us_rank0, 1) + " us";
  return words;
}

std::string bandwidth_words(const Outcome& outcome) {
  const std::string wire = fixed(outcome.wire_gb_per_s, 1);
  std::string words = fixed(outcome.logical_gb_per_s, 1) + " GB/s logical, " + wire + " GB/s on ";
  const auto& resources = outcome.bottleneck.resources;
  const bool has_nics = std::any_of(resources.begin(), resources.end(),
                                    [](const ResourceUse& use) { return use.name == "nic egress"; });
  if (!outcome.nvlink_logical_gb_per_s) return words + (has_nics ? "NVLink and NICs" : "NVLink");
  return words + "the NIC; NVLink " + fixed(*outcome.nvlink_logical_gb_per_s, 1) + " GB/s logical";
}

}  // namespace

std::string result_words(const Outcome& outcome) {
  switch (outcome.result) {
    case ResultState::correct:
      return "correct: every value compared";
    case ResultState::wrong:
      return "WRONG: " + outcome.mismatch;
    case ResultState::unchecked:
      return "unchecked";
  }
  return "unchecked";
}

std::string run_text(const Outcome& outcome) {
  std::string text = outcome.scenario + "  " + joined(outcome.settings);
  text.erase(text.find_last_not_of(' ') + 1);
  text = wrapped(text, 2);
  text += named_line("result", result_words(outcome));
  if (!outcome.surrogate.empty()) text += named_line("surrogate", outcome.surrogate);
  for (const std::string& fault : outcome.faults)
    text += named_line(&fault == &outcome.faults.front() ? "faults" : "", fault);
  if (!outcome.parts.empty())
    text += named_line("time",
                       fixed(outcome.time_us, 1) + " us, the compute kernel beside the other (simulated)");
  else
    text += named_line("time", time_words(outcome));
  if (outcome.figures.empty() && outcome.parts.empty()) {
    text += named_line("bandwidth", bandwidth_words(outcome));
    text += named_line("bound", fixed(outcome.bound_us, 1) + " us at the full rate of the links: " +
                                    share_percent(outcome.bound_share) + " of it reached");
  }
  if (!outcome.kernels.empty()) text += named_line("kernels", kernels_text(outcome.kernels));
  text += named_line("bottleneck", outcome.bottleneck.binding);
  text += named_line("memory", memory_words(outcome.memory.all_gpus));
  for (const std::string& error : outcome.rdma_errors) text += named_line("RDMA error", error);
  text += parts_text(outcome.parts) + figures_text(outcome.figures) + resources_text(outcome.bottleneck) +
          l2_text(outcome.memory) + roles_text(outcome.bottleneck) + path_text(outcome.bottleneck) +
          blame_text(outcome.bottleneck);
  return text + '\n' + named_line("cost", cost_words(outcome));
}

nlohmann::json run_document(const Outcome& outcome) {
  json document = to_json(outcome);
  // The documented key `bottleneck` is the one-line answer; what it was read from stands beside it.
  document["bottleneck_detail"] = document["bottleneck"];
  document["bottleneck"] = outcome.bottleneck.binding;
  document["from_cache"] = outcome.from_cache;
  return document;
}

std::string run_json(const Outcome& outcome) {
  return json_text(run_document(outcome), JsonLayout::indented);
}

}  // namespace ptxwire::sim
