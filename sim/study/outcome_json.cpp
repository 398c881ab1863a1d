#include <nlohmann/json.hpp>

#include "sim/study/memory_account_json.hpp"
#include "sim/study/outcome.hpp"

namespace ptxwire::sim {
namespace {

using nlohmann::json;

json bottleneck_json(const Bottleneck& bottleneck) {
  json resources = json::array(), roles = json::array(), path = json::array();
  for (const ResourceUse& use : bottleneck.resources) {
    resources.push_back({{"name", use.name}, {"mean", use.mean}, {"peak", use.peak}});
  }
  for (const RoleProfile& role : bottleneck.roles) {
    json waits = json::array();
    for (const WaitShare& wait : role.waits) {
      waits.push_back({{"reason", wait.reason}, {"us", wait.us}, {"share", wait.share}});
    }
    roles.push_back({{"kernel", role.kernel},
                     {"role", role.role},
                     {"warps", role.warps},
                     {"instructions", role.instructions},
                     {"waits", std::move(waits)}});
  }
  for (const PathStep& step : bottleneck.path) {
    path.push_back(
        {{"where", step.where}, {"reason", step.reason}, {"share", step.share}, {"leads_to", step.leads_to}});
  }
  json blame = json::array();
  for (const Blame& phase : bottleneck.blame) {
    json shares = json::array();
    for (const BlameShare& share : phase.shares)
      shares.push_back({{"cause", share.cause}, {"share", share.share}});
    blame.push_back({{"kernel", phase.kernel}, {"words", phase.words}, {"shares", std::move(shares)}});
  }
  return {{"binding", bottleneck.binding},
          {"blame", std::move(blame)},
          {"resources", std::move(resources)},
          {"roles", std::move(roles)},
          {"path", std::move(path)}};
}

Bottleneck bottleneck_of(const json& entry) {
  Bottleneck bottleneck{.binding = entry.at("binding")};
  for (const json& use : entry.at("resources")) {
    bottleneck.resources.push_back({.name = use.at("name"), .mean = use.at("mean"), .peak = use.at("peak")});
  }
  for (const json& role : entry.at("roles")) {
    RoleProfile profile{.kernel = role.at("kernel"),
                        .role = role.at("role"),
                        .warps = role.at("warps"),
                        .instructions = role.at("instructions")};
    for (const json& wait : role.at("waits")) {
      profile.waits.push_back({.reason = wait.at("reason"), .us = wait.at("us"), .share = wait.at("share")});
    }
    bottleneck.roles.push_back(std::move(profile));
  }
  for (const json& step : entry.at("path")) {
    bottleneck.path.push_back({.where = step.at("where"),
                               .reason = step.at("reason"),
                               .share = step.at("share"),
                               .leads_to = step.at("leads_to")});
  }
  for (const json& phase : entry.at("blame")) {
    Blame blame{.kernel = phase.at("kernel"), .words = phase.at("words")};
    for (const json& share : phase.at("shares"))
      blame.shares.push_back({share.at("cause"), share.at("share")});
    bottleneck.blame.push_back(std::move(blame));
  }
  return bottleneck;
}

json parts_json(const std::vector<PairPart>& parts) {
  json list = json::array();
  for (const PairPart& part : parts) {
    json losses = json::array();
    for (const LossShare& loss : part.losses) losses.push_back({{"cause", loss.cause}, {"us", loss.us}});
    list.push_back({{"name", part.name},
                    {"side", part.side},
                    {"alone_us", part.alone_us},
                    {"together_us", part.together_us},
                    {"slowdown", part.slowdown()},
                    {"launches", part.launches},
                    {"overlap", part.overlap},
                    {"losses", std::move(losses)}});
  }
  return list;
}

std::vector<PairPart> parts_of(const json& list) {
  std::vector<PairPart> parts;
  for (const json& entry : list) {
    PairPart part{.name = entry.at("name"),
                  .side = entry.at("side"),
                  .alone_us = entry.at("alone_us"),
                  .together_us = entry.at("together_us"),
                  .launches = entry.at("launches"),
                  .overlap = entry.at("overlap")};
    for (const json& loss : entry.at("losses")) part.losses.push_back({loss.at("cause"), loss.at("us")});
    parts.push_back(std::move(part));
  }
  return parts;
}

ResultState result_of(const std::string& word) {
  if (word == result_state_name(ResultState::correct)) return ResultState::correct;
  if (word == result_state_name(ResultState::wrong)) return ResultState::wrong;
  return ResultState::unchecked;
}

Outcome outcome_of(const json& entry) {
  Outcome outcome{.scenario = entry.at("scenario"),
                  .settings = entry.at("settings"),
                  .time_us = entry.at("time_us"),
                  .time_us_rank0 = entry.at("time_us_rank0"),
                  .logical_gb_per_s = entry.at("logical_gb_per_s"),
                  .wire_gb_per_s = entry.at("wire_gb_per_s"),
                  .bound_us = entry.at("bound_us"),
                  .bound_share = entry.at("bound_share"),
                  .warp_instructions = entry.at("warp_instructions"),
                  .events = entry.at("events"),
                  .result = result_of(entry.at("result")),
                  .mismatch = entry.at("mismatch"),
                  .bottleneck = bottleneck_of(entry.at("bottleneck")),
                  .wall_s = entry.at("wall_s"),
                  .peak_rss_bytes = entry.at("peak_rss_bytes")};
  if (entry.at("basis") == "sampled")
    outcome.sampled = Sampled{.error_pct = entry.at("sampling").at("error_pct"),
                              .executed_share = entry.at("sampling").at("executed_share"),
                              .steady = entry.at("sampling").at("steady")};
  if (const json& nvlink = entry.at("nvlink_logical_gb_per_s"); !nvlink.is_null())
    outcome.nvlink_logical_gb_per_s = nvlink;
  for (const json& kernel : entry.at("kernels")) {
    outcome.kernels.push_back({kernel.at("role"), kernel.at("rank0_us"), kernel.at("max_us")});
  }
  for (const json& figure : entry.at("figures"))
    outcome.figures.push_back({figure.at("name"), figure.at("value"), figure.at("unit")});
  outcome.parts = parts_of(entry.at("parts"));
  outcome.memory = memory_from_json(entry.at("memory"));
  outcome.surrogate = entry.at("surrogate");
  outcome.faults = entry.at("faults");
  outcome.rdma_errors = entry.at("rdma_errors");
  return outcome;
}

}  // namespace

json to_json(const Outcome& outcome) {
  json kernels = json::array();
  for (const KernelTime& kernel : outcome.kernels) {
    kernels.push_back({{"role", kernel.role}, {"rank0_us", kernel.rank0_us}, {"max_us", kernel.max_us}});
  }
  json figures = json::array();
  for (const Figure& figure : outcome.figures)
    figures.push_back({{"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}});
  json sampling;
  if (outcome.sampled)
    sampling = {{"error_pct", outcome.sampled->error_pct},
                {"executed_share", outcome.sampled->executed_share},
                {"steady", outcome.sampled->steady}};
  return {{"scenario", outcome.scenario},
          {"settings", outcome.settings},
          {"basis", outcome.sampled ? "sampled" : "simulated"},
          {"sampling", std::move(sampling)},
          {"time_us", outcome.time_us},
          {"time_us_rank0", outcome.time_us_rank0},
          {"logical_gb_per_s", outcome.logical_gb_per_s},
          {"wire_gb_per_s", outcome.wire_gb_per_s},
          {"nvlink_logical_gb_per_s",
           outcome.nvlink_logical_gb_per_s ? json(*outcome.nvlink_logical_gb_per_s) : json()},
          {"bound_us", outcome.bound_us},
          {"bound_share", outcome.bound_share},
          {"warp_instructions", outcome.warp_instructions},
          {"events", outcome.events},
          {"result", result_state_name(outcome.result)},
          {"mismatch", outcome.mismatch},
          {"kernels", std::move(kernels)},
          {"figures", std::move(figures)},
          {"parts", parts_json(outcome.parts)},
          {"memory", memory_json(outcome.memory)},
          {"surrogate", outcome.surrogate},
          {"faults", outcome.faults},
          {"rdma_errors", outcome.rdma_errors},
          {"bottleneck", bottleneck_json(outcome.bottleneck)},
          {"wall_s", outcome.wall_s},
          {"peak_rss_bytes", outcome.peak_rss_bytes}};
}

std::string json_text(const json& document, JsonLayout layout) {
  const bool indented = layout == JsonLayout::indented;
  return document.dump(indented ? 2 : -1, ' ', false, json::error_handler_t::replace) +
         (indented ? "\n" : "");
}

Expected<Outcome> outcome_from_json(std::string_view text) {
  try {
    return outcome_of(json::parse(text));
  } catch (const json::exception& failed) {
    return Error{.message = "not a stored result: " + std::string(failed.what())};
  }
}

}  // namespace ptxwire::sim
