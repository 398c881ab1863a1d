#include "sim/workload/scenario.hpp"

#include <toml++/toml.h>
#include <algorithm>
#include <filesystem>

#include "models/machines/toml_file.hpp"
#include "ptx_frontend/frontend.hpp"
#include "sim/workload/internode.hpp"
#include "sim/workload/low_latency.hpp"
#include "sim/workload/ring_broadcast.hpp"
#include "sim/workload/routing_file.hpp"
#include "sim/workload/scenario_keys.hpp"
#include "support/data_path.hpp"
#include "support/nearest.hpp"

namespace ptxwire::sim {

namespace {

constexpr uint32_t kMaxRanks = 8;            ///< of the intranode kernels (kernels/src/comm.cuh)
constexpr uint32_t kMaxTopk = 32;            ///< one lane of a warp each
constexpr uint32_t kRowGranuleBytes = 512;   ///< 32 lanes of 16 bytes
constexpr uint32_t kMaxExperts = 1U << 16U;  ///< the routing draws a score per token and expert
constexpr uint32_t kMaxCalls = 10000;        ///< the last one is timed: more only takes time
constexpr uint32_t kMaxRegisters = 255;      ///< that an instruction can name
constexpr uint32_t kMaxHidden = 1U << 20U;   ///< rows of megabytes are no rows
constexpr uint32_t kScaleGroup = 128;        ///< FP8 elements per scale factor
/// Half a row must fit the staging buffer of a warp beside its mbarrier (kernels/src/dispatch_d.cu).
constexpr uint32_t kMaxBulkRowBytes = 2 * (8192 - 16);
/// Warps of a combine receiver that add tokens (kernels/src/combine.cuh). A slot is released when all of them
/// are past it, and each takes every 23rd token: with fewer slots than that and a chunk, sender and receivers
/// wait for each other for ever.
constexpr uint32_t kCombineWorkers = 23;
constexpr std::string_view kMachinePrefix = "machine.";
constexpr std::string_view kValuesPrefix = "values.";

Error wrong_family(const Scenario& scenario, std::string_view key) {
  return Error{.message = "'" + std::string(key) + "' means nothing for kernel = \"" +
                          std::string(kernel_family_name(scenario.kernel)) + "\"",
               .path = {},
               .hint = {}};
}

ScenarioValue written_value(const toml::node& node) {
  using Kind = ScenarioValue::Kind;
  if (const auto* text = node.as_string()) return {Kind::quoted, text->get()};
  if (const auto* whole = node.as_integer()) return {Kind::whole, std::to_string(whole->get())};
  if (const auto* real = node.as_floating_point()) return {Kind::real, std::to_string(real->get())};
  if (const auto* boolean = node.as_boolean()) return {Kind::boolean, boolean->get() ? "true" : "false"};
  return {Kind::real, node.is_array() ? "an array" : node.is_table() ? "a table" : "a date or time"};
}

Error located(Error error, const std::string& path, const toml::source_region& source) {
  error.path = path;
  error.line = source.begin.line;
  error.column = source.begin.column;
  return error;
}

Expected<void> read_machine_parameters(Scenario& scenario, const std::string& path, const toml::node& node) {
  const toml::array* list = node.as_array();
  if (list == nullptr)
    return models::error_at(path, node.source(), "'machine_parameters' must be a list of \"key=value unit\"");
  for (const toml::node& entry : *list) {
    if (!entry.is_string())
      return models::error_at(path, entry.source(),
                              "'machine_parameters' must be a list of \"key=value unit\"");
    scenario.machine_parameters.push_back(entry.as_string()->get());
  }
  return {};
}

/// The files of traces/scenarios without folder and ending.
std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  const auto folder = find_data_file("traces/scenarios");
  if (!folder) return names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(*folder, ignored))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Error refuse(const Scenario& scenario, std::string message, std::string hint = {}) {
  return Error{.message = std::move(message), .path = scenario.path, .hint = std::move(hint)};
}

}  // namespace

uint32_t Scenario::scales() const { return elements == ElementType::fp8 ? hidden / kScaleGroup : 0; }

uint64_t Scenario::row_bytes() const {
  return elements == ElementType::fp8 ? uint64_t{hidden} + uint64_t{scales()} * sizeof(float)
                                      : uint64_t{2} * hidden;
}

