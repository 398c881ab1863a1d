// Tells every rank of several nodes how many rows it will get and from whom, and prepares the buffers of the
// main kernels: between two barriers, over RDMA with the GPUs of the same index and over NVLink in the node.
#include "internode_post.cuh"

namespace ptxwire {

/// Counts that one node tells another: rows per GPU, rows per expert there, rows in all.
struct NotifyInput {
  const int* per_rank;        ///< [R] tokens of this rank for rank d
  const int* per_node;        ///< [N] tokens of this rank for node m
  const int* per_expert;      ///< [E]
  const uint8_t* membership;  ///< [T][R] 0 or 1
};

/// What dispatch and combine know of a routing.
struct NotifyOutput {
  int* rank_channel_prefix;  ///< [R][C] own tokens for rank d in channels c' <= c
  int* node_channel_prefix;  ///< [N][C] the same for node m
  int* received_per_rank;    ///< [R] rows that this rank gets from ranks s' <= s
  int* received_per_node;    ///< [N] rows that cross the NIC or stay, from this GPU's peers in nodes m' <= m
  int* host_total;           ///< host-mapped: rows for this rank
  int* host_node_total;      ///< host-mapped: rows that it forwards
  int* host_experts;         ///< host-mapped [E/R]: rows per expert of this rank
};

struct NotifyShape {
  int tokens, channels, experts, expert_alignment;
};

namespace {

/// The same-index GPUs of all nodes enter before one leaves: in round k with the node 2^k further. For one
/// thread. A word that a peer reads late is overwritten only with a later, equally true number.
template <typename Post>
__device__ void meet_nodes(const InternodeComm& comm, const Post& post, int number) {
  auto* sent = comm.heap<unsigned long long>(comm.layout.send_barrier);
  auto* received = comm.heap<unsigned long long>(comm.layout.receive_barrier);
  const unsigned long long epoch = static_cast<unsigned long long>(number) + 1;
  for (int round = 0, distance = 1; distance < comm.nodes; ++round, distance *= 2) {
    store_relaxed_sys(sent + round, epoch);
    post.put(comm, (comm.node + distance) % comm.nodes, 0, received + round, sent + round, sizeof(epoch));
    const Deadline deadline;
    while (load_acquire_sys(received + round) < epoch)
      deadline.check("barrier of nodes", comm.rank(), 0, round);
  }
}

/// Which barriers a CTA takes part in.
struct Networks {
  bool nodes, nvlink;
};

/// Both barriers at once, one warp each. Called by a whole CTA.
template <bool kOrderMemory, typename Post>
__device__ void meet(const InternodeComm& comm, const Post& post, int number, Networks networks) {
  if constexpr (kOrderMemory) fence_sys();
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  if (networks.nvlink && warp == 0) meet_ranks<Post::kRevision>(comm.nvlink, number, lane);
  if (networks.nodes && warp == 1 && lane == 0) meet_nodes(comm, post, number);
  __syncthreads();
}

__device__ void clear_ints(int* words, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) words[i] = 0;
}
__device__ void clear_rdma_metadata(const InternodeComm& comm, int channels) {
  constexpr int kIntsPerRing = 2 * kRangeInts + 4;
  clear_ints(comm.heap<int>(comm.layout.send_ranges), channels * comm.nodes * kIntsPerRing);
}
__device__ void clear_nvlink_metadata(const InternodeComm& comm) {
  clear_ints(at<int>(comm.nvlink.peer[comm.nvlink.rank], comm.nvlink.metadata), comm.nvlink_metadata_ints);
}

// --- The first call of a routing
// ----------------------------------------------------------------------------------

/// Counts to the same-index GPU of every node.
template <typename Post>
__device__ void exchange_over_nodes(const InternodeComm& comm, const Post& post, const NotifyInput& in,
                                    int node_experts) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int words = kGpusPerNode + node_experts + 1;
  int* send = comm.heap<int>(comm.layout.send_counts);
  int* receive = comm.heap<int>(comm.layout.receive_counts);
  for (int i = thread; i < comm.nodes * words; i += threads) {
    const int m = i / words, word = i % words;
    const int value = word < kGpusPerNode ? in.per_rank[m * kGpusPerNode + word]
                      : word < words - 1  ? in.per_expert[m * node_experts + word - kGpusPerNode]
                                          : in.per_node[m];
    (m == comm.node ? receive + comm.node * words : send + m * words)[word] = value;
  }
  __syncthreads();
  if (thread < comm.nodes && thread != comm.node)
    post.put(comm, thread, 0, receive + comm.node * words, send + thread * words,
             words * static_cast<int>(sizeof(int)));
  __syncthreads();
  post.quiet(comm, thread, threads);
}

