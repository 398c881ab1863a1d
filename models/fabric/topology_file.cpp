#include "models/fabric/topology_file.hpp"

#include <algorithm>
#include <charconv>

#include "models/machines/quantity.hpp"

namespace ptxwire::models {
namespace {

std::optional<uint32_t> parse_number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<NumberRange> parse_number_range(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    const auto one = parse_number(text);
    if (!one) return std::nullopt;
    return NumberRange{*one, *one};
  }
  text = text.substr(1, text.size() - 2);
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_number(text.substr(0, dash)), last = parse_number(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return NumberRange{*first, *last};
}

Error TopologyFileReader::fail(const toml::source_region& place, std::string message,
                               std::string hint) const {
  Error error = error_at(path_, place, std::move(message));
  error.hint = std::move(hint);
  return error;
}

Expected<void> TopologyFileReader::check_keys(const toml::table& table,
                                              std::initializer_list<std::string_view> known) const {
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    std::string message = "unknown key '" + std::string(key.str()) + "', expected one of";
    for (std::string_view name : known) message.append(" ").append(name);
    return fail(key.source(), message, suggestion(key.str(), std::span(known.begin(), known.size())));
  }
  return {};
}

Expected<const toml::node*> TopologyFileReader::require(const toml::table& table,
                                                        std::string_view key) const {
  if (const toml::node* node = table.get(key)) return node;
  return fail(table.source(), "missing key '" + std::string(key) + "'");
}

Expected<std::string> TopologyFileReader::read_text(const toml::table& table, std::string_view key) const {
  const Expected<const toml::node*> node = require(table, key);
  if (!node) return node.error();
  const auto text = (*node)->value_exact<std::string>();
  if (!text || text->empty()) return fail((*node)->source(), std::string(key) + ": expected a text");
  return *text;
}

Expected<uint32_t> TopologyFileReader::read_count(const toml::table& table, std::string_view key,
                                                  int64_t maximum) const {
  const Expected<const toml::node*> node = require(table, key);
  if (!node) return node.error();
  const auto value = (*node)->value_exact<int64_t>();
  if (!value || *value < 1 || *value > maximum)
    return fail((*node)->source(),
                std::string(key) + ": expected a whole number from 1 to " + std::to_string(maximum));
  return static_cast<uint32_t>(*value);
}

Expected<double> TopologyFileReader::read_rate(const toml::table& table, std::string_view key) const {
  const Expected<const toml::node*> node = require(table, key);
  if (!node) return node.error();
  const std::string name = std::string(key) + ": ";
  const auto bad = [&](const std::string& message) { return fail((*node)->source(), name + message); };
  const auto text = (*node)->value_exact<std::string>();
  if (!text) return bad("expected a text with a unit, such as \"25 GB/s\"");
  const Expected<WrittenQuantity> written = split_quantity(*text);
  if (!written) return bad(written.error().message);
  const Expected<double> factor = unit_factor(written->unit, Dimension::rate);
  if (!factor) return bad(factor.error().message);
  if (!(written->value > 0)) return bad("must be above zero");
  return written->value * *factor;
}

}  // namespace ptxwire::models
