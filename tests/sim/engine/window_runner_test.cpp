// Logical processes in windows: order, threads, ends.
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "sim/engine/window_runner.hpp"

using namespace ptxwire::sim;
using ptxwire::models::EventMember;
using ptxwire::models::LogicalProcess;
using ptxwire::models::Picoseconds;

namespace {

constexpr int64_t kLookahead = 100;

/// A process that logs what it gets and sends on a hash of it until `end`.
class Node {
 public:
  Node(uint32_t id, int64_t end) : process(id), end_(end) {}

  void handle(Picoseconds now, uint64_t argument) {
    log.emplace_back(now.value, argument);
    if (now.value >= end_) return;
    const uint64_t hash = (argument + 1) * 0x9E3779B97F4A7C15ULL + process.id();
    Node& to = *(*peers)[hash % peers->size()];
    const int64_t delay = kLookahead + static_cast<int64_t>(hash >> 32) % 40;
    if (hash % 7 == 0) {
      process.at(Picoseconds{now.value + 13}, event, hash >> 9);
    } else {
      process.send(to.process, Picoseconds{now.value + delay}, to.event, hash >> 8);
    }
  }

  LogicalProcess process;
  std::vector<std::unique_ptr<Node>>* peers = nullptr;
  std::vector<std::pair<int64_t, uint64_t>> log;
  EventMember<Node, &Node::handle> event{*this};

 private:
  int64_t end_;
};

using Logs = std::vector<std::vector<std::pair<int64_t, uint64_t>>>;

Logs run(uint32_t threads, RunEnd expected, WindowRunnerOptions options = {}) {
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<LogicalProcess*> processes;
  for (uint32_t i = 0; i < 6; ++i) nodes.push_back(std::make_unique<Node>(i, 20000));
  for (const auto& node : nodes) {
    node->peers = &nodes;
    processes.push_back(&node->process);
    for (uint64_t k = 0; k < 3; ++k) node->process.at(Picoseconds{static_cast<int64_t>(k)}, node->event, k);
  }
  options.lookahead = Picoseconds{kLookahead};
  options.threads = threads;
  CHECK(run_windows(processes, options) == expected);
  Logs logs;
  for (const auto& node : nodes) logs.push_back(node->log);
  return logs;
}

}  // namespace

TEST_CASE("windows: the same events in the same order for any number of threads", "[engine]") {
  const Logs one = run(1, RunEnd::idle);
  size_t events = 0;
  for (const auto& log : one) {
    events += log.size();
    for (size_t i = 1; i < log.size(); ++i) REQUIRE(log[i - 1].first <= log[i].first);
  }
  CHECK(events > 1000);
  for (const uint32_t threads : {2U, 3U, 8U}) CHECK(run(threads, RunEnd::idle) == one);
}

TEST_CASE("windows: at most one window beyond the end of time is handled", "[engine]") {
  WindowRunnerOptions options;
  options.max_time = Picoseconds{5000};
  for (const auto& log : run(2, RunEnd::out_of_time, options))
    for (const auto& [time, argument] : log) CHECK(time < 5000 + kLookahead);
}

TEST_CASE("windows: stop is asked at window ends and ends the run", "[engine]") {
  WindowRunnerOptions options;
  int asked = 0;
  options.stop = [&](Picoseconds) { return ++asked == 10; };
  const Logs logs = run(1, RunEnd::stopped, options);
  CHECK(asked == 10);
  for (const auto& log : logs)
    for (const auto& [time, argument] : log) CHECK(time < 12 * kLookahead + 200);
}
