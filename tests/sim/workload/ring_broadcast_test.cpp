// The ring broadcast on a simulated node: every byte at every rank, counters against closed forms, time
// against what headers and acknowledgements leave of a link.
#include "sim/workload/ring_broadcast.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace ptxwire;
using namespace ptxwire::sim;
using Catch::Matchers::Contains;

namespace {

bool small_sizes() { return std::getenv("PTXWIRE_TEST_SMALL") != nullptr; }

/// Two channels with chunks of 8 KiB in FIFOs of 2, which turn several times; no size divides the next.
Scenario small(uint32_t ranks) {
  Scenario s;
  s.kernel = KernelFamily::ring_broadcast;
  s.ranks = ranks;
  s.bytes = 100'016;
  s.ring_channels = 2;
  s.chunk_bytes = 8192;
  s.fifo_steps = 2;
  s.iterations = 3;
  return s;
}

Expected<ScenarioResult> simulate(const Scenario& scenario, uint32_t threads = 1) {
  RunOptions options;
  options.max_time = models::microseconds(20000);
  options.threads = threads;
  return run_scenario(scenario, options);
}

ScenarioResult run(const Scenario& scenario, uint32_t threads = 1) {
  for (const auto& [key, value] : scenario_settings(scenario)) UNSCOPED_INFO(key << " = " << value);
  auto result = simulate(scenario, threads);
  if (!result) FAIL(result.error().to_string());
  INFO(result->first_mismatch);
  REQUIRE(result->result == ResultState::correct);
  return *result;
}

/// A polled counter's load becomes a constant that says "far ahead".
void wait_for_nobody(std::string& line) {
  const std::string load = "ld.volatile.global.u64 ";
  const size_t at = line.find(load);
  if (at == std::string::npos) return;
  const size_t target = at + load.size();
  line = line.substr(0, at) + "mov.u64 " + line.substr(target, line.find(',') - target) + ", 1000000;";
}

void rename_kernel(std::string& line) {
  const std::string name = "ring_broadcast";
  for (size_t at = line.find(name); at != std::string::npos; at = line.find(name, at))
    line.replace(at, name.size(), "dispatch");
}

/// The committed kernel with every line changed by `edit`.
std::string changed_ptx(void (*edit)(std::string&)) {
  std::ifstream in(std::string(PTXWIRE_SOURCE_DIR) + "/kernels/ring_broadcast.ptx");
  std::string text, changed;
  for (std::string line; std::getline(in, line);) {
    text += line + '\n';
    edit(line);
    changed += line + '\n';
  }
  REQUIRE(changed != text);
  std::string path =
      std::filesystem::temp_directory_path() / ("ptxwire_ring_" + std::to_string(getpid()) + ".ptx");
  std::ofstream(path) << changed;
  return path;
}

}  // namespace

