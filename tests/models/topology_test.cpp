#include "models/fabric/topology.hpp"

#include <filesystem>
#include <fstream>

#include "tests/models/driver.hpp"

namespace ptxwire::models::test {
namespace {

Expected<Topology> from_text(const std::string& text) {
  const std::string path = temporary_path("topology.toml");
  std::ofstream(path) << text;
  Expected<Topology> topology = Topology::load(path);
  std::filesystem::remove(path);
  return topology;
}

Topology shipped(const std::string& name) {
  auto topology =
      Topology::load(std::string(PTXWIRE_SOURCE_DIR) + "/models/fabric/topologies/" + name + ".toml");
  if (!topology) FAIL(topology.error().to_string());
  return std::move(*topology);
}

std::string link(const std::string& from, const std::string& to, int count = 1,
                 const std::string& rate = "1 GB/s") {
  return "[[link]]\nfrom = \"" + from + "\"\nto = \"" + to + "\"\ncount = " + std::to_string(count) +
         "\nrate = \"" + rate + "\"\n";
}

}  // namespace

TEST_CASE("topology: links of the shipped nodes", "[contract]") {
  const Topology h800 = shipped("h800-node"), h100 = shipped("h100-node");
  CHECK(h800.gpus() == 8);
  CHECK(h800.switches() == 4);
  for (uint32_t gpu = 0; gpu < 8; ++gpu) {
    CHECK(h800.link_switches(GpuId{gpu}) == std::vector<uint32_t>{0, 0, 1, 1, 2, 2, 3, 3});
    CHECK(h100.link_switches(GpuId{gpu}).size() == 18);
  }
  CHECK(h800.route(GpuId{2}, GpuId{5}) == std::vector<uint32_t>{2, 8, 5});
  CHECK(h800.route(GpuId{3}, GpuId{3}) == std::vector<uint32_t>{3});
  CHECK(h800.vertex_name(8) == "switch0");
}

TEST_CASE("topology: speed of light of a full node is its busiest port", "[analytic]") {
  const Topology topology = shipped("h800-node");
  TrafficMatrix ring(8), all(8), incast(8);
  for (uint32_t from = 0; from < 8; ++from) {
    for (uint32_t to = 0; to < 8; ++to) all.at(GpuId{from}, GpuId{to}) = 1'000'000;
    ring.at(GpuId{from}, GpuId{(from + 1) % 8}) = 200'000'000;
    incast.at(GpuId{from}, GpuId{0}) = 200'000'000;
  }
  // 200 GB/s per GPU and direction; the diagonal costs nothing.
  CHECK(topology.speed_of_light(ring).us() == Approx(1000));
  CHECK(topology.speed_of_light(all).us() == Approx(35));
  CHECK(topology.speed_of_light(incast).us() == Approx(7000));
  CHECK(topology.speed_of_light(TrafficMatrix(8)) == Picoseconds{});
}

TEST_CASE("topology: speed of light finds a narrow place between switches", "[analytic]") {
  // Two pairs of GPUs, 10 GB/s each to their switch, 4 GB/s between the switches: 2 x 1 GB must cross.
  const auto topology = from_text("[vertices]\ngpu = 4\nswitch = 2\n" + link("gpu[0-1]", "switch0", 10) +
                                  link("gpu[2-3]", "switch1", 10) + link("switch0", "switch1", 4));
  REQUIRE(topology);
  TrafficMatrix across(4), along(4);
  across.at(GpuId{0}, GpuId{2}) = across.at(GpuId{1}, GpuId{3}) = 1'000'000'000;
  along.at(GpuId{0}, GpuId{1}) = along.at(GpuId{2}, GpuId{3}) = 1'000'000'000;
  CHECK(topology->speed_of_light(across).us() == Approx(500'000).epsilon(1e-5));
  CHECK(topology->speed_of_light(along).us() == Approx(100'000).epsilon(1e-5));
  CHECK(topology->route(GpuId{0}, GpuId{3}) == std::vector<uint32_t>{0, 4, 5, 3});
}

TEST_CASE("topology: errors name the line", "[contract]") {
  const std::string vertices = "[vertices]\ngpu = 2\nswitch = 1\n";  // lines 1 to 3
  const std::string good = link("gpu[0-1]", "switch0");              // lines 4 to 8
  struct Case {
    std::string text;
    uint32_t line;
    std::string message;
  };
  const std::vector<Case> cases{
      {vertices + link("gpu[0-2]", "switch0"), 5, "[vertices] has 2 GPUs"},
      {vertices + link("gpu[0-1]", "switch1"), 6, "[vertices] has 1 switches"},
      {vertices + link("cpu0", "switch0"), 5, "expected a vertex"},
      {vertices + link("gpu[1-0]", "switch0"), 5, "expected a vertex"},
      {vertices + link("gpu[0-1]", "switch0", 0), 7, "expected a whole number from 1"},
      {vertices + link("gpu[0-1]", "switch0", -2), 7, "expected a whole number from 1"},
      {vertices + link("gpu[0-1]", "switch0", 1, "25 GHz"), 8, "wrong unit 'GHz'"},
      {vertices + link("gpu[0-1]", "switch0", 1, "25"), 8, "wrong unit ''"},
      {vertices + link("gpu[0-1]", "switch0", 1, "-25 GB/s"), 8, "above zero"},
      {vertices + link("gpu0", "gpu0"), 4, "gpu0 with itself"},
      {vertices + link("gpu0", "switch0"), 1, "no way from gpu0 to gpu1"},
      {vertices + good + "speed = 3\n", 9, "unknown key 'speed'"},
      {vertices, 1, "at least one [[link]]"},
      {good, 1, "[vertices]"},
      {"[vertices]\ngpu = 0\n" + good, 2, "expected a whole number from 1"},
      {"[vertices\n", 1, ""},
  };
  for (const Case& c : cases) {
    const auto topology = from_text(c.text);
    INFO(c.text);
    REQUIRE_FALSE(topology);
    INFO(topology.error().to_string());
    CHECK(topology.error().line == c.line);
    CHECK_THAT(topology.error().message, Catch::Contains(c.message));
  }
  CHECK_FALSE(Topology::load("/nonexistent/topology.toml"));
}

}  // namespace ptxwire::models::test
