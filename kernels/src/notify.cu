// Tells every rank how many tokens it will get and from whom, and prepares the buffers of the main kernels.
#include "comm.cuh"

namespace ptxwire {
namespace {

/// CTA 0: exchanges counts over NVLink and turns them into prefix sums. `host_total`, `host_experts` are
/// host-mapped.
template <Revision kRevision>
__device__ void exchange_counts(const CommBuffers& comm, const int* per_rank, const int* per_expert,
                                int* matrix, int* host_total, int* host_experts, int channels, int experts,
                                int expert_alignment, int barrier) {
  const int thread = threadIdx.x, rank = comm.rank, ranks = comm.ranks;
  const int local_experts = experts / ranks;
  node_barrier<kRevision, false>(comm, barrier);

  if (thread < ranks) {
    int* row = at<int>(comm.peer[thread], comm.matrix) + rank * ranks;
    for (int d = 0; d < ranks; ++d) row[d] = per_rank[d];
    int* counts = at<int>(comm.peer[thread], comm.matrix) + ranks * ranks + rank * local_experts;
    for (int e = 0; e < local_experts; ++e) counts[e] = per_expert[thread * local_experts + e];
  }
  node_barrier<kRevision, true>(comm, barrier + 1);

  int* shared_matrix = at<int>(comm.peer[rank], comm.matrix);
  if (thread < ranks) {
    int sum = 0;
    for (int s = 0; s < ranks; ++s) {
      sum += load_volatile(shared_matrix + s * ranks + thread);
      shared_matrix[s * ranks + thread] = sum;
    }
    if (thread == rank) *reinterpret_cast<volatile int*>(host_total) = sum;
  }
  const int* counts = shared_matrix + ranks * ranks;
  for (int e = thread; e < local_experts; e += blockDim.x) {
    int sum = 0;
    for (int s = 0; s < ranks; ++s) sum += load_volatile(counts + s * local_experts + e);
    sum = (sum + expert_alignment - 1) / expert_alignment * expert_alignment;
    *reinterpret_cast<volatile int*>(host_experts + e) = sum;
  }
  __syncthreads();
  for (int i = thread; i < ranks * ranks; i += blockDim.x) matrix[i] = shared_matrix[i];
  int* metadata = at<int>(comm.peer[rank], comm.metadata);
  for (int i = thread; i < 4 * channels * ranks; i += blockDim.x) metadata[i] = 0;
  node_barrier<kRevision, true>(comm, barrier + 2);
}

/// CTA 1+d: tokens for rank d per channel, summed over channels c' <= c. channel_prefix is [R][C].
__device__ void count_channels(const uint8_t* membership, int* channel_prefix, int tokens, int channels,
                               int ranks, int destination) {
  const int lane = threadIdx.x % 32;
  for (int channel = threadIdx.x / 32; channel < channels; channel += blockDim.x / 32) {
    const TokenRange range = channel_tokens(tokens, channels, channel);
    int count = 0;
    for (int t = range.begin + lane; t < range.end; t += 32) count += membership[t * ranks + destination];
    count = __reduce_add_sync(kFullWarp, count);
    if (lane == 0) channel_prefix[destination * channels + channel] = count;
  }
  __syncthreads();
  if (threadIdx.x == 0)
    for (int channel = 1; channel < channels; ++channel)
      channel_prefix[destination * channels + channel] +=
          channel_prefix[destination * channels + channel - 1];
}

template <Revision kRevision>
__device__ void notify_dispatch(const CommBuffers& comm, const int* per_rank, const int* per_expert,
                                const uint8_t* membership, int* matrix, int* channel_prefix, int* host_total,
                                int* host_experts, int tokens, int channels, int experts,
                                int expert_alignment, int barrier) {
  if (blockIdx.x == 0)
    exchange_counts<kRevision>(comm, per_rank, per_expert, matrix, host_total, host_experts, channels,
                               experts, expert_alignment, barrier);
  else
    count_channels(membership, channel_prefix, tokens, channels, comm.ranks,
                   static_cast<int>(blockIdx.x) - 1);
}

/// The counts are known from an earlier call: restores the matrix and clears the metadata between two
/// barriers.
template <Revision kRevision>
__device__ void cached_notify_dispatch(const CommBuffers& comm, const int* matrix, int channels,
                                       int barrier) {
  node_barrier<kRevision, false>(comm, barrier);
  int* shared_matrix = at<int>(comm.peer[comm.rank], comm.matrix);
  for (int i = threadIdx.x; i < comm.ranks * comm.ranks; i += blockDim.x) shared_matrix[i] = matrix[i];
  int* metadata = at<int>(comm.peer[comm.rank], comm.metadata);
  for (int i = threadIdx.x; i < 4 * channels * comm.ranks; i += blockDim.x) metadata[i] = 0;
  node_barrier<kRevision, true>(comm, barrier + 1);
}

/// Where a token does not use ring r its record becomes -(h+1), h the next larger record of the channel: who
/// skips the token thereby releases the slots below h. Walks backwards, 32 tokens at a time; a second run
/// changes nothing.
__device__ void encode_unused_records(int* slot_record, int tokens, int channels, int channel, int ranks) {
  constexpr int kAfterLast = 1 << 25;
  const int lane = threadIdx.x % 32, r = threadIdx.x / 32;
  if (r >= ranks) return;
  const TokenRange range = channel_tokens(tokens, channels, channel);
  int next = kAfterLast;
  for (int tail = range.end; tail > range.begin; tail -= 32) {
    const int token = tail - 1 - lane;
    const int record = token >= range.begin ? slot_record[token * ranks + r] : -1;
    int code = 0;
    for (int i = 0; i < min(32, tail - range.begin); ++i) {
      const int later = __shfl_sync(kFullWarp, record, i);
      if (later >= 0)
        next = later;
      else if (lane == i)
        code = -(next + 1);
    }
    if (code < 0) slot_record[token * ranks + r] = code;
  }
}

template <Revision kRevision>
__device__ void cached_notify_combine(const CommBuffers& comm, int* slot_record, int tokens, int channels,
                                      int barrier) {
  if (blockIdx.x != 0) {
    encode_unused_records(slot_record, tokens, channels, static_cast<int>(blockIdx.x) - 1, comm.ranks);
    return;
  }
  node_barrier<kRevision, false>(comm, barrier);
  int* metadata = at<int>(comm.peer[comm.rank], comm.metadata);
  for (int i = threadIdx.x; i < 2 * channels * comm.ranks; i += blockDim.x) metadata[i] = 0;
  node_barrier<kRevision, true>(comm, barrier + 1);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128, 1)
    notify_dispatch_a(CommBuffers comm, const int* per_rank, const int* per_expert, const uint8_t* membership,
                      int* matrix, int* channel_prefix, int* host_total, int* host_experts, int tokens,
                      int channels, int experts, int expert_alignment, int barrier) {
  notify_dispatch<Revision::a>(comm, per_rank, per_expert, membership, matrix, channel_prefix, host_total,
                               host_experts, tokens, channels, experts, expert_alignment, barrier);
}
extern "C" __global__ void __launch_bounds__(128, 1)
    notify_dispatch_d(CommBuffers comm, const int* per_rank, const int* per_expert, const uint8_t* membership,
                      int* matrix, int* channel_prefix, int* host_total, int* host_experts, int tokens,
                      int channels, int experts, int expert_alignment, int barrier) {
  notify_dispatch<Revision::d>(comm, per_rank, per_expert, membership, matrix, channel_prefix, host_total,
                               host_experts, tokens, channels, experts, expert_alignment, barrier);
}

extern "C" __global__ void __launch_bounds__(128, 1)
    cached_notify_dispatch_a(CommBuffers comm, const int* matrix, int channels, int barrier) {
  cached_notify_dispatch<Revision::a>(comm, matrix, channels, barrier);
}
extern "C" __global__ void __launch_bounds__(128, 1)
    cached_notify_dispatch_d(CommBuffers comm, const int* matrix, int channels, int barrier) {
  cached_notify_dispatch<Revision::d>(comm, matrix, channels, barrier);
}

extern "C" __global__ void __launch_bounds__(32 * kMaxRanks, 1)
    cached_notify_combine_a(CommBuffers comm, int* slot_record, int tokens, int channels, int barrier) {
  cached_notify_combine<Revision::a>(comm, slot_record, tokens, channels, barrier);
}
extern "C" __global__ void __launch_bounds__(32 * kMaxRanks, 1)
    cached_notify_combine_d(CommBuffers comm, int* slot_record, int tokens, int channels, int barrier) {
  cached_notify_combine<Revision::d>(comm, slot_record, tokens, channels, barrier);
}

/// The barrier alone, for tests and for its own cost. Grid 1.
extern "C" __global__ void __launch_bounds__(128, 1) node_barrier_a(CommBuffers comm, int barrier) {
  node_barrier<Revision::a, true>(comm, barrier);
}
extern "C" __global__ void __launch_bounds__(128, 1) node_barrier_d(CommBuffers comm, int barrier) {
  node_barrier<Revision::d, true>(comm, barrier);
}

}  // namespace ptxwire
