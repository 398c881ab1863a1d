#include "sim/study/sweep_plan.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "models/machines/toml_file.hpp"

namespace ptxwire::sim {
namespace {

constexpr size_t kMostPoints = 100000;

using Settings = std::vector<std::string>;

class SweepReader : public models::TomlReader {
 public:
  using TomlReader::TomlReader;

  Expected<SweepPlan> read(const toml::table& root) {
    static constexpr std::array<std::string_view, 6> kKeys = {"scenario", "set",  "sampled",
                                                              "machine",  "grid", "point"};
    check_keys(root, kKeys);
    const std::vector<std::string> scenarios = scenarios_of(root);
    Job base{.settings = words(root, "set")};
    if (const toml::node* node = root.get("machine")) base.machine = word(*node);
    if (const toml::node* node = root.get("sampled")) {
      if (!node->is_boolean()) fail(*node, "expected 'sampled' to be true or false");
      base.sampling = node->value_or(false) ? Sampling::if_possible : Sampling::off;
    }
    std::vector<Settings> combinations = grid_of(root);
    add_points(root, combinations);
    if (combinations.empty() && !root.contains("grid") && !root.contains("point")) combinations.push_back({});
    for (const std::string& scenario : scenarios)
      for (const Settings& settings : combinations) add(base, scenario, settings);
    if (const Expected<void> read = result(); !read) return read.error();
    return std::move(plan_);
  }

 private:
  std::string word(const toml::node& node) {
    if (node.is_string()) return std::string(node.value_or(std::string_view()));
    if (node.is_integer()) return std::to_string(node.value_or(int64_t{0}));
    if (node.is_boolean()) return node.value_or(false) ? "true" : "false";
    if (node.is_floating_point()) {
      std::ostringstream text;
      text << node.value_or(0.0);
      return text.str();
    }
    fail(node, "expected a string, a number or a boolean");
    return {};
  }

  std::vector<std::string> list(const toml::node& node, const std::string& what) {
    std::vector<std::string> values;
    const toml::array* array = node.as_array();
    if (array == nullptr || array->empty()) {
      fail(node, "expected " + what);
      return values;
    }
    for (const toml::node& item : *array) values.push_back(word(item));
    return values;
  }

  std::vector<std::string> words(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    return node != nullptr ? list(*node, "'" + std::string(key) + "' to be a list of \"KEY=VALUE\"")
                           : Settings();
  }

  std::vector<std::string> scenarios_of(const toml::table& root) {
    const toml::node* node = root.get("scenario");
    if (node == nullptr) {
      fail(root, "expected 'scenario', a name or a list of names");
      return {};
    }
    return node->is_string() ? Settings{word(*node)}
                             : list(*node, "'scenario' to be a name or a list of names");
  }

  std::vector<Settings> grid_of(const toml::table& root) {
    const toml::node* node = root.get("grid");
    if (node == nullptr) return {};
    const toml::table* axes = node->as_table();
    if (axes == nullptr || axes->empty()) {
      fail(*node, "expected [grid] to be a table of lists");
      return {};
    }
    // toml++ keeps keys sorted; people expect the order in which they wrote them.
    std::vector<std::pair<toml::source_position, std::string>> order;
    for (const auto& [key, values] : *axes) order.emplace_back(values.source().begin, key.str());
    std::sort(order.begin(), order.end());
    std::vector<Settings> combinations = {{}};
    for (const auto& [place, key] : order) {
      const toml::node& axis = *axes->get(key);
      const std::vector<std::string> values = list(axis, "'" + key + "' to be a list of values");
      if (combinations.size() * values.size() > kMostPoints) {
        fail(axis, "more than " + std::to_string(kMostPoints) + " points");
        return {};
      }
      std::vector<Settings> longer;
      for (const Settings& settings : combinations)
        for (const std::string& value : values) {
          longer.push_back(settings);
          longer.back().push_back(fmt::format("{}={}", key, value));
        }
      combinations = std::move(longer);
    }
    return combinations;
  }

  void add_points(const toml::table& root, std::vector<Settings>& combinations) {
    const toml::node* node = root.get("point");
    if (node == nullptr) return;
    const toml::array* points = node->as_array();
    if (points == nullptr) return fail(*node, "expected [[point]] tables");
    for (const toml::node& item : *points) {
      const toml::table* table = item.as_table();
      static constexpr std::array<std::string_view, 1> kPointKeys = {"set"};
      if (table == nullptr) return fail(item, "expected a [[point]] table");
      check_keys(*table, kPointKeys);
      combinations.push_back(words(*table, "set"));
    }
  }

  void add(const Job& base, const std::string& scenario, const Settings& settings) {
    Job job = base;
    job.scenario = scenario;
    job.settings.insert(job.settings.end(), settings.begin(), settings.end());
    std::string name = scenario;
    for (const std::string& setting : job.settings) name += '\n' + setting;
    if (!seen_.insert(name).second) return;
    for (const std::string& setting : settings) {
      const std::string key = setting.substr(0, setting.find('='));
      if (std::find(plan_.varied.begin(), plan_.varied.end(), key) == plan_.varied.end())
        plan_.varied.push_back(key);
    }
    plan_.points.push_back(std::move(job));
  }

  SweepPlan plan_;
  std::set<std::string> seen_;
};

}  // namespace

Expected<SweepPlan> parse_sweep(std::string_view text, const std::string& path) {
  try {
    const toml::table root = toml::parse(text, path);
    Expected<SweepPlan> plan = SweepReader(path).read(root);
    if (plan) plan->path = path;
    return plan;
  } catch (const toml::parse_error& failed) {
    return models::error_at(path, failed.source(), std::string(failed.description()));
  }
}

}  // namespace ptxwire::sim
