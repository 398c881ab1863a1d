#include "sim/workload/micro_plan.hpp"

#include <algorithm>
#include <cstring>

namespace ptxwire::sim {

namespace {

constexpr std::string_view kReport = "report", kRdma = "rdma";

Error about(const Scenario& scenario, std::string message) {
  return Error{.message = std::move(message), .path = scenario.path, .hint = {}};
}

std::string found_and_expected(const std::string& what, uint32_t found, uint32_t expected) {
  return what + ": found " + std::to_string(found) + ", expected " + std::to_string(expected);
}

}  // namespace

Expected<MicroPlan> MicroPlan::create(const Scenario& scenario) {
  MicroPlan plan(scenario);
  if (auto done = plan.read_shape(); !done) return done.error();
  auto memory = micro_memory(scenario);
  if (!memory) return memory.error();
  plan.memory_ = *std::move(memory);
  for (const MicroLaunch& launch : scenario.micro.launches) {
    const auto gpu = evaluate(scenario.micro, launch.gpu);
    if (!gpu) return gpu.error();
    plan.launch_gpus_.push_back(static_cast<uint32_t>(*gpu));
  }
  return plan;
}

Expected<void> MicroPlan::read_shape() {
  const auto read = [&](std::string_view name, uint64_t otherwise, uint32_t& out) -> Expected<void> {
    const auto value = value_or(scenario_->micro, name, otherwise);
    if (!value) return value.error();
    if (*value > UINT32_MAX) return about(*scenario_, "'" + std::string(name) + "' is too large");
    out = static_cast<uint32_t>(*value);
    return {};
  };
  struct Entry {
    std::string_view name;
    uint64_t otherwise;
    uint32_t* out;
  };
  for (const Entry& entry : {Entry{"ctas", 1, &shape_.grid.x}, Entry{"ctas_y", 1, &shape_.grid.y},
                             Entry{"ctas_z", 1, &shape_.grid.z}, Entry{"threads", 1, &shape_.block.x},
                             Entry{"threads_y", 1, &shape_.block.y}, Entry{"threads_z", 1, &shape_.block.z},
                             Entry{"cluster", 1, &shape_.cluster}, Entry{"shared", 0, &shape_.shared}})
    if (auto done = read(entry.name, entry.otherwise, *entry.out); !done) return done;
  return {};
}

void MicroPlan::fill(size_t index, DeviceAddress address, std::span<uint8_t> bytes) const {
  const MicroMemory& buffer = memory_[index];
  if (buffer.content.fill == MicroContent::Fill::chase) {
    const std::vector<uint32_t> next = buffer.ring();
    for (uint64_t node = 0; node < next.size(); ++node) {
      const DeviceAddress target = address + next[node] * buffer.content.stride;
      std::memcpy(bytes.data() + node * buffer.content.stride, &target, sizeof(target));
    }
    return;
  }
  for (uint64_t w = 0; w < bytes.size() / 4; ++w) {
    const uint32_t word = MicroMemory::word(buffer.content, w);
    std::memcpy(bytes.data() + 4 * w, &word, 4);
  }
}

bool uses_rdma(const MicroScenario& micro) {
  const auto is_rdma = [](const MicroArgument& argument) {
    return !argument.tensor_map && argument.text == kRdma;
  };
  return std::any_of(micro.launches.begin(), micro.launches.end(), [&](const MicroLaunch& launch) {
    return std::any_of(launch.arguments.begin(), launch.arguments.end(), is_rdma);
  });
}

Expected<std::vector<uint8_t>> MicroPlan::parameters(size_t launch, const ptx::ProgramFunction& kernel,
                                                     std::span<const DeviceAddress> addresses,
                                                     DeviceAddress report, const TensorMapEncoder& encode,
                                                     std::span<const uint8_t> rdma) const {
  const std::vector<MicroArgument>& arguments = scenario_->micro.launches[launch].arguments;
  if (kernel.parameters.size() != arguments.size())
    return about(*scenario_, "'" + scenario_->entry + "' takes " + std::to_string(kernel.parameters.size()) +
                                 " arguments, [[launches]] has " + std::to_string(arguments.size()));
  std::vector<uint8_t> block(kernel.parameter_bytes);
  for (size_t i = 0; i < arguments.size(); ++i)
    if (auto done = pack(arguments[i], kernel.parameters[i], addresses, report, encode, rdma, block); !done)
      return done.error();
  return block;
}

Expected<void> MicroPlan::pack(const MicroArgument& argument, const ptx::ProgramParameter& parameter,
                               std::span<const DeviceAddress> addresses, DeviceAddress report,
                               const TensorMapEncoder& encode, std::span<const uint8_t> rdma,
                               std::vector<uint8_t>& block) const {
  if (argument.text == kRdma && !argument.tensor_map) {
    if (rdma.empty()) return about(*scenario_, "there are no NICs here that a kernel could post to");
    if (parameter.bytes != rdma.size())
      return about(*scenario_, "what a kernel needs to post has " + std::to_string(rdma.size()) +
                                   " bytes, parameter '" + parameter.name + "' " +
                                   std::to_string(parameter.bytes));
    std::memcpy(block.data() + parameter.offset, rdma.data(), rdma.size());
    return {};
  }
  if (argument.tensor_map) {
    if (parameter.bytes != kTensorMapBytes)
      return about(*scenario_, "a tensor map has 128 bytes, parameter '" + parameter.name + "' " +
                                   std::to_string(parameter.bytes));
    auto map = micro_tensor_map(scenario_->micro, *argument.tensor_map,
                                address_of(argument.tensor_map->buffer, addresses));
    if (map && encode) map = encode(*map);
    if (!map) return map.error();
    std::memcpy(block.data() + parameter.offset, map->bytes.data(), kTensorMapBytes);
    return {};
  }
  const auto value = this->argument(argument.text, addresses, report);
  if (!value) return value.error();
  const bool fits = parameter.bytes == 8 || (parameter.bytes == 4 && *value <= UINT32_MAX);
  if (!fits)
    return about(*scenario_, "argument '" + argument.text + "' does not fit parameter '" + parameter.name +
                                 "' of " + std::to_string(parameter.bytes) + " bytes");
  std::memcpy(block.data() + parameter.offset, &*value, parameter.bytes);
  return {};
}

DeviceAddress MicroPlan::address_of(const std::string& buffer,
                                    std::span<const DeviceAddress> addresses) const {
  for (size_t i = 0; i < memory_.size(); ++i)
    if (memory_[i].name == buffer) return addresses[i];
  return 0;
}

Expected<uint64_t> MicroPlan::argument(const std::string& text, std::span<const DeviceAddress> addresses,
                                       DeviceAddress report) const {
  if (text == kReport) return report;
  if (const DeviceAddress buffer = address_of(text, addresses); buffer != 0) return buffer;
  return evaluate(scenario_->micro, MicroCount{{text}});
}

void MicroPlan::take_records(size_t launch, std::span<const MicroRecord> records, MicroOutput& output) const {
  for (MicroRecord record : records) {
    record.sm |= launch_gpus_[launch] << 16U;  // SMs of different GPUs stay apart
    output.records.push_back(record);
  }
}

Expected<std::vector<Figure>> MicroPlan::figures(MicroOutput output) const {
  const auto flop = value_or(scenario_->micro, "flop", 0);
  if (!flop) return flop.error();
  output.flop = static_cast<double>(*flop);
  std::vector<Figure> all = micro_figures(output);
  const auto chosen = std::find_if(all.begin(), all.end(),
                                   [&](const Figure& figure) { return figure.name == scenario_->figure; });
  if (chosen == all.end())
    return about(*scenario_,
                 "'figure' is '" + scenario_->figure + "', which this kernel's output does not give");
  std::rotate(all.begin(), chosen, chosen + 1);
  return all;
}

Expected<std::string> MicroPlan::mismatch(
    std::span<const MicroRecord> records,
    const std::function<Expected<std::span<const uint8_t>>(size_t)>& view) const {
  const auto expected = micro_checksum(*scenario_, memory_);
  if (!expected) return expected.error();
  uint32_t sum = 0;
  for (const MicroRecord& record : records) sum += record.checksum;
  if (sum != *expected) return found_and_expected("checksum", sum, *expected);
  for (size_t i = 0; i < memory_.size(); ++i) {
    const MicroMemory& buffer = memory_[i];
    if (!buffer.is_checked) continue;
    const auto bytes = view(i);
    if (!bytes) return bytes.error();
    const bool is_product = buffer.after.fill == MicroContent::Fill::bf16_product;
    const std::vector<uint32_t> product =
        is_product ? product_words(buffer, memory_) : std::vector<uint32_t>();
    for (uint64_t w = 0; w < bytes->size() / 4; ++w) {
      uint32_t found = 0;
      std::memcpy(&found, bytes->data() + 4 * w, 4);
      if (const uint32_t word = is_product ? product[w] : MicroMemory::word(buffer.after, w); found != word)
        return found_and_expected("word " + std::to_string(w) + " of '" + buffer.name + "'", found, word);
    }
  }
  return std::string{};
}

}  // namespace ptxwire::sim
