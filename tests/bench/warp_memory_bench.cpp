// Host memory of a resident warp: how much more a run allocates at its peak when every SM holds 64 warps
// instead of 8. What a GPU costs whether or not warps are there (caches, queues) cancels out; what a warp has
// in flight counts.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tests/bench/copy_run.hpp"

namespace {

std::atomic<int64_t> live_bytes{0}, peak_bytes{0};

void* counted(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  const int64_t live = live_bytes += static_cast<int64_t>(malloc_usable_size(block));
  if (live > peak_bytes) peak_bytes = live;  // one thread allocates while it matters
  return block;
}

void uncounted(void* block) {
  live_bytes -= static_cast<int64_t>(malloc_usable_size(block));
  std::free(block);
}

}  // namespace

void* operator new(size_t size) { return counted(std::malloc(size)); }
void* operator new(size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<size_t>(alignment);
  return counted(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}
void operator delete(void* block) noexcept { uncounted(block); }
void operator delete(void* block, size_t) noexcept { uncounted(block); }
void operator delete(void* block, std::align_val_t) noexcept { uncounted(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { uncounted(block); }

namespace {

using namespace ptxwire;  // NOLINT(google-build-using-namespace)

constexpr uint32_t kSms = 132, kThreads = 256, kFew = 1, kMany = 8;  // CTAs of 8 warps per SM

/// Bytes allocated at the peak of a run beyond what was there before it.
double peak_of(const models::Machine& machine, uint32_t ctas_per_sm) {
  bench::CopyRun run(machine, {.ctas = kSms * ctas_per_sm, .threads = kThreads, .bytes = 64U << 20U});
  const int64_t before = live_bytes;
  peak_bytes = before;
  run.run();
  return static_cast<double>(peak_bytes - before);
}

void resident_warp(benchmark::State& state) {
  const models::Machine machine = bench::load_machine("h800-node");
  double few = 0, many = 0;
  for (auto _ : state) {
    few = peak_of(machine, kFew);
    many = peak_of(machine, kMany);
  }
  state.counters["bytes_per_resident_warp"] = (many - few) / (kSms * kThreads / 32 * (kMany - kFew));
}
BENCHMARK(resident_warp)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
