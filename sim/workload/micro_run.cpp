#include "sim/workload/micro_run.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "sim/workload/micro_memory.hpp"
#include "sim/workload/micro_result.hpp"
#include "sim/workload/run_parts.hpp"
#include "support/data_path.hpp"

namespace ptxwire::sim {

namespace {

constexpr std::string_view kReport = "report";
constexpr int kUrgent = -1;  ///< beside somebody else's kernels, as communication is

Error about(const Scenario& scenario, std::string message) {
  return Error{.message = std::move(message), .path = scenario.path, .hint = {}};
}

std::string found_and_expected(const std::string& what, uint32_t found, uint32_t expected) {
  std::ostringstream text;
  text << what << ": found " << found << ", expected " << expected;
  return text.str();
}

template <typename T>
std::span<const uint8_t> bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

/// One scenario on one cluster.
class MicroRun final : public MicroInstance {
 public:
  MicroRun(const Scenario& scenario, Cluster& cluster, const MicroPlace& place)
      : scenario_(scenario), cluster_(cluster), place_(place) {}

  /// Loads the program and allocates all memory.
  Expected<void> prepare() {
    if (auto done = load(); !done) return done;
    if (auto done = read_shape(); !done) return done;
    auto memory = micro_memory(scenario_);
    if (!memory) return memory.error();
    memory_ = std::move(*memory);
    if (auto fits = check_size(); !fits) return fits;
    for (const MicroMemory& buffer : memory_) {
      const auto address = cluster_.allocate(GpuId{place_.first_gpu + buffer.gpu}, buffer.bytes, buffer.name);
      if (!address) return about(scenario_, "buffer '" + buffer.name + "': " + address.error().message);
      addresses_.push_back(*address);
    }
    for (const MicroLaunch& launch : scenario_.micro.launches) {
      const auto gpu = evaluate(scenario_.micro, launch.gpu);
      if (!gpu) return gpu.error();
      const GpuId id{place_.first_gpu + static_cast<uint32_t>(*gpu)};
      gpus_.push_back(id.value);
      const auto address = cluster_.allocate(id, std::max<uint64_t>(1, grid_.count()) * sizeof(MicroRecord),
                                             std::string(kReport));
      if (!address) return address.error();
      reports_.push_back(*address);
      streams_.push_back(cluster_.create_stream(id, place_.priority));
    }
    return {};
  }

  /// All calls, each on memory as the scenario states it. The last one counts.
  Expected<void> run(const RunOptions& options) {
    for (uint32_t call = 0; call < scenario_.calls; ++call) {
      if (auto done = fill(); !done) return done;
      if (scenario_.flush_l2 && call + 1 == scenario_.calls) cluster_.flush_l2();
      begin_ = cluster_.record(streams_.front());
      auto launched = enqueue();
      if (!launched) return launched.error();
      launches_ = *std::move(launched);
      end_ = cluster_.record(streams_.front());
      RunOptions how = options;
      if (call + 1 != scenario_.calls) how.companion = nullptr;
      auto report = run_beside(cluster_, how);
      if (!report) return report.error();
      report_ = std::move(*report);
      warp_instructions_ += report_.warp_instructions;
      events_ += report_.events;
    }
    return {};
  }

  Expected<void> fill() override {
    for (size_t i = 0; i < memory_.size(); ++i)
      if (auto done = fill_buffer(memory_[i], addresses_[i]); !done) return done;
    const std::vector<MicroRecord> zero(grid_.count());
    for (const DeviceAddress report : reports_)
      if (auto done = cluster_.write(report, bytes_of(zero)); !done) return done;
    return {};
  }

  Expected<std::vector<LaunchId>> enqueue() override {
    std::vector<LaunchId> launches;
    for (size_t i = 0; i < streams_.size(); ++i) {
      const auto launched = launch(i);
      if (!launched) return launched.error();
      launches.push_back(*launched);
    }
    return launches;
  }

  Expected<void> finish() override {
    MicroOutput unused;
    return read_output(unused);
  }

  [[nodiscard]] const std::vector<StreamId>& streams() const override { return streams_; }

