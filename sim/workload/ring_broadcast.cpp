#include "sim/workload/ring_broadcast.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <sstream>

#include "sim/workload/kernel_arguments.hpp"
#include "sim/workload/run_parts.hpp"
#include "sim/workload/test_data.hpp"
#include "support/data_path.hpp"

namespace ptxwire::sim {

namespace {

// kernels/src/ring_broadcast.cu
constexpr uint32_t kThreads = 512 + 32;
constexpr uint64_t kVectorBytes = 16;
constexpr uint64_t kGranuleBytes = 4096;  ///< 8 bytes per worker
constexpr uint64_t kCounterBytes = 128;   ///< from the counter of one channel to that of the next

constexpr uint64_t kRowBytes = 4096;  ///< of the test data
/// Iterations send two contents in turn: the rows from the first on, and from the second on. One input buffer
/// that is a row longer holds both.
constexpr uint32_t kContents = 2;
constexpr uint64_t kInputSlack = (kContents - 1) * kRowBytes;

uint32_t content_of(uint32_t iteration) { return iteration % kContents; }
constexpr uint32_t kMaxRingChannels = 64, kMaxIterations = 10000, kMaxFifoSteps = 1024;
constexpr uint64_t kMaxChunkBytes = uint64_t{1} << 30U;

/// Calls `visit(row, offset, bytes)` for the rows of test data that a buffer of `bytes` is made of.
template <typename Visit>
void for_each_row(uint64_t bytes, Visit visit) {
  for (uint64_t offset = 0; offset < bytes; offset += kRowBytes)
    visit(static_cast<uint32_t>(offset / kRowBytes), offset, std::min(kRowBytes, bytes - offset));
}

/// Device memory of one rank.
struct RingBuffers {
  DeviceAddress input = 0;           ///< root only
  DeviceAddress output = 0;          ///< 0 at a root in place
  DeviceAddress fifo = 0, tail = 0;  ///< of the connection from the rank before
  DeviceAddress head = 0;            ///< of the connection to the rank after
  DeviceAddress progress = 0;
};

class BroadcastRing {
 public:
  static Expected<std::unique_ptr<BroadcastRing>> create(Cluster& cluster, const Scenario& scenario) {
    auto order = ring_order(scenario);
    if (!order) return order.error();
    std::unique_ptr<BroadcastRing> ring(new BroadcastRing(cluster, scenario, *std::move(order)));
    if (const auto loaded = ring->load(); !loaded) return loaded.error();
    for (uint32_t place = 0; place < scenario.ranks; ++place) {
      if (const auto allocated = ring->allocate(place); !allocated) return allocated.error();
      ring->streams_.push_back(cluster.create_stream(ring->gpu(place)));
    }
    if (const auto filled = ring->fill(); !filled) return filled.error();
    return ring;
  }

  Expected<void> enqueue(uint32_t iteration);
  /// The slowest rank's end of an iteration, after the run.
  [[nodiscard]] Picoseconds end_of(uint32_t iteration) const { return latest(ends_[iteration]); }
  [[nodiscard]] Picoseconds start() const { return cluster_.event_time(starts_.front()); }
  [[nodiscard]] const std::vector<LaunchId>& last_launches() const { return launches_; }
  /// Empty, or the first thing that is not as it must be.
  Expected<std::string> mismatch() const;

 private:
  BroadcastRing(Cluster& cluster, const Scenario& scenario, std::vector<uint32_t> order)
      : cluster_(cluster),
        scenario_(scenario),
        order_(std::move(order)),
        data_(scenario.seed),
        buffers_(scenario.ranks) {}

  Expected<void> load();
  Expected<void> allocate(uint32_t place);
  Expected<void> fill();
  [[nodiscard]] RingRank argument(uint32_t place, uint32_t iteration) const;
  [[nodiscard]] Expected<std::string> wrong_bytes(uint32_t place) const;
  [[nodiscard]] Expected<std::string> wrong_counters(uint32_t place) const;
  [[nodiscard]] GpuId gpu(uint32_t place) const { return GpuId{order_[place]}; }
  [[nodiscard]] bool is_last(uint32_t place) const { return place + 1 == scenario_.ranks; }
  [[nodiscard]] bool keeps(uint32_t place) const {
    return place > 0 || scenario_.placement == BufferPlacement::out_of_place;
  }
  [[nodiscard]] Picoseconds latest(const std::vector<EventId>& events) const {
    Picoseconds time{};
    for (const EventId event : events) time = max(time, cluster_.event_time(event));
    return time;
  }

