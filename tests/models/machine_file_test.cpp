#include <filesystem>
#include <fstream>

#include "models/machines/parameter_table.hpp"
#include "tests/models/driver.hpp"

namespace ptxwire::models::test {
namespace {

const std::string kMachines = std::string(PTXWIRE_SOURCE_DIR) + "/models/machines/";

/// A machine file in a fresh folder, removed at the end.
class TemporaryMachine {
 public:
  explicit TemporaryMachine(const std::string& name, const std::string& nvlink_lines)
      : path_(temporary_path(name + ".toml")) {
    std::ofstream file(path_);
    file << "name = \"test\"\n"                               // line 1
         << "base = \"" << kMachines << "h800-node.toml\"\n"  // line 2
         << "[nvlink]\n"                                      // line 3
         << nvlink_lines << "\n";                             // line 4 and on
  }
  ~TemporaryMachine() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("machine: every parameter of the nodes says where it comes from", "[contract]") {
  const Machine m = machine(GENERATE(as<std::string>{}, "h800-node", "h100-node", "h800-pcie"));
  CHECK(m.records.size() == parameter_table().size());
  for (const ParameterRecord& record : m.records) {
    INFO(record.key);
    CHECK(record.source.size() > 3);
    CHECK((record.kind == "spec" || record.kind == "measured" || record.kind == "fitted"));
  }
}

TEST_CASE("machine: H800 and H100 share the GPU and differ in links", "[contract]") {
  const Machine h800 = machine("h800-node"), h100 = machine("h100-node");
  CHECK(h800.nvlink.links_per_gpu == 8);
  CHECK(h100.nvlink.links_per_gpu == 18);
  CHECK(h800.nvlink.link_switch == std::vector<uint32_t>{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(h100.nvlink.link_switch.size() == 18);
  for (const Parameter& parameter : parameter_table()) {
    if (parameter.key.starts_with("nvlink.links_per_gpu")) continue;
    INFO(parameter.key);
    CHECK(parameter.get(h800, parameter.index) == parameter.get(h100, parameter.index));
  }
}

TEST_CASE("machine: the H800 PCIe card has fewer SMs, its own clock and memory, and no peer", "[contract]") {
  const Machine card = machine("h800-pcie"), h800 = machine("h800-node");
  CHECK(card.gpus == 1);
  CHECK(card.sm.count == 114);
  CHECK(card.sm.clock_hz == 1.755e9);
  CHECK(card.hbm.bytes_per_second < h800.hbm.bytes_per_second);
  CHECK(card.l2.far_extra_clk == h800.l2.far_extra_clk);
  CHECK(card.sm.l1_hit_latency_clk == h800.sm.l1_hit_latency_clk);
}

TEST_CASE("machine: units are converted to those of the members", "[analytic]") {
  const Machine m = machine("h800-node");
  CHECK(m.sm.clock_hz == 1.98e9);
  CHECK(m.sm.l1_bytes == 262144);
  CHECK(m.l2.bytes == 52428800);
  CHECK(m.nvlink.link_bytes_per_second == 25e9);
  CHECK(m.hbm.bytes == 85899345920);
  CHECK(m.sm.timing[static_cast<size_t>(OperationClass::match)].latency_clk == 375);
}

TEST_CASE("machine: a file overrides its base", "[contract]") {
  const TemporaryMachine file(
      "override", "header_bytes = { value = 24, unit = \"B\", kind = \"fitted\", source = \"a test\" }");
  const Expected<Machine> m = load_machine(file.path());
  REQUIRE(m);
  CHECK(m->nvlink.header_bytes == 24);
  CHECK(m->nvlink.links_per_gpu == 8);
  CHECK(m->name == "test");
}

TEST_CASE("machine: errors name file, line and what was expected", "[contract]") {
  struct Case {
    const char* name;
    const char* lines;
    uint32_t line;
    const char* message;
    const char* hint;
  };
  const Case c = GENERATE(
      Case{"unknown_key", "header_byte = { value = 1, unit = \"B\", kind = \"spec\", source = \"x\" }", 4,
           "unknown parameter 'nvlink.header_byte'", "nvlink.header_bytes"},
      Case{"wrong_unit", "header_bytes = { value = 1, unit = \"ns\", kind = \"spec\", source = \"x\" }", 4,
           "wrong unit 'ns', expected one of B,", ""},
      Case{"no_unit", "\nheader_bytes = { value = 1, kind = \"spec\", source = \"x\" }", 5, "missing unit",
           ""},
      Case{"no_source", "header_bytes = { value = 1, unit = \"B\", kind = \"spec\" }", 4, "missing source",
           ""},
      Case{"negative", "header_bytes = { value = -1, unit = \"B\", kind = \"spec\", source = \"x\" }", 4,
           "is negative", ""},
      Case{"out_of_range", "header_bytes = { value = 1, unit = \"GiB\", kind = \"spec\", source = \"x\" }", 4,
           "out of range, expected 0 to", ""},
      Case{"fraction", "header_bytes = { value = 1.5, unit = \"B\", kind = \"spec\", source = \"x\" }", 4,
           "whole number", ""},
      Case{"not_a_number",
           "header_bytes = { value = \"16 B\", unit = \"B\", kind = \"spec\", source = \"x\" }", 4,
           "value must be a number", ""},
      Case{"unknown_kind", "header_bytes = { value = 1, unit = \"B\", kind = \"guess\", source = \"x\" }", 4,
           "unknown kind 'guess', expected spec, measured or fitted", ""},
      Case{"unknown_field", "header_bytes = { value = 1, units = \"B\", kind = \"spec\", source = \"x\" }", 4,
           "unknown field 'units'", ""},
      Case{"bare_value", "\n\nheader_bytes = 16", 6, "expected { value", ""},
      Case{"not_toml", "header_bytes = {", 4, "", ""},
      Case{"topology_mismatch",
           "links_per_gpu = { value = 9, unit = \"count\", kind = \"spec\", source = \"x\" }", 1,
           "links of gpu0 are 8, but", ""});
  const TemporaryMachine file(c.name, c.lines);
  const Expected<Machine> m = load_machine(file.path());
  REQUIRE_FALSE(m);
  INFO(c.name << ": " << m.error().to_string());
  CHECK(m.error().line == c.line);
  CHECK_THAT(m.error().message, Catch::Contains(c.message));
  CHECK_THAT(m.error().hint, Catch::Contains(c.hint));
  CHECK(!m.error().path.empty());
}

TEST_CASE("machine: missing and circular files are errors", "[contract]") {
  CHECK_FALSE(load_machine(kMachines + "no-such.toml"));
  CHECK_FALSE(load_machine(kMachines));
  const Expected<Machine> incomplete = load_machine(kMachines + "gh100-gpu.toml");
  REQUIRE_FALSE(incomplete);
  CHECK_THAT(incomplete.error().message, Catch::Contains("missing parameter"));
  const std::string path = temporary_path("circle.toml");
  std::ofstream(path) << "name = \"c\"\nbase = \"" << path << "\"\n";
  const Expected<Machine> circle = load_machine(path);
  std::filesystem::remove(path);
  REQUIRE_FALSE(circle);
  CHECK_THAT(circle.error().message, Catch::Contains("circle"));
  CHECK(circle.error().line == 2);
}

TEST_CASE("machine: one parameter set by name", "[contract]") {
  Machine m = machine("h800-node");
  REQUIRE(set_machine_parameter(m, "nvlink.link_bytes_per_second", "20 GB/s"));
  CHECK(m.nvlink.link_bytes_per_second == 20e9);
  REQUIRE(set_machine_parameter(m, "nvlink.header_bytes", "24"));  // the unit of the file
  CHECK(m.nvlink.header_bytes == 24);
  REQUIRE(set_machine_parameter(m, "sm.remote_store_window_bytes", "32KiB"));
  CHECK(m.sm.remote_store_window_bytes == 32768);
  REQUIRE(set_machine_parameter(m, "host.launch_latency_us", "4900 ns"));
  CHECK(m.host.launch_latency_us == 4.9);

  const Machine before = m;
  const Expected<void> unknown = set_machine_parameter(m, "nvlink.heder_bytes", "1 B");
  REQUIRE_FALSE(unknown);
  CHECK_THAT(unknown.error().hint, Catch::Contains("nvlink.header_bytes"));
  CHECK_FALSE(set_machine_parameter(m, "nvlink.header_bytes", "many"));
  CHECK_FALSE(set_machine_parameter(m, "nvlink.header_bytes", ""));
  CHECK_FALSE(set_machine_parameter(m, "nvlink.header_bytes", "16 ns"));
  CHECK_FALSE(set_machine_parameter(m, "nvlink.header_bytes", "-16 B"));
  CHECK_FALSE(set_machine_parameter(m, "nvlink.header_bytes", "nan B"));
  CHECK_FALSE(set_machine_parameter(m, "l2.slices", "81"));  // not a multiple of the partitions
  CHECK(m.nvlink.header_bytes == before.nvlink.header_bytes);
  CHECK(m.l2.slices == before.l2.slices);
}

TEST_CASE("machine: each operation class has a name and a row", "[contract]") {
  for (size_t i = 0; i < static_cast<size_t>(OperationClass::count); ++i) {
    const auto name = std::string(operation_class_name(static_cast<OperationClass>(i)));
    CHECK(find_parameter("sm.timing." + name + "_latency_clk") != nullptr);
  }
}

}  // namespace ptxwire::models::test
