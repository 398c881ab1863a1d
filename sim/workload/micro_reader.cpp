// The tables of a microbenchmark in a scenario file.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "models/machines/quantity.hpp"
#include "models/machines/toml_file.hpp"
#include "sim/workload/micro.hpp"
#include "support/nearest.hpp"

namespace ptxwire::sim {

namespace {

using Fill = MicroContent::Fill;
using Kind = MicroChecksum::Kind;

constexpr std::array<std::string_view, 4> kTables = {"values", "buffers", "launches", "checksum"};
/// Values that every launch has, stated or not.
constexpr std::array<std::string_view, 8> kShape = {"ctas",      "ctas_y",    "ctas_z",  "threads",
                                                    "threads_y", "threads_z", "cluster", "shared"};
constexpr std::array<std::string_view, 6> kFills = {"zero",     "index",         "chase",
                                                    "counters", "bf16_integers", "bf16_product"};
constexpr std::array<std::string_view, 5> kKinds = {"chase", "words", "tickets", "rounds", "value"};

/// Reads the tables of one file; keeps the first error and does nothing after it.
class MicroReader : public models::TomlReader {
 public:
  MicroReader(MicroScenario& micro, const std::string& path) : TomlReader(path), micro_(micro) {}

  void read_values(const toml::node& node) {
    each_entry(node, "values", [&](std::string_view name, const toml::node& value) {
      micro_.values[std::string(name)] = count(value);
    });
  }

  void read_buffers(const toml::node& node) {
    each_entry(node, "buffers", [&](std::string_view name, const toml::node& entry) {
      const toml::table* table = table_of(entry, "buffers." + std::string(name));
      if (table == nullptr) return;
      static constexpr std::array<std::string_view, 6> kKeys = {"gpu",   "bytes",   "content",
                                                                "after", "samples", "heap"};
      check_keys(*table, kKeys);
      MicroBuffer buffer{.name = std::string(name)};
      take(*table, "gpu", buffer.gpu);
      take(*table, "bytes", buffer.bytes);
      if (const toml::node* content = table->get("content")) buffer.content = read_content(*content);
      if (const toml::node* after = table->get("after")) buffer.after = read_content(*after);
      take_flag(*table, "samples", buffer.samples);
      take_flag(*table, "heap", buffer.in_heap);
      micro_.buffers.push_back(std::move(buffer));
    });
  }

  void take_flag(const toml::table& table, std::string_view name, bool& out) {
    const toml::node* node = table.get(name);
    if (node == nullptr) return;
    if (!node->is_boolean()) fail(*node, "'" + std::string(name) + "' must be true or false");
    out = node->value_or(false);
  }

  void read_launches(const toml::node& node) {
    const toml::array* list = node.as_array();
    if (list == nullptr) return fail(node, "expected [[launches]] tables");
    for (const toml::node& entry : *list) {
      const toml::table* table = table_of(entry, "launches");
      if (table == nullptr) return;
      static constexpr std::array<std::string_view, 2> kKeys = {"gpu", "arguments"};
      check_keys(*table, kKeys);
      MicroLaunch launch;
      take(*table, "gpu", launch.gpu);
      const toml::node* arguments = table->get("arguments");
      if (arguments == nullptr || !arguments->is_array())
        return fail(entry, "expected 'arguments' to be a list of names and numbers");
      for (const toml::node& argument : *arguments->as_array())
        launch.arguments.push_back(read_argument(argument));
      micro_.launches.push_back(std::move(launch));
    }
  }

  void read_checksum(const toml::node& node) {
    const toml::table* table = table_of(node, "checksum");
    if (table == nullptr) return;
    static constexpr std::array<std::string_view, 10> kKeys = {
        "kind", "buffer", "accesses", "lanes", "lane_nodes", "parts", "tail", "counters", "value", "times"};
    check_keys(*table, kKeys);
    MicroChecksum& checksum = micro_.checksum;
    checksum.kind = static_cast<Kind>(word(*table, "kind", kKinds));
    if (const toml::node* buffer = table->get("buffer")) checksum.buffer = factor(*buffer);
    take(*table, "accesses", checksum.accesses);
    take(*table, "lanes", checksum.lanes);
    take(*table, "lane_nodes", checksum.lane_nodes);
    take(*table, "parts", checksum.parts);
    take(*table, "tail", checksum.tail);
    take(*table, "counters", checksum.counters);
    take(*table, "value", checksum.value);
    take(*table, "times", checksum.times);
  }

