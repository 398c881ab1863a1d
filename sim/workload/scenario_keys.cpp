#include "sim/workload/scenario_keys.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>

#include "models/machines/quantity.hpp"
#include "support/nearest.hpp"

namespace ptxwire::sim {

namespace {

using Kind = ScenarioValue::Kind;

Error wrong_value(const ScenarioKey& key, const ScenarioValue& value, std::string_view expected) {
  std::string message = "'";
  message.append(key.name).append("' is '").append(value.text).append("', expected ").append(expected);
  return Error{.message = std::move(message), .path = {}, .hint = {}};
}

// --- Kinds of values: parse_value(key, value, out) and write_value(in)
// ---------------------------------------------

/// Largest count: what the kernels' int parameters hold.
constexpr double kLargestCount = std::numeric_limits<int32_t>::max();
/// Largest integer that a double, through which numbers with units are read, tells from its neighbours.
constexpr double kLargestSeed = 9007199254740991.0;

Expected<void> parse_count(const ScenarioKey& key, const ScenarioValue& value, double largest, double& out) {
  const std::string expected =
      "a whole number" + (key.accepts.empty() ? "" : " of " + std::string(key.accepts));
  if (value.kind == Kind::real || value.kind == Kind::boolean) return wrong_value(key, value, expected);
  const auto quantity = models::split_quantity(value.text);
  if (!quantity) return wrong_value(key, value, expected);
  if (!quantity->unit.empty() && quantity->unit != key.accepts) {
    Error error = wrong_value(key, value, expected);
    error.message = "unit '" + std::string(quantity->unit) + "' does not fit '" + std::string(key.name) +
                    "', expected " + expected;
    return error;
  }
  if (quantity->value < 0) return wrong_value(key, value, expected + ", not a negative one");
  if (quantity->value != std::floor(quantity->value)) return wrong_value(key, value, expected);
  if (quantity->value > largest)
    return wrong_value(key, value,
                       expected + " of at most " + std::to_string(static_cast<uint64_t>(largest)));
  out = quantity->value;
  return {};
}

template <std::unsigned_integral T>
requires(!std::same_as<T, bool>) Expected<void> parse_value(const ScenarioKey& key,
                                                            const ScenarioValue& value, T& out) {
  double number = 0;
  auto parsed = parse_count(key, value, sizeof(T) == 8 ? kLargestSeed : kLargestCount, number);
  if (parsed) out = static_cast<T>(number);
  return parsed;
}
template <std::unsigned_integral T>
requires(!std::same_as<T, bool>) std::string write_value(T value) { return std::to_string(value); }

Expected<void> parse_value(const ScenarioKey& key, const ScenarioValue& value, bool& out) {
  const bool fits = value.kind == Kind::boolean || value.kind == Kind::text;
  if (!fits || (value.text != "true" && value.text != "false"))
    return wrong_value(key, value, "true or false");
  out = value.text == "true";
  return {};
}
std::string write_value(bool value) { return value ? "true" : "false"; }

Expected<void> parse_value(const ScenarioKey& key, const ScenarioValue& value, double& out) {
  const auto quantity = models::split_quantity(value.text);
  if (value.kind == Kind::boolean || !quantity || !quantity->unit.empty())
    return wrong_value(key, value, "a number without a unit");
  out = quantity->value;
  return {};
}
std::string write_value(double value) {
  constexpr size_t kMostCharacters = 32;
  std::array<char, kMostCharacters> text{};  // the shortest that reads back as the same number
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), written.ptr};
}

Expected<void> parse_value(const ScenarioKey& key, const ScenarioValue& value, std::string& out) {
  if (value.kind != Kind::quoted && value.kind != Kind::text)
    return wrong_value(key, value, "text in quotes");
  out = value.text;
  return {};
}
std::string write_value(const std::string& value) { return value; }

template <typename Enum>
struct Names;
template <>
struct Names<KernelFamily> {
  static constexpr std::array<std::string_view, 9> kWords = {"intranode_dispatch",
                                                             "intranode_combine",
                                                             "ring_broadcast",
                                                             "micro",
                                                             "co_run",
                                                             "internode_dispatch",
                                                             "internode_combine",
                                                             "low_latency_dispatch",
                                                             "low_latency_combine"};
};
template <>
struct Names<KernelRevision> {
  static constexpr std::array<std::string_view, 4> kWords = {"a", "b", "c", "d"};
};
template <>
struct Names<PayloadHints> {
  static constexpr std::array<std::string_view, 4> kWords = {"standard", "no_prefetch", "plain", "volatile"};
};
template <>
struct Names<ElementType> {
  static constexpr std::array<std::string_view, 2> kWords = {"fp8", "bf16"};
};
template <>
struct Names<RoutingPattern> {
  static constexpr std::array<std::string_view, 7> kWords = {"random", "all_to_one", "none_to_last", "masked",
                                                             "zipf",   "hot",        "file"};
};
template <>
struct Names<NotifyMode> {
  static constexpr std::array<std::string_view, 2> kWords = {"cached", "full"};
};
template <>
struct Names<BufferPlacement> {
  static constexpr std::array<std::string_view, 2> kWords = {"out-of-place", "in-place"};
};

