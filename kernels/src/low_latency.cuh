// What low-latency dispatch and combine share: every selection (token, expert) is a message of its own to a
// slot that nobody else writes, so there is nothing to count beforehand and nothing to wait for but flags.
//
// The warps of a CTA form groups; group g of CTA c is in charge of pair c * groups + g out of E. As a sender
// of dispatch it is in charge of that expert; as a receiver of dispatch or a sender of combine of (rank,
// local expert); as a receiver of combine of that expert again.
#pragma once

#include "comm.cuh"
#include "rdma.cuh"

namespace ptxwire {

/// State a sends through the NIC to every rank but the own one; c by stores to all ranks that NVLink reaches.
enum class LowLatencyRevision { a, c };

inline constexpr int kSendPhase = 1, kReceivePhase = 2;
inline constexpr int kMaxGroups = 14;  ///< a named barrier each, beside that of the CTA and of the cast
inline constexpr int kMaxSelections = 9;
inline constexpr int kCastBarrier = 1, kFirstGroupBarrier = 2;

struct LowLatencyShape {
  int tokens;  ///< per rank; buffers have room for as many of every rank for every expert
  int hidden, topk, experts;
  int groups;          ///< per CTA
  int doorbell_batch;  ///< messages of one queue per doorbell; the flag behind them always rings
  int phases;          ///< kSendPhase, kReceivePhase or both
};

/// One of the two halves of the symmetric heap; calls take turns.
struct LowLatencySet {
  char* send;       ///< dispatch: [T] messages; combine: [L][R T] slots
  char* receive;    ///< dispatch: [L][R][T] messages; combine: [E][T] slots
  int* flags;       ///< dispatch: [L][R] -(messages + 1); combine: [E] 1. 0: not yet
  int* next_flags;  ///< of the other half: cleared by this call, before anyone can be told of it
};

/// Own words that are 0 between calls (`grid` only changes its sign).
struct LowLatencyWorkspace {
  int* slots;          ///< [E] messages handed out to an expert
  int* finished;       ///< [E] see low_latency_dispatch_send.cuh
  unsigned* received;  ///< [L] see low_latency_dispatch_receive.cuh
  int* cleared;        ///< groups that may yet send their flag
  unsigned* grid;      ///< grid_barrier
};

struct ExpertGroup {
  int pair;   ///< that the group is in charge of; maybe beyond the last one
  int group;  ///< within the CTA
  int warp, warps, lane;
  __device__ void join() const { named_barrier(kFirstGroupBarrier + group, warps * 32); }
};
__device__ __forceinline__ ExpertGroup expert_group(const LowLatencyShape& shape) {
  ExpertGroup at;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  at.warps = static_cast<int>(blockDim.x) / 32 / shape.groups;
  at.group = warp / at.warps;
  at.warp = warp % at.warps;
  at.lane = static_cast<int>(threadIdx.x) % 32;
  at.pair = static_cast<int>(blockIdx.x) * shape.groups + at.group;
  return at;
}

/// `pointer` of the own heap at `rank`, where it is written by stores; else null.
template <LowLatencyRevision kRevision, typename T>
__device__ __forceinline__ T* direct_pointer(const RdmaState& rdma, T* pointer, int rank) {
  if constexpr (kRevision == LowLatencyRevision::a)
    return rank == rdma.rank ? pointer : nullptr;
  else
    return peer_pointer(rdma, pointer, rank);
}

// --- Within the GPU

__device__ __forceinline__ void add_release_gpu(int* address, int v) {
  int old;
  asm volatile("atom.add.release.gpu.global.s32 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(v) : "memory");
  static_cast<void>(old);
}
__device__ __forceinline__ int load_acquire_gpu(const int* address) {
  int v;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  return v;
}
__device__ __forceinline__ unsigned load_acquire_gpu(const unsigned* address) {
  unsigned v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  return v;
}

/// Joins all CTAs of a cooperative launch. What all of them add to the word together turns its sign and
/// leaves the other bits, so it serves the next launch as it is.
__device__ __forceinline__ void grid_barrier(unsigned* word) {
  constexpr unsigned kSign = 0x80000000u;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const unsigned before = atomicAdd(word, blockIdx.x == 0 ? kSign - (gridDim.x - 1) : 1u);
    const Deadline deadline;
    while (((before ^ load_acquire_gpu(word)) & kSign) == 0)
      deadline.check("grid barrier", -1, static_cast<int>(blockIdx.x), -1);
  }
  __syncthreads();
}

/// By a warp; a release by any of its lanes afterwards covers all of them.
__device__ __forceinline__ void clear_words(int* words, int count, int lane) {
  for (int i = lane; i < count; i += 32) words[i] = 0;
  __syncwarp();
}

}  // namespace ptxwire
