#include "sim/workload/routing_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx_frontend/frontend.hpp"
#include "sim/workload/internode.hpp"

namespace ptxwire::sim {

namespace {

/// Weights down to 65536^-16 are far from where floating-point numbers end.
constexpr double kLargestExponent = 16;
constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

class RoutingFileReader {
 public:
  RoutingFileReader(const RoutingShape& shape, std::string path, uint32_t largest_fan_out)
      : shape_(shape),
        path_(std::move(path)),
        largest_fan_out_(largest_fan_out),
        experts_(shape.ranks, std::vector<int64_t>(uint64_t{shape.tokens} * shape.topk, -1)),
        lines_(shape.ranks, std::vector<uint32_t>(shape.tokens)) {}

  Expected<Routing> read(std::string_view text) {
    bool header = true;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = trimmed(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      ++line_;
      if (line.empty() || line.front() == '#') continue;
      const auto done = header ? read_header(line) : read_token(line);
      if (!done) return done.error();
      header = false;
    }
    if (header)
      return Error{.message = "the file is empty, expected the line " + header_line(), .path = path_};
    for (uint32_t rank = 0; rank < shape_.ranks; ++rank)
      for (uint32_t token = 0; token < shape_.tokens; ++token)
        if (lines_[rank][token] == 0)
          return Error{
              .message = fmt::format("token {} of rank {} has no line, expected {} tokens of each of "
                                     "{} ranks",
                                     token, rank, shape_.tokens, shape_.ranks),
              .path = path_,
              .hint = "a token that goes nowhere has -1 for every expert"};
    return Routing(shape_, std::move(experts_));
  }

 private:
  [[nodiscard]] Error bad(std::string message, std::string hint = {}) const {
    return Error{
        .message = std::move(message), .path = path_, .line = line_, .column = 0, .hint = std::move(hint)};
  }

  [[nodiscard]] std::string header_line() const {
    std::string line = "rank,token";
    for (uint32_t k = 0; k < shape_.topk; ++k) line += fmt::format(",expert{}", k);
    return line;
  }

  [[nodiscard]] Expected<void> read_header(std::string_view line) const {
    std::string without_blanks;
    for (const std::string_view field : split(line))
      without_blanks.append(without_blanks.empty() ? "" : ",").append(field);
    if (without_blanks == header_line()) return {};
    return bad(fmt::format("the header is '{}', expected '{}'", line, header_line()),
               fmt::format("'topk' is {}: as many columns of experts", shape_.topk));
  }

  Expected<void> read_token(std::string_view line) {
    const std::vector<std::string_view> fields = split(line);
    if (fields.size() != shape_.topk + 2)
      return bad(fmt::format("{} fields, expected {}: {}", fields.size(), shape_.topk + 2, header_line()));
    std::vector<int64_t> numbers;
    for (const std::string_view field : fields) {
      const auto number = whole_number(field);
      if (!number) return bad(fmt::format("'{}', expected a whole number", field));
      numbers.push_back(*number);
    }
    if (numbers[0] < 0 || numbers[0] >= shape_.ranks)
      return bad(fmt::format("rank {}, expected 0 to {}", numbers[0], shape_.ranks - 1));
    if (numbers[1] < 0) return bad(fmt::format("token {}, expected 0 or more", numbers[1]));
    const std::vector<int64_t> experts(numbers.begin() + 2, numbers.end());
    if (const auto fits = check(experts); !fits) return fits.error();
    if (numbers[1] >= shape_.tokens) return {};
    uint32_t& seen = lines_[static_cast<size_t>(numbers[0])][static_cast<size_t>(numbers[1])];
    if (seen != 0)
      return bad(fmt::format("token {} of rank {} has line {} already", numbers[1], numbers[0], seen));
    seen = line_;
    std::copy(experts.begin(), experts.end(),
              experts_[static_cast<size_t>(numbers[0])].begin() + numbers[1] * shape_.topk);
    return {};
  }

  [[nodiscard]] Expected<void> check(const std::vector<int64_t>& experts) const {
    std::vector<int64_t> nodes;
    const uint32_t per_node = shape_.experts / shape_.nodes;
    for (size_t k = 0; k < experts.size(); ++k) {
      const int64_t expert = experts[k];
      if (expert == -1) continue;
      if (expert < 0 || expert >= shape_.experts)
        return bad(fmt::format("expert {}, expected 0 to {}, or -1 for none", expert, shape_.experts - 1));
      if (std::find(experts.begin(), experts.begin() + static_cast<ptrdiff_t>(k), expert) !=
          experts.begin() + static_cast<ptrdiff_t>(k))
        return bad(fmt::format("expert {} twice, expected distinct experts", expert));
      if (std::find(nodes.begin(), nodes.end(), expert / per_node) == nodes.end())
        nodes.push_back(expert / per_node);
    }
    if (nodes.size() > largest_fan_out_)
      return bad(fmt::format("a token that goes to {} nodes, these kernels take {} at most", nodes.size(),
                             largest_fan_out_));
    return {};
  }

  const RoutingShape& shape_;
  std::string path_;
  uint32_t largest_fan_out_;
  uint32_t line_ = 0;
  std::vector<std::vector<int64_t>> experts_;  ///< [rank][T][K]
  std::vector<std::vector<uint32_t>> lines_;   ///< [rank][token] that said so; 0: none yet
};

}  // namespace

Expected<Routing> load_routing(const RoutingShape& shape, const std::string& path, uint32_t largest_fan_out) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return Error{.message = "no such file, expected a CSV with the experts of each token", .path = path};
  const auto text = ptx::read_text_file(path);
  if (!text) return text.error();
  return RoutingFileReader(shape, path, largest_fan_out).read(**text);
}

Expected<Routing> scenario_routing(const Scenario& s, const RoutingShape& shape) {
  if (s.routing != RoutingPattern::file) return Routing(shape);
  return load_routing(shape, s.routing_file, is_internode(s.kernel) ? internode_fan_out(s) : shape.nodes);
}

Expected<void> validate_routing_keys(const Scenario& s) {
  if (!(s.zipf_exponent >= 0 && s.zipf_exponent <= kLargestExponent))
    return Error{
        .message = fmt::format("'zipf_exponent' is {}, expected 0 to {}", s.zipf_exponent, kLargestExponent),
        .path = s.path};
  if ((s.routing == RoutingPattern::file) == s.routing_file.empty())
    return Error{.message = s.routing_file.empty() ? "'routing' is file, but there is no 'routing_file'"
                                                   : "'routing_file' is given, but 'routing' is not file",
                 .path = s.path,
                 .hint = "routing = \"file\" and routing_file = \"tokens.csv\" go together"};
  return {};
}

}  // namespace ptxwire::sim
