#include "sim/workload/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "models/machines/quantity.hpp"

namespace ptxwire::sim {

namespace {

using models::Picoseconds;

constexpr std::string_view kBlanks = " \t\n\r";
/// Longer than any time-out of a kernel; far below where picoseconds overflow.
constexpr double kLatestPs = 1e18;

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

Error bad_part(const Scenario& s, std::string_view part, const std::string& why) {
  return Error{.message = fmt::format("'faults': '{}': {}", part, why),
               .path = s.path,
               .hint = "as in \"nic3=0.5; leaf0-spine1=down; rank5=200us; rank6=never\""};
}

/// 5 of "rank5".
std::optional<uint32_t> rank_number(std::string_view name) {
  constexpr std::string_view kWord = "rank";
  if (!name.starts_with(kWord)) return std::nullopt;
  name.remove_prefix(kWord.size());
  uint32_t rank = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), rank);
  if (failed != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return rank;
}

/// A number in the base unit of `dimension`; without a unit only where `bare` allows.
std::optional<double> quantity(std::string_view text, models::Dimension dimension, bool bare) {
  const auto written = models::split_quantity(text);
  if (!written) return std::nullopt;
  if (written->unit.empty()) return bare ? std::optional(written->value) : std::nullopt;
  const auto unit = models::unit_factor(written->unit, dimension);
  if (!unit) return std::nullopt;
  return written->value * *unit;
}

Expected<LateRank> parse_rank(const Scenario& s, std::string_view part, uint32_t rank,
                              std::string_view value) {
  if (rank >= s.ranks) return bad_part(s, part, fmt::format("expected a rank below {}", s.ranks));
  if (value == "never") return LateRank{rank, std::nullopt};
  const auto time = quantity(value, models::Dimension::time, false);
  if (!time || *time < 0 || *time > kLatestPs)
    return bad_part(s, part, "expected 'never' or how late the rank starts, with its unit (ns, us, ms, s)");
  return LateRank{rank, Picoseconds{static_cast<int64_t>(*time)}};
}

Expected<LinkFault> parse_link(const Scenario& s, std::string_view part, std::string_view name,
                               std::string_view value) {
  if (value == "down") return LinkFault{std::string(name), std::nullopt};
  const auto factor = quantity(value, models::Dimension::ratio, true);
  if (!factor || !(*factor > 0 && *factor <= 1))
    return bad_part(s, part,
                    "expected 'down' or the share of its rate that is left, above 0 and at most 1, for a "
                    "link; times are for ranks, as in rank5=200us");
  return LinkFault{std::string(name), *factor};
}

}  // namespace

Expected<Faults> parse_faults(const Scenario& s) {
  Faults faults;
  std::string_view rest = s.faults;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view part = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.empty()) continue;  // behind the last semicolon
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) return bad_part(s, part, "expected NAME=VALUE");
    const std::string_view name = trimmed(part.substr(0, equals)), value = trimmed(part.substr(equals + 1));
    if (const auto rank = rank_number(name)) {
      const auto late = parse_rank(s, part, *rank, value);
      if (!late) return late.error();
      if (std::any_of(faults.ranks.begin(), faults.ranks.end(),
                      [&](const LateRank& known) { return known.rank == *rank; }))
        return bad_part(s, part, "this rank has a part already");
      faults.ranks.push_back(*late);
    } else {
      auto link = parse_link(s, part, name, value);
      if (!link) return link.error();
      faults.links.push_back(*std::move(link));
    }
  }
  return faults;
}

Expected<void> validate_faults(const Scenario& s, bool uses_network) {
  const auto faults = parse_faults(s);
  if (!faults) return faults.error();
  if (!uses_network && !faults->links.empty())
    return bad_part(s, faults->links.front().link,
                    "this scenario stays on one node and uses no network; expected ranks alone");
  return {};
}

Expected<void> apply_link_faults(const Scenario& s, models::NetworkTopology& network) {
  const auto faults = parse_faults(s);
  if (!faults) return faults.error();
  for (const LinkFault& fault : faults->links) {
    const auto done = fault.factor ? network.slow(fault.link, *fault.factor) : network.fail(fault.link);
    if (!done) {
      Error error = done.error();
      error.message = "'faults': " + error.message;
      error.path = s.path;
      error.line = error.column = 0;
      return error;
    }
  }
  return {};
}

bool times_last_call_alone(const Scenario& s) {
  if (s.flush_l2) return true;
  const auto faults = parse_faults(s);
  return faults && !faults->ranks.empty();
}

Expected<void> delay_late_ranks(const Scenario& s, Cluster& cluster) {
  const auto faults = parse_faults(s);
  if (!faults) return faults.error();
  for (const LateRank& late : faults->ranks)
    cluster.delay_host(GpuId{late.rank}, late.by.value_or(models::kNever));
  return {};
}

namespace {

/// Whether a fault leaves no way between the NICs of two ranks.
bool cuts_ranks_off(const Scenario& s, const models::NetworkTopology& network) {
  if (network.faults().empty()) return false;
  for (uint32_t a = 0; a < s.ranks; ++a)
    for (uint32_t b = 0; b < s.ranks; ++b)
      if (a != b && !network.routes().reachable(models::NicId{a}, models::NicId{b})) return true;
  return false;
}

}  // namespace

Picoseconds time_budget(const Scenario& s, const models::NetworkTopology* network, Picoseconds asked) {
  constexpr double kCallUs = 10000;  // more than a call of the largest sizes takes
  const auto faults = parse_faults(s);
  if (!faults) return asked;
  bool lost = network != nullptr && cuts_ranks_off(s, *network);
  Picoseconds latest{};
  for (const LateRank& late : faults->ranks) {
    lost = lost || !late.by;
    latest = max(latest, late.by.value_or(Picoseconds{}));
  }
  return lost ? min(asked, latest + models::microseconds(kCallUs * s.calls)) : asked;
}

std::vector<std::string> fault_words(const Scenario& s, const models::NetworkTopology* network) {
  std::vector<std::string> words;
  if (network != nullptr) words = network->faults();
  if (const auto faults = parse_faults(s))
    for (const LateRank& late : faults->ranks)
      words.push_back(late.by ? fmt::format("rank {} starts {:g} us late", late.rank, late.by->us())
                              : fmt::format("rank {} never starts", late.rank));
  return words;
}

}  // namespace ptxwire::sim
