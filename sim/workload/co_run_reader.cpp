// The tables and keys of a pair of kernels in a scenario file.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "models/machines/quantity.hpp"
#include "models/machines/toml_file.hpp"
#include "sim/workload/co_run.hpp"
#include "sim/workload/scenario.hpp"
#include "support/nearest.hpp"

namespace ptxwire::sim {
namespace {

constexpr std::array<std::string_view, 4> kTables = {"communication", "compute", "background", "baselines"};
constexpr std::array<std::string_view, 4> kPartKeys = {"scenario", "set", "launches", "gpus"};
constexpr std::array<std::string_view, 2> kOtherPartKeys = {"scenario", "set"};
constexpr uint32_t kMaxLaunches = 10000;
constexpr double kMaxFootprint = 1e12;

/// A key of [background], from a file or an override.
Expected<void> set_background_key(models::TrafficLoad& load, std::string_view key, const std::string& text) {
  static constexpr std::array<std::string_view, 5> kKeys = {"footprint", "bytes_per_flop", "flops_per_clk",
                                                            "flops", "write_share"};
  const auto refuse = [](std::string message, std::string hint) {
    return Error{.message = std::move(message), .path = {}, .hint = std::move(hint)};
  };
  const auto known = std::find(kKeys.begin(), kKeys.end(), key);
  if (known == kKeys.end()) {
    return refuse("unknown key '" + std::string(key) + "' of [background]", suggestion(key, kKeys));
  }
  const auto quantity = models::split_quantity(text);
  const auto wrong = [&](const std::string& expected) {
    return refuse("'background." + std::string(key) + "' is '" + text + "', expected " + expected, "");
  };
  if (!quantity || quantity->value < 0 || (key != "footprint" && !quantity->unit.empty()))
    return wrong("a number of 0 or more");
  if (key == "footprint") {
    const auto factor = quantity->unit.empty()
                            ? Expected<double>(1)
                            : models::unit_factor(quantity->unit, models::Dimension::bytes);
    const double bytes = factor ? quantity->value * *factor : 0;
    if (!factor || bytes < models::TrafficAgent::kPieceBytes || bytes > kMaxFootprint)
      return wrong("a number of bytes from 512 on, as in \"64 MiB\"");
    load.footprint_bytes =
        static_cast<uint64_t>(bytes) / models::TrafficAgent::kPieceBytes * models::TrafficAgent::kPieceBytes;
  } else if (key == "write_share") {
    if (quantity->value > 1) return wrong("a share from 0 to 1");
    load.write_share = quantity->value;
  } else {
    if (quantity->value == 0) return wrong("a number above 0");
    (key == "bytes_per_flop" ? load.bytes_per_flop
     : key == "flops"        ? load.flops
                             : load.flops_per_clk) = quantity->value;
  }
  return {};
}

/// Reads the tables of one file; keeps the first error and does nothing after it.
class CoRunReader : public models::TomlReader {
 public:
  using TomlReader::TomlReader;

  CoRunPart part(const toml::node& node, const std::string& name, bool compute) {
    CoRunPart part;
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      fail(node, "expected '" + name + "' to be a table");
      return part;
    }
    check_keys(*table, compute ? std::span<const std::string_view>(kPartKeys) : kOtherPartKeys);
    const toml::node* scenario = table->get("scenario");
    if (scenario == nullptr || !scenario->is_string()) {
      fail(node, "expected 'scenario' of '" + name + "' to be the name of a scenario, in quotes");
      return part;
    }
    part.scenario = scenario->value_or(std::string());
    if (const toml::node* set = table->get("set")) read_settings(*set, part);
    if (const toml::node* launches = table->get("launches")) {
      const auto count = launches->value<int64_t>();
      if (!launches->is_integer() || *count < 1 || *count > kMaxLaunches)
        fail(*launches, "'launches' must be a whole number from 1 to " + std::to_string(kMaxLaunches));
      part.launches = static_cast<uint32_t>(count.value_or(1));
    }
    if (const toml::node* gpus = table->get("gpus")) {
      const std::string word = gpus->value_or(std::string());
      if (word != "all" && word != "first") fail(*gpus, "'gpus' must be \"all\" or \"first\"");
      part.all_gpus = word == "all";
    }
    return part;
  }

  void background(const toml::node& node, std::optional<models::TrafficLoad>& load) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return fail(node, "expected 'background' to be a table");
    load.emplace();
    for (const auto& [key, value] : *table) {
      std::string text = value.value_or(std::string());
      if (!value.is_string() && value.is_number()) text = fmt::format("{}", value.value_or(0.0));
      if (const auto set = set_background_key(*load, key.str(), text); !set && !failed()) {
        fail(value, set.error().message, set.error().hint);
        return;
      }
    }
  }

