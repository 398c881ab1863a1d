#include "models/machines/machine.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "models/fabric/topology.hpp"
#include "models/machines/parameter_table.hpp"
#include "models/machines/quantity.hpp"
#include "models/machines/toml_file.hpp"

namespace ptxwire::models {
namespace {

constexpr int kMaxBaseDepth = 8;

bool known_kind(std::string_view kind) { return kind == "spec" || kind == "measured" || kind == "fitted"; }

std::string written(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.12g", value);
  return text.data();
}

std::string did_you_mean(std::string_view key) {
  const std::string known = nearest_parameter(key);
  return known.empty() ? "'ptxwire machine show' lists all parameters" : "did you mean '" + known + "'?";
}

/// Adds a record, or replaces the one of the same key: a file overrides its base.
void remember(Machine& machine, ParameterRecord record) {
  const auto found = std::find_if(machine.records.begin(), machine.records.end(),
                                  [&](const ParameterRecord& known) { return known.key == record.key; });
  if (found == machine.records.end())
    machine.records.push_back(std::move(record));
  else
    *found = std::move(record);
}

/// Reads one file, its base first, into `machine`.
class FileReader {
 public:
  FileReader(Machine& machine, const std::string& path, int depth)
      : machine_(machine), path_(path), depth_(depth) {}

  Expected<void> read() {
    Expected<toml::table> file = parse_toml_file(path_);
    if (!file) return file.error();
    if (const toml::node* base = file->get("base")) {
      if (Expected<void> done = read_base(*base); !done) return done;
    }
    if (Expected<void> done = read_name(*file, "name", machine_.name); !done) return done;
    if (file->contains("topology")) {
      if (Expected<void> done = read_name(*file, "topology", machine_.topology); !done) return done;
      machine_.topology = relative_to_file(machine_.topology);
      Expected<void> done = require_file(*file->get("topology"), "topology", machine_.topology);
      if (!done) return done;
    }
    file->erase("base");
    file->erase("name");
    file->erase("topology");
    return read_table(*file, "");
  }

 private:
  [[nodiscard]] std::string relative_to_file(const std::string& name) const {
    return (std::filesystem::path(path_).parent_path() / name).lexically_normal().string();
  }

  /// Named here, so missed here.
  [[nodiscard]] Expected<void> require_file(const toml::node& node, const std::string& key,
                                            const std::string& path) const {
    std::error_code failed;
    if (std::filesystem::is_regular_file(path, failed)) return {};
    return error_at(path_, node.source(), key + ": no file '" + path + "'");
  }

  Expected<void> read_base(const toml::node& node) {
    const auto name = node.value<std::string>();
    if (!node.is_string()) return error_at(path_, node.source(), "base: expected the name of a machine file");
    if (depth_ >= kMaxBaseDepth)
      return error_at(path_, node.source(), "base: files name each other in a circle");
    if (Expected<void> done = require_file(node, "base", relative_to_file(*name)); !done) return done;
    return FileReader(machine_, relative_to_file(*name), depth_ + 1).read();
  }

  Expected<void> read_name(const toml::table& file, std::string_view key, std::string& text) {
    const toml::node* node = file.get(key);
    if (node == nullptr) return Error{"missing key '" + std::string(key) + "'", path_, 1, 1, {}};
    if (!node->is_string()) return error_at(path_, node->source(), std::string(key) + ": expected a string");
    text = *node->value<std::string>();
    return {};
  }

  Expected<void> read_table(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
      const std::string key =
          prefix.empty() ? std::string(name.str()) : prefix + "." + std::string(name.str());
      const toml::table* inner = node.as_table();
      const bool is_group = inner != nullptr && !inner->is_inline();
      Expected<void> done = is_group ? read_table(*inner, key) : read_parameter(key, name.source(), node);
      if (!done) return done;
    }
    return {};
  }

  Expected<void> read_parameter(const std::string& key, const toml::source_region& place,
                                const toml::node& node) {
    const Parameter* parameter = find_parameter(key);
    if (parameter == nullptr) {
      Error error = error_at(path_, place, "unknown parameter '" + key + "'");
      error.hint = did_you_mean(key);
      return error;
    }
    const toml::table* fields = node.as_table();
    if (fields == nullptr)
      return error_at(path_, place,
                      key + ": expected { value = ..., unit = \"...\", kind = \"...\", source = \"...\" }");
    ParameterRecord record{.key = key};
    if (Expected<void> done = read_fields(*fields, key, record); !done) return done;
    const toml::node& value = *fields->get("value");
    if (Expected<void> done = store_parameter(machine_, *parameter, *value.value<double>(), record.unit);
        !done)
      return error_at(path_, value.source(), done.error().message);
    remember(machine_, std::move(record));
    return {};
  }

  Expected<void> read_fields(const toml::table& fields, const std::string& key, ParameterRecord& record) {
    for (const auto& [name, node] : fields) {
      std::string* text = nullptr;
      if (name == "unit") text = &record.unit;
      if (name == "kind") text = &record.kind;
      if (name == "source") text = &record.source;
      if (name == "value") {
        if (!node.is_number()) return error_at(path_, node.source(), key + ": value must be a number");
        record.value = written(*node.value<double>());
      } else if (text == nullptr) {
        return error_at(
            path_, name.source(),
            key + ": unknown field '" + std::string(name.str()) + "', expected value, unit, kind, source");
      } else if (!node.is_string()) {
        return error_at(path_, node.source(), key + ": " + std::string(name.str()) + " must be a string");
      } else {
        *text = *node.value<std::string>();
      }
    }
    for (const char* field : {"value", "unit", "kind", "source"})
      if (fields.get(field) == nullptr)
        return error_at(path_, fields.source(), key + ": missing " + std::string(field));
    if (!known_kind(record.kind))
      return error_at(path_, fields.get("kind")->source(),
                      key + ": unknown kind '" + record.kind + "', expected spec, measured or fitted");
    return {};
  }

