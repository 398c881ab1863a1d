#include "models/machines/parameter_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <type_traits>

#include "support/nearest.hpp"

namespace ptxwire::models {
namespace {

constexpr double kNanosecond = 1e3, kMicrosecond = 1e6;  // in picoseconds, the base unit of time
constexpr double kMany = 4294967295.0;

constexpr std::array<std::string_view, static_cast<size_t>(OperationClass::count)> kClassNames{
    "alu",      "imad",    "imad_wide", "fp32",  "fp16",  "fp64",   "sfu",     "conversion",
    "division", "shuffle", "vote",      "redux", "match", "branch", "barrier", "special_register",
    "memory",   "fence",   "control"};

struct Limits {
  double minimum, maximum;
};

template <auto Group, auto Member>
Parameter row(std::string key, Dimension dimension, Limits limits, double stored_unit = 1) {
  using Value = std::remove_cvref_t<decltype(Machine{}.*Group.*Member)>;
  return {
      std::move(key),
      dimension,
      stored_unit,
      limits.minimum,
      limits.maximum,
      std::is_integral_v<Value>,
      0,
      [](const Machine& machine, unsigned) { return static_cast<double>(machine.*Group.*Member); },
      [](Machine& machine, unsigned, double value) { machine.*Group.*Member = static_cast<Value>(value); }};
}

template <auto Member>
Parameter timing_row(std::string key, unsigned index, Limits limits) {
  return {
      std::move(key),
      Dimension::cycles,
      1,
      limits.minimum,
      limits.maximum,
      true,
      index,
      [](const Machine& machine, unsigned i) { return static_cast<double>(machine.sm.timing[i].*Member); },
      [](Machine& machine, unsigned i, double value) {
        machine.sm.timing[i].*Member = static_cast<uint32_t>(value);
      }};
}

Parameter gpc_row(unsigned gpc) {
  return {"sm.gpc_sms." + std::to_string(gpc),
          Dimension::count,
          1,
          0,
          64,
          true,
          gpc,
          [](const Machine& machine, unsigned i) { return static_cast<double>(machine.sm.gpc_sms[i]); },
          [](Machine& machine, unsigned i, double value) {
            machine.sm.gpc_sms[i] = static_cast<uint32_t>(value);
          }};
}

Parameter gpus_row() {
  return {"node.gpus",
          Dimension::count,
          1,
          1,
          64,
          true,
          0,
          [](const Machine& machine, unsigned) { return static_cast<double>(machine.gpus); },
          [](Machine& machine, unsigned, double value) { machine.gpus = static_cast<uint32_t>(value); }};
}

void add_sm(std::vector<Parameter>& table) {
  using enum Dimension;
  using P = SmParameters;
  constexpr auto kSm = &Machine::sm;
  auto add = [&](Parameter parameter) { table.push_back(std::move(parameter)); };
  add(row<kSm, &P::count>("sm.count", count, {1, 1024}));
  add(row<kSm, &P::gpcs>("sm.gpcs", count, {1, 64}));
  for (unsigned gpc = 0; gpc < SmParameters{}.gpc_sms.size(); ++gpc) add(gpc_row(gpc));
  add(row<kSm, &P::clock_hz>("sm.clock_hz", frequency, {1e6, 1e10}));
  add(row<kSm, &P::schedulers>("sm.schedulers", count, {1, 16}));
  add(row<kSm, &P::max_warps>("sm.max_warps", count, {1, 128}));
  add(row<kSm, &P::max_threads>("sm.max_threads", count, {32, 4096}));
  add(row<kSm, &P::max_ctas>("sm.max_ctas", count, {1, 64}));
  add(row<kSm, &P::barriers>("sm.barriers", count, {1, 4096}));
  add(row<kSm, &P::registers>("sm.registers", count, {1024, 1 << 20}));
  add(row<kSm, &P::register_allocation_unit>("sm.register_allocation_unit", count, {1, 4096}));
  add(row<kSm, &P::shared_bytes>("sm.shared_bytes", bytes, {0, 1 << 24}));
  add(row<kSm, &P::shared_reserved_per_cta_bytes>("sm.shared_reserved_per_cta_bytes", bytes, {0, 1 << 16}));
  add(row<kSm, &P::shared_allocation_unit_bytes>("sm.shared_allocation_unit_bytes", bytes, {1, 1 << 16}));
  add(row<kSm, &P::max_shared_per_cta_bytes>("sm.max_shared_per_cta_bytes", bytes, {0, 1 << 24}));
  add(row<kSm, &P::branch_taken_clk>("sm.branch_taken_clk", cycles, {0, 1000}));
  add(row<kSm, &P::shared_latency_clk>("sm.shared_latency_clk", cycles, {0, 10000}));
  add(row<kSm, &P::shared_atomic_latency_clk>("sm.shared_atomic_latency_clk", cycles, {0, 10000}));
  add(row<kSm, &P::l1_hit_latency_clk>("sm.l1_hit_latency_clk", cycles, {0, 10000}));
  add(row<kSm, &P::l1_bytes>("sm.l1_bytes", bytes, {0, 1 << 24}));
  add(row<kSm, &P::lsu_interval_clk>("sm.lsu_interval_clk", cycles, {0, 1000}));
  add(row<kSm, &P::lsu_bytes_per_clk>("sm.lsu_bytes_per_clk", bytes_per_cycle, {1, 1e6}));
  add(row<kSm, &P::l1_return_bytes_per_clk>("sm.l1_return_bytes_per_clk", bytes_per_cycle, {1, 1e6}));
  add(row<kSm, &P::store_port_bytes_per_clk>("sm.store_port_bytes_per_clk", bytes_per_cycle, {1, 1e6}));
  add(row<kSm, &P::outstanding_load_lines>("sm.outstanding_load_lines", count, {1, 1 << 20}));
  add(row<kSm, &P::remote_store_window_bytes>("sm.remote_store_window_bytes", bytes, {4096, kMany}));
  add(row<kSm, &P::local_store_window_bytes>("sm.local_store_window_bytes", bytes, {4096, kMany}));
  add(row<kSm, &P::tma_load_issue_clk>("sm.tma_load_issue_clk", cycles, {0, 100000}));
  add(row<kSm, &P::tma_store_issue_clk>("sm.tma_store_issue_clk", cycles, {0, 100000}));
  add(row<kSm, &P::tma_latency_clk>("sm.tma_latency_clk", cycles, {0, 100000}));
  add(row<kSm, &P::tma_bytes_per_clk>("sm.tma_bytes_per_clk", bytes_per_cycle, {1, 1e6}));
  add(row<kSm, &P::tensor_fma_per_clk>("sm.tensor_fma_per_clk", count, {1, 1e9}));
  add(row<kSm, &P::tensor_shared_bytes_per_clk>("sm.tensor_shared_bytes_per_clk", bytes_per_cycle, {1, 1e6}));
  add(row<kSm, &P::tensor_latency_clk>("sm.tensor_latency_clk", cycles, {0, 100000}));
  add(row<kSm, &P::fence_proxy_async_clk>("sm.fence_proxy_async_clk", cycles, {0, 100000}));
  add(row<kSm, &P::fence_cta_clk>("sm.fence_cta_clk", cycles, {0, 100000}));
  add(row<kSm, &P::fence_gpu_clk>("sm.fence_gpu_clk", cycles, {0, 100000}));
  add(row<kSm, &P::fence_sys_clk>("sm.fence_sys_clk", cycles, {0, 100000}));
  add(row<kSm, &P::barrier_latency_clk>("sm.barrier_latency_clk", cycles, {0, 100000}));
  add(row<kSm, &P::barrier_per_warp_clk>("sm.barrier_per_warp_clk", cycles, {0, 1000}));
  add(row<kSm, &P::mbarrier_arrive_clk>("sm.mbarrier_arrive_clk", cycles, {0, 100000}));
  add(row<kSm, &P::mbarrier_wait_clk>("sm.mbarrier_wait_clk", cycles, {0, 100000}));
  add(row<kSm, &P::cluster_barrier_clk>("sm.cluster_barrier_clk", cycles, {0, 100000}));
  add(row<kSm, &P::dsm_latency_clk>("sm.dsm_latency_clk", cycles, {0, 100000}));
  add(row<kSm, &P::dsm_bytes_per_clk>("sm.dsm_bytes_per_clk", bytes_per_cycle, {0.1, 1e6}));
  add(row<kSm, &P::dsm_header_bytes>("sm.dsm_header_bytes", bytes, {0, 1024}));
  add(row<kSm, &P::dsm_request_bytes>("sm.dsm_request_bytes", bytes, {0, 1024}));
  add(row<kSm, &P::cta_launch_clk>("sm.cta_launch_clk", cycles, {0, 1000000}));
  for (unsigned i = 0; i < kClassNames.size(); ++i) {
    const std::string name = "sm.timing." + std::string(kClassNames[i]);
    add(timing_row<&OperationTiming::latency_clk>(name + "_latency_clk", i, {0, 10000}));
    add(timing_row<&OperationTiming::interval_clk>(name + "_interval_clk", i, {1, 10000}));
  }
}

void add_memory(std::vector<Parameter>& table) {
  using enum Dimension;
  using L = L2Parameters;
  using H = HbmParameters;
  constexpr auto kL2 = &Machine::l2;
  constexpr auto kHbm = &Machine::hbm;
  auto add = [&](Parameter parameter) { table.push_back(std::move(parameter)); };
  add(row<kL2, &L::bytes>("l2.bytes", bytes, {1 << 16, 1e12}));
  add(row<kL2, &L::ways>("l2.ways", count, {1, 16}));
  add(row<kL2, &L::partitions>("l2.partitions", count, {1, 2}));
  add(row<kL2, &L::slices>("l2.slices", count, {1, 1024}));
  add(row<kL2, &L::slice_bytes_per_clk>("l2.slice_bytes_per_clk", bytes_per_cycle, {0.1, 1e6}));
  add(row<kL2, &L::request_latency_clk>("l2.request_latency_clk", cycles, {0, 100000}));
  add(row<kL2, &L::access_latency_clk>("l2.access_latency_clk", cycles, {0, 100000}));
  add(row<kL2, &L::response_latency_clk>("l2.response_latency_clk", cycles, {0, 100000}));
  add(row<kL2, &L::far_extra_clk>("l2.far_extra_clk", cycles, {0, 100000}));
  add(row<kL2, &L::partition_link_bytes_per_clk>("l2.partition_link_bytes_per_clk", bytes_per_cycle,
                                                 {1, 1e9}));
  add(row<kL2, &L::atomic_interval_clk>("l2.atomic_interval_clk", cycles, {0, 10000}));
  add(row<kHbm, &H::bytes>("hbm.bytes", bytes, {1 << 20, 1e13}));
  add(row<kHbm, &H::bytes_per_second>("hbm.bytes_per_second", rate, {1e6, 1e18}));
  add(row<kHbm, &H::channels>("hbm.channels", count, {1, 1024}));
  add(row<kHbm, &H::banks>("hbm.banks", count, {1, 1024}));
  add(row<kHbm, &H::row_bytes>("hbm.row_bytes", bytes, {128, 1 << 20}));
  add(row<kHbm, &H::activate_ns>("hbm.activate_ns", time, {0, 1e6}, kNanosecond));
  add(row<kHbm, &H::precharge_ns>("hbm.precharge_ns", time, {0, 1e6}, kNanosecond));
  add(row<kHbm, &H::row_active_ns>("hbm.row_active_ns", time, {0, 1e6}, kNanosecond));
  add(row<kHbm, &H::activate_interval_ns>("hbm.activate_interval_ns", time, {0, 1e6}, kNanosecond));
  add(row<kHbm, &H::read_latency_ns>("hbm.read_latency_ns", time, {0, 1e6}, kNanosecond));
  add(row<kHbm, &H::write_latency_ns>("hbm.write_latency_ns", time, {0, 1e6}, kNanosecond));
  add(row<kHbm, &H::write_to_read_ns>("hbm.write_to_read_ns", time, {0, 1e6}, kNanosecond));
  add(row<kHbm, &H::write_recovery_ns>("hbm.write_recovery_ns", time, {0, 1e6}, kNanosecond));
  add(row<kHbm, &H::read_to_precharge_ns>("hbm.read_to_precharge_ns", time, {0, 1e6}, kNanosecond));
  add(row<kHbm, &H::refresh_interval_ns>("hbm.refresh_interval_ns", time, {1, 1e9}, kNanosecond));
  add(row<kHbm, &H::refresh_ns>("hbm.refresh_ns", time, {0, 1e6}, kNanosecond));
  add(row<kHbm, &H::latency_ns>("hbm.latency_ns", time, {0, 1e6}, kNanosecond));
  add(row<kHbm, &H::write_buffer_bytes>("hbm.write_buffer_bytes", bytes, {0, kMany}));
}

void add_links(std::vector<Parameter>& table) {
  using enum Dimension;
  using N = NvlinkParameters;
  using H = HostParameters;
  constexpr auto kLink = &Machine::nvlink;
  constexpr auto kHost = &Machine::host;
  auto add = [&](Parameter parameter) { table.push_back(std::move(parameter)); };
  add(row<kLink, &N::links_per_gpu>("nvlink.links_per_gpu", count, {1, 64}));
  add(row<kLink, &N::switches>("nvlink.switches", count, {1, 64}));
  add(row<kLink, &N::link_bytes_per_second>("nvlink.link_bytes_per_second", rate, {1e6, 1e18}));
  add(row<kLink, &N::packet_payload_bytes>("nvlink.packet_payload_bytes", bytes, {32, 128}));
  add(row<kLink, &N::header_bytes>("nvlink.header_bytes", bytes, {0, 256}));
  add(row<kLink, &N::ack_bytes>("nvlink.ack_bytes", bytes, {0, 256}));
  add(row<kLink, &N::read_request_bytes>("nvlink.read_request_bytes", bytes, {0, 256}));
  add(row<kLink, &N::interleave_bytes>("nvlink.interleave_bytes", bytes, {128, 1 << 20}));
  // One process must not hear from another at the moment that it spoke: the hop bounds the engine's window.
  add(row<kLink, &N::link_latency_ns>("nvlink.link_latency_ns", time, {1, 1e6}, kNanosecond));
  add(row<kLink, &N::egress_latency_ns>("nvlink.egress_latency_ns", time, {0, 1e6}, kNanosecond));
  add(row<kLink, &N::switch_latency_ns>("nvlink.switch_latency_ns", time, {0, 1e6}, kNanosecond));
  add(row<kLink, &N::ingress_latency_ns>("nvlink.ingress_latency_ns", time, {0, 1e6}, kNanosecond));
  add(row<kLink, &N::switch_input_buffer_bytes>("nvlink.switch_input_buffer_bytes", bytes, {512, kMany}));
  add(row<kLink, &N::switch_output_buffer_bytes>("nvlink.switch_output_buffer_bytes", bytes, {128, kMany}));
  add(row<kLink, &N::egress_buffer_bytes>("nvlink.egress_buffer_bytes", bytes, {128, kMany}));
  add(row<kLink, &N::byte_enable_bytes>("nvlink.byte_enable_bytes", bytes, {0, 4096}));
  add(row<kHost, &H::launch_latency_us>("host.launch_latency_us", time, {0, 1e6}, kMicrosecond));
  add(row<kHost, &H::launch_interval_us>("host.launch_interval_us", time, {0, 1e6}, kMicrosecond));
  add(row<kHost, &H::kernel_gap_us>("host.kernel_gap_us", time, {0, 1e6}, kMicrosecond));
  add(row<kHost, &H::event_gap_us>("host.event_gap_us", time, {0, 1e6}, kMicrosecond));
  add(row<kHost, &H::cooperative_extra_us>("host.cooperative_extra_us", time, {0, 1e6}, kMicrosecond));
  add(row<kHost, &H::pcie_latency_ns>("host.pcie_latency_ns", time, {0, 1e6}, kNanosecond));
  add(row<kHost, &H::pcie_bytes_per_second>("host.pcie_bytes_per_second", rate, {1e6, 1e18}));
  add(row<kHost, &H::proxy_request_ns>("host.proxy_request_ns", time, {0, 1e6}, kNanosecond));
  add(row<kHost, &H::proxy_poll_ns>("host.proxy_poll_ns", time, {0, 1e6}, kNanosecond));
}

void add_infiniband(std::vector<Parameter>& table) {
  using enum Dimension;
  using I = InfinibandParameters;
  constexpr auto kFabric = &Machine::infiniband;
  auto add = [&](Parameter parameter) { table.push_back(std::move(parameter)); };
  // As for NVLink, the hop bounds the engine's window.
  add(row<kFabric, &I::link_latency_ns>("infiniband.link_latency_ns", time, {1, 1e6}, kNanosecond));
  add(row<kFabric, &I::switch_latency_ns>("infiniband.switch_latency_ns", time, {0, 1e6}, kNanosecond));
  add(row<kFabric, &I::virtual_lanes>("infiniband.virtual_lanes", count, {1, 15}));
  add(row<kFabric, &I::switch_buffer_bytes>("infiniband.switch_buffer_bytes", bytes, {8192, kMany}));
  add(row<kFabric, &I::nic_buffer_bytes>("infiniband.nic_buffer_bytes", bytes, {8192, kMany}));
  add(row<kFabric, &I::mtu_bytes>("infiniband.mtu_bytes", bytes, {256, 4096}));
}

void add_nic(std::vector<Parameter>& table) {
  using enum Dimension;
  using N = NicParameters;
  constexpr auto kNic = &Machine::nic;
  auto add = [&](Parameter parameter) { table.push_back(std::move(parameter)); };
  add(row<kNic, &N::processing_ns>("nic.processing_ns", time, {0, 1e6}, kNanosecond));
  add(row<kNic, &N::message_ns>("nic.message_ns", time, {0, 1e6}, kNanosecond));
  add(row<kNic, &N::fetch_entries>("nic.fetch_entries", count, {1, 1024}));
  add(row<kNic, &N::window_bytes>("nic.window_bytes", bytes, {4096, kMany}));
  add(row<kNic, &N::queue_bytes_per_second>("nic.queue_bytes_per_second", rate, {1e6, 1e18}));
  add(row<kNic, &N::outstanding_reads>("nic.outstanding_reads", count, {1, 65536}));
  add(row<kNic, &N::pcie_latency_ns>("nic.pcie_latency_ns", time, {0, 1e6}, kNanosecond));
  add(row<kNic, &N::pcie_bytes_per_second>("nic.pcie_bytes_per_second", rate, {1e6, 1e18}));
  add(row<kNic, &N::pcie_duplex_bytes_per_second>("nic.pcie_duplex_bytes_per_second", rate, {1e6, 1e18}));
  add(row<kNic, &N::pcie_packet_bytes>("nic.pcie_packet_bytes", bytes, {32, 4096}));
  add(row<kNic, &N::pcie_header_bytes>("nic.pcie_header_bytes", bytes, {0, 256}));
}

std::vector<Parameter> build_table() {
  std::vector<Parameter> table{gpus_row()};
  add_sm(table);
  add_memory(table);
  add_links(table);
  add_infiniband(table);
  add_nic(table);
  return table;
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.12g", value);
  return text.data();
}

}  // namespace

std::string_view operation_class_name(OperationClass operation_class) {
  const auto index = static_cast<size_t>(operation_class);
  return index < kClassNames.size() ? kClassNames[index] : "?";
}

std::span<const Parameter> parameter_table() {
  static const std::vector<Parameter> kTable = build_table();
  return kTable;
}

const Parameter* find_parameter(std::string_view key) {
  const auto table = parameter_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Parameter& p) { return p.key == key; });
  return found == table.end() ? nullptr : &*found;
}

std::string nearest_parameter(std::string_view key) {
  std::vector<std::string_view> keys;
  for (const Parameter& parameter : parameter_table()) keys.push_back(parameter.key);
  return nearest(key, keys);
}

Expected<void> store_parameter(Machine& machine, const Parameter& parameter, double value,
                               std::string_view unit) {
  const Expected<double> factor = unit_factor(unit, parameter.dimension);
  if (!factor) return Error{.message = parameter.key + ": " + factor.error().message};
  if (value < 0) return Error{.message = parameter.key + " is negative"};
  // Multiply before dividing: both factors are exact, their quotient need not be.
  const double stored = value * *factor / parameter.stored_unit;
  if (!(stored >= parameter.minimum && stored <= parameter.maximum)) {
    const double scale = parameter.stored_unit / *factor;
    return Error{.message = parameter.key + " is out of range, expected " +
                            number(parameter.minimum * scale) + " to " + number(parameter.maximum * scale) +
                            " " + std::string(unit)};
  }
  if (parameter.whole && stored != std::floor(stored))
    return Error{.message = parameter.key + " must be a whole number, found " + number(stored)};
  parameter.set(machine, parameter.index, stored);
  return {};
}

}  // namespace ptxwire::models