  [[nodiscard]] Expected<DeviceAddress> buffer(const std::string& name) const override {
    for (size_t i = 0; i < memory_.size(); ++i)
      if (memory_[i].name == name) return addresses_[i];
    return about(scenario_, "the scenario has no buffer '" + name + "'");
  }

  /// Times and figures of the last call.
  Expected<ScenarioResult> result() {
    ScenarioResult result;
    result.time_us = result.time_us_rank0 = (cluster_.event_time(end_) - cluster_.event_time(begin_)).us();
    MicroOutput output{.clock_hz = cluster_.machine().sm.clock_hz};
    Picoseconds started = models::kNever, finished{};
    KernelTime kernel{.role = scenario_.entry};
    for (const LaunchReport& launch : report_.launches) {
      if (std::find(launches_.begin(), launches_.end(), launch.id) == launches_.end()) continue;
      started = std::min(started, launch.started);
      finished = std::max(finished, launch.finished);
      const double us = (launch.finished - launch.started).us();
      if (launch.id == launches_.front()) kernel.rank0_us = us;
      kernel.max_us = std::max(kernel.max_us, us);
    }
    output.duration = finished - started;
    const auto flop = value_or(scenario_.micro, "flop", 0);
    if (!flop) return flop.error();
    output.flop = static_cast<double>(*flop);
    result.kernels.push_back(std::move(kernel));
    if (const auto done = read_output(output); !done) return done.error();
    result.figures = micro_figures(output);
    const auto chosen = std::find_if(result.figures.begin(), result.figures.end(),
                                     [&](const Figure& figure) { return figure.name == scenario_.figure; });
    if (chosen == result.figures.end())
      return about(scenario_,
                   "'figure' is '" + scenario_.figure + "', which this kernel's output does not give");
    std::rotate(result.figures.begin(), chosen, chosen + 1);
    result.warp_instructions = warp_instructions_;
    result.events = events_;
    result.timed = report_;
    return result;
  }

  /// Empty if checksums and memory are as expected.
  Expected<std::string> mismatch() const override {
    const auto expected = micro_checksum(scenario_, memory_);
    if (!expected) return expected.error();
    uint32_t sum = 0;
    for (const MicroRecord& record : records_) sum += record.checksum;
    if (sum != *expected) return found_and_expected("checksum", sum, *expected);
    for (size_t i = 0; i < memory_.size(); ++i) {
      const MicroMemory& buffer = memory_[i];
      if (!buffer.is_checked) continue;
      const std::span<const uint8_t> bytes = cluster_.view(addresses_[i], buffer.bytes);
      const bool is_product = buffer.after.fill == MicroContent::Fill::bf16_product;
      const std::vector<uint32_t> product =
          is_product ? product_words(buffer, memory_) : std::vector<uint32_t>();
      for (uint64_t w = 0; w < bytes.size() / 4; ++w) {
        uint32_t found = 0;
        std::memcpy(&found, bytes.data() + 4 * w, 4);
        if (const uint32_t word = is_product ? product[w] : MicroMemory::word(buffer.after, w); found != word)
          return found_and_expected("word " + std::to_string(w) + " of '" + buffer.name + "'", found, word);
      }
    }
    return std::string{};
  }

 private:
  Expected<void> load() {
    const auto path = micro_program_path(scenario_);
    if (!path) return path.error();
    auto loaded = load_on(cluster_, scenario_, *path, scenario_.entry);
    if (!loaded) return loaded.error();
    program_ = std::move(loaded->program);
    module_ = loaded->module;
    return {};
  }

  Expected<void> read_shape() {
    const auto read = [&](std::string_view name, uint64_t otherwise, uint32_t& out) -> Expected<void> {
      const auto value = value_or(scenario_.micro, name, otherwise);
      if (!value) return value.error();
      if (*value > UINT32_MAX) return about(scenario_, "'" + std::string(name) + "' is too large");
      out = static_cast<uint32_t>(*value);
      return {};
    };
    struct Entry {
      std::string_view name;
      uint64_t otherwise;
      uint32_t* out;
    };
    for (const Entry& entry :
         {Entry{"ctas", 1, &grid_.x}, Entry{"ctas_y", 1, &grid_.y}, Entry{"ctas_z", 1, &grid_.z},
          Entry{"threads", 1, &block_.x}, Entry{"threads_y", 1, &block_.y}, Entry{"threads_z", 1, &block_.z},
          Entry{"cluster", 1, &cluster_size_}, Entry{"shared", 0, &shared_}})
      if (auto done = read(entry.name, entry.otherwise, *entry.out); !done) return done;
    return {};
  }

