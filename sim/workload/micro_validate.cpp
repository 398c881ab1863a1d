#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/workload/micro_memory.hpp"
#include "sim/workload/micro_result.hpp"
#include "sim/workload/scenario.hpp"
#include "support/nearest.hpp"

namespace ptxwire::sim {

namespace {

using Kind = MicroChecksum::Kind;

constexpr uint64_t kNodeBytes = 8;  ///< an address

/// Checks one scenario; errors name its file.
class Validator {
 public:
  explicit Validator(const Scenario& scenario) : scenario_(scenario) {}

  [[nodiscard]] Expected<void> run() const {
    if (scenario_.ptx.empty() || scenario_.entry.empty())
      return refuse("kernel = \"micro\" needs 'ptx' and 'entry'");
    if (scenario_.calls == 0) return refuse("'calls' is 0, expected at least 1");
    if (auto done = check_figure(); !done) return done;
    for (const auto& [name, value] : scenario_.micro.values)
      if (const auto number = evaluate(scenario_.micro, value); !number) return refuse(number.error());
    const auto memory = micro_memory(scenario_);
    if (!memory) return refuse(memory.error());
    for (const MicroMemory& buffer : *memory)
      if (auto done = check_buffer(buffer); !done) return done;
    for (const MicroMemory& buffer : *memory)
      if (auto done = check_product(buffer, *memory); !done) return done;
    if (auto done = check_launches(*memory); !done) return done;
    return check_checksum(*memory);
  }

 private:
  [[nodiscard]] Error refuse(std::string message, std::string hint = {}) const {
    return Error{.message = std::move(message), .path = scenario_.path, .hint = std::move(hint)};
  }
  [[nodiscard]] Error refuse(Error error) const {
    error.path = scenario_.path;
    return error;
  }

  [[nodiscard]] Expected<void> check_figure() const {
    const auto names = micro_figure_names();
    if (std::find(names.begin(), names.end(), scenario_.figure) != names.end()) return {};
    std::string hint = "one of:";
    for (const std::string_view name : names) hint.append(" ").append(name);
    if (const std::string meant = nearest(scenario_.figure, names); !meant.empty())
      hint = "did you mean '" + meant + "'?";
    return refuse("'figure' is '" + scenario_.figure + "', which is none", hint);
  }

  [[nodiscard]] Expected<void> check_gpu(uint64_t gpu, const std::string& whose) const {
    if (gpu < scenario_.ranks) return {};
    return refuse(whose + " is on GPU " + std::to_string(gpu) + ", the scenario has " +
                  std::to_string(scenario_.ranks) + " ('ranks')");
  }

  [[nodiscard]] Expected<void> check_content(const MicroMemory& buffer,
                                             const MicroMemory::Content& content) const {
    const std::string name = "buffer '" + buffer.name + "'";
    if (content.stride == 0) return refuse(name + ": 'stride' is 0");
    if (content.fill == MicroContent::Fill::bf16_integers && content.value > 256)
      return refuse(name + ": 'value' is " + std::to_string(content.value) +
                    ", bf16 holds whole numbers up to 256 exactly");
    if (content.fill != MicroContent::Fill::chase) return {};
    if (content.stride % kNodeBytes != 0)
      return refuse(name + ": 'stride' is " + std::to_string(content.stride) +
                    ", expected a multiple of 8: a node is an address");
    if (buffer.bytes < content.stride || buffer.bytes / content.stride > UINT32_MAX)
      return refuse(name + ": a ring of " + std::to_string(buffer.bytes / content.stride) + " nodes");
    return {};
  }

  [[nodiscard]] Expected<void> check_buffer(const MicroMemory& buffer) const {
    const std::string name = "buffer '" + buffer.name + "'";
    if (buffer.bytes == 0 || buffer.bytes % 4 != 0)
      return refuse(name + " has " + std::to_string(buffer.bytes) + " bytes, expected a multiple of 4");
    if (buffer.name == "report") return refuse("'report' is the name of the kernel's own record");
    if (buffer.name == "rdma") return refuse("'rdma' is the name of what kernels need to post");
    if (buffer.in_heap && !uses_rdma(scenario_.micro))
      return refuse(name + " is in the symmetric heap, but no launch has the argument \"rdma\"");
    if (auto done = check_gpu(buffer.gpu, name); !done) return done;
    if (auto done = check_content(buffer, buffer.content); !done) return done;
    if (buffer.is_checked && buffer.after.fill == MicroContent::Fill::chase)
      return refuse(name + ": 'after' cannot be a ring");
    if (buffer.content.fill == MicroContent::Fill::bf16_product)
      return refuse(name + ": a product can only be what is there 'after' the run");
    return buffer.is_checked ? check_content(buffer, buffer.after) : Expected<void>();
  }