Expected<Scenario> load_scenario(const std::string& path) {
  const auto table = models::parse_toml_file(path);
  if (!table) return table.error();
  if (table->empty())
    return Error{.message = "the file is empty, expected a scenario, as in 'kernel = \"intranode_dispatch\"'",
                 .path = path};
  Scenario scenario;
  scenario.path = path;
  scenario.name = std::filesystem::path(path).stem().string();
  for (const auto& [name, node] : *table) {
    if (name.str() == "machine_parameters") {
      if (const auto read = read_machine_parameters(scenario, path, node); !read) return read.error();
      continue;
    }
    if (is_micro_table(name.str())) {
      if (const auto read = read_micro_table(scenario.micro, path, name.str(), node); !read)
        return read.error();
      continue;
    }
    if (is_co_run_table(name.str())) {
      if (const auto read = read_co_run_table(scenario.co_run, path, name.str(), node); !read)
        return read.error();
      continue;
    }
    const auto key = find_scenario_key(name.str());
    if (!key) return located(key.error(), path, name.source());
    if (const auto set = (*key)->set(scenario, **key, written_value(node)); !set)
      return located(set.error(), path, node.source());
  }
  for (const auto& [name, node] : *table) {
    const auto key = find_scenario_key(name.str());
    const bool fits = key                           ? (*key)->fits(scenario.kernel)
                      : is_micro_table(name.str())  ? scenario.kernel == KernelFamily::micro
                      : is_co_run_table(name.str()) ? scenario.kernel == KernelFamily::co_run
                                                    : true;
    if (!fits) return located(wrong_family(scenario, name.str()), path, name.source());
  }
  if (const auto valid = validate(scenario); !valid) return valid.error();
  return scenario;
}

Expected<std::string> find_scenario(const std::string& name_or_path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(name_or_path, ignored)) return name_or_path;
  if (name_or_path.find('/') == std::string::npos) {
    std::string file = name_or_path;
    if (!file.ends_with(".toml")) file += ".toml";
    if (auto found = find_data_file("traces/scenarios/" + file)) return found;
  }
  const std::string meant = nearest(name_or_path, scenario_names());
  return Error{.message = "no scenario '" + name_or_path + "'",
               .hint = meant.empty() ? "expected a scenario file, or the name of one in traces/scenarios"
                                     : "did you mean '" + meant + "'?"};
}

Expected<void> apply_override(Scenario& scenario, std::string_view assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return Error{
        .message = "'" + std::string(assignment) + "' is not of the form key=value", .path = {}, .hint = {}};
  const std::string_view name = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  if (name.starts_with(kMachinePrefix)) {
    scenario.machine_parameters.emplace_back(assignment.substr(kMachinePrefix.size()));
    return {};
  }
  if (name.starts_with(kValuesPrefix))
    return set_micro_value(scenario.micro, name.substr(kValuesPrefix.size()), value);
  if (scenario.kernel == KernelFamily::co_run) {
    const auto set = set_co_run_key(scenario.co_run, name, value);
    if (!set) return set.error();
    if (*set) return {};
  }
  const auto key = find_scenario_key(name);
  if (!key) return key.error();
  if (!(*key)->fits(scenario.kernel)) return wrong_family(scenario, name);
  return (*key)->set(scenario, **key, {ScenarioValue::Kind::text, std::string(value)});
}

