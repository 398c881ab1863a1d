// Bandwidths that follow from latency, what is in flight and one limit, each in one line of arithmetic on the
// machine's parameters. Where a limit is not the one that binds on the machine as it is, the parameter is set
// so that it does.
#include <catch2/catch.hpp>

#include "models/machines/machine.hpp"
#include "sim/workload/run.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

double figure_of(const std::string& name, const std::vector<std::string>& settings,
                 const std::string& figure) {
  auto scenario = load_scenario(std::string(PTXWIRE_SOURCE_DIR) + "/traces/scenarios/" + name + ".toml");
  if (!scenario) FAIL(scenario.error().to_string());
  scenario->figure = figure;
  for (const std::string& setting : settings) {
    INFO(setting);
    REQUIRE(apply_override(*scenario, setting).has_value());
    UNSCOPED_INFO(setting);
  }
  const auto result = run_scenario(*scenario, {.threads = 1});
  if (!result) FAIL(result.error().to_string());
  INFO(result->first_mismatch);
  REQUIRE(result->result == ResultState::correct);
  return result->figures.front().value;
}

const models::Machine& machine() {
  static const auto loaded =
      models::load_machine(std::string(PTXWIRE_SOURCE_DIR) + "/models/machines/h800-node.toml");
  REQUIRE(loaded.has_value());
  return *loaded;
}

/// Egress, two links, the switch, ingress; the acknowledgement comes back the same way. Without the time of
/// the bytes.
double remote_store_round_trip_clk() {
  const auto& n = machine().nvlink;
  const double ns =
      2 * (n.egress_latency_ns + 2 * n.link_latency_ns + n.switch_latency_ns + n.ingress_latency_ns);
  return ns * 1e-9 * machine().sm.clock_hz + machine().l2.access_latency_clk;
}

std::string setting(const std::string& name, double value) {
  std::string text = std::to_string(value);
  return name + "=" + text.substr(0, text.find('.'));
}

}  // namespace

// `warps` warps with `unroll` loads of 512 bytes each: bytes in flight over the round trip, until the return
// port of the SM takes no more. A step also costs its instructions and the time of its own bytes through the
// port.
TEST_CASE("closed form: one SM reads bytes in flight over latency until its return port binds", "[sim]") {
  const auto& sm = machine().sm;
  const auto& l2 = machine().l2;
  const double latency = l2.request_latency_clk + l2.access_latency_clk + l2.response_latency_clk;
  double before = 0;
  for (const auto& [warps, unroll] :
       {std::pair{1, 1}, {2, 1}, {4, 1}, {4, 2}, {8, 2}, {8, 4}, {16, 8}, {32, 8}}) {
    const double in_flight = warps * unroll * 512.0;
    const double rate = figure_of("micro_stream_read",
                                  {"values.ctas=1", "calls=2", "flush_l2=false", "values.share=2 MiB",
                                   "entry=stream_read_by_l2", "machine.l2.far_extra_clk=0 clk",
                                   setting("values.threads", 32 * warps), setting("values.unroll", unroll)},
                                  "bytes_per_clk");
    const double bound = std::min(in_flight / latency, sm.l1_return_bytes_per_clk);
    CHECK(rate < 1.001 * bound);
    const double own_bytes = unroll * 512 / sm.l1_return_bytes_per_clk, instructions = 60;
    CHECK(rate > 0.95 * std::min(in_flight / (latency + own_bytes + instructions + in_flight / 64), 64.0));
    CHECK(rate > 0.999 * before);  // equal once the port binds
    before = rate;
  }
  CHECK(before > 0.95 * sm.l1_return_bytes_per_clk);
}

TEST_CASE("closed form: one SM writes to another GPU as its store port allows", "[sim]") {
  for (const double port : {11.0, 22.0}) {
    const double rate = figure_of(
        "micro_stream_write_peer",
        {"machine.sm.store_port_bytes_per_clk=" + std::to_string(port) + " B/clk", "values.share=4 MiB"},
        "bytes_per_clk");
    CHECK(rate == Approx(port).epsilon(0.03));
  }
}

// Twice the window is twice the rate as long as the window is what binds.
TEST_CASE("closed form: one SM writes to another GPU its window over the round trip", "[sim]") {
  const auto rate = [](const std::string& window) {
    return figure_of("micro_stream_write_peer",
                     {"machine.sm.remote_store_window_bytes=" + window, "values.share=256 KiB"},
                     "bytes_per_clk");
  };
  const double four = rate("4 KiB"), eight = rate("8 KiB");
  CHECK(eight == Approx(2 * four).epsilon(0.05));
  const double round_trip = remote_store_round_trip_clk();
  CHECK(four < 4096 / round_trip);
  CHECK(four > 0.85 * 4096 / round_trip);
}

