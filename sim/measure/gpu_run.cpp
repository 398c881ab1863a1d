#include "sim/measure/gpu_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "ptx_frontend/frontend.hpp"
#include "sim/measure/gpu_session.hpp"
#include "sim/workload/micro_plan.hpp"
#include "sim/workload/micro_run.hpp"
#include "sim/workload/scenario_keys.hpp"

namespace ptxwire::sim {

namespace {

/// Written over before a call that is to find an empty L2.
constexpr uint64_t kFlushFactor = 2;

/// One scenario on the GPUs of a session.
class GpuRun {
 public:
  GpuRun(const Scenario& scenario, MicroPlan plan, const CudaDriver& driver, const GpuRunOptions& options)
      : scenario_(scenario), plan_(std::move(plan)), driver_(driver), options_(options), session_(driver) {}

  Expected<GpuRunResult> run() {
    if (auto done = load(); !done) return done.error();
    if (auto done = allocate(); !done) return done.error();
    GpuRunResult result{
        .driver = driver_.version(), .repeats = options_.repeats, .checked = options_.check_results};
    const auto name = session_.name(0);
    if (!name) return name.error();
    result.gpu = *name;
    const auto clock = session_.attribute(0, cuda::kClockRate);
    if (!clock) return clock.error();
    result.clock_mhz = *clock / 1e3;
    std::vector<double> times;
    std::vector<std::vector<Figure>> figures;
    for (uint32_t call = 0; call <= options_.repeats; ++call) {
      if (options_.progress && !options_.progress(call)) return Error{.message = "stopped"};
      const auto time_us = this->call();
      if (!time_us) return time_us.error();
      MicroOutput output{.duration = models::microseconds(*time_us), .clock_hz = result.clock_mhz * 1e6};
      if (auto done = read_output(output); !done) return done.error();
      if (options_.check_results) {
        auto mismatch = find_mismatch(output);
        if (!mismatch) return mismatch.error();
        result.mismatch = *std::move(mismatch);
        if (!result.mismatch.empty()) return result;
      }
      if (call == 0) continue;  // code and page tables were not where they are from now on
      auto all = plan_.figures(output);
      if (!all) return all.error();
      times.push_back(*time_us);
      figures.push_back(*std::move(all));
    }
    result.time_us = spread_of(times);
    for (size_t i = 0; i < figures.front().size(); ++i) {
      std::vector<double> values;
      for (const std::vector<Figure>& call : figures) values.push_back(call[i].value);
      result.figures.push_back(
          {figures.front()[i].name, figures.front()[i].unit, spread_of(std::move(values))});
    }
    return result;
  }

 private:
  Expected<void> load() {
    const auto path = micro_program_path(scenario_);
    if (!path) return path.error();
    const auto text = ptx::read_text_file(*path);
    if (!text) return text.error();
    auto program = ptx::load_program({*path});
    if (!program) return program.error();
    const uint32_t entry = program->find_entry(scenario_.entry);
    if (entry == UINT32_MAX)
      return Error{.message = "no kernel '" + scenario_.entry + "' in this file", .path = *path};
    kernel_ = program->functions[entry];
    if (auto done = session_.open(options_.first_device, scenario_.ranks); !done) return done;
    if (auto done = session_.load(**text, *path, scenario_.entry); !done) return done;
    return session_.allow(plan_.shape().cluster, plan_.shape().shared);
  }

  Expected<void> allocate() {
    for (size_t i = 0; i < plan_.memory().size(); ++i) {
      const MicroMemory& buffer = plan_.memory()[i];
      const auto address = session_.allocate(buffer.gpu, buffer.bytes, buffer.name);
      if (!address) return address.error();
      addresses_.push_back(*address);
      images_.emplace_back(buffer.bytes);
      plan_.fill(i, *address, images_.back());
    }
    for (const uint32_t gpu : plan_.launch_gpus()) {
      const auto report = session_.allocate(gpu, plan_.records() * sizeof(MicroRecord), "report");
      if (!report) return report.error();
      reports_.push_back(*report);
      const auto stream = session_.create_stream(gpu);
      if (!stream) return stream.error();
      streams_.push_back(*stream);
    }
    for (cuda::Event* event : {&begin_, &end_}) {
      const auto created = session_.create_event(plan_.launch_gpus().front());
      if (!created) return created.error();
      *event = *created;
    }
    return scenario_.flush_l2 ? allocate_flush() : Expected<void>();
  }