/// Tells GPU d of the node what it gets through this one: rows per source node, then rows per expert of d.
/// The table of GPU d is [source GPU][N + E/R].
__device__ void exchange_over_nvlink(const InternodeComm& comm, int node_experts) {
  const int local_experts = node_experts / kGpusPerNode, entry = comm.nodes + local_experts;
  const int words = kGpusPerNode + node_experts + 1;
  const int* counts = comm.heap<int>(comm.layout.receive_counts);
  for (int i = static_cast<int>(threadIdx.x); i < kGpusPerNode * entry; i += static_cast<int>(blockDim.x)) {
    const int d = i / entry, word = i % entry;
    int value = 0;
    if (word < comm.nodes) {
      value = load_volatile(counts + word * words + d);
    } else {
      const int expert = d * local_experts + word - comm.nodes;
      for (int m = 0; m < comm.nodes; ++m) value += load_volatile(counts + m * words + kGpusPerNode + expert);
    }
    at<int>(comm.nvlink.peer[d], comm.nvlink.matrix)[comm.nvlink.rank * entry + word] = value;
  }
}

/// Sums over sources, and totals for the host.
__device__ void sum_counts(const InternodeComm& comm, const NotifyOutput& out, int node_experts,
                           int alignment) {
  const int thread = static_cast<int>(threadIdx.x);
  const int local_experts = node_experts / kGpusPerNode, entry = comm.nodes + local_experts;
  const int* table = at<int>(comm.nvlink.peer[comm.nvlink.rank], comm.nvlink.matrix);
  if (thread == 0) {
    int sum = 0;
    for (int s = 0; s < comm.nodes * kGpusPerNode; ++s)
      out.received_per_rank[s] = sum += load_volatile(table + s % kGpusPerNode * entry + s / kGpusPerNode);
    *reinterpret_cast<volatile int*>(out.host_total) = sum;
  }
  if (thread == 32) {
    const int words = kGpusPerNode + node_experts + 1;
    const int* counts = comm.heap<int>(comm.layout.receive_counts);
    int sum = 0;
    for (int m = 0; m < comm.nodes; ++m)
      out.received_per_node[m] = sum += load_volatile(counts + m * words + words - 1);
    *reinterpret_cast<volatile int*>(out.host_node_total) = sum;
  }
  for (int e = thread; e < local_experts; e += static_cast<int>(blockDim.x)) {
    int sum = 0;
    for (int g = 0; g < kGpusPerNode; ++g) sum += load_volatile(table + g * entry + comm.nodes + e);
    *reinterpret_cast<volatile int*>(out.host_experts + e) = (sum + alignment - 1) / alignment * alignment;
  }
}

/// CTA 1+m: tokens per channel for node m and for each of its GPUs, summed over channels c' <= c. A warp per
/// channel.
__device__ void count_channels(const InternodeComm& comm, const uint8_t* membership, const NotifyOutput& out,
                               const NotifyShape& shape, int node) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, channels = shape.channels;
  const int ranks = comm.nodes * kGpusPerNode;
  for (int channel = thread / 32; channel < channels; channel += static_cast<int>(blockDim.x) / 32) {
    const TokenRange range = channel_tokens(shape.tokens, channels, channel);
    int per_gpu[kGpusPerNode] = {}, any = 0;
    for (int t = range.begin + lane; t < range.end; t += 32) {
      const auto bytes = *reinterpret_cast<const uint64_t*>(membership + static_cast<int64_t>(t) * ranks +
                                                            node * kGpusPerNode);
#pragma unroll
      for (int g = 0; g < kGpusPerNode; ++g) per_gpu[g] += static_cast<int>(bytes >> (8 * g) & 0xff);
      any += bytes != 0;
    }
#pragma unroll
    for (int g = 0; g < kGpusPerNode; ++g) per_gpu[g] = __reduce_add_sync(kFullWarp, per_gpu[g]);
    any = __reduce_add_sync(kFullWarp, any);
    if (lane != 0) continue;
#pragma unroll
    for (int g = 0; g < kGpusPerNode; ++g)
      out.rank_channel_prefix[(node * kGpusPerNode + g) * channels + channel] = per_gpu[g];
    out.node_channel_prefix[node * channels + channel] = any;
  }
  __syncthreads();
  if (thread > kGpusPerNode) return;
  int* prefix = thread < kGpusPerNode ? out.rank_channel_prefix + (node * kGpusPerNode + thread) * channels
                                      : out.node_channel_prefix + node * channels;
  for (int channel = 1; channel < channels; ++channel) prefix[channel] += prefix[channel - 1];
}

