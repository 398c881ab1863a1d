// Reading and checking of topology files.
#include <algorithm>
#include <charconv>
#include <optional>

#include "models/fabric/topology.hpp"
#include "models/machines/quantity.hpp"
#include "models/machines/toml_file.hpp"

namespace ptxwire::models {
namespace {

constexpr int64_t kMaxVertices = 4096, kMaxLinks = 1024;

std::optional<uint32_t> parse_number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Range {
  uint32_t first = 0, last = 0;
};

/// "3" or "[0-7]".
std::optional<Range> parse_range(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    const auto one = parse_number(text);
    if (!one) return std::nullopt;
    return Range{*one, *one};
  }
  text = text.substr(1, text.size() - 2);
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_number(text.substr(0, dash)), last = parse_number(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return Range{*first, *last};
}

}  // namespace

class TopologyReader {
 public:
  explicit TopologyReader(const std::string& path) { topology_.path_ = path; }

  Expected<Topology> read() {
    Expected<toml::table> file = parse_toml_file(topology_.path_);
    if (!file) return file.error();
    if (Expected<void> done = check_keys(*file, {"vertices", "link"}); !done) return done.error();
    if (Expected<void> done = read_vertices(*file); !done) return done.error();
    const toml::array* links = file->get_as<toml::array>("link");
    if (links == nullptr) return fail(file->source(), "expected at least one [[link]]");
    for (const toml::node& link : *links) {
      if (!link.is_table()) return fail(link.source(), "expected a [[link]] table");
      if (Expected<void> done = read_link(*link.as_table()); !done) return done.error();
    }
    if (Expected<void> done = check_reachable(); !done) return done.error();
    return std::move(topology_);
  }

 private:
  [[nodiscard]] Error fail(const toml::source_region& place, std::string message) const {
    return error_at(topology_.path_, place, std::move(message));
  }

  [[nodiscard]] Expected<void> check_keys(const toml::table& table,
                                          std::initializer_list<std::string_view> known) const {
    for (const auto& [key, node] : table) {
      if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
      std::string message = "unknown key '" + std::string(key.str()) + "', expected one of";
      for (std::string_view name : known) message.append(" ").append(name);
      return fail(key.source(), message);
    }
    return {};
  }

  [[nodiscard]] Expected<uint32_t> read_count(const toml::table& table, std::string_view key,
                                              int64_t maximum) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return fail(table.source(), "missing key '" + std::string(key) + "'");
    const auto value = node->value_exact<int64_t>();
    if (!value || *value < 1 || *value > maximum)
      return fail(node->source(),
                  std::string(key) + ": expected a whole number from 1 to " + std::to_string(maximum));
    return static_cast<uint32_t>(*value);
  }

  Expected<void> read_vertices(const toml::table& file) {
    const toml::table* vertices = file.get_as<toml::table>("vertices");
    if (vertices == nullptr) return fail(file.source(), "expected a table [vertices]");
    if (Expected<void> done = check_keys(*vertices, {"gpu", "switch"}); !done) return done;
    const Expected<uint32_t> gpus = read_count(*vertices, "gpu", kMaxVertices);
    if (!gpus) return gpus.error();
    topology_.gpus_ = *gpus;
    if (!vertices->contains("switch")) return {};
    const Expected<uint32_t> switches = read_count(*vertices, "switch", kMaxVertices);
    if (!switches) return switches.error();
    topology_.switches_ = *switches;
    return {};
  }

  /// Vertices named by "gpu[0-7]" or "switch2".
  [[nodiscard]] Expected<Range> read_ends(const toml::table& link, std::string_view key) const {
    const toml::node* node = link.get(key);
    if (node == nullptr) return fail(link.source(), "missing key '" + std::string(key) + "'");
    const std::string text = node->value<std::string>().value_or("");
    const bool is_gpu = text.starts_with("gpu");
    const bool is_switch = text.starts_with("switch");
    const auto range = is_gpu      ? parse_range(std::string_view(text).substr(3))
                       : is_switch ? parse_range(std::string_view(text).substr(6))
                                   : std::nullopt;
    if (!range)
      return fail(node->source(),
                  std::string(key) + ": expected a vertex such as \"gpu3\" or \"switch[0-3]\"");
    const uint32_t count = is_gpu ? topology_.gpus_ : topology_.switches_;
    if (range->last >= count)
      return fail(node->source(), std::string(key) + ": '" + text + "' is not there, [vertices] has " +
                                      std::to_string(count) + (is_gpu ? " GPUs" : " switches"));
    const uint32_t offset = is_gpu ? 0 : topology_.gpus_;
    return Range{range->first + offset, range->last + offset};
  }

  [[nodiscard]] Expected<double> read_rate(const toml::table& link) const {
    const toml::node* node = link.get("rate");
    if (node == nullptr) return fail(link.source(), "missing key 'rate'");
    const auto text = node->value_exact<std::string>();
    if (!text) return fail(node->source(), "rate: expected a text with a unit, such as \"25 GB/s\"");
    const Expected<WrittenQuantity> written = split_quantity(*text);
    if (!written) return fail(node->source(), "rate: " + written.error().message);
    const Expected<double> factor = unit_factor(written->unit, Dimension::rate);
    if (!factor) return fail(node->source(), "rate: " + factor.error().message);
    if (!(written->value > 0)) return fail(node->source(), "rate: must be above zero");
    return written->value * *factor;
  }

  Expected<void> read_link(const toml::table& link) {
    if (Expected<void> done = check_keys(link, {"from", "to", "count", "rate"}); !done) return done;
    const Expected<Range> from = read_ends(link, "from");
    if (!from) return from.error();
    const Expected<Range> to = read_ends(link, "to");
    if (!to) return to.error();
    const Expected<uint32_t> count = read_count(link, "count", kMaxLinks);
    if (!count) return count.error();
    const Expected<double> rate = read_rate(link);
    if (!rate) return rate.error();
    for (uint32_t a = from->first; a <= from->last; ++a) {
      for (uint32_t b = to->first; b <= to->last; ++b) {
        if (a == b) return fail(link.source(), "a link of " + topology_.vertex_name(a) + " with itself");
        topology_.edges_.push_back({a, b, *count, *rate});
      }
    }
    return {};
  }

  [[nodiscard]] Expected<void> check_reachable() const {
    for (uint32_t gpu = 1; gpu < topology_.gpus_; ++gpu)
      if (topology_.route(GpuId{0}, GpuId{gpu}).empty())
        return Error{"there is no way from gpu0 to " + topology_.vertex_name(gpu), topology_.path_, 1, 1, {}};
    return {};
  }

  Topology topology_;
};

Expected<Topology> Topology::load(const std::string& path) { return TopologyReader(path).read(); }

}  // namespace ptxwire::models
