// Warp instructions per second of one host core on the copy kernel: over the zero-latency model, which is the
// price of executing alone, and over the H800 node, which adds the models.
#include <benchmark/benchmark.h>

#include "tests/bench/copy_run.hpp"

namespace {

using namespace ptxwire;  // NOLINT(google-build-using-namespace)

/// The arguments are MiB copied per launch (16 stay in the L2 of the simulated GPU, 128 do not) and CTAs, one
/// per SM.
void copy(benchmark::State& state, bool untimed) {
  models::Machine machine = bench::load_machine("h800-node");
  if (untimed) models::make_untimed(machine);
  bench::CopyRun run(machine, {.ctas = static_cast<uint32_t>(state.range(1)),
                               .bytes = static_cast<uint64_t>(state.range(0)) << 20U});
  run.run();  // pages of the copy exist, caches are warm
  uint64_t instructions = 0, events = 0;
  for (auto _ : state) {
    const sim::RunReport report = run.run();
    instructions += report.warp_instructions;
    events += report.events;
  }
  if (!run.copied()) state.SkipWithError("the copy is wrong");
  state.counters["warp_instructions_per_second"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
  state.counters["events_per_instruction"] = static_cast<double>(events) / static_cast<double>(instructions);
}
BENCHMARK_CAPTURE(copy, untimed, true)
    ->Args({16, 132})
    ->Args({16, 16})
    ->Args({128, 132})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(copy, h800_node, false)->Args({16, 132})->Args({128, 132})->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