  [[nodiscard]] std::string main_entry() const {
    return scenario_.entry.empty() ? "ring_broadcast" : scenario_.entry;
  }

  Cluster& cluster_;
  const Scenario& scenario_;
  std::vector<uint32_t> order_;  ///< rank at each place of the ring
  TestData data_;
  uint32_t module_ = 0;
  std::vector<RingBuffers> buffers_;  ///< these are by place
  std::vector<StreamId> streams_;
  std::vector<EventId> starts_;
  std::vector<LaunchId> launches_;          ///< of the last iteration enqueued
  std::vector<std::vector<EventId>> ends_;  ///< [iteration][place]
};

Expected<void> BroadcastRing::load() {
  const auto path = ring_broadcast_program_path(scenario_);
  if (!path) return path.error();
  const auto loaded = load_on(cluster_, scenario_, *path, main_entry());
  if (!loaded) return loaded.error();
  module_ = loaded->module;
  return {};
}

Expected<void> BroadcastRing::allocate(uint32_t place) {
  const Scenario& s = scenario_;
  RingBuffers& b = buffers_[place];
  const auto get = [&](DeviceAddress& out, uint64_t bytes, const char* name) -> Expected<void> {
    auto address = cluster_.allocate(gpu(place), bytes, name);
    if (!address) return address.error();
    out = *address;
    return {};
  };
  if (place == 0)
    if (const auto got = get(b.input, s.bytes + kInputSlack, "input"); !got) return got.error();
  if (keeps(place))
    if (const auto got = get(b.output, s.bytes, "output"); !got) return got.error();
  if (place > 0)
    if (const auto got = get(b.fifo, s.ring_channels * s.fifo_steps * s.chunk_bytes, "FIFO"); !got)
      return got.error();
  const uint64_t counters = s.ring_channels * kCounterBytes;
  if (const auto got = get(b.tail, counters, "tail"); !got) return got.error();
  if (const auto got = get(b.head, counters, "head"); !got) return got.error();
  return get(b.progress, counters, "progress");
}

Expected<void> BroadcastRing::fill() {
  const uint64_t size = scenario_.bytes + kInputSlack;
  const std::span<uint8_t> input = cluster_.view(buffers_[0].input, size);
  if (input.size() != size) return Error{.message = "device memory cannot be viewed"};
  for_each_row(size, [&](uint32_t row, uint64_t offset, uint64_t bytes) {
    data_.fill_row(0, row, input.subspan(offset, bytes));
  });
  return {};
}

RingRank BroadcastRing::argument(uint32_t place, uint32_t iteration) const {
  const RingBuffers& b = buffers_[place];
  RingRank rank{.output = b.output, .progress = b.progress, .rank = static_cast<int32_t>(order_[place])};
  if (place == 0) {
    rank.input = b.input + content_of(iteration) * kRowBytes;
  } else {
    rank.in = {.fifo = b.fifo, .tail = b.tail, .head = buffers_[place - 1].head};
    rank.before = static_cast<int32_t>(order_[place - 1]);
  }
  if (!is_last(place)) {
    const RingBuffers& next = buffers_[place + 1];
    rank.out = {.fifo = next.fifo, .tail = next.tail, .head = b.head};
    rank.after = static_cast<int32_t>(order_[place + 1]);
  }
  return rank;
}

Expected<void> BroadcastRing::enqueue(uint32_t iteration) {
  const Scenario& s = scenario_;
  const RingShape shape{.vectors = static_cast<int64_t>(s.bytes / kVectorBytes),
                        .chunk_vectors = static_cast<int32_t>(s.chunk_bytes / kVectorBytes),
                        .fifo_steps = static_cast<int32_t>(s.fifo_steps)};
  launches_.clear();
  std::vector<EventId>& ends = ends_.emplace_back();
  for (uint32_t place = 0; place < s.ranks; ++place) {
    LaunchConfig config;
    config.module = module_;
    config.kernel = main_entry();
    config.grid.x = s.ring_channels;
    config.block.x = kThreads;
    config.role = "broadcast";
    config.parameters = pack_parameters(argument(place, iteration), shape);
    if (iteration == 0) starts_.push_back(cluster_.record(streams_[place]));
    const auto launch = cluster_.launch(streams_[place], std::move(config));
    if (!launch) return launch.error();
    launches_.push_back(*launch);
    ends.push_back(cluster_.record(streams_[place]));
  }
  return {};
}

Expected<std::string> BroadcastRing::wrong_bytes(uint32_t place) const {
  if (!keeps(place)) return std::string();
  const uint32_t first_row = content_of(scenario_.iterations - 1);
  const std::span<const uint8_t> output = cluster_.view(buffers_[place].output, scenario_.bytes);
  if (output.size() != scenario_.bytes) return Error{.message = "device memory cannot be viewed"};
  std::string text;
  for_each_row(output.size(), [&](uint32_t row, uint64_t offset, uint64_t bytes) {
    if (!text.empty()) return;
    const std::span<const uint8_t> found = output.subspan(offset, bytes);
    const size_t at = data_.first_difference(0, first_row + row, found);
    if (at == bytes) return;
    std::ostringstream words;
    words << "rank " << order_[place] << ", byte " << offset + at << ": found 0x" << std::hex
          << unsigned{found[at]} << ", expected 0x" << unsigned{data_.row_byte(0, first_row + row, at)};
    text = words.str();
  });
  return text;
}

// Every FIFO has turned as often as there were chunks, and both sides agree about it.
Expected<std::string> BroadcastRing::wrong_counters(uint32_t place) const {
  const RingBuffers& b = buffers_[place];
  const std::array<std::pair<const char*, DeviceAddress>, 3> counters = {
      {{"tail", place > 0 ? b.tail : 0}, {"head", is_last(place) ? 0 : b.head}, {"progress", b.progress}}};
  for (const auto& [name, address] : counters) {
    for (uint32_t channel = 0; address != 0 && channel < scenario_.ring_channels; ++channel) {
      uint64_t found = 0;
      const auto read = cluster_.read(address + channel * kCounterBytes,
                                      {reinterpret_cast<uint8_t*>(&found), sizeof(found)});
      if (!read) return read.error();
      const uint64_t expected = scenario_.iterations * ring_steps(scenario_, channel);
      if (found == expected) continue;
      std::ostringstream words;
      words << "rank " << order_[place] << ", " << name << " of channel " << channel << ": found " << found
            << ", expected " << expected;
      return words.str();
    }
  }
  return std::string();
}

Expected<std::string> BroadcastRing::mismatch() const {
  for (uint32_t place = 0; place < scenario_.ranks; ++place) {
    auto wrong = wrong_bytes(place);
    if (wrong && wrong->empty()) wrong = wrong_counters(place);
    if (!wrong || !wrong->empty()) return wrong;
  }
  return std::string();
}

void fill_figures(ScenarioResult& result, const Scenario& s, const models::Machine& machine,
                  const BroadcastRing& ring, RunReport report) {
  const uint32_t warm_up = s.iterations / 2;
  const Picoseconds begin = warm_up == 0 ? ring.start() : ring.end_of(warm_up - 1);
  const double us = (ring.end_of(s.iterations - 1) - begin).us();
  result.time_us = result.time_us_rank0 = us / (s.iterations - warm_up);
  result.logical_bytes = result.wire_bytes = s.bytes;
  result.logical_gb_per_s = result.wire_gb_per_s = static_cast<double>(s.bytes) / result.time_us * 1e-3;
  const double rate = machine.nvlink.links_per_gpu * machine.nvlink.link_bytes_per_second;
  result.bound_us = static_cast<double>(s.bytes) / rate * 1e6;
  result.bound_share = result.bound_us / result.time_us;
  result.warp_instructions = report.warp_instructions;
  result.events = report.events;
  result.kernels.push_back(kernel_time(report, ring.last_launches()));
  result.timed = std::move(report);
}

}  // namespace

Expected<std::vector<uint32_t>> ring_order(const Scenario& s) {
  std::vector<uint32_t> order, ascending(s.ranks);
  std::iota(ascending.begin(), ascending.end(), 0);
  if (s.ring.empty()) return ascending;
  std::istringstream words(s.ring);
  for (std::string word; words >> word;) {
    const bool digits = word.size() < 4 && word.find_first_not_of("0123456789") == std::string::npos;
    order.push_back(digits ? static_cast<uint32_t>(std::stoul(word)) : s.ranks);
  }
  if (std::is_permutation(order.begin(), order.end(), ascending.begin(), ascending.end())) return order;
  return Error{.message = "'ring' is '" + s.ring + "', expected each of the ranks 0 to " +
                          std::to_string(s.ranks - 1) + " once, the root first",
               .path = s.path};
}

uint64_t ring_steps(const Scenario& s, uint32_t channel) {
  const uint64_t round = s.ring_channels * s.chunk_bytes, left = s.bytes % round;
  const uint64_t share = (left + s.ring_channels - 1) / s.ring_channels;
  const uint64_t chunk = (share + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes;
  return s.bytes / round + (channel * chunk < left ? 1 : 0);
}

Expected<void> validate_ring_broadcast(const Scenario& s) {
  const auto refuse = [&s](const std::string& key, uint64_t value, const std::string& expected) {
    return Error{.message = "'" + key + "' is " + std::to_string(value) + ", expected " + expected,
                 .path = s.path};
  };
  const auto up_to = [](uint64_t most) { return "1 to " + std::to_string(most); };
  if (s.ranks < 2 || s.ranks > kMaxRanks)
    return refuse("ranks", s.ranks, "2 to " + std::to_string(kMaxRanks));
  if (s.bytes == 0 || s.bytes % kVectorBytes != 0) return refuse("bytes", s.bytes, "a multiple of 16");
  if (s.chunk_bytes == 0 || s.chunk_bytes % kGranuleBytes != 0 || s.chunk_bytes > kMaxChunkBytes)
    return refuse("chunk_bytes", s.chunk_bytes, "a multiple of 4096 of at most 1 GiB");
  if (s.ring_channels == 0 || s.ring_channels > kMaxRingChannels)
    return refuse("channels", s.ring_channels, up_to(kMaxRingChannels));
  if (s.fifo_steps == 0 || s.fifo_steps > kMaxFifoSteps)
    return refuse("fifo_steps", s.fifo_steps, up_to(kMaxFifoSteps));
  if (s.iterations == 0 || s.iterations > kMaxIterations)
    return refuse("iterations", s.iterations, up_to(kMaxIterations));
  if (const auto order = ring_order(s); !order) return order.error();
  return {};
}

Expected<std::string> ring_broadcast_program_path(const Scenario& s) {
  if (!s.ptx.empty()) return s.ptx;
  return find_data_file("kernels/ring_broadcast.ptx");
}

Expected<ScenarioResult> run_ring_broadcast(const Scenario& scenario, const models::Machine& machine,
                                            const RunOptions& options) {
  const uint64_t bytes =
      2 * scenario.bytes + kInputSlack + scenario.ring_channels * scenario.fifo_steps * scenario.chunk_bytes;
  const std::string what = "'bytes' is " + std::to_string(scenario.bytes) + ": buffers";
  if (const auto fits = check_fits_gpu(scenario, machine, bytes, what); !fits) return fits.error();
  auto cluster = Cluster::create(machine, scenario.ranks);
  if (!cluster) return cluster.error();
  const auto ring = BroadcastRing::create(**cluster, scenario);
  if (!ring) return ring.error();
  for (uint32_t iteration = 0; iteration < scenario.iterations; ++iteration)
    if (const auto enqueued = (*ring)->enqueue(iteration); !enqueued) return enqueued.error();
  auto report = run_beside(**cluster, options);
  if (!report) return report.error();

  ScenarioResult result;
  fill_figures(result, scenario, machine, **ring, *std::move(report));
  if (options.check_results) {
    auto mismatch = (*ring)->mismatch();
    if (!mismatch) return mismatch.error();
    judge(result, *std::move(mismatch));
  }
  return result;
}

}  // namespace ptxwire::sim
