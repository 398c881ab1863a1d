// What the intranode communication kernels share: the buffers mapped by all ranks of a node, polling with a
// time limit, the barrier over NVLink, and the copy of a row by one warp.
#pragma once

#include <cstdint>
#include <cstdio>

#include "ptx.cuh"

namespace ptxwire {

inline constexpr int kMaxRanks = 8;
inline constexpr unsigned kFullWarp = 0xffffffffu;

/// One communication buffer per GPU, mapped by all ranks. Offsets are in bytes from the start of a buffer and
/// equal on all ranks. Rings are indexed [channel][source rank] in the buffer of the rank that consumes them.
struct CommBuffers {
  char* peer[kMaxRanks];    ///< start of rank r's buffer
  int* signals[kMaxRanks];  ///< rank r's barrier words: [barrier slot][rank]
  int64_t
      matrix;  ///< int [R][R]: tokens from rank s to rank d, summed over s' <= s; then int [R][E/R] (notify)
  int64_t metadata;  ///< int [k][C*R]. dispatch: start, end, consumed, produced; combine: consumed, produced
  int64_t rows;      ///< [C*R][S][row]
  int64_t source;    ///< int [C*R][S]: token index at the source
  int64_t idx;       ///< int64 [C*R][S][K]
  int64_t weights;   ///< float [C*R][S][K]
  int64_t scales;    ///< float [C*R][S][scales]
  int rank;
  int ranks;
};

template <typename T>
__device__ __forceinline__ T* at(char* base, int64_t offset) {
  return reinterpret_cast<T*>(base + offset);
}

/// Ends the kernel loudly where a partner never comes. Counts clock cycles, about 100 s.
class Deadline {
 public:
  __device__ Deadline() : start_(clock64()) {}
  __device__ void check(const char* what, int rank, int channel, int peer) const {
    if (clock64() - start_ > kLimit) {
      printf("ptxwire: timeout in %s: rank %d, channel %d, peer %d\n", what, rank, channel, peer);
      asm volatile("trap;");
    }
  }

 private:
  static constexpr long long kLimit = 200000000000LL;
  long long start_;
};

/// Channel c owns the tokens [begin, end).
struct TokenRange {
  int begin, end;
};
__device__ __forceinline__ TokenRange channel_tokens(int tokens, int channels, int channel) {
  const int share = (tokens + channels - 1) / channels;
  const int begin = min(channel * share, tokens);
  return {begin, min(begin + share, tokens)};
}

/// Which state of the kernels is built (see README.md).
enum class Revision { a, b, d };

/// Barrier words rotate over this many slots in revision A, which waits for exactly zero: a rank may be one
/// barrier ahead.
inline constexpr int kBarrierSlots = 8;
inline constexpr int kBarrierTag = 1024;

/// Tells every rank of the node that this one is here, and waits for all of them. For one warp; orders
/// nothing else. `number` counts the barriers of this buffer (revision A picks the slot with it).
template <Revision kRevision>
__device__ __forceinline__ void meet_ranks(const CommBuffers& comm, int number, int lane) {
  const int slot = kRevision == Revision::a ? (number % kBarrierSlots) * kMaxRanks : 0;
  const bool active = lane < comm.ranks;
  int* own = comm.signals[comm.rank] + slot + (active ? lane : 0);
  if (active) {
    atomic_add_sys(own, kBarrierTag);
    if constexpr (kRevision == Revision::a) fence_sys();
    atomic_add_sys(comm.signals[lane] + slot + comm.rank, -kBarrierTag);
  }
  __syncwarp();
  const Deadline deadline;
  while (true) {
    const int value = active ? load_volatile(own) : 0;
    const bool arrived = kRevision == Revision::a ? value == 0 : value <= 0;
    if (__all_sync(kFullWarp, arrived)) break;
    deadline.check("barrier", comm.rank, 0, lane);
  }
}

/// All ranks of the node enter before one leaves. Called by a whole CTA. With kOrderMemory every earlier
/// write of every thread is visible to the other ranks afterwards.
template <Revision kRevision, bool kOrderMemory>
__device__ __forceinline__ void node_barrier(const CommBuffers& comm, int number) {
  if constexpr (kOrderMemory) fence_sys();
  __syncthreads();
  const int thread = threadIdx.x;
  if (thread < 32) meet_ranks<kRevision>(comm, number, thread);
  __syncthreads();
}

/// How a warp copy reads its source.
enum class CopySource { payload, read_only };

/// Copies `vectors` times 16 bytes with one warp: each lane has kUnroll loads 512 bytes apart in flight, then
/// stores them.
template <int kUnroll, PayloadHint kHint, CopySource kSource>
__device__ __forceinline__ void warp_copy(int lane, int vectors, int4* to, const int4* from) {
  constexpr int kStride = 32 * kUnroll;
  int4 v[kUnroll];
  to += lane;
  from += lane;
  int left = vectors;
#pragma unroll 1
  for (; left >= kStride; left -= kStride, to += kStride, from += kStride) {
#pragma unroll
    for (int j = 0; j < kUnroll; ++j)
      v[j] =
          kSource == CopySource::payload ? load_payload<kHint>(from + 32 * j) : load_read_only(from + 32 * j);
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) store_payload<kHint>(to + 32 * j, v[j]);
  }
  left -= lane + 1;  // not negative where this lane still has a vector
#pragma unroll
  for (int j = 0; j < kUnroll; ++j)
    v[j] = kSource == CopySource::payload ? load_payload_unless_negative<kHint>(left - 32 * j, from + 32 * j)
                                          : load_read_only_unless_negative(left - 32 * j, from + 32 * j);
#pragma unroll
  for (int j = 0; j < kUnroll; ++j) store_payload_unless_negative<kHint>(left - 32 * j, to + 32 * j, v[j]);
}

}  // namespace ptxwire