  /// Sizes fit, and every partial sum of a product is exact in f32.
  [[nodiscard]] Expected<void> check_product(const MicroMemory& buffer,
                                             const std::vector<MicroMemory>& memory) const {
    const MicroMemory::Content& product = buffer.after;
    if (!buffer.is_checked || product.fill != MicroContent::Fill::bf16_product) return {};
    const std::string name = "buffer '" + buffer.name + "'";
    uint64_t bound = product.depth;
    for (const auto& [side, count] :
         {std::pair(product.left, product.rows), std::pair(product.right, product.columns)}) {
      const auto found = std::find_if(memory.begin(), memory.end(),
                                      [&](const MicroMemory& known) { return known.name == side; });
      if (found == memory.end() || found->content.fill != MicroContent::Fill::bf16_integers)
        return refuse(fmt::format("{}: the product needs '{}' to be a buffer of bf16_integers", name, side));
      if (found->bytes != 2 * count * product.depth)
        return refuse(fmt::format("{}: '{}' has {} bytes, expected 2 * {} * {}", name, side, found->bytes,
                                  count, product.depth));
      bound *= found->content.value;
    }
    if (buffer.bytes != 2 * product.rows * product.columns)
      return refuse(name + " has " + std::to_string(buffer.bytes) + " bytes, the product 2 * " +
                    std::to_string(product.rows) + " * " + std::to_string(product.columns));
    if (bound > 1U << 24U)
      return refuse(name + ": sums up to " + std::to_string(bound) + ", exact are those up to 2^24");
    return {};
  }

  [[nodiscard]] Expected<void> check_launches(const std::vector<MicroMemory>& memory) const {
    if (scenario_.micro.launches.empty()) return refuse("expected at least one of [[launches]]");
    for (const MicroLaunch& launch : scenario_.micro.launches) {
      const auto gpu = evaluate(scenario_.micro, launch.gpu);
      if (!gpu) return refuse(gpu.error());
      if (auto done = check_gpu(*gpu, "a launch"); !done) return done;
      for (const MicroArgument& argument : launch.arguments)
        if (auto done = check_argument(argument, memory); !done) return done;
    }
    return {};
  }

  [[nodiscard]] Expected<void> check_argument(const MicroArgument& argument,
                                              const std::vector<MicroMemory>& memory) const {
    const std::string& named = argument.tensor_map ? argument.tensor_map->buffer : argument.text;
    const bool is_buffer = std::any_of(memory.begin(), memory.end(),
                                       [&](const MicroMemory& buffer) { return buffer.name == named; });
    if (argument.tensor_map) {
      if (!is_buffer) return refuse("a tensor map names no buffer '" + named + "'");
      if (const auto map = micro_tensor_map(scenario_.micro, *argument.tensor_map, 0); !map)
        return refuse(map.error());
      return {};
    }
    if (is_buffer || named == "report" || named == "rdma") return {};
    if (const auto number = evaluate(scenario_.micro, MicroCount{{named}}); !number)
      return refuse(number.error());
    return {};
  }

  [[nodiscard]] Expected<void> check_checksum(const std::vector<MicroMemory>& memory) const {
    const MicroChecksum& checksum = scenario_.micro.checksum;
    const auto positive = [&](const MicroCount& count, const char* name) -> Expected<void> {
      const auto number = evaluate(scenario_.micro, count, 1);
      if (!number) return refuse(number.error());
      if (*number == 0) return refuse("[checksum] '" + std::string(name) + "' is 0");
      return {};
    };
    if (auto done = positive(checksum.parts, "parts"); !done) return done;
    if (auto done = positive(checksum.counters, "counters"); !done) return done;
    if (checksum.kind != Kind::chase && checksum.kind != Kind::words) return {};
    const auto buffer = std::find_if(memory.begin(), memory.end(),
                                     [&](const MicroMemory& known) { return known.name == checksum.buffer; });
    if (buffer == memory.end()) return refuse("[checksum] names no buffer '" + checksum.buffer + "'");
    if (checksum.kind == Kind::chase && buffer->content.fill != MicroContent::Fill::chase)
      return refuse("[checksum] of a chase through '" + checksum.buffer + "', which is no ring");
    return {};
  }

  const Scenario& scenario_;
};

}  // namespace

Expected<void> validate_micro(const Scenario& scenario) { return Validator(scenario).run(); }

}  // namespace ptxwire::sim
