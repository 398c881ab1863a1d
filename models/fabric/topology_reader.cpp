// Reading and checking of topology files of one node.
#include <algorithm>

#include "models/fabric/topology.hpp"
#include "models/fabric/topology_file.hpp"

namespace ptxwire::models {

class TopologyReader : private TopologyFileReader {
 public:
  explicit TopologyReader(const std::string& path) : TopologyFileReader(path) { topology_.path_ = path; }

  Expected<Topology> read() {
    Expected<toml::table> file = parse_toml_file(path());
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
  Expected<void> read_vertices(const toml::table& file) {
    const toml::table* vertices = file.get_as<toml::table>("vertices");
    if (vertices == nullptr) return fail(file.source(), "expected a table [vertices]");
    if (Expected<void> done = check_keys(*vertices, {"gpu", "switch"}); !done) return done;
    const Expected<uint32_t> gpus = read_count(*vertices, "gpu", kMaxTopologyVertices);
    if (!gpus) return gpus.error();
    topology_.gpus_ = *gpus;
    if (!vertices->contains("switch")) return {};
    const Expected<uint32_t> switches = read_count(*vertices, "switch", kMaxTopologyVertices);
    if (!switches) return switches.error();
    topology_.switches_ = *switches;
    return {};
  }

  /// Vertices named by "gpu[0-7]" or "switch2".
  [[nodiscard]] Expected<NumberRange> read_ends(const toml::table& link, std::string_view key) const {
    const toml::node* node = link.get(key);
    if (node == nullptr) return fail(link.source(), "missing key '" + std::string(key) + "'");
    const std::string text = node->value<std::string>().value_or("");
    const bool is_gpu = text.starts_with("gpu");
    const bool is_switch = text.starts_with("switch");
    const auto range = is_gpu      ? parse_number_range(std::string_view(text).substr(3))
                       : is_switch ? parse_number_range(std::string_view(text).substr(6))
                                   : std::nullopt;
    if (!range)
      return fail(node->source(),
                  std::string(key) + ": expected a vertex such as \"gpu3\" or \"switch[0-3]\"");
    const uint32_t count = is_gpu ? topology_.gpus_ : topology_.switches_;
    if (range->last >= count)
      return fail(node->source(), std::string(key) + ": '" + text + "' is not there, [vertices] has " +
                                      std::to_string(count) + (is_gpu ? " GPUs" : " switches"));
    const uint32_t offset = is_gpu ? 0 : topology_.gpus_;
    return NumberRange{range->first + offset, range->last + offset};
  }

  Expected<void> read_link(const toml::table& link) {
    if (Expected<void> done = check_keys(link, {"from", "to", "count", "rate"}); !done) return done;
    const Expected<NumberRange> from = read_ends(link, "from");
    if (!from) return from.error();
    const Expected<NumberRange> to = read_ends(link, "to");
    if (!to) return to.error();
    const Expected<uint32_t> count = read_count(link, "count", kMaxParallelLinks);
    if (!count) return count.error();
    const Expected<double> rate = read_rate(link, "rate");
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
        return Error{"there is no way from gpu0 to " + topology_.vertex_name(gpu), path(), 1, 1, {}};
    return {};
  }

  Topology topology_;
};

Expected<Topology> Topology::load(const std::string& path) { return TopologyReader(path).read(); }

}  // namespace ptxwire::models
