// Special registers, and addresses that name another window or CTA.
#include <bit>

#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using ptx::Op;
using ptx::Opcode;
using ptx::Slot;
using ptx::SpecialRegister;

void Sm::read_special(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  const Warp& warp = *fragment.warp;
  const Cta& cta = *warp.cta;
  const Launch& launch = *cta.launch;
  const auto special = static_cast<uint32_t>(cta.program->program().constants[op.src[0].index].value);
  const uint32_t cluster_count = launch.grid[0] / launch.cluster;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const uint32_t thread = warp.index * 32 + lane;
    uint64_t value = 0;
    switch (static_cast<SpecialRegister>(special)) {
      case SpecialRegister::tid_x:
        value = thread % launch.block[0];
        break;
      case SpecialRegister::tid_y:
        value = thread / launch.block[0] % launch.block[1];
        break;
      case SpecialRegister::tid_z:
        value = thread / launch.block[0] / launch.block[1];
        break;
      case SpecialRegister::ntid_x:
        value = launch.block[0];
        break;
      case SpecialRegister::ntid_y:
        value = launch.block[1];
        break;
      case SpecialRegister::ntid_z:
        value = launch.block[2];
        break;
      case SpecialRegister::ctaid_x:
        value = cta.id[0];
        break;
      case SpecialRegister::ctaid_y:
        value = cta.id[1];
        break;
      case SpecialRegister::ctaid_z:
        value = cta.id[2];
        break;
      case SpecialRegister::nctaid_x:
        value = launch.grid[0];
        break;
      case SpecialRegister::nctaid_y:
        value = launch.grid[1];
        break;
      case SpecialRegister::nctaid_z:
        value = launch.grid[2];
        break;
      case SpecialRegister::laneid:
        value = lane;
        break;
      case SpecialRegister::warpid:
        value = warp.index;
        break;
      case SpecialRegister::nwarpid:
        value = parameters_.max_warps;
        break;
      case SpecialRegister::smid:
        value = id_;
        break;
      case SpecialRegister::nsmid:
        value = parameters_.count;
        break;
      case SpecialRegister::gridid:
        value = launch.id;
        break;
      case SpecialRegister::clusterid_x:
        value = cta.id[0] / launch.cluster;
        break;
      case SpecialRegister::clusterid_y:
        value = cta.id[1];
        break;
      case SpecialRegister::clusterid_z:
        value = cta.id[2];
        break;
      case SpecialRegister::nclusterid_x:
        value = cluster_count;
        break;
      case SpecialRegister::nclusterid_y:
        value = launch.grid[1];
        break;
      case SpecialRegister::nclusterid_z:
        value = launch.grid[2];
        break;
      case SpecialRegister::cluster_ctaid_x:
      case SpecialRegister::cluster_ctarank:
        value = cta.cluster_rank;
        break;
      case SpecialRegister::cluster_nctaid_x:
      case SpecialRegister::cluster_nctarank:
        value = launch.cluster;
        break;
      case SpecialRegister::cluster_nctaid_y:
      case SpecialRegister::cluster_nctaid_z:
        value = 1;
        break;
      case SpecialRegister::is_explicit_cluster:
        value = launch.cluster > 1 ? 1 : 0;
        break;
      case SpecialRegister::lanemask_eq:
        value = 1U << lane;
        break;
      case SpecialRegister::lanemask_le:
        value = (2ULL << lane) - 1;
        break;
      case SpecialRegister::lanemask_lt:
        value = (1ULL << lane) - 1;
        break;
      case SpecialRegister::lanemask_ge:
        value = ~((1U << lane) - 1);
        break;
      case SpecialRegister::lanemask_gt:
        value = static_cast<uint32_t>(~((2ULL << lane) - 1));
        break;
      case SpecialRegister::clock:
        value = static_cast<uint32_t>(cycle);
        break;
      case SpecialRegister::clock_hi:
        value = static_cast<uint64_t>(cycle) >> 32;
        break;
      case SpecialRegister::clock64:
        value = static_cast<uint64_t>(cycle);
        break;
      case SpecialRegister::globaltimer:
        value = static_cast<uint64_t>(device_.clock().time(cycle).value / 1000);
        break;
      case SpecialRegister::globaltimer_lo:
        value = static_cast<uint32_t>(device_.clock().time(cycle).value / 1000);
        break;
      case SpecialRegister::globaltimer_hi:
        value = static_cast<uint64_t>(device_.clock().time(cycle).value / 1000) >> 32;
        break;
      case SpecialRegister::total_smem_size:
        value = launch.footprint.shared_bytes;
        break;
      case SpecialRegister::aggr_smem_size:
        value = launch.footprint.shared_bytes + parameters_.shared_reserved_per_cta_bytes;
        break;
      case SpecialRegister::dynamic_smem_size:
        value = launch.dynamic_shared_bytes;
        break;
      case SpecialRegister::warpsize:
        value = 32;
        break;
      default:
        // %envreg1 and %envreg2 hold the high and low half of the address of a cooperative grid's workspace.
        if (special == static_cast<uint32_t>(SpecialRegister::envreg0) + 1)
          value = launch.grid_workspace >> 32;
        if (special == static_cast<uint32_t>(SpecialRegister::envreg0) + 2)
          value = static_cast<uint32_t>(launch.grid_workspace);
        break;
    }
    write_lane(fragment, op.dst[0], lane, value);
  }
}