TEST_CASE("ring broadcast: every byte reaches every rank", "[sim]") {
  const auto ranks = GENERATE(2U, 3U, 8U);
  Scenario scenario = small(ranks);
  scenario.placement = GENERATE(BufferPlacement::out_of_place, BufferPlacement::in_place);
  const ScenarioResult result = run(scenario);
  CHECK(result.bound_us == Approx(100'016 / 200e9 * 1e6));  // 8 links of 25 GB/s
  CHECK(result.bound_us < result.time_us);
  CHECK(result.logical_gb_per_s == Approx(100'016 / result.time_us * 1e-3));
}

TEST_CASE("ring broadcast: sizes around a vector, a granule, a chunk and a round; one slot; one iteration",
          "[sim]") {
  Scenario scenario = small(3);
  scenario.bytes = GENERATE(16U, 4096U, 4112U, 8192U, 16384U, 16400U, 81920U);
  scenario.fifo_steps = GENERATE(1U, 3U);
  scenario.iterations = GENERATE(1U, 2U);
  run(scenario);
}

TEST_CASE("ring broadcast: any order of the ranks, the first is the root", "[sim]") {
  Scenario scenario = small(4);
  scenario.ring = "2 0 3 1";
  run(scenario);
}

TEST_CASE("ring broadcast: chunks per channel") {
  Scenario s = small(2);  // rounds of 16 KiB
  const auto steps = [&s](uint64_t bytes) {
    s.bytes = bytes;
    return std::vector<uint64_t>{ring_steps(s, 0), ring_steps(s, 1)};
  };
  using Steps = std::vector<uint64_t>;
  CHECK(steps(16) == Steps{1, 0});          // less than a granule: channel 0 alone
  CHECK(steps(4112) == Steps{1, 1});        // 4096 + 16
  CHECK(steps(16384) == Steps{1, 1});       // one round
  CHECK(steps(3 * 16384) == Steps{3, 3});   // three
  CHECK(steps(16384 + 16) == Steps{2, 1});  // a rest that channel 0 takes
  s.ring_channels = 16;
  s.chunk_bytes = 524288;
  s.bytes = 64 << 20U;
  CHECK(ring_steps(s, 15) == 8);  // 64 MiB / (16 x 512 KiB)
}

TEST_CASE("ring broadcast: the ring names each rank once") {
  Scenario s = small(4);
  using Order = std::vector<uint32_t>;
  const auto order = [&s](const std::string& text) {
    s.ring = text;
    return ring_order(s);
  };
  CHECK(*order("") == Order{0, 1, 2, 3});
  CHECK(*order(" 3 1  2 0 ") == Order{3, 1, 2, 0});
  for (const char* wrong : {"0 1 2", "0 1 2 2", "0 1 2 4", "0 1 2 3 3", "0 1 2 x", "0 -1 2 3", "0,1,2,3",
                            "0 1 2 99999999999999999999"}) {
    INFO(wrong);
    REQUIRE_FALSE(order(wrong).has_value());
    CHECK_THAT(order(wrong).error().message, Contains("ranks 0 to 3 once"));
  }
}

TEST_CASE("ring broadcast: settings that cannot be are refused") {
  const auto refused = [](const std::string& assignment) {
    Scenario s = small(4);
    const auto set = apply_override(s, assignment);
    REQUIRE(set.has_value());
    const auto valid = validate(s);
    INFO(assignment);
    REQUIRE_FALSE(valid.has_value());
    CHECK_THAT(valid.error().message, Contains(assignment.substr(0, assignment.find('='))));
  };
  for (const char* assignment :
       {"ranks=1", "ranks=9", "bytes=0", "bytes=24", "chunk_bytes=0", "chunk_bytes=1000", "channels=0",
        "channels=65", "fifo_steps=0", "iterations=0", "ring=0 1 2"})
    refused(assignment);
}

TEST_CASE("ring broadcast: keys of other kernels mean nothing for it, and the other way round") {
  Scenario ring = small(4), dispatch;
  for (const char* key : {"tokens", "calls", "flush_l2", "notify_ptx", "figure"}) {
    const auto set = apply_override(ring, std::string(key) + "=1");
    INFO(key);
    REQUIRE_FALSE(set.has_value());
    CHECK_THAT(set.error().message, Contains("means nothing for kernel = \"ring_broadcast\""));
  }
  for (const char* key : {"bytes", "placement", "ring", "channels", "iterations"}) {
    const auto set = apply_override(dispatch, std::string(key) + "=1");
    INFO(key);
    REQUIRE_FALSE(set.has_value());
    CHECK_THAT(set.error().message, Contains("means nothing for kernel = \"intranode_dispatch\""));
  }
}

TEST_CASE("ring broadcast: a kernel that waits for nobody is found out", "[sim]") {
  Scenario scenario = small(3);
  scenario.ptx = changed_ptx(wait_for_nobody);
  const auto result = simulate(scenario);
  if (!result) FAIL(result.error().to_string());
  CHECK(result->result == ResultState::wrong);
  CHECK_THAT(result->first_mismatch, Contains("rank 1, byte"));
}

TEST_CASE("ring broadcast: no number depends on names or on threads", "[sim]") {
  Scenario scenario = small(3);
  const ScenarioResult original = run(scenario), threaded = run(scenario, 2);
  scenario.ptx = changed_ptx(rename_kernel);
  scenario.entry = "dispatch";
  const ScenarioResult renamed = run(scenario);
  for (const ScenarioResult* other : {&threaded, &renamed}) {
    CHECK(other->time_us == original.time_us);
    CHECK(other->warp_instructions == original.warp_instructions);
    CHECK(other->events == original.events);
  }
}

namespace {

/// Microseconds per byte between two sizes: what launches, fill and drain cost cancels.
double slope_us(Scenario scenario, uint64_t bytes) {
  scenario.iterations = 6;
  scenario.bytes = 2 * bytes;
  const double longer = run(scenario).time_us;
  scenario.bytes = bytes;
  return (longer - run(scenario).time_us) / static_cast<double>(bytes);
}

}  // namespace

TEST_CASE("ring broadcast: with many channels the links bind, less header and acknowledgement", "[timing]") {
  if (small_sizes()) return;
  // Packets of 128 bytes with a header one way; where a rank also receives, it sends an acknowledgement per
  // packet back, beside its own data. A store that waits for its link holds up those behind it for other
  // links, which costs some per cent.
  const auto [ranks, per_packet] = GENERATE(std::pair{2U, 128 + 16}, std::pair{3U, 128 + 16 + 12});
  Scenario scenario = small(ranks);
  scenario.ring_channels = 16;
  scenario.chunk_bytes = 65536;
  scenario.fifo_steps = 8;
  scenario.machine_parameters = {"nvlink.header_bytes=16 B", "nvlink.ack_bytes=12 B"};
  CHECK(slope_us(scenario, 2 << 20U) == Approx(1e6 / (200e9 * 128 / per_packet)).epsilon(0.03));
}

TEST_CASE("ring broadcast: one channel is bound by the store port of its SM, which every byte passes twice",
          "[timing]") {
  if (small_sizes()) return;
  Scenario scenario = small(3);
  scenario.ring_channels = 1;
  scenario.chunk_bytes = 524288;
  scenario.fifo_steps = 8;
  scenario.machine_parameters = {"sm.store_port_bytes_per_clk=20 B/clk", "sm.clock_hz=2 GHz"};
  const double port = 2e6 / (20 * 2e9);
  const double slope = slope_us(scenario, 1 << 20U);
  CHECK(slope > 0.99 * port);
  CHECK(slope < 1.03 * port);  // workers join at every chunk and start again with empty pipes
}