namespace {

std::string number(uint64_t value) { return std::to_string(value); }

/// What the dispatch and combine kernels have in common.
Expected<void> validate_experts(const Scenario& s) {
  if (s.ranks == 0 || s.experts == 0 || s.experts % s.ranks != 0 || s.experts > kMaxExperts)
    return refuse(s, "'experts' is " + number(s.experts) + ", expected a multiple of the " + number(s.ranks) +
                         " ranks of at most " + number(kMaxExperts));
  if (s.topk == 0 || s.topk > kMaxTopk || s.topk > s.experts)
    return refuse(s,
                  "'topk' is " + number(s.topk) + ", expected 1 to " + number(std::min(kMaxTopk, s.experts)));
  if (const auto valid = validate_routing_keys(s); !valid) return valid.error();
  if (s.routing == RoutingPattern::all_to_one && s.topk > s.experts / s.ranks)
    return refuse(s, "'routing' all_to_one needs topk <= experts / ranks");
  if (s.calls == 0 || s.calls > kMaxCalls)
    return refuse(s, "'calls' is " + number(s.calls) + ", expected 1 to " + number(kMaxCalls));
  if (!is_dispatch(s) && s.elements == ElementType::fp8)
    return refuse(s, "'elements' is fp8, but combine adds bf16 rows", "elements = \"bf16\"");
  const uint64_t payload = row_payload_bytes(s);
  if (s.hidden > kMaxHidden)
    return refuse(s, "'hidden' is " + number(s.hidden) + ", expected at most " + number(kMaxHidden));
  if (payload == 0 || payload % kRowGranuleBytes != 0)
    return refuse(s, "'hidden' is " + number(s.hidden) + ": rows of " + number(payload) +
                         " bytes, expected a multiple of " + number(kRowGranuleBytes));
  return {};
}

Expected<void> validate_intranode(const Scenario& s) {
  if (s.revision != KernelRevision::a && s.revision != KernelRevision::d)
    return refuse(s, "'revision': the intranode kernels have a and d");
  if (s.ranks != 2 && s.ranks != 4 && s.ranks != kMaxRanks)
    return refuse(s, "'ranks' is " + number(s.ranks) + ", the intranode kernels take 2, 4 or 8");
  if (s.sms == 0 || s.sms % 2 != 0)
    return refuse(s, "'sms' is " + number(s.sms) + ", expected an even number: a channel is two CTAs");
  if (const auto valid = validate_experts(s); !valid) return valid.error();
  if (s.chunk == 0 || s.chunk > s.ring_slots)
    return refuse(
        s, "'chunk' is " + number(s.chunk) + ", expected 1 to the " + number(s.ring_slots) + " ring_slots",
        "a sender would wait for more free slots than the ring has");
  if (!is_dispatch(s) && s.ring_slots < kCombineWorkers - 1 + s.chunk)
    return refuse(s,
                  "'ring_slots' is " + number(s.ring_slots) + ", combine with chunk " + number(s.chunk) +
                      " needs " + number(kCombineWorkers - 1 + s.chunk),
                  "a slot is released only when all 23 adding warps are past it");
  const uint64_t payload = row_payload_bytes(s);
  if (is_dispatch(s) && s.revision == KernelRevision::d && payload > kMaxBulkRowBytes)
    return refuse(s, "'hidden' is " + number(s.hidden) + ": rows of " + number(payload) +
                         " bytes do not fit the staging of revision d, at most " + number(kMaxBulkRowBytes));
  return {};
}

}  // namespace

Expected<void> validate(const Scenario& s) {
  if (s.registers > kMaxRegisters)
    return refuse(s, "'registers' is " + std::to_string(s.registers) + ", expected at most " +
                         std::to_string(kMaxRegisters) + " per thread");
  if (const auto rules = ptx::parse_hint_rules(s.cache_hints); !rules)
    return refuse(s, "'cache_hints': " + rules.error().message, rules.error().hint);
  if (s.kernel == KernelFamily::micro) return validate_micro(s);
  if (s.kernel == KernelFamily::ring_broadcast) return validate_ring_broadcast(s);
  if (s.kernel == KernelFamily::co_run) return validate_co_run(s);
  if (is_internode(s.kernel)) {
    if (const auto valid = validate_experts(s); !valid) return valid.error();
    return validate_internode(s);
  }
  if (is_low_latency(s.kernel)) return validate_low_latency(s);
  if (s.kernel != KernelFamily::intranode_dispatch && s.kernel != KernelFamily::intranode_combine)
    return refuse(s, "'kernel': this family has no host side yet");
  return validate_intranode(s);
}

std::vector<std::pair<std::string, std::string>> scenario_settings(const Scenario& scenario) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const ScenarioKey& key : scenario_key_table())
    if (key.fits(scenario.kernel)) settings.emplace_back(key.name, key.get(scenario));
  for (const auto& [name, value] : scenario.micro.values) {
    std::string product;
    for (const std::string& factor : value.factors) product += (product.empty() ? "" : " * ") + factor;
    settings.emplace_back(std::string(kValuesPrefix) + name, product);
  }
  if (scenario.kernel == KernelFamily::co_run)
    for (auto& setting : co_run_settings(scenario.co_run)) settings.push_back(std::move(setting));
  for (const std::string& parameter : scenario.machine_parameters) {
    const size_t equals = parameter.find('=');
    settings.emplace_back(std::string(kMachinePrefix) + parameter.substr(0, equals),
                          equals == std::string::npos ? "" : parameter.substr(equals + 1));
  }
  return settings;
}

std::vector<ScenarioKeyInfo> scenario_keys() {
  std::vector<ScenarioKeyInfo> keys;
  for (const ScenarioKey& key : scenario_key_table()) keys.push_back({key.name, key.accepts, key.meaning});
  return keys;
}

}  // namespace ptxwire::sim
