// A node of GPUs and switches run window by window on one thread: what sim/engine does, without threads.
#pragma once

#include <unistd.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "models/fabric/nvlink.hpp"
#include "models/gpu/memory_system.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models::test {

inline Machine machine(const std::string& name = "h800-node") {
  Expected<Machine> loaded =
      load_machine(std::string(PTXWIRE_SOURCE_DIR) + "/models/machines/" + name + ".toml");
  if (!loaded) FAIL(loaded.error().to_string());
  return std::move(*loaded);
}

class Node {
 public:
  Node(const Machine& machine, uint32_t gpus) {
    std::vector<LogicalProcess*> gpu_processes, switch_processes;
    for (uint32_t i = 0; i < gpus + machine.nvlink.switches; ++i) {
      processes_.push_back(std::make_unique<LogicalProcess>(i));
      (i < gpus ? gpu_processes : switch_processes).push_back(processes_.back().get());
    }
    fabric_ = std::make_unique<NvlinkFabric>(machine, gpu_processes, switch_processes);
    for (uint32_t gpu = 0; gpu < gpus; ++gpu) {
      memory_.push_back(
          std::make_unique<GpuMemorySystem>(machine, GpuId{gpu}, *gpu_processes[gpu], fabric_.get()));
      fabric_->attach(GpuId{gpu}, *memory_.back());
    }
  }

  GpuMemorySystem& memory(uint32_t gpu) { return *memory_[gpu]; }
  LogicalProcess& process(uint32_t gpu) { return *processes_[gpu]; }
  NvlinkFabric& fabric() { return *fabric_; }

  /// Runs until nothing is left to do or `end`; returns the time of the last window handled.
  Picoseconds run(Picoseconds end = kNever) {
    Picoseconds reached{};
    deliver({});  // what was submitted from outside
    for (;;) {
      Picoseconds next = kNever;
      for (const auto& process : processes_) next = min(next, process->next_time());
      if (next == kNever || next >= end) return reached;
      const Picoseconds window_end = min(next + fabric_->lookahead(), end);
      if (reversed_)
        std::for_each(processes_.rbegin(), processes_.rend(),
                      [&](const auto& p) { p->run_until(window_end); });
      else
        for (const auto& process : processes_) process->run_until(window_end);
      deliver(window_end);
      reached = window_end;
    }
  }

  /// Runs the processes of a window last to first: as good as another number of threads.
  void reverse_process_order(bool reversed) { reversed_ = reversed; }

  [[nodiscard]] uint64_t events() const {
    uint64_t sum = 0;
    for (const auto& process : processes_) sum += process->events_handled();
    return sum;
  }

 private:
  void deliver(Picoseconds window_end) {
    struct Sent {
      uint32_t source;
      LogicalProcess::Message message;
    };
    std::vector<Sent> sent;
    for (const auto& process : processes_) {
      for (const LogicalProcess::Message& message : process->outbox())
        sent.push_back({process->id(), message});
      process->outbox().clear();
    }
    std::stable_sort(sent.begin(), sent.end(), [](const Sent& a, const Sent& b) {
      return std::tie(a.message.arrival, a.source) < std::tie(b.message.arrival, b.source);
    });
    for (const Sent& item : sent) {
      if (item.message.arrival < window_end) FAIL("message inside the window that sent it");
      item.message.destination->at(item.message.arrival, *item.message.handler, item.message.argument);
    }
  }

  bool reversed_ = false;
  std::vector<std::unique_ptr<LogicalProcess>> processes_;
  std::unique_ptr<NvlinkFabric> fabric_;
  std::vector<std::unique_ptr<GpuMemorySystem>> memory_;
};

/// Addresses of GPU g start here, as an allocator would place them.
inline uint64_t device_base(uint32_t gpu) { return 0x7000'0000'0000ULL + uint64_t{gpu} * (128ULL << 30U); }

/// `lines` full lines from `address`.
inline void fill(Transaction& transaction, AccessKind kind, uint32_t source, uint32_t home, uint64_t address,
                 unsigned lines, SmId sm = {}) {
  transaction.kind = kind;
  transaction.source_gpu = GpuId{source};
  transaction.home_gpu = GpuId{home};
  transaction.source_sm = sm;
  transaction.part_count = static_cast<uint8_t>(lines);
  for (unsigned i = 0; i < lines; ++i)
    transaction.parts[i] = {
        .line = address + uint64_t{i} * kLineBytes, .bytes = kLineBytes, .sector_mask = 0xf};
}

/// Notes when a transaction was performed (last part) and completed.
class Recorder final : public MemoryClient {
 public:
  void perform(Transaction&, unsigned, unsigned count, Picoseconds now) override {
    performed = now;
    parts += count;
  }
  void complete(Transaction&, Picoseconds now) override {
    completed = now;
    ++completions;
  }
  Picoseconds performed{}, completed{};
  unsigned parts = 0, completions = 0;
};

/// Keeps `window` transactions in flight, as an SM with a limited number of outstanding accesses does.
/// `prepare` fills the n-th one, without client; false ends the stream.
class Stream final : public MemoryClient {
 public:
  using Prepare = std::function<bool(Transaction&, uint64_t n)>;
  Stream(GpuMemorySystem& memory, unsigned window, Prepare prepare)
      : memory_(memory), prepare_(std::move(prepare)), transactions_(window) {}

  void start(Picoseconds now) {
    for (Transaction& transaction : transactions_) next(transaction, now);
  }
  void perform(Transaction& transaction, unsigned first, unsigned count, Picoseconds) override {
    for (unsigned i = 0; i < count; ++i) performed_bytes += transaction.parts[first + i].bytes;
  }
  void complete(Transaction& transaction, Picoseconds now) override {
    completed_bytes += transaction.bytes();
    last = now;
    next(transaction, now);
  }
  uint64_t performed_bytes = 0, completed_bytes = 0;
  Picoseconds last{};

 private:
  void next(Transaction& transaction, Picoseconds now) {
    if (!prepare_(transaction, issued_++)) return;
    transaction.client = this;
    memory_.submit(transaction, now);
  }
  GpuMemorySystem& memory_;
  Prepare prepare_;
  uint64_t issued_ = 0;
  std::vector<Transaction> transactions_;
};

/// The test run asks for less work, as under sanitizers.
inline bool small() { return std::getenv("PTXWIRE_TEST_SMALL") != nullptr; }

/// A file name that no other test process uses.
inline std::string temporary_path(const std::string& name) {
  return (std::filesystem::temp_directory_path() / ("ptxwire_" + std::to_string(getpid()) + "_" + name))
      .string();
}

inline double gb_per_s(uint64_t bytes, Picoseconds time) {
  return static_cast<double>(bytes) / static_cast<double>(time.value) * 1e3;
}

}  // namespace ptxwire::models::test
