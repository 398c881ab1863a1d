#include "models/machines/machine.hpp"

namespace ptxwire::models {
namespace {

constexpr double kUnlimited = 1e18;  // per second or per clk: no transfer takes a picosecond
constexpr uint32_t kUnlimitedBytes = 1U << 30U;
// Logical processes exchange messages one hop ahead, so the hop cannot vanish: it is the length of a window
// of the engine. Long windows make the run fast, and nothing but polling across GPUs waits for them.
constexpr double kHopNanoseconds = 200;

void untime(SmParameters& sm) {
  // One cycle per instruction stays: a spinning warp must let time pass.
  for (OperationTiming& timing : sm.timing) timing = {.latency_clk = 1, .interval_clk = 1};
  sm.branch_taken_clk = 0;
  sm.shared_latency_clk = sm.shared_atomic_latency_clk = sm.l1_hit_latency_clk = 1;
  sm.lsu_interval_clk = 0;
  sm.lsu_bytes_per_clk = sm.l1_return_bytes_per_clk = sm.store_port_bytes_per_clk = kUnlimited;
  sm.l1_bytes = 0;  // nothing is nearer than memory
  sm.outstanding_load_lines = 1U << 20U;
  sm.remote_store_window_bytes = sm.local_store_window_bytes = kUnlimitedBytes;
  sm.tma_load_issue_clk = sm.tma_store_issue_clk = sm.tma_latency_clk = 0;
  sm.tma_bytes_per_clk = kUnlimited;
  sm.tensor_fma_per_clk = sm.tensor_shared_bytes_per_clk = kUnlimited;
  sm.tensor_latency_clk = 0;
  sm.fence_proxy_async_clk = sm.fence_cta_clk = sm.fence_gpu_clk = sm.fence_sys_clk = 0;
  sm.barrier_latency_clk = sm.barrier_per_warp_clk = 0;
  sm.mbarrier_arrive_clk = sm.mbarrier_wait_clk = 0;
  sm.cluster_barrier_clk = sm.dsm_latency_clk = 0;
  sm.dsm_bytes_per_clk = kUnlimited;
  sm.cta_launch_clk = 0;
}

}  // namespace

void make_untimed(Machine& machine) {
  machine.untimed = true;
  untime(machine.sm);
  L2Parameters& l2 = machine.l2;
  l2.slice_bytes_per_clk = l2.partition_link_bytes_per_clk = kUnlimited;
  l2.request_latency_clk = l2.access_latency_clk = l2.response_latency_clk = l2.far_extra_clk = 0;
  l2.atomic_interval_clk = 0;
  HbmParameters& hbm = machine.hbm;
  hbm.bytes_per_second = kUnlimited;
  hbm.latency_ns = hbm.refresh_ns = 0;
  hbm.activate_ns = hbm.precharge_ns = hbm.row_active_ns = hbm.activate_interval_ns = 0;
  hbm.read_latency_ns = hbm.write_latency_ns = hbm.write_to_read_ns = 0;
  hbm.write_recovery_ns = hbm.read_to_precharge_ns = 0;
  hbm.write_buffer_bytes = 0;  // a write is gone at once
  NvlinkParameters& nvlink = machine.nvlink;
  nvlink.link_bytes_per_second = kUnlimited;
  nvlink.egress_latency_ns = nvlink.switch_latency_ns = nvlink.ingress_latency_ns = 0;
  nvlink.link_latency_ns = kHopNanoseconds;
  nvlink.switch_input_buffer_bytes = nvlink.switch_output_buffer_bytes = nvlink.egress_buffer_bytes =
      kUnlimitedBytes;
  InfinibandParameters& infiniband = machine.infiniband;
  infiniband.link_latency_ns = kHopNanoseconds;
  infiniband.switch_latency_ns = 0;
  infiniband.switch_buffer_bytes = infiniband.nic_buffer_bytes = kUnlimitedBytes;
  machine.host = {.launch_latency_us = 0,
                  .launch_interval_us = 0,
                  .kernel_gap_us = 0,
                  .event_gap_us = 0,
                  .cooperative_extra_us = 0,
                  .pcie_latency_ns = 0,
                  .pcie_bytes_per_second = kUnlimited};
}

}  // namespace ptxwire::models
