#include "sim/study/suite.hpp"

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <sstream>

#include "models/machines/toml_file.hpp"
#include "sim/study/glob.hpp"
#include "sim/study/text_file.hpp"

namespace ptxwire::sim {
namespace {

/// Reads one suite file; every error carries the place of the node it is about.
class SuiteReader : public models::TomlReader {
 public:
  using TomlReader::TomlReader;

  Expected<Suite> read(const toml::table& root) {
    static constexpr std::array<std::string_view, 8> kKeys = {"description",    "include",   "sample_above_s",
                                                              "rows",           "not_run",   "threshold",
                                                              "mean_threshold", "known_miss"};
    check_keys(root, kKeys);
    suite_.description = text(root, "description");
    suite_.include = words(root, "include", false);
    if (const toml::node* node = root.get("sample_above_s")) sample_above_s_ = seconds(*node);
    for_each_table(root, "rows", [&](const toml::table& table) { read_rows(table); });
    for_each_table(root, "not_run", [&](const toml::table& table) {
      static constexpr std::array<std::string_view, 2> kNotRunKeys = {"ids", "reason"};
      check_keys(table, kNotRunKeys);
      suite_.not_run.push_back({words(table, "ids", true), text(table, "reason")});
    });
    for_each_table(root, "threshold", [&](const toml::table& table) {
      static constexpr std::array<std::string_view, 2> kThresholdKeys = {"ids", "max_error_pct"};
      check_keys(table, kThresholdKeys);
      suite_.thresholds.push_back({words(table, "ids", true), percentage(table, "max_error_pct")});
    });
    for_each_table(root, "mean_threshold", [&](const toml::table& table) { read_mean_threshold(table); });
    for_each_table(root, "known_miss", [&](const toml::table& table) {
      static constexpr std::array<std::string_view, 3> kMissKeys = {"ids", "physics", "max_error_pct"};
      check_keys(table, kMissKeys);
      KnownMiss miss{.ids = words(table, "ids", true), .physics = text(table, "physics")};
      if (table.contains("max_error_pct")) miss.max_error_pct = percentage(table, "max_error_pct");
      suite_.known_misses.push_back(std::move(miss));
    });
    if (const Expected<void> read = result(); !read) return read.error();
    return suite_;
  }

 private:
  template <typename Read>
  void for_each_table(const toml::table& root, std::string_view key, Read read) {
    const toml::node* node = root.get(key);
    if (node == nullptr) return;
    const toml::array* tables = node->as_array();
    if (tables == nullptr) return fail(*node, "expected [[" + std::string(key) + "]] tables");
    for (const toml::node& item : *tables) {
      if (const toml::table* table = item.as_table()) {
        read(*table);
      } else {
        fail(item, "expected a [[" + std::string(key) + "]] table");
      }
    }
  }

  std::string text(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    if (node == nullptr || !node->is_string()) {
      fail(node != nullptr ? *node : static_cast<const toml::node&>(table),
           "expected '" + std::string(key) + "' to be a string");
      return {};
    }
    return std::string(node->value_or(std::string_view()));
  }

  std::vector<std::string> words(const toml::table& table, std::string_view key, bool required) {
    const toml::node* node = table.get(key);
    if (node == nullptr && !required) return {};
    std::vector<std::string> list;
    const toml::array* array = node != nullptr ? node->as_array() : nullptr;
    if (array == nullptr || array->empty()) {
      fail(node != nullptr ? *node : static_cast<const toml::node&>(table),
           "expected '" + std::string(key) + "' to be a list of strings");
      return list;
    }
    for (const toml::node& item : *array) {
      if (!item.is_string()) fail(item, "expected a string");
      list.emplace_back(item.value_or(std::string_view()));
    }
    return list;
  }

  double seconds(const toml::node& node) {
    const std::optional<double> value = node.value<double>();
    if (!value || !(*value >= 0))
      fail(node, "expected 'sample_above_s' to be a number of seconds, 0 or more");
    return value.value_or(0);
  }