  Machine& machine_;
  const std::string& path_;
  int depth_;
};

Expected<void> require_all(const Machine& machine) {
  for (const Parameter& parameter : parameter_table()) {
    const bool given =
        std::any_of(machine.records.begin(), machine.records.end(),
                    [&](const ParameterRecord& record) { return record.key == parameter.key; });
    if (!given)
      return Error{"missing parameter '" + parameter.key + "'", machine.path, 1, 1,
                   "give it here or in a base file"};
  }
  return {};
}

/// What the members mean only together.
Expected<void> check_consistency(const Machine& machine) {
  const auto fail = [&](std::string message) { return Error{std::move(message), machine.path, 1, 1, {}}; };
  if (machine.l2.slices % machine.l2.partitions != 0)
    return fail("l2.slices must be a multiple of l2.partitions");
  if (machine.l2.bytes < uint64_t{128} * machine.l2.ways * machine.l2.slices)
    return fail("l2.bytes holds less than one set per slice");
  if (machine.l2.slices % machine.hbm.channels != 0 && machine.hbm.channels % machine.l2.slices != 0)
    return fail("hbm.channels must be a multiple of l2.slices, or the other way round");
  if (machine.hbm.refresh_ns >= machine.hbm.refresh_interval_ns)
    return fail("hbm.refresh_ns must be shorter than hbm.refresh_interval_ns");
  if (machine.nvlink.interleave_bytes % 128 != 0)
    return fail("nvlink.interleave_bytes must be a multiple of 128 B");
  if (machine.sm.max_shared_per_cta_bytes + machine.sm.shared_reserved_per_cta_bytes >
      machine.sm.shared_bytes)
    return fail("sm.max_shared_per_cta_bytes plus the reserved bytes exceed sm.shared_bytes");
  return {};
}

/// The topology file and the [nvlink] table describe the same links; the cabling comes from the topology.
Expected<void> apply_topology(Machine& machine) {
  if (machine.topology.empty())
    return Error{"missing key 'topology'", machine.path, 1, 1, "name a topology file"};
  const Expected<Topology> topology = Topology::load(machine.topology);
  if (!topology) return topology.error();
  const auto fail = [&](const std::string& what, uint32_t there, uint32_t here) {
    return Error{what + std::to_string(there) + ", but " + machine.path + " says " + std::to_string(here),
                 machine.topology,
                 1,
                 1,
                 {}};
  };
  if (topology->gpus() != machine.gpus) return fail("GPUs here are ", topology->gpus(), machine.gpus);
  NvlinkParameters& nvlink = machine.nvlink;
  if (topology->switches() != nvlink.switches)
    return fail("switches here are ", topology->switches(), nvlink.switches);
  nvlink.link_switch = topology->link_switches(GpuId{0});
  for (uint32_t gpu = 0; gpu < machine.gpus; ++gpu) {
    const std::vector<uint32_t> links = topology->link_switches(GpuId{gpu});
    const auto count = static_cast<uint32_t>(links.size());
    if (count != nvlink.links_per_gpu)
      return fail("links of gpu" + std::to_string(gpu) + " are ", count, nvlink.links_per_gpu);
    if (links != nvlink.link_switch)
      return Error{
          "gpu0 and gpu" + std::to_string(gpu) + " are cabled differently", machine.topology, 1, 1, {}};
  }
  for (const TopologyEdge& edge : topology->edges())
    if (edge.bytes_per_second != nvlink.link_bytes_per_second)
      return Error{"rate of a link differs from nvlink.link_bytes_per_second of " + machine.path,
                   machine.topology,
                   1,
                   1,
                   {}};
  return {};
}

}  // namespace

Expected<Machine> load_machine(const std::string& path) {
  Machine machine;
  machine.path = path;
  if (Expected<void> done = FileReader(machine, path, 0).read(); !done) return done.error();
  if (Expected<void> done = require_all(machine); !done) return done.error();
  if (Expected<void> done = check_consistency(machine); !done) return done.error();
  if (Expected<void> done = apply_topology(machine); !done) return done.error();
  return machine;
}

Expected<void> set_machine_parameter(Machine& machine, std::string_view key,
                                     std::string_view value_with_unit) {
  const Parameter* parameter = find_parameter(key);
  if (parameter == nullptr)
    return Error{.message = "unknown machine parameter '" + std::string(key) + "'",
                 .hint = did_you_mean(key)};
  const Expected<WrittenQuantity> quantity = split_quantity(value_with_unit);
  if (!quantity) return Error{.message = parameter->key + ": " + quantity.error().message};
  const auto record = std::find_if(machine.records.begin(), machine.records.end(),
                                   [&](const ParameterRecord& known) { return known.key == key; });
  // A bare number is taken in the unit of the file; that is how a calibration writes it back.
  const std::string unit = !quantity->unit.empty()           ? std::string(quantity->unit)
                           : record != machine.records.end() ? record->unit
                                                             : std::string{};
  Machine changed = machine;
  if (Expected<void> done = store_parameter(changed, *parameter, quantity->value, unit); !done) return done;
  if (Expected<void> done = check_consistency(changed); !done) return done;
  // The cabling of the file no longer holds for another number of links: spread them evenly instead.
  if (key == "nvlink.links_per_gpu" || key == "nvlink.switches") changed.nvlink.link_switch.clear();
  remember(changed, {std::string(key), written(quantity->value), unit, "set by the caller", "fitted"});
  machine = std::move(changed);
  return {};
}

}  // namespace ptxwire::models
