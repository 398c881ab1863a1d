// Networks from a few lines of text, and NICs that send what they are told and note what happens.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "models/fabric/infiniband.hpp"
#include "sim/engine/window_runner.hpp"
#include "tests/models/driver.hpp"

namespace ptxwire::models::test {

inline std::string cable(const std::string& from, const std::string& to, int count = 1,
                         const std::string& rate = "50 GB/s") {
  return "[[link]]\nfrom = \"" + from + "\"\nto = \"" + to + "\"\ncount = " + std::to_string(count) +
         "\nrate = \"" + rate + "\"\n";
}

/// [nodes] (lines 1 to 4) and [switches] (from line 5) of nodes with one GPU and one NIC each.
inline std::string single_nics(uint32_t count, const std::string& switches) {
  return "[nodes]\ncount = " + std::to_string(count) + "\ntopology = \"" + PTXWIRE_SOURCE_DIR +
         "/models/fabric/topologies/one-gpu.toml\"\npcie = \"63 GB/s\"\n[switches]\n" + switches + "\n";
}

inline Expected<NetworkTopology> network_from_text(const std::string& text) {
  const std::string path = temporary_path("network.toml");
  std::ofstream(path) << text;
  Expected<NetworkTopology> network = NetworkTopology::load(path);
  std::filesystem::remove(path);
  return network;
}

inline NetworkTopology must(Expected<NetworkTopology> network) {
  if (!network) FAIL(network.error().to_string());
  return std::move(*network);
}

inline NetworkTopology shipped_network(const std::string& name) {
  return must(
      NetworkTopology::load(std::string(PTXWIRE_SOURCE_DIR) + "/models/fabric/topologies/" + name + ".toml"));
}

/// `count` NICs on one leaf.
inline NetworkTopology one_leaf(uint32_t count) {
  return must(network_from_text(single_nics(count, "leaf = 1") +
                                cable("node[0-" + std::to_string(count - 1) + "].nic0", "leaf0")));
}

struct Packet : FabricPacket {
  uint32_t number = 0;
  Picoseconds departed = kNever, arrived = kNever;
};

class TestNic final : public NicPort {
 public:
  void departed(FabricPacket& packet, Picoseconds now) override {
    static_cast<Packet&>(packet).departed = now;
  }
  void arrived(FabricPacket& packet, Picoseconds now) override {
    static_cast<Packet&>(packet).arrived = now;
    arrivals.push_back(static_cast<Packet*>(&packet));
  }
  void lost(FabricPacket& packet, Picoseconds) override { losses.push_back(static_cast<Packet*>(&packet)); }

  std::vector<Packet*> arrivals, losses;
};

/// What is to be sent and what came of it.
class Traffic {
 public:
  explicit Traffic(NetworkTopology network, InfinibandParameters its_parameters = machine().infiniband)
      : parameters(its_parameters), network_(std::move(network)), nics(network_.nics()) {
    std::vector<LogicalProcess*> nic_processes, switch_processes;
    for (uint32_t i = 0; i < network_.vertices(); ++i) {
      processes_.push_back(std::make_unique<LogicalProcess>(i));
      (i < network_.nics() ? nic_processes : switch_processes).push_back(processes_.back().get());
    }
    fabric_ = std::make_unique<InfinibandFabric>(network_, parameters, nic_processes, switch_processes);
    for (uint32_t i = 0; i < network_.nics(); ++i) fabric_->attach(NicId{i}, nics[i]);
  }

  /// Sends `count` packets at `start`.
  void send(uint32_t from, uint32_t to, uint32_t count, const FabricPacket& like, Picoseconds start = {}) {
    for (uint32_t i = 0; i < count; ++i) {
      packets.push_back(std::make_unique<Packet>());
      static_cast<FabricPacket&>(*packets.back()) = like;
      packets.back()->from = NicId{from};
      packets.back()->to = NicId{to};
      packets.back()->number = i;
      processes_[from]->at(start, at_send_, reinterpret_cast<uint64_t>(packets.back().get()));
    }
  }

  void run(uint32_t threads = 1) {
    std::vector<LogicalProcess*> all;
    for (const auto& process : processes_) all.push_back(process.get());
    CHECK(sim::run_windows(all, {.lookahead = fabric_->lookahead(), .threads = threads}) ==
          sim::RunEnd::idle);
  }

  [[nodiscard]] Picoseconds last_arrival() const {
    Picoseconds last{};
    for (const auto& packet : packets) last = max(last, packet->arrived);
    return last;
  }
  [[nodiscard]] uint64_t events() const {
    uint64_t sum = 0;
    for (const auto& process : processes_) sum += process->events_handled();
    return sum;
  }

  InfinibandFabric& fabric() { return *fabric_; }
  LogicalProcess& process(uint32_t vertex) { return *processes_[vertex]; }
  [[nodiscard]] Picoseconds hop() const { return nanoseconds(parameters.link_latency_ns); }
  [[nodiscard]] Picoseconds in_switch() const { return nanoseconds(parameters.switch_latency_ns); }

  InfinibandParameters parameters;

 private:
  void on_send(Picoseconds now, uint64_t packet) {
    fabric_->send(*reinterpret_cast<FabricPacket*>(packet), now);
  }

  NetworkTopology network_;
  std::vector<std::unique_ptr<LogicalProcess>> processes_;
  std::unique_ptr<InfinibandFabric> fabric_;
  EventMember<Traffic, &Traffic::on_send> at_send_{*this};

 public:
  std::vector<TestNic> nics;
  std::vector<std::unique_ptr<Packet>> packets;
};

inline constexpr uint32_t kWire = 4000;  ///< 80 ns at 50 GB/s
inline constexpr Picoseconds kSlot{80'000};

}  // namespace ptxwire::models::test
