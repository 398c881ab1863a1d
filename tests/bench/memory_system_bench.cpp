// What one simulated memory transaction costs the host.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "models/fabric/nvlink.hpp"
#include "models/gpu/memory_system.hpp"
#include "models/machines/machine.hpp"
#include "support/data_path.hpp"

namespace {

using namespace ptxwire::models;

constexpr unsigned kLines = 4;        // a warp access of 16 bytes per lane
constexpr unsigned kInFlight = 1760;  // per GPU: 20 SMs with 44 KiB each

Machine load(const char* name) {
  const auto path = ptxwire::find_data_file(std::string("models/machines/") + name + ".toml");
  auto machine = path ? load_machine(*path) : ptxwire::Expected<Machine>(path.error());
  if (!machine) std::abort();
  return *machine;
}

/// Keeps a number of transactions of one kind going, each at the next address of a working set.
class Load final : public MemoryClient {
 public:
  Load(GpuMemorySystem& memory, AccessKind kind, GpuId source, GpuId home, uint64_t working_set,
       unsigned in_flight)
      : memory_(memory), working_set_(working_set), transactions_(in_flight) {
    for (Transaction& transaction : transactions_) {
      transaction.kind = kind;
      transaction.source_gpu = source;
      transaction.home_gpu = home;
      transaction.client = this;
      transaction.part_count = kLines;
    }
  }
  void start() {
    for (Transaction& transaction : transactions_) submit(transaction, {});
  }
  void perform(Transaction&, unsigned, unsigned, Picoseconds) override {}
  void complete(Transaction& transaction, Picoseconds now) override {
    ++completed;
    submit(transaction, now);
  }
  uint64_t completed = 0;

 private:
  void submit(Transaction& transaction, Picoseconds now) {
    const uint64_t base = uint64_t{transaction.home_gpu.value} << 37U;
    for (unsigned i = 0; i < kLines; ++i)
      transaction.parts[i] = {base + (next_ + i * kLineBytes) % working_set_, 0, kLineBytes, 0xf};
    next_ += kLines * kLineBytes;
    transaction.source_sm = SmId{static_cast<uint32_t>(next_ >> 9U) % 132};
    memory_.submit(transaction, now);
  }
  GpuMemorySystem& memory_;
  uint64_t working_set_, next_ = 0;
  std::vector<Transaction> transactions_;
};

/// GPUs and switches on one thread; windows as in sim/engine, messages delivered in order of source.
struct Node {
  explicit Node(const Machine& machine, uint32_t gpus) {
    std::vector<LogicalProcess*> gpu_processes, switch_processes;
    for (uint32_t i = 0; i < gpus + machine.nvlink.switches; ++i) {
      processes.push_back(std::make_unique<LogicalProcess>(i));
      (i < gpus ? gpu_processes : switch_processes).push_back(processes.back().get());
    }
    fabric = std::make_unique<NvlinkFabric>(machine, gpu_processes, switch_processes);
    for (uint32_t gpu = 0; gpu < gpus; ++gpu) {
      memory.push_back(
          std::make_unique<GpuMemorySystem>(machine, GpuId{gpu}, *gpu_processes[gpu], fabric.get()));
      fabric->attach(GpuId{gpu}, *memory.back());
    }
  }
  void window() {
    for (auto& process : processes) {
      for (const auto& m : process->outbox()) m.destination->at(m.arrival, *m.handler, m.argument);
      process->outbox().clear();
    }
    end += fabric->lookahead();
    for (auto& process : processes) process->run_until(end);
  }
  [[nodiscard]] uint64_t events() const {
    uint64_t sum = 0;
    for (const auto& process : processes) sum += process->events_handled();
    return sum;
  }
  std::vector<std::unique_ptr<LogicalProcess>> processes;
  std::unique_ptr<NvlinkFabric> fabric;
  std::vector<std::unique_ptr<GpuMemorySystem>> memory;
  Picoseconds end{};
};

void report(benchmark::State& state, uint64_t transactions, uint64_t events) {
  state.SetItemsProcessed(static_cast<int64_t>(transactions));
  state.counters["ns_per_transaction"] = benchmark::Counter(
      static_cast<double>(transactions) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["events"] = static_cast<double>(events) / static_cast<double>(transactions);
}

/// Local 512-byte transactions; the argument is the working set in MiB (L2: 50).
void local(benchmark::State& state, AccessKind kind) {
  const Machine machine = load("h800-node");
  Node node(machine, 1);
  Load client(*node.memory[0], kind, GpuId{0}, GpuId{0}, static_cast<uint64_t>(state.range(0)) << 20U,
              kInFlight);
  client.start();
  for (auto _ : state) node.window();
  report(state, client.completed, node.events());
}
BENCHMARK_CAPTURE(local, load, AccessKind::load)->Arg(8)->Arg(512);
BENCHMARK_CAPTURE(local, store, AccessKind::store)->Arg(8)->Arg(512);

/// Remote 512-byte transactions of 8 GPUs, each to its neighbour (argument 1) or to all others in turn (7).
void remote(benchmark::State& state, AccessKind kind) {
  const Machine machine = load("h800-node");
  Node node(machine, 8);
  std::vector<std::unique_ptr<Load>> clients;
  const auto targets = static_cast<uint32_t>(state.range(0));
  for (uint32_t gpu = 0; gpu < 8; ++gpu)
    for (uint32_t k = 1; k <= targets; ++k)
      clients.push_back(std::make_unique<Load>(*node.memory[gpu], kind, GpuId{gpu}, GpuId{(gpu + k) % 8},
                                               uint64_t{8} << 20U, kInFlight / targets));
  for (auto& client : clients) client->start();
  for (auto _ : state) node.window();
  uint64_t completed = 0;
  for (auto& client : clients) completed += client->completed;
  report(state, completed, node.events());
}
BENCHMARK_CAPTURE(remote, store, AccessKind::store)->Arg(1)->Arg(7);
BENCHMARK_CAPTURE(remote, load, AccessKind::load)->Arg(1);

}  // namespace

BENCHMARK_MAIN();