void Sm::convert_address(Fragment& fragment, const Op& op, uint32_t mask) {
  const bool wide = op.src[0].kind == Slot::Kind::constant || op.src[0].rows >= 2;
  const uint64_t* source = source64(fragment, op.src[0]);
  const uint32_t* narrow = source32(fragment, op.src[0]);
  uint64_t window = 0;
  Window kind = Window::device;
  switch (op.modifiers.space) {
    case ptx::Space::shared:
      window = kSharedWindow;
      kind = Window::shared;
      break;
    case ptx::Space::local:
      window = kLocalWindow;
      kind = Window::local;
      break;
    case ptx::Space::param:
      window = kParameterWindow;
      kind = Window::parameter;
      break;
    case ptx::Space::constant:
      window = kConstantWindow;
      kind = Window::constant;
      break;
    default:
      break;
  }
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const uint64_t address = wide ? source[lane] : narrow[lane];
    uint64_t value = address;
    if (op.opcode == Opcode::isspacep) {
      value = window_of(address) == kind ? 1 : 0;
    } else if (kind != Window::device) {
      value = op.modifiers.to_space ? address - window : (address & (kWindowBytes - 1)) + window;
    }
    write_lane(fragment, op.dst[0], lane, value);
  }
}

// mapa: the shared address of the same variable in another CTA of the cluster; getctarank: the CTA an address
// belongs to.
void Sm::cluster_address(Fragment& fragment, const Op& op, uint32_t mask) {
  const Cta& cta = *fragment.warp->cta;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const uint64_t address = op.src[0].kind == Slot::Kind::constant || op.src[0].rows >= 2
                                 ? source64(fragment, op.src[0])[lane]
                                 : source32(fragment, op.src[0])[lane];
    const uint64_t window = address & ~(kWindowBytes - 1);
    const uint64_t offset = address & ((1U << kSharedRankShift) - 1);
    if (op.opcode == Opcode::mapa) {
      const uint64_t rank = op.src[1].kind == Slot::Kind::constant ? source64(fragment, op.src[1])[lane]
                                                                   : source32(fragment, op.src[1])[lane];
      write_lane(fragment, op.dst[0], lane, window | (rank + 1) << kSharedRankShift | offset);
    } else {
      const uint64_t rank = (address & (kWindowBytes - 1)) >> kSharedRankShift;
      write_lane(fragment, op.dst[0], lane, rank == 0 ? cta.cluster_rank : rank - 1);
    }
  }
}

}  // namespace ptxwire::sim
