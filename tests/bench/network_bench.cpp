// What the NIC and the InfiniBand fabric cost the host, by themselves, and what a second thread brings to a
// run across nodes.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "models/fabric/nic.hpp"
#include "sim/engine/window_runner.hpp"
#include "sim/workload/run.hpp"
#include "support/stopwatch.hpp"
#include "tests/bench/copy_run.hpp"

namespace {

using namespace ptxwire;          // NOLINT(google-build-using-namespace)
using namespace ptxwire::models;  // NOLINT(google-build-using-namespace)

/// A shipped network with a process for each NIC and switch, on one thread.
struct Network {
  explicit Network(const std::string& name, const Machine& machine)
      : topology(bench::need(NetworkTopology::load(
            bench::need(find_data_file("models/fabric/topologies/" + name + ".toml"))))) {
    std::vector<LogicalProcess*> nics, switches;
    for (uint32_t i = 0; i < topology.vertices(); ++i) {
      owned.push_back(std::make_unique<LogicalProcess>(i));
      processes.push_back(owned.back().get());
      (topology.is_switch(i) ? switches : nics).push_back(processes.back());
    }
    fabric = std::make_unique<InfinibandFabric>(topology, machine.infiniband, nics, switches);
  }
  void run() const { sim::run_windows(processes, {.lookahead = fabric->lookahead()}); }

  NetworkTopology topology;
  std::vector<std::unique_ptr<LogicalProcess>> owned;
  std::vector<LogicalProcess*> processes;
  std::unique_ptr<InfinibandFabric> fabric;
};

/// Writes of one size without bytes; memory is the GPU's everywhere.
class Writes final : public NicClient {
 public:
  explicit Writes(uint32_t bytes) : bytes_(bytes) {}
  void decode(uint32_t, uint64_t begin, uint32_t blocks, std::vector<NicMessage>& messages) override {
    for (uint64_t index = begin; index < begin + blocks; ++index) {
      const uint64_t place = index * bytes_ % (1U << 26U);
      messages.push_back({.index = index,
                          .operation = NicOperation::write,
                          .completes = true,
                          .bytes = bytes_,
                          .local_address = kBase + place,
                          .remote_address = kBase + place});
    }
  }
  void overflowed(uint32_t, uint64_t, Picoseconds) override {}
  uint64_t entry_address(uint32_t queue, uint64_t index) override {
    return kBase + (uint64_t{queue} << 16U) + index % 1024 * 64;
  }
  NicSyndrome gather(NicPacket&) override { return NicSyndrome::none; }
  NicSyndrome admit(const NicPacket&) override { return NicSyndrome::none; }
  void gather_response(NicPacket&) override {}
  void place(const NicPacket&, Picoseconds) override {}
  void execute(NicPacket&, Picoseconds) override {}
  void complete(uint32_t, const NicMessage&, NicSyndrome, Picoseconds) override { ++completed; }
  bool in_gpu_memory(uint64_t) override { return true; }
  uint64_t completion_address(uint32_t) override { return kBase; }

  uint64_t completed = 0;

 private:
  static constexpr uint64_t kBase = uint64_t{1} << 37U;
  uint32_t bytes_;
};

/// A GPU's memory and its NIC, which posts 256 entries on each of 12 queues whenever it is told to.
class Poster {
 public:
  Poster(const Machine& machine, Network& network, uint32_t nic, uint32_t peer, uint32_t bytes)
      : process_(*network.processes[nic]),
        client(bytes),
        memory_(machine, GpuId{nic}, process_, nullptr),
        nic_(machine, NicId{nic}, process_, memory_, *network.fabric, client) {
    for (uint32_t queue = 0; queue < kQueues; ++queue)
      nic_.add_queue(1024, {.nic = NicId{peer}, .queue = queue});
  }
  void post() {
    index_ = static_cast<uint16_t>(index_ + kEntries);
    process_.at(process_.now(), at_post_, 0);
  }

  static constexpr uint32_t kQueues = 12, kEntries = 256;

 private:
  void on_post(Picoseconds now, uint64_t) {
    for (uint32_t queue = 0; queue < kQueues; ++queue) nic_.post(queue, index_, now);
  }
  LogicalProcess& process_;