  void compute(const toml::node& node, std::vector<CoRunPart>& parts) {
    const toml::array* list = node.as_array();
    if (list == nullptr) return fail(node, "expected [[compute]] tables");
    for (const toml::node& entry : *list) parts.push_back(part(entry, "compute", true));
  }

  void baselines(const toml::node& node, std::map<std::string, CoRunPart, std::less<>>& parts) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return fail(node, "expected [baselines.NAME] tables");
    for (const auto& [name, entry] : *table)
      parts[std::string(name.str())] = part(entry, "baselines." + std::string(name.str()), false);
  }

 private:
  void read_settings(const toml::node& node, CoRunPart& part) {
    const toml::array* list = node.as_array();
    if (list == nullptr) return fail(node, "expected 'set' to be a list of \"key=value\"");
    for (const toml::node& entry : *list) {
      if (!entry.is_string()) return fail(entry, "expected \"key=value\"");
      part.settings.push_back(entry.value_or(std::string()));
    }
  }
};

Error refuse(std::string message, std::string hint = {}) {
  return Error{.message = std::move(message), .path = {}, .hint = std::move(hint)};
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "56x32x1" becomes ctas=56, ctas_y=32, ctas_z=1.
Expected<void> set_shape(CoRunScenario& co_run, std::string_view name, std::string_view value,
                         std::span<const std::string_view> keys) {
  std::vector<std::string> numbers{""};
  for (const char c : value) {
    if (c == 'x') {
      numbers.emplace_back();
    } else {
      numbers.back() += c;
    }
  }
  if (numbers.size() > keys.size() || !std::all_of(numbers.begin(), numbers.end(), is_number))
    return refuse("'" + std::string(name) + "' is '" + std::string(value) + "', expected up to " +
                  std::to_string(keys.size()) + " whole numbers, as in 56x32x1");
  for (CoRunPart& part : co_run.compute)
    for (size_t i = 0; i < numbers.size(); ++i)
      part.settings.push_back("values." + std::string(keys[i]) + "=" + numbers[i]);
  return {};
}

/// A key of a part that is not a setting of its scenario. False if it is one.
Expected<bool> set_part_key(CoRunPart& part, std::string_view key, std::string_view value, bool compute) {
  if (key == "scenario") {
    part.scenario = value;
    return true;
  }
  if (compute && key == "launches") {
    uint32_t count = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
    if (error != std::errc() || end != value.data() + value.size() || count == 0 || count > kMaxLaunches)
      return refuse("'launches' is '" + std::string(value) + "', expected 1 to " +
                    std::to_string(kMaxLaunches));
    part.launches = count;
    return true;
  }
  if (compute && key == "gpus") {
    if (value != "all" && value != "first")
      return refuse("'gpus' is '" + std::string(value) + "', expected one of: all, first");
    part.all_gpus = value == "all";
    return true;
  }
  return false;
}

Expected<bool> set_part(CoRunPart& part, std::string_view key, std::string_view value, bool compute) {
  const auto own = set_part_key(part, key, value, compute);
  if (!own) return own.error();
  if (*own) return true;
  part.settings.push_back(std::string(key) + "=" + std::string(value));
  return true;
}

Expected<Scenario> scenario_of_part(const CoRunPart& part, const Scenario& whole) {
  const auto path = find_scenario(part.scenario);
  if (!path) return path.error();
  auto scenario = load_scenario(*path);
  if (!scenario) return scenario;
  if (scenario->kernel == KernelFamily::co_run)
    return Error{.message = "'" + part.scenario + "' is a pair itself and cannot be part of one",
                 .path = whole.path};
  scenario->machine = whole.machine;
  scenario->machine_parameters = whole.machine_parameters;
  for (const std::string& setting : part.settings)
    if (const auto applied = apply_override(*scenario, setting); !applied) {
      Error error = applied.error();
      error.path = "setting " + setting + " of " + part.scenario;
      return error;
    }
  if (const auto valid = validate(*scenario); !valid) return valid.error();
  return scenario;
}

}  // namespace

bool is_co_run_table(std::string_view name) {
  return std::find(kTables.begin(), kTables.end(), name) != kTables.end();
}

Expected<void> read_co_run_table(CoRunScenario& co_run, const std::string& path, std::string_view name,
                                 const toml::node& node) {
  CoRunReader reader(path);
  if (name == "communication") co_run.communication = reader.part(node, "communication", false);
  if (name == "compute") reader.compute(node, co_run.compute);
  if (name == "background") reader.background(node, co_run.background);
  if (name == "baselines") reader.baselines(node, co_run.baselines);
  return reader.result();
}

