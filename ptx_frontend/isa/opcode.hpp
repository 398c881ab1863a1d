// What an instruction does, after all spellings are resolved. One value per semantic family; the
// Modifiers select the variant. The executor switches on this; nothing else identifies an operation.
#pragma once

#include <cstdint>

namespace ptxwire::ptx {

enum class Opcode : uint16_t {
  invalid,
  // ---- pure lane arithmetic: registers in, registers out, no memory, no other lane
  mov, mov_pack, mov_unpack,  // mov_pack: several narrow sources -> one wide register; mov_unpack: the reverse
  read_special,               // mov d, %tid.x ...: src[0] is SpecialRegister as a constant
  frame_address,              // made by lowering only: address of a .local variable of this call's frame
  cvta, isspacep, mapa, getctarank,
  add, sub, mul, mad, mul24, mad24, sad, div, rem, abs, neg, min, max,
  popc, clz, bfind, brev, bfe, bfi, fns, dp4a, dp2a, bmsk, szext,
  and_op, or_op, xor_op, not_op, cnot, lop3, shl, shr, shf, prmt,
  set, setp, selp, slct,
  fma, rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh, copysign, testp,
  cvt, cvt_pack,
  createpolicy,
  // ---- control
  bra, brx, call, ret, exit, trap, brkpt, nop,
  // ---- time
  nanosleep,  // clocks are read_special
  // ---- memory
  ld, ldu, st, atom, red, prefetch, discard, applypriority, fence,
  multimem_ld_reduce, multimem_st, multimem_red,
  // ---- asynchronous copies
  cp_async, cp_async_commit_group, cp_async_wait_group, cp_async_wait_all, cp_async_mbarrier_arrive,
  cp_async_bulk, cp_async_bulk_commit_group, cp_async_bulk_wait_group, cp_async_bulk_prefetch,
  cp_reduce_async_bulk, cp_async_bulk_tensor, cp_reduce_async_bulk_tensor,
  st_async, red_async, st_bulk,
  // ---- barriers
  bar, bar_warp_sync, barrier_cluster,
  mbarrier_init, mbarrier_inval, mbarrier_expect_tx, mbarrier_complete_tx, mbarrier_arrive,
  mbarrier_arrive_drop, mbarrier_test_wait, mbarrier_try_wait, mbarrier_pending_count,
  griddepcontrol_wait, griddepcontrol_launch_dependents, setmaxnreg_inc, setmaxnreg_dec,
  // ---- across the lanes of a warp
  shfl, vote, match, redux, activemask, elect,
  // ---- matrix (parsed and checked; not executed yet)
  ldmatrix, stmatrix, mma, wgmma_mma_async, wgmma_fence, wgmma_commit_group, wgmma_wait_group,
  // ---- parsed and checked only
  unsupported,
  count
};

/// Special registers; the value of src[0] of read_special.
enum class SpecialRegister : uint16_t {
  tid_x, tid_y, tid_z, ntid_x, ntid_y, ntid_z,
  ctaid_x, ctaid_y, ctaid_z, nctaid_x, nctaid_y, nctaid_z,
  laneid, warpid, nwarpid, smid, nsmid, gridid,
  clusterid_x, clusterid_y, clusterid_z, nclusterid_x, nclusterid_y, nclusterid_z,
  cluster_ctaid_x, cluster_ctaid_y, cluster_ctaid_z, cluster_nctaid_x, cluster_nctaid_y, cluster_nctaid_z,
  cluster_ctarank, cluster_nctarank, is_explicit_cluster,
  lanemask_eq, lanemask_le, lanemask_lt, lanemask_ge, lanemask_gt,
  clock, clock_hi, clock64, globaltimer, globaltimer_lo, globaltimer_hi,
  total_smem_size, aggr_smem_size, dynamic_smem_size, current_graph_exec,
  envreg0,                  // envreg0 + n is %envreg<n>, n in 0..31
  envreg31 = envreg0 + 31,
  pm0, reserved_smem_offset_begin, reserved_smem_offset_end, reserved_smem_offset_cap,
  warpsize,
  count
};

}  // namespace ptxwire::ptx
