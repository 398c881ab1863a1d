#include "sim/workload/micro_memory.hpp"

#include <algorithm>
#include <numeric>

#include "sim/workload/micro_matrix.hpp"
#include "sim/workload/random.hpp"

namespace ptxwire::sim {

namespace {

using Fill = MicroContent::Fill;
using Kind = MicroChecksum::Kind;

constexpr uint64_t kWordBytes = 4;

/// Numbers of one scenario; keeps the first error.
class Numbers {
 public:
  explicit Numbers(const MicroScenario& micro) : micro_(micro) {}
  uint64_t operator()(const MicroCount& count, uint64_t otherwise = 0) {
    const auto value = evaluate(micro_, count, otherwise);
    if (value) return *value;
    if (result_) result_ = value.error();
    return otherwise;
  }
  [[nodiscard]] const Expected<void>& result() const { return result_; }

 private:
  const MicroScenario& micro_;
  Expected<void> result_;
};

MicroMemory::Content content_of(Numbers& number, const MicroContent& content) {
  return {.fill = content.fill,
          .stride = number(content.stride, kWordBytes),
          .period = number(content.period),
          .value = static_cast<uint32_t>(number(content.value)),
          .seed = number(content.seed),
          .rows = number(content.rows),
          .columns = number(content.columns),
          .depth = number(content.depth),
          .left = content.left,
          .right = content.right};
}

uint32_t visited_offsets(const MicroMemory& buffer, uint64_t accesses, uint64_t lanes, uint64_t lane_nodes) {
  const std::vector<uint32_t> next = buffer.ring();
  uint64_t sum = 0;
  for (uint64_t lane = 0; lane < lanes; ++lane) {
    uint64_t node = lane * lane_nodes % next.size();
    for (uint64_t i = 0; i < accesses; ++i) {
      sum += node * buffer.content.stride;
      node = next[node];
    }
  }
  return static_cast<uint32_t>(sum);
}

uint32_t word_sum(const MicroMemory& buffer, uint64_t parts, uint64_t tail) {
  const MicroMemory::Content& content = buffer.is_checked ? buffer.after : buffer.content;
  const uint64_t part = buffer.bytes / kWordBytes / parts;
  const uint64_t first = tail == 0 ? 0 : part - std::min(part, tail / kWordBytes);
  uint32_t sum = 0;
  for (uint64_t p = 0; p < parts; ++p)
    for (uint64_t w = p * part + first; w < (p + 1) * part; ++w) sum += MicroMemory::word(content, w);
  return sum;
}

}  // namespace

uint32_t MicroMemory::word(const Content& content, uint64_t w) {
  switch (content.fill) {
    case Fill::index:
      return static_cast<uint32_t>(content.period == 0 ? w : w % content.period);
    case Fill::counters:
      return w * kWordBytes % content.stride == 0 ? content.value : 0;
    case Fill::bf16_integers:
      return bf16_integers(content.seed, content.value, w);
    case Fill::zero:
    case Fill::chase:
    case Fill::bf16_product:
      return 0;
  }
  return 0;
}

// Sattolo's variant of the Fisher-Yates shuffle gives permutations that are one cycle, each as likely.
std::vector<uint32_t> MicroMemory::ring() const {
  std::vector<uint32_t> next(bytes / content.stride);
  std::iota(next.begin(), next.end(), 0U);
  RandomStream random(seed, 0);
  for (auto i = static_cast<uint32_t>(next.size()) - 1; i > 0; --i) std::swap(next[i], next[random.below(i)]);
  return next;
}

Expected<std::vector<MicroMemory>> micro_memory(const Scenario& scenario) {
  Numbers number(scenario.micro);
  std::vector<MicroMemory> all;
  for (const MicroBuffer& buffer : scenario.micro.buffers)
    all.push_back({.name = buffer.name,
                   .gpu = static_cast<uint32_t>(number(buffer.gpu)),
                   .bytes = number(buffer.bytes),
                   .content = content_of(number, buffer.content),
                   .is_checked = buffer.after.has_value(),
                   .after = content_of(number, buffer.after.value_or(MicroContent{})),
                   .in_heap = buffer.in_heap,
                   .samples = buffer.samples,
                   .seed = scenario.seed});
  if (!number.result()) return number.result().error();
  return all;
}

std::vector<uint32_t> product_words(const MicroMemory& buffer, const std::vector<MicroMemory>& memory) {
  const auto content = [&](const std::string& name) {
    const auto found = std::find_if(memory.begin(), memory.end(),
                                    [&](const MicroMemory& other) { return other.name == name; });
    return found == memory.end() ? MicroMemory::Content{} : found->content;
  };
  return bf16_product(content(buffer.after.left), content(buffer.after.right), buffer.after.rows,
                      buffer.after.columns, buffer.after.depth);
}

Expected<uint32_t> micro_checksum(const Scenario& scenario, const std::vector<MicroMemory>& memory) {
  const MicroChecksum& checksum = scenario.micro.checksum;
  Numbers number(scenario.micro);
  const uint64_t value = number(checksum.value), counters = number(checksum.counters, 1);
  const uint64_t accesses = number(checksum.accesses), lanes = number(checksum.lanes, 1),
                 lane_nodes = number(checksum.lane_nodes), parts = number(checksum.parts, 1),
                 tail = number(checksum.tail), times = number(checksum.times, 1);
  if (!number.result()) return number.result().error();
  const auto buffer = std::find_if(memory.begin(), memory.end(),
                                   [&](const MicroMemory& known) { return known.name == checksum.buffer; });
  uint64_t sum = 0;
  switch (checksum.kind) {
    case Kind::chase:
      sum = visited_offsets(*buffer, accesses, lanes, lane_nodes);
      break;
    case Kind::words:
      sum = word_sum(*buffer, parts, tail);
      break;
    case Kind::tickets: {
      const uint64_t each = value / counters;
      sum = counters * (each * (each - 1) / 2);
      break;
    }
    case Kind::rounds:
      sum = value * (value + 1) / 2;
      break;
    case Kind::value:
      sum = value;
      break;
  }
  return static_cast<uint32_t>(sum * times);
}

}  // namespace ptxwire::sim
