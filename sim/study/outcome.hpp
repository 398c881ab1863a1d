// What one simulated scenario gave: the figures that `run` prints, `check` compares and the result store
// keeps.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/study/bottleneck.hpp"
#include "sim/study/memory_account.hpp"
#include "sim/workload/run.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

struct Outcome {
  std::string scenario;               ///< name of the scenario file
  std::vector<std::string> settings;  ///< "key=value" applied to it
  double time_us = 0;                 ///< one call, until the slowest rank is done
  double time_us_rank0 = 0;           ///< the last call on rank 0, event to event
  double logical_gb_per_s = 0;        ///< received rows, own rank included, times row bytes, over time_us
  double wire_gb_per_s = 0;           ///< the part of it that crosses NVLink, or NICs
  std::optional<double> nvlink_logical_gb_per_s;  ///< across nodes: rows received over NVLink, as the others
  double bound_us = 0;     ///< speed-of-light time of the same traffic on this topology
  double bound_share = 0;  ///< bound_us / time_us
  uint64_t warp_instructions = 0;
  uint64_t events = 0;
  ResultState result = ResultState::unchecked;
  std::string mismatch;                  ///< first wrong value, if result is wrong
  std::vector<KernelTime> kernels;       ///< of the timed call
  std::vector<Figure> figures;           ///< of a microbenchmark, the one it is about first; else empty
  std::optional<Sampled> sampled;        ///< time_us is extrapolated; without: simulated
  std::vector<PairPart> parts;           ///< of a pair of kernels, the communication first; else empty
  RunMemory memory;                      ///< of the run that holds the timed call
  std::string surrogate;                 ///< what was run in place of the whole, in words; empty: the whole
  std::vector<std::string> faults;       ///< what the scenario made slow, late or unusable, in words
  std::vector<std::string> rdma_errors;  ///< what went wrong at NICs, in words
  Bottleneck bottleneck;
  double wall_s = 0;            ///< of the run that computed it
  uint64_t peak_rss_bytes = 0;  ///< of the process that computed it
  bool from_cache = false;      ///< not part of the stored form
};

/// The JSON form, as documented in docs/json.md under `run`.
nlohmann::json to_json(const Outcome& outcome);
/// Reads it back. Error: a missing key or a wrong type.
Expected<Outcome> outcome_from_json(std::string_view text);

enum class JsonLayout : uint8_t { compact, indented };
/// The text of any document of ours; an indented one ends in a newline. Names that the user gave may hold
/// bytes that are not UTF-8: they are replaced, not refused.
std::string json_text(const nlohmann::json& document, JsonLayout layout);

}  // namespace ptxwire::sim