  /// Before anything is allocated: the host would try to hold it.
  [[nodiscard]] Expected<void> check_size() const {
    std::vector<uint64_t> left(scenario_.ranks, cluster_.machine().hbm.bytes);
    for (const MicroMemory& buffer : memory_) {
      if (buffer.bytes > left[buffer.gpu])
        return about(scenario_, "buffer '" + buffer.name + "' of " + std::to_string(buffer.bytes) +
                                    " bytes does not fit the memory of a GPU of '" + cluster_.machine().name +
                                    "'");
      left[buffer.gpu] -= buffer.bytes;
    }
    return {};
  }

  Expected<void> fill_buffer(const MicroMemory& buffer, DeviceAddress address) {
    const std::span<uint8_t> bytes = cluster_.view(address, buffer.bytes);
    if (bytes.size() != buffer.bytes) return about(scenario_, "device memory cannot be viewed");
    if (buffer.content.fill == MicroContent::Fill::chase) {
      const std::vector<uint32_t> next = buffer.ring();
      for (uint64_t node = 0; node < next.size(); ++node) {
        const DeviceAddress target = address + next[node] * buffer.content.stride;
        std::memcpy(bytes.data() + node * buffer.content.stride, &target, sizeof(target));
      }
      return {};
    }
    for (uint64_t w = 0; w < bytes.size() / 4; ++w) {
      const uint32_t word = MicroMemory::word(buffer.content, w);
      std::memcpy(bytes.data() + 4 * w, &word, 4);
    }
    return {};
  }

  Expected<LaunchId> launch(size_t index) {
    LaunchConfig config;
    config.module = module_;
    config.kernel = scenario_.entry;
    config.grid = grid_;
    config.block = block_;
    config.cluster = cluster_size_;
    config.dynamic_shared_bytes = shared_;
    config.role = place_.role.empty() ? scenario_.entry : place_.role;
    auto parameters = pack(index);
    if (!parameters) return parameters.error();
    config.parameters = std::move(*parameters);
    return cluster_.launch(streams_[index], std::move(config));
  }

  /// Each argument at the place and in the width that the kernel declares.
  Expected<std::vector<uint8_t>> pack(size_t index) {
    const auto function =
        std::find_if(program_->functions.begin(), program_->functions.end(),
                     [&](const ptx::ProgramFunction& known) { return known.name == scenario_.entry; });
    const std::vector<MicroArgument>& arguments = scenario_.micro.launches[index].arguments;
    if (function == program_->functions.end())
      return std::vector<uint8_t>{};  // launch() names the nearest one
    if (function->parameters.size() != arguments.size())
      return about(scenario_, "'" + scenario_.entry + "' takes " +
                                  std::to_string(function->parameters.size()) +
                                  " arguments, [[launches]] has " + std::to_string(arguments.size()));
    std::vector<uint8_t> block(function->parameter_bytes);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ptx::ProgramParameter& parameter = function->parameters[i];
      if (arguments[i].tensor_map) {
        if (auto done = pack_tensor_map(*arguments[i].tensor_map, parameter, block); !done)
          return done.error();
        continue;
      }
      const std::string& text = arguments[i].text;
      const auto value = argument(index, text);
      if (!value) return value.error();
      const bool fits = parameter.bytes == 8 || (parameter.bytes == 4 && *value <= UINT32_MAX);
      if (!fits)
        return about(scenario_, "argument '" + text + "' does not fit parameter '" + parameter.name +
                                    "' of " + std::to_string(parameter.bytes) + " bytes");
      std::memcpy(block.data() + parameter.offset, &*value, parameter.bytes);
    }
    return block;
  }