TEST_CASE("closed form: small bulk copies run at bytes per command cost, few of them at bytes per latency",
          "[sim]") {
  const auto rate = [](const char* scenario, const char* parameter, int bytes, int stages) {
    return figure_of(
        scenario,
        {std::string("machine.sm.") + parameter, setting("values.bytes", bytes),
         setting("values.stages", stages), "machine.l2.far_extra_clk=0 clk", "values.chunks=128"},
        "bytes_per_clk");
  };
  // A command that costs more than its share of the latency: 8 in flight do not hide it.
  for (const int bytes : {128, 256, 1024})
    CHECK(rate("micro_bulk_load", "tma_load_issue_clk=400 clk", bytes, 8) ==
          Approx(bytes / 400.0).epsilon(0.03));
  // Cheap commands: twice as many in flight are twice as fast.
  const double one = rate("micro_bulk_load", "tma_load_issue_clk=1 clk", 128, 1);
  CHECK(rate("micro_bulk_load", "tma_load_issue_clk=1 clk", 128, 2) == Approx(2 * one).epsilon(0.05));
  CHECK(rate("micro_bulk_load", "tma_load_issue_clk=1 clk", 128, 4) == Approx(4 * one).epsilon(0.08));
  // Large ones: the width of the engine.
  CHECK(rate("micro_bulk_load", "tma_load_issue_clk=22 clk", 16384, 8) ==
        Approx(machine().sm.tma_bytes_per_clk).epsilon(0.05));
}

TEST_CASE("closed form: small bulk stores run at bytes per command cost", "[sim]") {
  for (const int bytes : {128, 512})
    CHECK(figure_of("micro_bulk_store",
                    {"machine.sm.tma_store_issue_clk=400 clk", setting("values.bytes", bytes),
                     setting("values.words", bytes / 4), "values.stages=8", "values.chunks=128"},
                    "bytes_per_clk") == Approx(bytes / 400.0).epsilon(0.03));
}

// Every SM of a ring sends what the one before it asks for and asks the next one: per 128 bytes a header and,
// for loads, a request share its port with the data.
TEST_CASE("closed form: distributed shared memory moves what headers and requests leave of a port", "[sim]") {
  const auto& sm = machine().sm;
  const auto rate = [](const char* entry, const char* cluster) {
    return figure_of(
        "micro_cluster_ring",
        {std::string("entry=") + entry, std::string("values.cluster=") + cluster, "values.ctas=8"},
        "bytes_per_clk_per_sm");
  };
  const double stores = sm.dsm_bytes_per_clk * 128 / (128 + sm.dsm_header_bytes);
  const double loads = sm.dsm_bytes_per_clk * 128 / (128 + sm.dsm_header_bytes + sm.dsm_request_bytes);
  for (const char* cluster : {"2", "4"}) {
    CHECK(rate("cluster_ring_store", cluster) == Approx(stores).epsilon(0.03));
    CHECK(rate("cluster_ring_load", cluster) == Approx(loads).epsilon(0.05));
  }
}

// The fence follows the store at once, so it sees nearly the whole way of the store and its acknowledgement.
TEST_CASE("closed form: a fence behind one remote store waits for its acknowledgement", "[sim]") {
  for (const auto& [entry, clk] : {std::pair{"order_fence_gpu", machine().sm.fence_gpu_clk},
                                   {"order_fence_sys", machine().sm.fence_sys_clk}}) {
    const double cost = figure_of(
        "micro_order", {std::string("entry=") + entry, "values.outstanding=1", "values.memory_gpu=1"},
        "clk_per_access");
    CHECK(cost > clk + remote_store_round_trip_clk());
    CHECK(cost < 1.1 * (clk + remote_store_round_trip_clk()));
  }
}

// Stores leave the warp as fast as the load/store unit takes them and wait before the port: what a fence
// waits for grows with each by the difference.
TEST_CASE("closed form: a fence waits for the stores that the port has not taken yet", "[sim]") {
  const auto& sm = machine().sm;
  for (const char* gpu : {"0", "1"}) {
    const auto cost = [&](const char* outstanding) {
      return figure_of("micro_order",
                       {std::string("values.memory_gpu=") + gpu,
                        std::string("values.outstanding=") + outstanding, "machine.l2.far_extra_clk=0 clk"},
                       "clk_per_access");
    };
    const double per_store = 512 / sm.store_port_bytes_per_clk - 512 / sm.lsu_bytes_per_clk;
    CHECK(cost("96") - cost("32") == Approx(64 * per_store).epsilon(0.05));
  }
}