 private:
  const toml::table* table_of(const toml::node& node, const std::string& name) {
    if (!node.is_table()) fail(node, "expected '" + name + "' to be a table");
    return node.as_table();
  }

  template <typename Read>
  void each_entry(const toml::node& node, const std::string& name, Read read) {
    const toml::table* table = table_of(node, name);
    if (table == nullptr) return;
    for (const auto& [key, value] : *table) read(key.str(), value);
  }

  std::string factor(const toml::node& node) {
    if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
    if (const auto* text = node.as_string()) return text->get();
    fail(node, "expected a whole number, a number with a unit in quotes, or a name in quotes");
    return {};
  }

  MicroCount count(const toml::node& node) {
    MicroCount product;
    if (const toml::array* list = node.as_array()) {
      for (const toml::node& item : *list) product.factors.push_back(factor(item));
    } else {
      product.factors.push_back(factor(node));
    }
    return product;
  }

  void take(const toml::table& table, std::string_view key, MicroCount& out) {
    if (const toml::node* node = table.get(key)) out = count(*node);
  }

  void take(const toml::table& table, std::string_view key, std::vector<MicroCount>& out) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return;
    if (!node->is_array()) return fail(*node, "expected '" + std::string(key) + "' to be a list");
    for (const toml::node& item : *node->as_array()) out.push_back(count(item));
  }

  MicroArgument read_argument(const toml::node& node) {
    if (!node.is_table()) return {.text = factor(node), .tensor_map = {}};
    static constexpr std::array<std::string_view, 1> kKeys = {"tensor_map"};
    check_keys(*node.as_table(), kKeys);
    const toml::node* map = node.as_table()->get("tensor_map");
    return {.text = {}, .tensor_map = map == nullptr ? MicroTensorMap{} : read_tensor_map(*map)};
  }

  MicroTensorMap read_tensor_map(const toml::node& node) {
    MicroTensorMap map;
    const toml::table* table = table_of(node, "tensor_map");
    if (table == nullptr) return map;
    static constexpr std::array<std::string_view, 9> kKeys = {
        "buffer", "type", "dims", "strides", "box", "element_strides", "swizzle", "l2_promotion", "fill"};
    static constexpr std::array<std::string_view, 13> kTypes = {
        "u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz"};
    static constexpr std::array<std::string_view, 4> kSwizzles = {"none", "32B", "64B", "128B"};
    static constexpr std::array<std::string_view, 4> kPromotions = {"none", "64B", "128B", "256B"};
    static constexpr std::array<std::string_view, 2> kFillings = {"zero", "nan"};
    check_keys(*table, kKeys);
    if (const toml::node* buffer = table->get("buffer")) map.buffer = factor(*buffer);
    map.fields.type = static_cast<TensorType>(word(*table, "type", kTypes));
    if (table->get("swizzle") != nullptr)
      map.fields.swizzle = static_cast<TensorSwizzle>(word(*table, "swizzle", kSwizzles));
    if (table->get("l2_promotion") != nullptr)
      map.fields.promotion = static_cast<TensorPromotion>(word(*table, "l2_promotion", kPromotions));
    if (table->get("fill") != nullptr)
      map.fields.fill = static_cast<TensorFill>(word(*table, "fill", kFillings));
    take(*table, "dims", map.dims);
    take(*table, "strides", map.strides);
    take(*table, "box", map.box);
    take(*table, "element_strides", map.element_strides);
    return map;
  }

  size_t word(const toml::table& table, std::string_view key, std::span<const std::string_view> words) {
    const toml::node* node = table.get(key);
    const std::string text = node != nullptr ? node->value_or(std::string()) : std::string();
    const auto found = std::find(words.begin(), words.end(), text);
    if (found != words.end()) return static_cast<size_t>(found - words.begin());
    std::string message = "'" + std::string(key) + "' is '" + text + "', expected one of:";
    for (const std::string_view known : words) message.append(" ").append(known);
    fail(node != nullptr ? *node : static_cast<const toml::node&>(table), std::move(message),
         suggestion(text, words));
    return 0;
  }