  Expected<void> pack_tensor_map(const MicroTensorMap& map, const ptx::ProgramParameter& parameter,
                                 std::vector<uint8_t>& block) {
    if (parameter.bytes != kTensorMapBytes)
      return about(scenario_, "a tensor map has 128 bytes, parameter '" + parameter.name + "' " +
                                  std::to_string(parameter.bytes));
    const auto encoded = micro_tensor_map(scenario_.micro, map, address_of(map.buffer));
    if (!encoded) return encoded.error();
    std::memcpy(block.data() + parameter.offset, encoded->bytes.data(), kTensorMapBytes);
    return {};
  }

  [[nodiscard]] DeviceAddress address_of(const std::string& buffer) const {
    for (size_t i = 0; i < memory_.size(); ++i)
      if (memory_[i].name == buffer) return addresses_[i];
    return 0;
  }

  Expected<uint64_t> argument(size_t index, const std::string& text) {
    if (text == kReport) return reports_[index];
    if (const DeviceAddress buffer = address_of(text); buffer != 0) return buffer;
    return evaluate(scenario_.micro, MicroCount{{text}});
  }

  Expected<void> read_output(MicroOutput& output) {
    records_.clear();
    for (size_t i = 0; i < reports_.size(); ++i) {
      std::vector<MicroRecord> records(grid_.count());
      auto read = cluster_.read(
          reports_[i], {reinterpret_cast<uint8_t*>(records.data()), records.size() * sizeof(MicroRecord)});
      if (!read) return read;
      for (MicroRecord& record : records) record.sm |= gpus_[i] << 16U;
      records_.insert(records_.end(), records.begin(), records.end());
    }
    output.records = records_;
    for (size_t i = 0; i < memory_.size(); ++i) {
      if (!memory_[i].samples) continue;
      output.samples.resize(memory_[i].bytes / 4);
      auto read = cluster_.read(
          addresses_[i], {reinterpret_cast<uint8_t*>(output.samples.data()), output.samples.size() * 4});
      if (!read) return read;
    }
    return {};
  }

  const Scenario& scenario_;
  Cluster& cluster_;
  std::shared_ptr<const ptx::Program> program_;
  const MicroPlace place_;
  uint32_t module_ = 0, cluster_size_ = 1, shared_ = 0;
  Dim3 grid_, block_;
  std::vector<MicroMemory> memory_;
  std::vector<DeviceAddress> addresses_;  ///< of memory_
  std::vector<uint32_t> gpus_;            ///< of the launches
  std::vector<DeviceAddress> reports_;
  std::vector<StreamId> streams_;
  std::vector<LaunchId> launches_;  ///< of the last call
  EventId begin_ = 0, end_ = 0;
  RunReport report_;
  uint64_t warp_instructions_ = 0, events_ = 0;
  std::vector<MicroRecord> records_;
};

}  // namespace

Expected<std::string> micro_program_path(const Scenario& scenario) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(scenario.ptx, ignored)) return scenario.ptx;
  return find_data_file("kernels/" + scenario.ptx);
}

Expected<std::unique_ptr<MicroInstance>> MicroInstance::create(const Scenario& scenario, Cluster& cluster,
                                                               const MicroPlace& place) {
  auto instance = std::make_unique<MicroRun>(scenario, cluster, place);
  if (const auto prepared = instance->prepare(); !prepared) return prepared.error();
  return std::unique_ptr<MicroInstance>(std::move(instance));
}

Expected<ScenarioResult> run_micro(const Scenario& scenario, const models::Machine& machine,
                                   const RunOptions& options) {
  auto cluster = Cluster::create(machine, scenario.ranks);
  if (!cluster) return cluster.error();
  MicroRun micro(scenario, **cluster, {.priority = options.companion != nullptr ? kUrgent : 0});
  if (const auto prepared = micro.prepare(); !prepared) return prepared.error();
  if (const auto done = micro.run(options); !done) return done.error();
  auto result = micro.result();
  if (!result || !options.check_results) return result;
  auto mismatch = micro.mismatch();
  if (!mismatch) return mismatch.error();
  judge(*result, *std::move(mismatch));
  return result;
}

}  // namespace ptxwire::sim