 public:
  Writes client;

 private:
  GpuMemorySystem memory_;
  Nic nic_;
  uint16_t index_ = 0;
  EventMember<Poster, &Poster::on_post> at_post_{*this};
};

/// Two NICs write to each other; the argument is the size of a write in bytes.
void nic(benchmark::State& state) {
  const Machine machine = bench::load_machine("h800-node");
  Network network("h800-2-nodes", machine);
  const auto bytes = static_cast<uint32_t>(state.range(0));
  Poster first(machine, network, 0, 8, bytes), second(machine, network, 8, 0, bytes);
  uint64_t posted = 0;
  for (auto _ : state) {
    first.post();
    second.post();
    posted += uint64_t{2} * Poster::kQueues * Poster::kEntries;
    network.run();
  }
  if (first.client.completed + second.client.completed != posted) state.SkipWithError("entries are left");
  state.counters["queue_entries_per_second"] =
      benchmark::Counter(static_cast<double>(posted), benchmark::Counter::kIsRate);
}
BENCHMARK(nic)->Arg(64)->Arg(8192)->Unit(benchmark::kMillisecond);

class Sink final : public NicPort {
 public:
  void departed(FabricPacket&, Picoseconds) override {}
  void arrived(FabricPacket&, Picoseconds) override { ++received; }
  void lost(FabricPacket&, Picoseconds) override {}
  uint64_t received = 0;
};

/// All NICs of four nodes send packets of one MTU to those of the same index in the other nodes (argument 0),
/// or to all others (1), which crosses the spine.
void infiniband(benchmark::State& state) {
  constexpr uint32_t kPackets = 96;  // of each NIC
  const Machine machine = bench::load_machine("h800-node");
  Network network("h800-4-nodes", machine);
  const uint32_t nics = network.topology.nics();
  std::vector<Sink> sinks(nics);
  for (uint32_t i = 0; i < nics; ++i) network.fabric->attach(NicId{i}, sinks[i]);
  std::vector<FabricPacket> packets(size_t{nics} * kPackets);
  for (uint32_t i = 0; i < packets.size(); ++i) {
    const uint32_t from = i % nics, turn = i / nics;
    const uint32_t step = state.range(0) == 0 ? 8 * (1 + turn % (nics / 8 - 1)) : 1 + turn % (nics - 1);
    packets[i].from = NicId{from};
    packets[i].to = NicId{(from + step) % nics};
    packets[i].wire_bytes = machine.infiniband.mtu_bytes + 30;
    packets[i].flow = turn;
  }
  uint64_t sent = 0;
  for (auto _ : state) {
    for (FabricPacket& packet : packets)
      network.fabric->send(packet, network.processes[packet.from.value]->now());
    sent += packets.size();
    network.run();
  }
  uint64_t received = 0;
  for (const Sink& sink : sinks) received += sink.received;
  if (received != sent) state.SkipWithError("packets are left");
  state.counters["mtus_per_second"] =
      benchmark::Counter(static_cast<double>(sent), benchmark::Counter::kIsRate);
}
BENCHMARK(infiniband)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

/// One dispatch of 512 tokens on 16 ranks with one thread and with two; wall time of runs without the check.
void internode_ep16(benchmark::State& state) {
  sim::Scenario scenario =
      bench::need(sim::load_scenario(bench::need(sim::find_scenario("h800_internode_dispatch_ep16"))));
  bench::need(sim::apply_override(scenario, "tokens=512"));
  bench::need(sim::apply_override(scenario, "calls=1"));
  const auto seconds = [&](uint32_t threads) {
    const Stopwatch watch;
    bench::need(sim::run_scenario(scenario, {.threads = threads, .check_results = false}));
    return watch.seconds();
  };
  double one = 0, two = 0;
  for (auto _ : state) {
    one += seconds(1);
    two += seconds(2);
  }
  state.counters["seconds_with_2_threads"] = two / static_cast<double>(state.iterations());
  state.counters["speed_up_of_2_threads"] = one / two;
}
BENCHMARK(internode_ep16)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace

BENCHMARK_MAIN();