  double percentage(const toml::table& table, std::string_view key) {
    const std::optional<double> value = table[key].value<double>();
    if (!value || !(*value >= 0))
      fail(table, "expected '" + std::string(key) + "' to be a number of per cent, 0 or more");
    return value.value_or(0);
  }

  void read_mean_threshold(const toml::table& table) {
    static constexpr std::array<std::string_view, 4> kKeys = {"name", "ids", "roles", "max_mape_pct"};
    check_keys(table, kKeys);
    MeanThreshold mean{.name = text(table, "name"),
                       .ids = words(table, "ids", true),
                       .max_mape_pct = percentage(table, "max_mape_pct")};
    for (const std::string& word : words(table, "roles", false)) {
      const std::optional<Role> role = role_of(word);
      if (!role) fail(table, "unknown role '" + word + "', expected 'fit', 'test' or 'report'");
      mean.roles.push_back(role.value_or(Role::report));
    }
    suite_.mean_thresholds.push_back(std::move(mean));
  }

  static std::optional<Role> role_of(std::string_view word) {
    for (const Role role : {Role::fit, Role::test, Role::report})
      if (word == role_name(role)) return role;
    return std::nullopt;
  }

  void read_rows(const toml::table& table) {
    static constexpr std::array<std::string_view, 4> kKeys = {"ids", "set", "scenario", "search"};
    check_keys(table, kKeys);
    SuiteRows rows{.ids = words(table, "ids", true),
                   .set = words(table, "set", false),
                   .sample_above_s = sample_above_s_};
    if (table.contains("scenario")) rows.scenario = text(table, "scenario");
    if (const toml::node* search = table.get("search")) {
      const toml::table* axes = search->as_table();
      if (axes == nullptr) return fail(*search, "expected 'search' to be a table of lists");
      for (const auto& [key, node] : *axes) rows.search.push_back({std::string(key.str()), values(node)});
    }
    suite_.rows.push_back(std::move(rows));
  }

  std::vector<std::string> values(const toml::node& node) {
    std::vector<std::string> list;
    const toml::array* array = node.as_array();
    if (array == nullptr || array->empty()) {
      fail(node, "expected a list of values to try");
      return list;
    }
    for (const toml::node& item : *array) {
      if (item.is_string()) {
        list.emplace_back(item.value_or(std::string_view()));
      } else if (item.is_integer()) {
        list.push_back(std::to_string(item.value_or(int64_t{0})));
      } else {
        fail(item, "expected an integer or a string");
      }
    }
    return list;
  }

  Suite suite_;
  double sample_above_s_ = std::numeric_limits<double>::infinity();
};

/// What includes what, from the suite asked for to the one at hand.
using IncludePath = std::vector<std::string>;

Expected<Suite> read_with_includes(const std::string& path, IncludePath& open) {
  if (std::find(open.begin(), open.end(), path) != open.end())
    return Error{.message = "a suite that includes itself", .path = path};
  const Expected<std::string> content = read_whole_file(path);
  if (!content) return content.error();
  Expected<Suite> suite = parse_suite(*content, path);
  if (!suite) return suite;
  open.push_back(path);
  for (const std::string& name : suite->include) {
    const std::string file = (std::filesystem::path(path).parent_path() / (name + ".toml")).string();
    const Expected<Suite> part = read_with_includes(file, open);
    if (!part) return part.error();
    const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(suite->rows, part->rows);
    append(suite->not_run, part->not_run);
    append(suite->thresholds, part->thresholds);
    append(suite->mean_thresholds, part->mean_thresholds);
    append(suite->known_misses, part->known_misses);
  }
  open.pop_back();
  return suite;
}

bool any_match(const std::vector<std::string>& globs, std::string_view id) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return glob_match(glob, id); });
}

/// Every combination of the values searched, each after the settings that the row and the suite state.
std::vector<std::vector<std::string>> candidates_of(const Measurement& row, const SuiteRows& rows) {
  std::vector<std::string> stated = row.settings;
  stated.insert(stated.end(), rows.set.begin(), rows.set.end());
  std::vector<std::vector<std::string>> candidates = {stated};
  for (const SearchAxis& axis : rows.search) {
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& candidate : candidates) {
      for (const std::string& value : axis.values) {
        longer.push_back(candidate);
        longer.back().push_back(axis.key + '=' + value);
      }
    }
    candidates = std::move(longer);
  }
  return candidates;
}