template <>
struct Names<PhaseMode> {
  static constexpr std::array<std::string_view, 2> kWords = {"together", "apart"};
};

template <typename Enum>
requires std::is_enum_v<Enum> Expected<void> parse_value(const ScenarioKey& key, const ScenarioValue& value,
                                                         Enum& out) {
  const auto& words = Names<Enum>::kWords;
  if (value.kind == Kind::quoted || value.kind == Kind::text)
    for (size_t i = 0; i < words.size(); ++i)
      if (value.text == words[i]) {
        out = static_cast<Enum>(i);
        return {};
      }
  Error error = wrong_value(key, value, "one of: " + std::string(key.accepts));
  if (const std::string meant = nearest(value.text, words); !meant.empty())
    error.hint = "did you mean '" + meant + "'?";
  return error;
}
template <typename Enum>
requires std::is_enum_v<Enum> std::string write_value(Enum value) {
  return std::string(Names<Enum>::kWords[static_cast<size_t>(value)]);
}

constexpr KernelFamilies kIntranode =
    family_bit(KernelFamily::intranode_dispatch) | family_bit(KernelFamily::intranode_combine);
constexpr KernelFamilies kRing = family_bit(KernelFamily::ring_broadcast);
constexpr KernelFamilies kMicro = family_bit(KernelFamily::micro);
constexpr KernelFamilies kCoRun = family_bit(KernelFamily::co_run);
constexpr KernelFamilies kInternode =
    family_bit(KernelFamily::internode_dispatch) | family_bit(KernelFamily::internode_combine);
constexpr KernelFamilies kLowLatency =
    family_bit(KernelFamily::low_latency_dispatch) | family_bit(KernelFamily::low_latency_combine);
constexpr KernelFamilies kAcrossNodes = kInternode | kLowLatency;
constexpr KernelFamilies kExpert = kIntranode | kAcrossNodes;
constexpr KernelFamilies kSingle = kExpert | kRing | kMicro;
constexpr KernelFamilies kAll = kSingle | kCoRun;

template <auto kMember>
constexpr ScenarioKey key(std::string_view name, std::string_view accepts, std::string_view meaning,
                          KernelFamilies families = kIntranode) {
  return {name,
          accepts,
          meaning,
          [](Scenario& scenario, const ScenarioKey& self, const ScenarioValue& value) {
            return parse_value(self, value, scenario.*kMember);
          },
          [](const Scenario& scenario) { return write_value(scenario.*kMember); },
          families};
}

