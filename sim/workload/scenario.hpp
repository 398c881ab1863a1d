// What to run: a scenario file names a machine, a kernel and its settings. Example (another in micro.hpp):
//
//   machine = "h800-node"
//   kernel = "intranode_dispatch"
//   revision = "a"
//   ranks = 8
//   tokens = 4096
//   chunk = "8 rows"
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/co_run.hpp"
#include "sim/workload/micro.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

/// ring_broadcast: ring_broadcast.hpp. micro: any kernel, on memory that the scenario describes (micro.hpp).
/// co_run: two of them beside each other (co_run.hpp). internode_*: rows cross the NIC once per node
/// (internode.hpp). low_latency_*: every selection is a message of its own (low_latency.hpp).
enum class KernelFamily : uint8_t {
  intranode_dispatch,
  intranode_combine,
  ring_broadcast,
  micro,
  co_run,
  internode_dispatch,
  internode_combine,
  low_latency_dispatch,
  low_latency_combine
};
[[nodiscard]] constexpr bool is_internode(KernelFamily family) {
  return family == KernelFamily::internode_dispatch || family == KernelFamily::internode_combine;
}
[[nodiscard]] constexpr bool is_low_latency(KernelFamily family) {
  return family == KernelFamily::low_latency_dispatch || family == KernelFamily::low_latency_combine;
}
/// They run in pairs.
[[nodiscard]] constexpr KernelFamily other_of_pair(KernelFamily low_latency) {
  return low_latency == KernelFamily::low_latency_dispatch ? KernelFamily::low_latency_combine
                                                           : KernelFamily::low_latency_dispatch;
}
/// State of the kernels (kernels/README.md): a, b and c move rows through registers, d with bulk copies.
/// Across nodes a posts through the host, b, c and d from the GPU; low latency uses NVLink from c on.
enum class KernelRevision : uint8_t { a, b, c, d };
/// Cache hints of the payload accesses; each is an entry of its own in the PTX.
enum class PayloadHints : uint8_t { standard, no_prefetch, plain, safe };
enum class ElementType : uint8_t { fp8, bf16 };
/// Who gets the tokens (routing.hpp).
enum class RoutingPattern : uint8_t { random, all_to_one, none_to_last, masked, zipf, hot, file };
/// cached: the counts of the routing are known, as in the benchmark; full: the first call counts and
/// exchanges them on the GPUs.
enum class NotifyMode : uint8_t { cached, full };
/// Whether the root of a collective has an output buffer of its own or its input is its output.
enum class BufferPlacement : uint8_t { out_of_place, in_place };
/// Low latency: one launch that sends and receives, or one for each, with a pause between them.
enum class PhaseMode : uint8_t { together, apart };

/// That our kernels across nodes count on (kernels/src/internode.cuh).
inline constexpr uint32_t kGpusPerNode = 8;

struct Scenario {
  std::string name;  ///< file name without folder and ending
  std::string path;  ///< file it came from; empty if none

  std::string machine = "h800-node";            ///< a machine file by name, or a path
  std::vector<std::string> machine_parameters;  ///< "nvlink.header_bytes=16 B", applied in order
  KernelFamily kernel = KernelFamily::intranode_dispatch;
  KernelRevision revision = KernelRevision::a;
  PayloadHints hints = PayloadHints::standard;
  ElementType elements = ElementType::fp8;

  uint32_t ranks = 8;
  uint32_t tokens = 4096;     ///< per rank
  uint32_t hidden = 7168;     ///< elements per row
  uint32_t topk = 8;          ///< experts per token
  uint32_t experts = 256;     ///< on all ranks together
  uint32_t sms = 24;          ///< CTAs of the main kernel, two per channel
  uint32_t chunk = 8;         ///< rows a sender writes before it publishes them
  uint32_t ring_slots = 256;  ///< rows per ring
  // Across nodes.
  std::string network;  ///< topology of NICs and InfiniBand by name or path; empty: by the number of nodes
  uint32_t nvlink_chunk =
      8;  ///< rows a forwarder (dispatch) or sender (combine) writes before it publishes them
  uint32_t nvlink_slots = 512;   ///< rows per ring over NVLink
  uint32_t rdma_chunk = 16;      ///< rows per RDMA write
  uint32_t rdma_slots = 128;     ///< rows per ring over RDMA; rounded up to a multiple of the chunk
  uint32_t queues = 0;           ///< queue pairs per peer; 0: as the kernel has them by default
  uint32_t void_selections = 0;  ///< low latency: of every rank, in the random routing
  bool zero_copy = false;        ///< low latency: combine finds its rows where it sends them from
  uint32_t doorbell_batch = 4;   ///< low latency: messages per doorbell
  uint32_t virtual_lane = 0;     ///< of all RDMA traffic
  bool adaptive_routing = false;
  PhaseMode phases = PhaseMode::together;
  std::string faults;  ///< "nic3=0.5; link nic0-leaf0=down; rank5=200us" (faults.hpp)
  /// Bytes of rows are not stored, except of a sample: internode_elision.cpp, low_latency_elision.cpp.
  bool elide = false;
  bool mirror = false;  ///< one node is simulated and stands for all (mirror.hpp)
  RoutingPattern routing = RoutingPattern::random;
  double zipf_exponent = 1.0;  ///< routing zipf: expert k in the order of popularity has weight (k + 1)^-s
  std::string routing_file;    ///< routing file: who gets which token (routing_file.hpp)
  uint64_t seed = 1;
  bool send_topk = false;  ///< expert indices and weights travel with the rows (the benchmark sends none)
  NotifyMode notify = NotifyMode::cached;
  uint32_t calls = 2;     ///< back to back; the last one is timed
  bool flush_l2 = false;  ///< L2 is emptied before the timed call