/// Rows of one measurement, best representative first.
std::map<std::string_view, std::vector<const Measurement*>> groups_of(
    const std::vector<Measurement>& measurements) {
  std::map<std::string_view, std::vector<const Measurement*>> groups;
  for (const Measurement& row : measurements) groups[row.group].push_back(&row);
  for (auto& [name, members] : groups) {
    std::stable_sort(members.begin(), members.end(), [](const Measurement* a, const Measurement* b) {
      return (a->role == Role::report ? 1 : 0) < (b->role == Role::report ? 1 : 0);
    });
  }
  return groups;
}

}  // namespace

bool MeanThreshold::covers(const Measurement& row) const {
  const bool has_role = roles.empty() || std::find(roles.begin(), roles.end(), row.role) != roles.end();
  return has_role && any_match(ids, row.id);
}

const KnownMiss* Suite::known_miss(std::string_view id) const {
  const auto found = std::find_if(known_misses.begin(), known_misses.end(),
                                  [&](const KnownMiss& miss) { return any_match(miss.ids, id); });
  return found != known_misses.end() ? &*found : nullptr;
}

std::optional<double> Suite::max_error_pct(std::string_view id) const {
  if (const KnownMiss* miss = known_miss(id); miss != nullptr && miss->max_error_pct)
    return miss->max_error_pct;
  for (const SuiteThreshold& threshold : thresholds) {
    if (any_match(threshold.ids, id)) return threshold.max_error_pct;
  }
  return std::nullopt;
}

Expected<Suite> parse_suite(std::string_view text, const std::string& path) {
  try {
    const toml::table root = toml::parse(text, path);
    Expected<Suite> suite = SuiteReader(path).read(root);
    if (suite) suite->path = path;
    return suite;
  } catch (const toml::parse_error& failed) {
    return models::error_at(path, failed.source(), std::string(failed.description()));
  }
}

Expected<Suite> read_suite(const std::string& path) {
  IncludePath open;
  return read_with_includes(path, open);
}

Expected<Plan> plan_suite(const Suite& suite, const std::vector<Measurement>& measurements,
                          const std::string& only) {
  const auto groups = groups_of(measurements);
  Plan plan;
  std::set<std::string_view> planned;
  for (const SuiteRows& rows : suite.rows) {
    for (const std::string& glob : rows.ids) {
      bool matched = false;
      for (const Measurement& candidate : measurements) {
        if (!glob_match(glob, candidate.id)) continue;
        matched = true;
        if (!only.empty() && !glob_match(only, candidate.id)) continue;
        const std::vector<const Measurement*>& members = groups.at(candidate.group);
        // The first member that the same pattern names stands for the group.
        const auto first = std::find_if(members.begin(), members.end(),
                                        [&](const Measurement* row) { return glob_match(glob, row->id); });
        if (!planned.insert(candidate.group).second) continue;
        PlannedRow row{.measurement = *first,
                       .scenario = rows.scenario.empty() ? (*first)->scenario : rows.scenario,
                       .candidates = candidates_of(**first, rows),
                       .sample = (*first)->cost_s.value_or(0) > rows.sample_above_s};
        for (const Measurement* member : members) {
          if (member != *first) row.repeats.push_back(member->id);
        }
        plan.rows.push_back(std::move(row));
      }
      if (!matched) return Error{.message = "no measurement matches '" + glob + "'", .path = suite.path};
    }
  }
  for (const SuiteExclusion& exclusion : suite.not_run) {
    for (const Measurement& row : measurements) {
      if (!any_match(exclusion.ids, row.id) || (!only.empty() && !glob_match(only, row.id))) continue;
      if (planned.insert(row.group).second) plan.not_run.push_back({&row, exclusion.reason});
    }
  }
  return plan;
}

}  // namespace ptxwire::sim