  Expected<void> allocate_flush() {
    for (uint32_t gpu = 0; gpu < scenario_.ranks; ++gpu) {
      const auto l2 = session_.attribute(gpu, cuda::kL2CacheBytes);
      if (!l2) return l2.error();
      flush_bytes_ = kFlushFactor * static_cast<uint64_t>(std::max(*l2, 0)) / 4 * 4;
      const auto address = session_.allocate(gpu, flush_bytes_, "L2 flush");
      if (!address) return address.error();
      flush_.push_back(*address);
    }
    return {};
  }

  /// Memory as the scenario states it, then all launches at once. The time between the events around the
  /// first one.
  Expected<double> call() {
    for (size_t i = 0; i < images_.size(); ++i)
      if (auto done = session_.write(plan_.memory()[i].gpu, addresses_[i], images_[i]); !done)
        return done.error();
    for (size_t i = 0; i < reports_.size(); ++i)
      if (auto done =
              session_.clear(plan_.launch_gpus()[i], reports_[i], plan_.records() * sizeof(MicroRecord));
          !done)
        return done.error();
    for (uint32_t gpu = 0; gpu < flush_.size(); ++gpu)
      if (auto done = session_.clear(gpu, flush_[gpu], flush_bytes_); !done) return done.error();
    const uint32_t first = plan_.launch_gpus().front();
    if (auto done = session_.record(first, begin_, streams_.front()); !done) return done.error();
    for (size_t i = 0; i < streams_.size(); ++i)
      if (auto done = launch(i); !done) return done.error();
    if (auto done = session_.record(first, end_, streams_.front()); !done) return done.error();
    for (size_t i = 0; i < streams_.size(); ++i)
      if (auto done = session_.synchronize(plan_.launch_gpus()[i], streams_[i]); !done) return done.error();
    return session_.elapsed_us(begin_, end_);
  }

  Expected<void> launch(size_t index) {
    const MicroShape& shape = plan_.shape();
    auto parameters = plan_.parameters(index, kernel_, addresses_, reports_[index],
                                       [&](const TensorMap& map) { return session_.encode(map); });
    if (!parameters) return parameters.error();
    cuda::LaunchAttribute attribute{.id = cuda::LaunchAttribute::cluster_dimension, .value = {}};
    attribute.value.cluster = {.x = shape.cluster, .y = 1, .z = 1};
    const cuda::LaunchConfig config{.grid_x = shape.grid.x,
                                    .grid_y = shape.grid.y,
                                    .grid_z = shape.grid.z,
                                    .block_x = shape.block.x,
                                    .block_y = shape.block.y,
                                    .block_z = shape.block.z,
                                    .dynamic_shared_bytes = shape.shared,
                                    .stream = streams_[index],
                                    .attributes = &attribute,
                                    .attribute_count = shape.cluster > 1 ? 1U : 0U};
    return session_.launch(plan_.launch_gpus()[index], config, *parameters);
  }

  Expected<void> read_output(MicroOutput& output) {
    std::vector<MicroRecord> records(plan_.records());
    for (size_t i = 0; i < reports_.size(); ++i) {
      if (auto done = session_.read(plan_.launch_gpus()[i], reports_[i], bytes_of(records)); !done)
        return done;
      plan_.take_records(i, records, output);
    }
    for (size_t i = 0; i < plan_.memory().size(); ++i) {
      const MicroMemory& buffer = plan_.memory()[i];
      if (!buffer.samples) continue;
      output.samples.resize(buffer.bytes / 4);
      if (auto done = session_.read(buffer.gpu, addresses_[i], bytes_of(output.samples)); !done) return done;
    }
    return {};
  }