Expected<bool> set_co_run_key(CoRunScenario& co_run, std::string_view name, std::string_view value) {
  static constexpr std::array<std::string_view, 3> kGrid = {"ctas", "ctas_y", "ctas_z"};
  static constexpr std::array<std::string_view, 3> kBlock = {"threads", "threads_y", "threads_z"};
  static constexpr std::array<std::string_view, 1> kShared = {"shared"};
  const auto shaped = [](const Expected<void>& done) -> Expected<bool> {
    if (!done) return done.error();
    return true;
  };
  if (name == "grid") return shaped(set_shape(co_run, name, value, kGrid));
  if (name == "block") return shaped(set_shape(co_run, name, value, kBlock));
  if (name == "shared") return shaped(set_shape(co_run, name, value, kShared));
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view side = name.substr(0, dot), key = name.substr(dot + 1);
  if (side == "communication") {
    if (!co_run.communication) return refuse("the scenario has no [communication]");
    return set_part(*co_run.communication, key, value, false);
  }
  if (side == "background") {
    if (!co_run.background) co_run.background.emplace();
    const auto set = set_background_key(*co_run.background, key, std::string(value));
    if (!set) return set.error();
    return true;
  }
  if (side == "compute") {
    for (CoRunPart& part : co_run.compute)
      if (const auto set = set_part(part, key, value, true); !set) return set.error();
    return true;
  }
  return false;
}

std::vector<std::pair<std::string, std::string>> co_run_settings(const CoRunScenario& co_run) {
  std::vector<std::pair<std::string, std::string>> settings;
  const auto add = [&](const std::string& name, const CoRunPart& part) {
    settings.emplace_back(name + ".scenario", part.scenario);
    settings.emplace_back(name + ".launches", std::to_string(part.launches));
    settings.emplace_back(name + ".gpus", part.all_gpus ? "all" : "first");
    for (const std::string& setting : part.settings) {
      const size_t equals = std::min(setting.find('='), setting.size());
      settings.emplace_back(name + "." + setting.substr(0, equals),
                            setting.substr(std::min(equals + 1, setting.size())));
    }
  };
  if (co_run.communication) add("communication", *co_run.communication);
  for (const CoRunPart& part : co_run.compute) add("compute", part);
  if (co_run.background)
    for (const auto& [name, value] :
         {std::pair<const char*, double>{"footprint",
                                         static_cast<double>(co_run.background->footprint_bytes)},
          {"bytes_per_flop", co_run.background->bytes_per_flop},
          {"flops_per_clk", co_run.background->flops_per_clk},
          {"flops", co_run.background->flops},
          {"write_share", co_run.background->write_share}})
      settings.emplace_back(std::string("background.") + name, fmt::format("{}", value));
  for (const auto& [name, part] : co_run.baselines) add("baselines." + name, part);
  return settings;
}

Expected<CoRunScenarios> co_run_scenarios(const Scenario& whole) {
  CoRunScenarios parts;
  const auto add = [&](const CoRunPart& part, std::vector<Scenario>& out) -> Expected<void> {
    auto scenario = scenario_of_part(part, whole);
    if (!scenario) return scenario.error();
    out.push_back(*std::move(scenario));
    return {};
  };
  const CoRunScenario& co_run = whole.co_run;
  if (co_run.communication)
    if (const auto done = add(*co_run.communication, parts.communication); !done) return done.error();
  if (whole.baseline != "none") {
    const auto known = co_run.baselines.find(whole.baseline);
    if (known == co_run.baselines.end()) {
      std::string names = "none";
      for (const auto& [name, part] : co_run.baselines) names += ", " + name;
      return Error{.message = "'baseline' is '" + whole.baseline + "', expected one of: " + names,
                   .path = whole.path};
    }
    if (const auto done = add(known->second, parts.baseline); !done) return done.error();
  }
  for (const CoRunPart& part : co_run.compute)
    if (const auto done = add(part, parts.compute); !done) return done.error();
  return parts;
}

Expected<void> validate_co_run(const Scenario& whole) {
  const auto fail = [&](std::string message) {
    return Error{.message = std::move(message), .path = whole.path};
  };
  if (!whole.co_run.communication) return fail("a pair needs [communication]");
  const auto& background = whole.co_run.background;
  if (whole.co_run.compute.empty() && !background) return fail("a pair needs [[compute]] or [background]");
  if (background && (background->footprint_bytes == 0 || background->flops == 0 ||
                     background->flops_per_clk == 0 || background->bytes_per_flop == 0))
    return fail("[background] needs footprint, flops, flops_per_clk and bytes_per_flop");
  const auto parts = co_run_scenarios(whole);
  if (!parts) return parts.error();
  const uint32_t ranks = parts->communication[0].ranks;
  for (const Scenario& compute : parts->compute) {
    if (compute.kernel != KernelFamily::micro)
      return fail("compute kernel '" + compute.name + "' is no microbenchmark scenario (kernel = \"micro\")");
    if (compute.ranks != 1)
      return fail("compute kernel '" + compute.name + "' has 'ranks' = " + std::to_string(compute.ranks) +
                  ", expected 1: it runs on each GPU by itself");
  }
  if (ranks == 0) return fail("the communication has no ranks");
  return {};
}

}  // namespace ptxwire::sim
