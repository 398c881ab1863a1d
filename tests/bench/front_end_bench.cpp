// How fast PTX text becomes a program: bytes of nvcc's output per second through each stage.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptx_frontend/frontend.hpp"
#include "tests/bench/copy_run.hpp"

namespace {

using namespace ptxwire;  // NOLINT(google-build-using-namespace)
using Text = std::shared_ptr<const std::string>;

Text kernel_text(const std::string& name) {
  return bench::need(ptx::read_text_file(bench::need(find_data_file("kernels/" + name + ".ptx"))));
}

/// Our kernels in one module of some megabytes, as a library of kernels gives: `copies` of dispatch_a, each
/// entry renamed.
Text large_module(size_t copies) {
  constexpr std::string_view kEntry = ".visible .entry ";
  const std::string module = *kernel_text("dispatch_a");
  const size_t first = module.find(kEntry);
  std::string text = module.substr(0, first);
  for (size_t copy = 0; copy < copies; ++copy) {
    for (size_t at = first; at != std::string::npos;) {
      const size_t open = module.find('(', at);
      const size_t next = module.find(kEntry, open);
      text.append(module, at, open - at).append("_").append(std::to_string(copy));
      text.append(module, open, std::min(next, module.size()) - open);
      at = next;
    }
  }
  return std::make_shared<const std::string>(std::move(text));
}

enum class Stage : uint8_t { parse, check, lower };

/// Stages up to and including `last`, over modules that are read already.
void front_end(benchmark::State& state, Stage last, const std::vector<Text>& texts) {
  int64_t bytes = 0;
  for (const Text& text : texts) bytes += static_cast<int64_t>(text->size());
  for (auto _ : state) {
    for (const Text& text : texts) {
      ptx::Diagnostics diagnostics;
      ptx::Module module = ptx::parse(text, "kernel.ptx", diagnostics);
      if (last != Stage::parse) ptx::check(module, diagnostics);
      if (diagnostics.has_errors()) return state.SkipWithError("the kernels have errors");
      if (last == Stage::lower) benchmark::DoNotOptimize(bench::need(ptx::link_and_lower({&module})));
      benchmark::DoNotOptimize(module);
    }
  }
  state.counters["megabytes_per_second"] =
      benchmark::Counter(static_cast<double>(bytes) * 1e-6 * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

void our_kernels(benchmark::State& state, Stage last) {
  std::vector<Text> texts;
  for (const char* name : {"combine_a", "combine_d", "dispatch_a", "dispatch_d", "layout", "notify"})
    texts.push_back(kernel_text(name));
  front_end(state, last, texts);
}
BENCHMARK_CAPTURE(our_kernels, parse, Stage::parse)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(our_kernels, check, Stage::check)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(our_kernels, lower, Stage::lower)->Unit(benchmark::kMillisecond);

/// Ten megabytes: time must grow with the size of the text, not faster.
void ten_megabytes(benchmark::State& state, Stage last) { front_end(state, last, {large_module(100)}); }
BENCHMARK_CAPTURE(ten_megabytes, parse, Stage::parse)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ten_megabytes, lower, Stage::lower)->Unit(benchmark::kMillisecond);

/// As large as real modules become.
void fifty_megabytes(benchmark::State& state, Stage last) { front_end(state, last, {large_module(500)}); }
BENCHMARK_CAPTURE(fifty_megabytes, check, Stage::check)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fifty_megabytes, lower, Stage::lower)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