  // Ring broadcast (ring_broadcast.hpp); of the keys above it knows machine, kernel, ranks and seed.
  uint64_t bytes = 64 << 20U;  ///< of the buffer
  BufferPlacement placement = BufferPlacement::out_of_place;
  std::string ring;               ///< ranks in order, the root first, as "0 3 1 2"; empty: 0 1 2 ...
  uint32_t ring_channels = 16;    ///< CTAs per rank, each a ring of its own; key "channels"
  uint64_t chunk_bytes = 524288;  ///< that a FIFO holds per step
  uint32_t fifo_steps = 8;        ///< chunks a FIFO holds
  uint32_t iterations = 20;       ///< back to back; the time of one in the steady state counts

  // Other PTX in place of ours, for comparisons; empty: by kernel, revision and hints.
  std::string ptx;         ///< file with the main kernel
  std::string entry;       ///< its name there
  uint32_t registers = 0;  ///< per thread of the main kernel, which decides occupancy; 0: as ptxas_log says
  std::string
      ptxas_log;  ///< text of `ptxas -v` with the registers of all kernels; empty: estimated from the PTX
  /// Other cache hints for its loads and stores: "ld.v4: L1::no_allocate; st.v4:" (ptx::parse_hint_rules).
  std::string cache_hints;
  std::string notify_ptx;
  std::string notify_entry;

  // Pairs (co_run.hpp).
  std::string baseline = "none";  ///< what the compute kernels' slowdown is measured against
  bool split = true;              ///< whether further runs split the loss by cause
  CoRunScenario co_run;

  std::string figure;  ///< micro: which of its figures the scenario is about (micro_result.hpp)
  MicroScenario micro;

  /// Bytes of one row as published bandwidths count them: FP8 with its scales, or BF16.
  [[nodiscard]] uint64_t row_bytes() const;
  /// Scale factors per row: one float per 128 FP8 elements.
  [[nodiscard]] uint32_t scales() const;
  [[nodiscard]] uint32_t channels() const { return sms / 2; }
};

/// Reads a scenario file (TOML). Errors name file and line: no such file, TOML syntax, unknown key (with the
/// nearest one), wrong type, unit that does not fit, negative or out-of-range number, unknown name, settings
/// that exclude each other.
Expected<Scenario> load_scenario(const std::string& path);

/// Path of the scenario "NAME" of traces/scenarios, or `name_or_path` itself if it is a file.
Expected<std::string> find_scenario(const std::string& name_or_path);

/// Sets one key as "key=value", through the same table of keys as the file; "machine.KEY=VALUE UNIT" sets a
/// parameter of the machine, "values.NAME=VALUE" a number of a microbenchmark, "communication.KEY=VALUE" and
/// "compute.KEY=VALUE" a key of a part of a pair. Cross-checks of several keys
/// happen in validate().
Expected<void> apply_override(Scenario& scenario, std::string_view assignment);

/// Settings that exclude each other: odd SM count, chunk larger than the ring, rows that are no multiple of
/// 512 bytes, experts that do not divide by ranks, more ranks than 8 ... Called by load_scenario and
/// run_scenario.
Expected<void> validate(const Scenario& scenario);

/// Every key with its value as the file would write it, in the order of the table: what determines a result,
/// for caches, and for messages.
std::vector<std::pair<std::string, std::string>> scenario_settings(const Scenario& scenario);

/// All keys, for messages and documentation: name, unit (or accepted names), meaning.
struct ScenarioKeyInfo {
  std::string_view key, accepts, meaning;
};
std::vector<ScenarioKeyInfo> scenario_keys();

}  // namespace ptxwire::sim
