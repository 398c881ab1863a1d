// What one use of a component costs the host, by itself: the event queue, the tags of L2, HBM, the bulk-copy
// engine. NVLink's doors and switches are in memory_system_bench (remote), which they cannot run without.
#include <benchmark/benchmark.h>

#include <random>

#include "models/base/logical_process.hpp"
#include "models/gpu/address_map.hpp"
#include "models/gpu/hbm.hpp"
#include "models/gpu/l2_tags.hpp"
#include "sim/workload/run.hpp"
#include "tests/bench/copy_run.hpp"

namespace {

using namespace ptxwire;          // NOLINT(google-build-using-namespace)
using namespace ptxwire::models;  // NOLINT(google-build-using-namespace)

constexpr size_t kPlanned = 1 << 16;  // random choices are made before the clock runs

/// The argument is how many events are pending; each one handled schedules another.
class Echo final : public EventHandler {
 public:
  explicit Echo(LogicalProcess& process) : process_(process), delays_(kPlanned) {
    std::mt19937 random(1);
    for (Picoseconds& delay : delays_) delay = nanoseconds(random() % 1000 + 1);
  }
  void handle(Picoseconds now, uint64_t argument) override {
    process_.at(now + delays_[next_++ % kPlanned], *this, argument);
  }
  void prepare(uint64_t) const override {}

 private:
  LogicalProcess& process_;
  std::vector<Picoseconds> delays_;
  size_t next_ = 0;
};

void event_queue(benchmark::State& state) {
  LogicalProcess process(0);
  Echo echo(process);
  for (int64_t i = 0; i < state.range(0); ++i) echo.handle({}, 0);
  Picoseconds end{};
  for (auto _ : state) process.run_until(end = end + nanoseconds(1000));
  state.counters["ns_per_event"] =
      benchmark::Counter(static_cast<double>(process.events_handled()) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(event_queue)->Arg(100)->Arg(2000)->Arg(50000);

/// Where the accesses of a benchmark go: `streams` ranges in turn, line after line; 0: anywhere in a GiB.
std::vector<uint64_t> planned_lines(int64_t streams) {
  std::mt19937 random(2);
  std::vector<uint64_t> lines(kPlanned);
  for (size_t i = 0; i < kPlanned; ++i)
    lines[i] = streams == 0 ? random() % (1U << 23U)
                            : i % static_cast<size_t>(streams) * 65536 + i / static_cast<size_t>(streams);
  return lines;
}

void ns_per_access(benchmark::State& state) {
  state.counters["ns_per_access"] =
      benchmark::Counter(static_cast<double>(state.iterations() * static_cast<int64_t>(kPlanned)) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// The argument is the number of streams; 1 hits after the first round, 0 (random in a GiB) mostly misses.
void l2_tags(benchmark::State& state) {
  const Machine machine = bench::load_machine("h800-node");
  const L2AddressMap map(machine.l2);
  L2Tags tags(map.sets_per_slice() * machine.l2.slices, machine.l2.ways);
  const std::vector<uint64_t> lines = planned_lines(state.range(0));
  uint64_t missing = 0;
  for (auto _ : state) {
    for (const uint64_t line : lines) {
      const L2AddressMap::Place place = map.place(line * kLineBytes);
      missing += tags.access(place.set, place.tag, 0xf, false, L2Priority::normal).missing_sectors;
    }
  }
  benchmark::DoNotOptimize(missing);
  ns_per_access(state);
}
BENCHMARK(l2_tags)->Arg(1)->Arg(0);

/// Whole lines, read or read and written in turn.
void hbm(benchmark::State& state, bool copy) {
  const Machine machine = bench::load_machine("h800-node");
  const L2AddressMap map(machine.l2);
  HbmCounters counters;
  Hbm hbm(machine.hbm, machine.l2.slices, counters);
  const std::vector<uint64_t> lines = planned_lines(state.range(0));
  const Picoseconds interval = transfer_time(kLineBytes, machine.hbm.bytes_per_second * 0.8);
  Picoseconds now{}, last{};
  for (auto _ : state) {
    for (size_t i = 0; i < kPlanned; ++i) {
      const L2AddressMap::Place place = map.place(lines[i] * kLineBytes);
      now += interval;
      last = copy && i % 2 != 0 ? hbm.write(place.slice, place.line, 4, now)
                                : hbm.read(place.slice, place.line, 4, now);
    }
  }
  benchmark::DoNotOptimize(last);
  ns_per_access(state);
}
BENCHMARK_CAPTURE(hbm, read, false)->Arg(1)->Arg(64)->Arg(0);
BENCHMARK_CAPTURE(hbm, copy, true)->Arg(64);

/// Bulk loads of 8 KiB on all SMs at once, set-up of the GPU included; bytes that arrive in shared memory.
void bulk_engine(benchmark::State& state) {
  sim::Scenario scenario =
      bench::need(sim::load_scenario(bench::need(sim::find_scenario("micro_bulk_load"))));
  bench::need(sim::apply_override(scenario, "values.ctas=132"));
  uint64_t bytes = 0;
  for (auto _ : state) {
    bench::need(sim::run_scenario(scenario, {.threads = 1, .check_results = false}));
    bytes += uint64_t{2} * 132 * 64 * 8192;  // calls, CTAs, chunks
  }
  state.counters["simulated_megabytes_per_second"] =
      benchmark::Counter(static_cast<double>(bytes) * 1e-6, benchmark::Counter::kIsRate);
}
BENCHMARK(bulk_engine)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