  MicroContent read_content(const toml::node& node) {
    MicroContent content;
    const toml::table* table = table_of(node, "content");
    if (table == nullptr) return content;
    static constexpr std::array<std::string_view, 10> kKeys = {"fill", "stride",  "period", "value", "seed",
                                                               "rows", "columns", "depth",  "left",  "right"};
    check_keys(*table, kKeys);
    content.fill = static_cast<Fill>(word(*table, "fill", kFills));
    take(*table, "stride", content.stride);
    take(*table, "period", content.period);
    take(*table, "value", content.value);
    take(*table, "seed", content.seed);
    take(*table, "rows", content.rows);
    take(*table, "columns", content.columns);
    take(*table, "depth", content.depth);
    if (const toml::node* left = table->get("left")) content.left = factor(*left);
    if (const toml::node* right = table->get("right")) content.right = factor(*right);
    return content;
  }

  MicroScenario& micro_;
};

/// The largest integer that a double, through which numbers with units are read, tells from its neighbours.
constexpr double kLargest = 9007199254740992.0;
constexpr int kMaxDepth = 8;

Error refuse(std::string message, std::string hint = {}) {
  return Error{.message = std::move(message), .path = {}, .hint = std::move(hint)};
}

Expected<double> evaluate_product(const MicroScenario& micro, const MicroCount& count, int depth);

Expected<double> evaluate_factor(const MicroScenario& micro, const std::string& text, int depth) {
  if (const auto known = micro.values.find(text); known != micro.values.end()) {
    if (depth == kMaxDepth) return refuse("'" + text + "' in [values] stands for itself");
    return evaluate_product(micro, known->second, depth + 1);
  }
  const auto quantity = models::split_quantity(text);
  if (!quantity) {
    std::vector<std::string> names;
    for (const auto& [name, value] : micro.values) names.push_back(name);
    return refuse("'" + text + "' is neither a number nor a name in [values]", suggestion(text, names));
  }
  double value = quantity->value;
  if (!quantity->unit.empty()) {
    const auto factor = models::unit_factor(quantity->unit, models::Dimension::bytes);
    if (!factor) return refuse("'" + text + "': " + factor.error().message);
    value *= *factor;
  }
  if (value < 0 || value != std::floor(value))
    return refuse("'" + text + "' is no whole number of 0 or more");
  return value;
}

Expected<double> evaluate_product(const MicroScenario& micro, const MicroCount& count, int depth) {
  double product = 1;
  for (const std::string& text : count.factors) {
    const auto value = evaluate_factor(micro, text, depth);
    if (!value) return value.error();
    product *= *value;
  }
  return product;
}

}  // namespace

std::span<const std::string_view> micro_tables() { return kTables; }

bool is_micro_table(std::string_view name) {
  return std::find(kTables.begin(), kTables.end(), name) != kTables.end();
}

Expected<void> read_micro_table(MicroScenario& micro, const std::string& path, std::string_view name,
                                const toml::node& node) {
  MicroReader reader(micro, path);
  if (name == "values") reader.read_values(node);
  if (name == "buffers") reader.read_buffers(node);
  if (name == "launches") reader.read_launches(node);
  if (name == "checksum") reader.read_checksum(node);
  return reader.result();
}

Expected<void> set_micro_value(MicroScenario& micro, std::string_view name, std::string_view text) {
  const auto known = micro.values.find(name);
  if (known != micro.values.end()) {
    known->second = MicroCount{{std::string(text)}};
    return {};
  }
  const auto is_shape = std::find(kShape.begin(), kShape.end(), name) != kShape.end();
  if (is_shape) {
    micro.values[std::string(name)] = MicroCount{{std::string(text)}};
    return {};
  }
  std::vector<std::string> names(kShape.begin(), kShape.end());
  for (const auto& [key, value] : micro.values) names.push_back(key);
  return refuse("the scenario has no value '" + std::string(name) + "'", suggestion(name, names));
}

Expected<uint64_t> evaluate(const MicroScenario& micro, const MicroCount& count, uint64_t otherwise) {
  if (count.factors.empty()) return otherwise;
  const auto value = evaluate_product(micro, count, 0);
  if (!value) return value.error();
  if (*value > kLargest) return refuse("a number of the scenario is beyond 2^53");
  return static_cast<uint64_t>(*value);
}

Expected<uint64_t> value_or(const MicroScenario& micro, std::string_view name, uint64_t otherwise) {
  const auto known = micro.values.find(name);
  return known == micro.values.end() ? Expected<uint64_t>(otherwise) : evaluate(micro, known->second);
}

}  // namespace ptxwire::sim