constexpr std::array kTable = {
    key<&Scenario::machine>("machine", "", "machine file by name or path", kAll),
    key<&Scenario::kernel>("kernel",
                           "intranode_dispatch, intranode_combine, internode_dispatch, internode_combine, "
                           "low_latency_dispatch, low_latency_combine, ring_broadcast, micro, co_run",
                           "what is run and timed", kAll),
    key<&Scenario::revision>("revision", "a, b, c, d", "state of the kernels", kExpert),
    key<&Scenario::hints>("hints", "standard, no_prefetch, plain, volatile",
                          "cache hints of payload accesses"),
    key<&Scenario::elements>("elements", "fp8, bf16", "element type of the rows", kExpert),
    key<&Scenario::ranks>("ranks", "ranks", "GPUs, one rank each", kSingle),
    key<&Scenario::tokens>("tokens", "tokens", "tokens per rank", kExpert),
    key<&Scenario::hidden>("hidden", "elements", "elements per row", kExpert),
    key<&Scenario::topk>("topk", "experts", "experts per token", kExpert),
    key<&Scenario::experts>("experts", "experts", "experts on all ranks together", kExpert),
    key<&Scenario::sms>("sms", "SMs", "CTAs of the main kernel, two per channel", kIntranode | kInternode),
    key<&Scenario::chunk>("chunk", "rows", "rows a sender writes before it publishes them"),
    key<&Scenario::ring_slots>("ring_slots", "rows", "rows that a ring holds"),
    key<&Scenario::network>("network", "",
                            "topology of NICs and InfiniBand by name or path; empty: by the number of nodes",
                            kAcrossNodes | kMicro),
    key<&Scenario::nvlink_chunk>("nvlink_chunk", "rows", "rows written over NVLink before they are published",
                                 kInternode),
    key<&Scenario::nvlink_slots>("nvlink_slots", "rows", "rows that a ring over NVLink holds", kInternode),
    key<&Scenario::rdma_chunk>("rdma_chunk", "rows", "rows per RDMA write", kInternode),
    key<&Scenario::rdma_slots>("rdma_slots", "rows", "rows that a ring over RDMA holds", kInternode),
    key<&Scenario::queues>("queues", "queues", "queue pairs per peer; 0: as the kernel has them by default",
                           kAcrossNodes),
    key<&Scenario::doorbell_batch>("doorbell_batch", "messages", "messages per doorbell", kLowLatency),
    key<&Scenario::void_selections>("void_selections", "selections",
                                    "of every rank, made void at random positions", kLowLatency),
    key<&Scenario::zero_copy>("zero_copy", "", "whether combine finds its rows where it sends them from",
                              kLowLatency),
    key<&Scenario::virtual_lane>("virtual_lane", "", "InfiniBand lane of all RDMA traffic", kAcrossNodes),
    key<&Scenario::adaptive_routing>("adaptive_routing", "", "whether packets take any of the equal ways",
                                     kAcrossNodes),
    key<&Scenario::phases>("phases", "together, apart", "whether one launch sends and receives", kLowLatency),
    key<&Scenario::faults>("faults", "", "links, NICs and ranks that are slow, late or down", kAcrossNodes),
    key<&Scenario::elide>("elide", "", "whether the bytes of rows are not stored, except of a sample",
                          kAcrossNodes),
    key<&Scenario::mirror>("mirror", "", "whether one node is simulated and stands for all", kAcrossNodes),
    key<&Scenario::routing>("routing", "random, all_to_one, none_to_last, masked, zipf, hot, file",
                            "who gets the tokens", kExpert),
    key<&Scenario::zipf_exponent>("zipf_exponent", "", "of the experts' popularity in the routing zipf",
                                  kExpert),
    key<&Scenario::routing_file>("routing_file", "", "CSV of each token's experts, for the routing file",
                                 kExpert),
    key<&Scenario::seed>("seed", "", "of the routing and the data", kSingle),
    key<&Scenario::send_topk>("send_topk", "", "whether expert indices and weights travel with the rows",
                              kIntranode | kInternode),
    key<&Scenario::notify>("notify", "cached, full", "whether the first call counts on the GPUs",
                           kIntranode | kInternode),
    key<&Scenario::calls>("calls", "calls", "calls back to back; the last one is timed", kExpert | kMicro),
    key<&Scenario::flush_l2>("flush_l2", "", "whether L2 is emptied before the timed call", kExpert | kMicro),
    key<&Scenario::bytes>("bytes", "B", "size of the buffer that is broadcast", kRing),
    key<&Scenario::placement>("placement", "out-of-place, in-place", "whether the root keeps a copy", kRing),
    key<&Scenario::ring>("ring", "", "ranks in the order of the ring, the root first", kRing),
    key<&Scenario::ring_channels>("channels", "channels", "rings side by side, one CTA of each rank", kRing),
    key<&Scenario::chunk_bytes>("chunk_bytes", "B", "what one rank passes to the next in one step", kRing),
    key<&Scenario::fifo_steps>("fifo_steps", "chunks", "chunks that a FIFO holds", kRing),
    key<&Scenario::iterations>("iterations", "iterations", "broadcasts back to back", kRing),
    key<&Scenario::ptx>("ptx", "", "file with the main kernel, in place of ours", kSingle),
    key<&Scenario::entry>("entry", "", "name of the main kernel in it", kSingle),
    key<&Scenario::registers>("registers", "registers",
                              "per thread of the main kernel; 0: by log or estimate", kSingle),
    key<&Scenario::ptxas_log>("ptxas_log", "", "file with the output of ptxas -v, for the kernels' registers",
                              kSingle),
    key<&Scenario::cache_hints>("cache_hints", "", "other cache hints of the main kernel's loads and stores",
                                kSingle),
    key<&Scenario::notify_ptx>("notify_ptx", "", "file with the cached notify kernel, in place of ours",
                               kIntranode | kInternode),
    key<&Scenario::notify_entry>("notify_entry", "", "name of the cached notify kernel in it",
                                 kIntranode | kInternode),
    key<&Scenario::baseline>(
        "baseline", "", "state that a pair's compute is compared with: none, or one of [baselines]", kCoRun),
    key<&Scenario::split>("split", "", "whether further runs split what a pair loses by cause", kCoRun),
    key<&Scenario::figure>("figure", "", "which figure a microbenchmark is about", kMicro),
};

}  // namespace

std::span<const ScenarioKey> scenario_key_table() { return kTable; }

std::string_view kernel_family_name(KernelFamily family) {
  return Names<KernelFamily>::kWords[static_cast<size_t>(family)];
}

Expected<const ScenarioKey*> find_scenario_key(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ScenarioKey& known : kTable) {
    if (known.name == name) return &known;
    names.push_back(known.name);
  }
  names.insert(names.end(), micro_tables().begin(), micro_tables().end());
  Error error{.message = "unknown key '" + std::string(name) + "' of a scenario", .path = {}, .hint = {}};
  if (const std::string meant = nearest(name, names); !meant.empty()) {
    error.hint = "did you mean '" + meant + "'?";
  } else {
    error.hint = "known keys:";
    for (const std::string_view known : names) error.hint.append(" ").append(known);
  }
  return error;
}

}  // namespace ptxwire::sim
