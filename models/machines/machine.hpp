// The parameters of one node, as read from a machine file (models/machines/*.toml). Every value there carries
// unit, source and kind (spec | measured | fitted); this struct holds them converted to base units. A
// parameter is a property of hardware: none belongs to one kernel, scenario or measurement.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/units.hpp"
#include "support/error.hpp"

namespace ptxwire::models {

/// Execution classes of machine instructions; the simulator maps decoded PTX onto them.
enum class OperationClass : uint8_t {
  alu,
  imad,
  imad_wide,
  fp32,
  fp16,
  fp64,
  sfu,
  conversion,
  division,
  shuffle,
  vote,
  redux,
  match,
  branch,
  barrier,
  special_register,
  memory,
  fence,
  control,
  count
};
std::string_view operation_class_name(OperationClass operation_class);

struct OperationTiming {
  uint32_t latency_clk = 4;   ///< issue to first dependent issue
  uint32_t interval_clk = 1;  ///< issue slots of the scheduler taken by one warp instruction
};

struct SmParameters {
  uint32_t count = 132;
  uint32_t gpcs = 8;
  /// SMs of each GPC that is stated; 0: as many as it takes. Which GPCs have lost TPCs differs per die.
  std::array<uint32_t, 8> gpc_sms{};
  double clock_hz = 1.755e9;
  uint32_t schedulers = 4;
  uint32_t max_warps = 64, max_threads = 2048, max_ctas = 32;
  uint32_t barriers = 64;  ///< hardware barriers of all resident CTAs together
  uint32_t registers = 65536;
  uint32_t register_allocation_unit = 256;  ///< registers per warp are rounded up to it
  uint32_t shared_bytes = 233472;           ///< per SM
  uint32_t shared_reserved_per_cta_bytes = 1024;
  uint32_t shared_allocation_unit_bytes = 128;
  uint32_t max_shared_per_cta_bytes = 232448;
  std::array<OperationTiming, static_cast<size_t>(OperationClass::count)> timing{};
  uint32_t branch_taken_clk = 12;  ///< extra cycles of a taken branch
  uint32_t shared_latency_clk = 29, shared_atomic_latency_clk = 60;
  uint32_t l1_hit_latency_clk = 38;
  uint32_t l1_bytes = 262144;             ///< unified with shared memory
  double lsu_interval_clk = 2;            ///< LSU accepts one memory instruction per this many cycles
  double lsu_bytes_per_clk = 128;         ///< address/data width of the LSU (16 B x 32 lanes takes 4 cycles)
  double l1_return_bytes_per_clk = 64;    ///< fill/return path of L2 data into the SM
  uint32_t outstanding_load_lines = 512;  ///< lines in flight towards L2 or NVLink per SM
  double store_port_bytes_per_clk = 25;   ///< store data from the load/store unit into the crossbar
  uint32_t remote_store_window_bytes = 65536;  ///< unacknowledged remote stores per SM
  uint32_t local_store_window_bytes = 131072;  ///< unacknowledged local stores per SM
  uint32_t tma_load_issue_clk = 22, tma_store_issue_clk = 75, tma_latency_clk = 475;
  double tma_bytes_per_clk = 64;
  double tensor_fma_per_clk = 2048;  ///< of 16-bit elements, all four tensor cores; others by their width
  double tensor_shared_bytes_per_clk = 128;  ///< operands of warpgroup products from shared memory
  uint32_t tensor_latency_clk = 20;          ///< last multiplication to result
  uint32_t fence_proxy_async_clk = 57;       ///< generic stores before async reads
  uint32_t fence_cta_clk = 8, fence_gpu_clk = 200, fence_sys_clk = 400;  ///< beyond waiting for stores
  uint32_t barrier_latency_clk = 22, barrier_per_warp_clk = 2;
  uint32_t mbarrier_arrive_clk = 6, mbarrier_wait_clk = 43;
  uint32_t cluster_barrier_clk = 190, dsm_latency_clk = 180;
  double dsm_bytes_per_clk =
      21.33;  ///< what an SM sends to others of its cluster, headers and requests included
  uint32_t dsm_header_bytes = 12;   ///< per packet of up to 128 B
  uint32_t dsm_request_bytes = 32;  ///< that asks for one
  uint32_t cta_launch_clk = 300;    ///< from scheduler decision to first instruction of a CTA
};

struct L2Parameters {
  uint64_t bytes = 50ULL << 20;
  uint32_t ways = 16, partitions = 2, slices = 96;
  double slice_bytes_per_clk = 64;     ///< per slice, SM clock
  uint32_t request_latency_clk = 110;  ///< SM to near slice
  uint32_t access_latency_clk = 40;
  uint32_t response_latency_clk = 108;         ///< near slice back to the SM
  uint32_t far_extra_clk = 150;                ///< round trip, for the other partition
  double partition_link_bytes_per_clk = 1500;  ///< between the partitions, each way
  uint32_t atomic_interval_clk = 2;            ///< per sector operation at the slice
};

struct HbmParameters {
  uint64_t bytes = 80ULL << 30;
  double bytes_per_second = 3.35e12;
  uint32_t channels = 160;  ///< pseudo channels: a data bus and banks of its own each
  uint32_t banks = 16;      ///< per channel
  uint32_t row_bytes = 1024;
  double activate_ns = 14.5;           ///< tRCD: activation to column command
  double precharge_ns = 14.5;          ///< tRP: closing a row to activation of the next
  double row_active_ns = 34.4;         ///< tRAS: activation to precharge, at least
  double activate_interval_ns = 4.6;   ///< tRRD: between activations in one channel
  double read_latency_ns = 14.5;       ///< tCL: column command to data
  double write_latency_ns = 4.6;       ///< tWL
  double write_to_read_ns = 6.1;       ///< tWTR: end of written data to a read command
  double write_recovery_ns = 16;       ///< tWR: end of written data to precharge
  double read_to_precharge_ns = 6.1;   ///< tRTP
  double refresh_interval_ns = 3900;   ///< tREFI
  double refresh_ns = 350;             ///< tRFC; 0: no refresh
  double latency_ns = 110;             ///< of a miss, beyond L2 access and DRAM: controllers and wires
  uint32_t write_buffer_bytes = 8192;  ///< per channel; goes out in bursts of half of it
};

struct NvlinkParameters {
  uint32_t links_per_gpu = 8;
  uint32_t switches = 4;
  double link_bytes_per_second = 25e9;
  uint32_t packet_payload_bytes = 128, header_bytes = 16, ack_bytes = 12;
  uint32_t read_request_bytes = 16;
  uint32_t interleave_bytes = 512;  ///< consecutive bytes on one link before the hash picks another
  double egress_latency_ns = 60;    ///< SM through the crossbar to the link
  double link_latency_ns = 100;     ///< GPU <-> switch, each hop
  double switch_latency_ns = 100;
  double ingress_latency_ns = 60;              ///< link to L2
  uint32_t switch_input_buffer_bytes = 16384;  ///< per input port: the credit window of the link
  uint32_t switch_output_buffer_bytes = 2048;  ///< per output port
  uint32_t egress_buffer_bytes = 4096;         ///< per link, at the way out of the GPU
  uint32_t byte_enable_bytes = 16;             ///< more on the wire where a sector is written in part
  /// Switch that link l of every GPU is cabled to, from the topology file; empty: spread evenly.
  std::vector<uint32_t> link_switch;
};

/// What the InfiniBand switches and the cables between them and the NICs have in common; rates and cabling
/// are those of the network's topology file.
struct InfinibandParameters {
  double link_latency_ns = 200;           ///< NIC <-> switch, switch <-> switch, each hop
  double switch_latency_ns = 250;         ///< head of a packet, input to output
  uint32_t virtual_lanes = 4;             ///< that carry data
  uint32_t switch_buffer_bytes = 262144;  ///< per input port and virtual lane: the credit window of the link
  uint32_t nic_buffer_bytes = 262144;     ///< the same in a NIC
  uint32_t mtu_bytes = 4096;              ///< payload of a packet
};

/// A network interface and the PCIe link to its GPU.
struct NicParameters {
  double processing_ns = 150;                     ///< of a packet, on its way out and on its way in
  double message_ns = 10;                         ///< between the starts of two messages
  uint32_t fetch_entries = 8;                     ///< queue entries of 64 bytes per read
  uint32_t window_bytes = 65536;                  ///< payload being read and packets before the port
  double queue_bytes_per_second = 49e9;           ///< at most, of one queue pair
  uint32_t outstanding_reads = 16;                ///< reads and atomics of a queue pair that are not answered
  double pcie_latency_ns = 400;                   ///< NIC to GPU or host memory, one way
  double pcie_bytes_per_second = 63e9;            ///< each direction, with headers
  double pcie_duplex_bytes_per_second = 102.4e9;  ///< both directions together, with headers
  uint32_t pcie_packet_bytes = 256, pcie_header_bytes = 26;
};

struct HostParameters {
  double launch_latency_us = 4.9;   ///< host call to first CTA on an idle stream
  double launch_interval_us = 2.0;  ///< between successive asynchronous launches of one host thread
  double kernel_gap_us = 1.2;       ///< end of a kernel to first CTA of the next in the stream
  double event_gap_us = 0.6;        ///< end of a kernel to a dependent on another stream, beyond kernel_gap
  double cooperative_extra_us = 0.6;
  double pcie_latency_ns = 700;  ///< SM to host memory, one way
  double pcie_bytes_per_second = 55e9;
  double proxy_request_ns = 1000;  ///< of the CPU thread that posts RDMA for kernels, per request
  double proxy_poll_ns = 100;      ///< until that thread sees a word that has come
};

/// One parameter as written in the file, for `machine show` and provenance.
struct ParameterRecord {
  std::string key;    ///< "nvlink.header_bytes"
  std::string value;  ///< as written
  std::string unit, source, kind;
};

struct Machine {
  std::string name;
  std::string path;
  std::string
      topology;  ///< path of the topology file (models/fabric/topologies/*.toml) that the links come from
  uint32_t gpus = 8;
  bool untimed = false;  ///< made by make_untimed(): local memory answers at once, L2 and HBM keep no books
  SmParameters sm;
  L2Parameters l2;
  HbmParameters hbm;
  NvlinkParameters nvlink;
  InfinibandParameters infiniband;
  NicParameters nic;
  HostParameters host;
  std::vector<ParameterRecord> records;
};

/// Reads a machine file. Unknown keys, missing or wrong units, negative or out-of-range values and unknown
/// kinds are errors that name file, line and what was expected. A file may name a `base` file whose values it
/// overrides.
Expected<Machine> load_machine(const std::string& path);

/// Sets one parameter by key ("nvlink.header_bytes=16"), as load_machine would; for calibration and what-if.
Expected<void> set_machine_parameter(Machine& machine, std::string_view key,
                                     std::string_view value_with_unit);

/// Removes all latency and bandwidth limits: the zero-latency model, same code path.
void make_untimed(Machine& machine);

}  // namespace ptxwire::models