  Expected<std::string> find_mismatch(const MicroOutput& output) {
    return plan_.mismatch(output.records, [&](size_t i) -> Expected<std::span<const uint8_t>> {
      read_back_.resize(plan_.memory()[i].bytes);
      if (auto done = session_.read(plan_.memory()[i].gpu, addresses_[i], read_back_); !done)
        return done.error();
      return std::span<const uint8_t>(read_back_);
    });
  }

  template <typename T>
  static std::span<uint8_t> bytes_of(std::vector<T>& values) {
    return {reinterpret_cast<uint8_t*>(values.data()), values.size() * sizeof(T)};
  }

  const Scenario& scenario_;
  const MicroPlan plan_;
  const CudaDriver& driver_;
  const GpuRunOptions& options_;
  GpuSession session_;
  ptx::ProgramFunction kernel_;
  std::vector<DeviceAddress> addresses_;  ///< of the plan's memory
  std::vector<std::vector<uint8_t>> images_;
  std::vector<cuda::DevicePointer> reports_;
  std::vector<cuda::Stream> streams_;
  cuda::Event begin_ = nullptr, end_ = nullptr;
  std::vector<cuda::DevicePointer> flush_;
  uint64_t flush_bytes_ = 0;
  std::vector<uint8_t> read_back_;
};

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {.median = median, .least = values.front(), .most = values.back()};
}

Expected<std::string> difference_from_machine(const CudaDriver& driver, uint32_t device,
                                              const models::Machine& machine) {
  const cuda::Functions& f = driver.functions();
  cuda::Device handle = 0;
  if (auto done = driver.check(f.cuDeviceGet(&handle, static_cast<int>(device)), "cuDeviceGet"); !done)
    return done.error();
  size_t memory = 0;
  if (auto done = driver.check(f.cuDeviceTotalMem_v2(&memory, handle), "cuDeviceTotalMem"); !done)
    return done.error();
  int sms = 0, clock_khz = 0, l2 = 0;
  const std::array<std::pair<cuda::DeviceAttribute, int*>, 3> wanted = {
      {{cuda::kMultiprocessorCount, &sms}, {cuda::kClockRate, &clock_khz}, {cuda::kL2CacheBytes, &l2}}};
  for (const auto& [attribute, value] : wanted)
    if (auto done = driver.check(f.cuDeviceGetAttribute(value, attribute, handle), "cuDeviceGetAttribute");
        !done)
      return done.error();
  std::string text;
  const auto compare = [&](double found, double described, double tolerance, const std::string& unit) {
    if (std::abs(found - described) <= tolerance * described) return;
    text += fmt::format("{}{:.4g} {} instead of {:.4g}", text.empty() ? "" : ", ", found, unit, described);
  };
  compare(sms, machine.sm.count, 0, "SMs");
  compare(clock_khz / 1e3, machine.sm.clock_hz / 1e6, 0.02, "MHz");
  compare(l2 / 1048576.0, static_cast<double>(machine.l2.bytes) / 1048576.0, 0.1, "MiB of L2");
  compare(static_cast<double>(memory) / 1e9, static_cast<double>(machine.hbm.bytes) / 1e9, 0.1,
          "GB of memory");
  return text;
}

Expected<void> check_measurable(const Scenario& scenario) {
  if (scenario.kernel == KernelFamily::micro) return {};
  return Error{.message = "the scenario is of kernel \"" + std::string(kernel_family_name(scenario.kernel)) +
                          "\", measure runs those of kernel \"micro\" (any PTX file, on one or more GPUs)",
               .path = scenario.path};
}

Expected<GpuRunResult> run_on_gpu(const Scenario& scenario, const CudaDriver& driver,
                                  const GpuRunOptions& options) {
  if (const auto fits = check_measurable(scenario); !fits) return fits.error();
  auto plan = MicroPlan::create(scenario);
  if (!plan) return plan.error();
  return GpuRun(scenario, *std::move(plan), driver, options).run();
}

}  // namespace ptxwire::sim
