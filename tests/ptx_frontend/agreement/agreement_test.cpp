// A sample of what the program `agreement` does at length: verdicts on mutants of our kernels and of nvcc's
// output, ours against those of ptxas.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "ptx_frontend/frontend.hpp"
#include "tests/ptx_frontend/agreement/comparison.hpp"
#include "tests/ptx_frontend/agreement/shards.hpp"

namespace ptxwire::ptx::agreement {
namespace {

constexpr size_t kMutants = 500, kLongestShard = 6000;

std::vector<std::string> files() {
  std::vector<std::string> paths;
  for (const char* folder : {"/kernels/micro", "/kernels/compute", "/tests/sim/conformance/cuda"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(PTXWIRE_SOURCE_DIR) + folder))
      if (entry.path().extension() == ".ptx") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST_CASE("agreement: shards stand alone and hold one function each") {
  const std::string module =
      ".version 9.0\n.target sm_90a\n.address_size 64\n"
      ".global .u32 used;\n.global .u32 unused;\n.func f() { ret; }\n"
      ".visible .entry k(\n.param .u64 k_param_0\n)\n{ .reg .b32 %r<3>; ld.global.u32 %r1, [used]; call f; "
      "ret; }\n"
      ".visible .entry other() { ret; }\n";
  const auto parts = shards(module, 1000);
  REQUIRE(parts.size() == 3);
  CHECK(parts[1].find("unused") == std::string::npos);
  CHECK(parts[1].find(".func f()") != std::string::npos);
  CHECK(parts[1].find("other") == std::string::npos);
  for (const std::string& part : parts) CHECK(ask_front_end(part).accepted);
  CHECK(shards(module, 60).size() == 2);
}

TEST_CASE("agreement: a seed gives one mutant") {
  const std::string module = shards(**read_text_file(files().front()), 100000).at(0);
  for (uint64_t seed = 0; seed < 100; ++seed) CHECK(mutate(module, seed).text == mutate(module, seed).text);
}

TEST_CASE("agreement: 500 mutants, ptxas and we say the same", "[contract]") {
  if (!have_ptxas()) {
    WARN("skipped: no ptxas");
    return;
  }
  std::vector<std::string> modules;
  for (const std::string& path : files()) {
    const auto text = read_text_file(path);
    REQUIRE(text);
    for (std::string& shard : shards(**text, kLongestShard)) modules.push_back(std::move(shard));
  }
  REQUIRE(modules.size() > 50);
  const Comparison comparison = compare(modules, kMutants, 1, 2);
  for (const Disagreement& d : comparison.disagreements) {
    WARN("seed " << d.seed << ", " << name(d.mutant.mutation) << ", line " << d.mutant.line
                 << ": ptxas: " << (d.ptxas.accepted ? "accepts" : d.ptxas.message)
                 << "; ours: " << (d.ours.accepted ? "accepts" : d.ours.message));
  }
  // At least 99.5 % over many; five of 500 leave room for the luck of a sample.
  CHECK(comparison.total().mutants - comparison.total().agreed <= 5);
}

}  // namespace
}  // namespace ptxwire::ptx::agreement