/// Takes three barriers.
template <typename Post>
__device__ void notify(const InternodeComm& comm, const Post& post, const NotifyInput& in,
                       const NotifyOutput& out, const NotifyShape& shape, int barrier) {
  if (blockIdx.x != 0) {
    count_channels(comm, in.membership, out, shape, static_cast<int>(blockIdx.x) - 1);
    return;
  }
  const int node_experts = shape.experts / comm.nodes;
  post.quiet(comm, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
  meet<false>(comm, post, barrier, {true, true});
  clear_rdma_metadata(comm, shape.channels);
  exchange_over_nodes(comm, post, in, node_experts);
  meet<true>(comm, post, barrier + 1, {true, false});
  clear_nvlink_metadata(comm);
  exchange_over_nvlink(comm, node_experts);
  meet<true>(comm, post, barrier + 1, {false, true});
  sum_counts(comm, out, node_experts, shape.expert_alignment);
  meet<true>(comm, post, barrier + 2, {true, true});
}

// --- Later calls of a routing
// -------------------------------------------------------------------------------------

/// Clears the metadata between two barriers. Revision A has a CTA per network, revision B one for both.
template <typename Post>
__device__ void clear_between_barriers(const InternodeComm& comm, const Post& post, int channels,
                                       int barrier) {
  const bool apart = Post::kRevision == Revision::a;
  const Networks networks{!apart || blockIdx.x == 0, !apart || blockIdx.x == 1};
  if (networks.nodes) post.quiet(comm, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
  meet<false>(comm, post, barrier, networks);
  if (networks.nodes) clear_rdma_metadata(comm, channels);
  if (networks.nvlink) clear_nvlink_metadata(comm);
  meet<true>(comm, post, barrier + 1, networks);
}
template <typename Post>
__device__ constexpr int barrier_ctas() {
  return Post::kRevision == Revision::a ? 2 : 1;
}

/// Where a row does not use ring r its record becomes -(h+1), h the next larger record: who skips the row
/// thereby releases the slots below h. Walks backwards, 32 records at a time, by one warp; a second run
/// changes nothing. `records` is [rows][columns], at most 32 columns.
__device__ void encode_unused_records(int* records, int begin, int end, int columns) {
  constexpr int kAfterLast = 1 << 25;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int step = 32 / columns;  // rows at a time
  const int column = lane % columns, own = lane / columns;
  int next = kAfterLast;
  for (int top = end; top > begin; top -= step) {
    const int row = top - 1 - own;
    const bool valid = own < step && row >= begin;
    int* address = records + static_cast<int64_t>(row) * columns + column;
    const int record = valid ? *address : -1;
    int code = 0;
    for (int i = 0; i < min(step, top - begin); ++i) {
      const int later = shuffle(record, i * columns + column);
      if (later >= 0)
        next = later;
      else if (own == i)
        code = -(next + 1);
    }
    if (valid && code < 0) *address = code;
  }
}

template <typename Post>
__device__ void cached_notify_combine(const InternodeComm& comm, const Post& post, int* slot_record,
                                      int* forward_record, const int* received_per_node,
                                      const int* node_channel_offsets, int tokens, int channels,
                                      int barrier) {
  const int warp = static_cast<int>(threadIdx.x) / 32, cta = static_cast<int>(blockIdx.x);
  if (cta < barrier_ctas<Post>()) {
    clear_between_barriers(comm, post, channels, barrier);
  } else if (warp >= channels) {
    return;
  } else if (cta == barrier_ctas<Post>()) {
    const TokenRange range = channel_tokens(tokens, channels, warp);
    encode_unused_records(slot_record, range.begin, range.end, comm.nodes);
  } else {
    const int first = cta - barrier_ctas<Post>() - 1;
    const int step = static_cast<int>(gridDim.x) - barrier_ctas<Post>() - 1;
    for (int m = first; m < comm.nodes; m += step) {
      const int block = before(received_per_node, m), rows = received_per_node[m] - block;
      const int* offsets = node_channel_offsets + m * channels + warp;
      encode_unused_records(forward_record, block + offsets[0],
                            block + (warp == channels - 1 ? rows : offsets[1]), kGpusPerNode);
    }
  }
}

}  // namespace

/// Grid: 1 + N CTAs of 256 (revision A) or 512 threads.
extern "C" __global__ void __launch_bounds__(256, 1)
    internode_notify_dispatch_a(InternodeComm comm, HostPosting post, NotifyInput in, NotifyOutput out,
                                NotifyShape shape, int barrier) {
  notify(comm, post, in, out, shape, barrier);
}
extern "C" __global__ void __launch_bounds__(512, 1)
    internode_notify_dispatch_b(InternodeComm comm, NotifyInput in, NotifyOutput out, NotifyShape shape,
                                int barrier) {
  notify(comm, GpuPosting(), in, out, shape, barrier);
}

extern "C" __global__ void __launch_bounds__(512, 1)
    internode_notify_dispatch_d(InternodeComm comm, NotifyInput in, NotifyOutput out, NotifyShape shape,
                                int barrier) {
  notify(comm, ApartPosting(), in, out, shape, barrier);
}

/// Grid: 2C CTAs of max(128, 32 C) threads, of which the first one (B) or two (A) have something to do.
extern "C" __global__ void __launch_bounds__(1024, 1)
    internode_cached_notify_dispatch_a(InternodeComm comm, HostPosting post, int channels, int barrier) {
  if (blockIdx.x < barrier_ctas<HostPosting>()) clear_between_barriers(comm, post, channels, barrier);
}
extern "C" __global__ void __launch_bounds__(1024, 1)
    internode_cached_notify_dispatch_b(InternodeComm comm, int channels, int barrier) {
  if (blockIdx.x < barrier_ctas<GpuPosting>()) clear_between_barriers(comm, GpuPosting(), channels, barrier);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    internode_cached_notify_dispatch_d(InternodeComm comm, int channels, int barrier) {
  if (blockIdx.x < barrier_ctas<ApartPosting>())
    clear_between_barriers(comm, ApartPosting(), channels, barrier);
}

/// The same grid: one CTA turns unused slot records into codes, the others do so with forward records.
extern "C" __global__ void __launch_bounds__(1024, 1)
    internode_cached_notify_combine_a(InternodeComm comm, HostPosting post, int* slot_record,
                                      int* forward_record, const int* received_per_node,
                                      const int* node_channel_offsets, int tokens, int channels,
                                      int barrier) {
  cached_notify_combine(comm, post, slot_record, forward_record, received_per_node, node_channel_offsets,
                        tokens, channels, barrier);
}
extern "C" __global__ void __launch_bounds__(1024, 1)
    internode_cached_notify_combine_b(InternodeComm comm, int* slot_record, int* forward_record,
                                      const int* received_per_node, const int* node_channel_offsets,
                                      int tokens, int channels, int barrier) {
  cached_notify_combine(comm, GpuPosting(), slot_record, forward_record, received_per_node,
                        node_channel_offsets, tokens, channels, barrier);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    internode_cached_notify_combine_d(InternodeComm comm, int* slot_record, int* forward_record,
                                      const int* received_per_node, const int* node_channel_offsets,
                                      int tokens, int channels, int barrier) {
  cached_notify_combine(comm, ApartPosting(), slot_record, forward_record, received_per_node,
                        node_channel_offsets, tokens, channels, barrier);
}

/// The barrier alone, over both networks, for its own cost. Parameters of the cached notify of dispatch, in
/// whose place it runs where nothing has to be cleared. Grid: any, of which the first CTA works; 64 threads
/// at least.
extern "C" __global__ void __launch_bounds__(1024, 1)
    internode_barrier_a(InternodeComm comm, HostPosting post, int, int barrier) {
  if (blockIdx.x == 0) meet<true>(comm, post, barrier, {true, true});
}
extern "C" __global__ void __launch_bounds__(1024, 1)
    internode_barrier_b(InternodeComm comm, int, int barrier) {
  if (blockIdx.x == 0) meet<true>(comm, GpuPosting(), barrier, {true, true});
}

}  // namespace ptxwire
