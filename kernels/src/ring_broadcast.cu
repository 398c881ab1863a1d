// Ring broadcast in the manner of NCCL 2.18's Simple protocol: root -> ... -> last, one CTA per channel, a
// FIFO of a few chunks per connection in the receiver's memory. A chunk moves on only when it has arrived
// whole.
#include "comm.cuh"

namespace ptxwire {
namespace {

inline constexpr int kWorkers = 512;       ///< threads that copy; one more warp publishes what they copied
inline constexpr int kWorkerBarrier = 1;   ///< joins the workers; barrier 0 joins the whole CTA
inline constexpr int kUnroll = 8;          ///< vectors of 16 bytes a lane has in flight
inline constexpr int kCounterStride = 16;  ///< words between the counters of two channels: 128 bytes, a line
inline constexpr int kChunkGranule = 256;  ///< vectors: chunks are rounded up to 8 bytes per worker

/// Who waits and who publishes; threads of different groups of 8, as in the original.
inline constexpr int kWaitReceive = 0, kWaitSend = 8, kPostReceive = kWorkers + 16, kPostSend = kWorkers + 24;

/// A connection of two neighbours. `tail` counts the chunks put into the FIFO and lies at the receiver,
/// `head` those taken out and lies at the sender: each side polls its own memory. Both go on counting from
/// launch to launch.
struct RingLink {
  int4* fifo;  ///< [channel][steps][chunk], at the receiver
  unsigned long long* tail;
  unsigned long long* head;
};

struct RingRank {
  RingLink in;                   ///< from the rank before; fifo is null at the root
  RingLink out;                  ///< to the rank after; fifo is null at the last rank
  const int4* input;             ///< root only
  int4* output;                  ///< null at a root that broadcasts in place
  unsigned long long* progress;  ///< per channel: chunks moved by earlier launches
  int rank, before, after;       ///< numbers of the ranks, for messages
};

struct RingShape {
  long long vectors;  ///< of 16 bytes, in all
  int chunk_vectors;  ///< at most, a multiple of kChunkGranule
  int fifo_steps;     ///< chunks a FIFO holds
};

/// Polls a counter of the other side until it reaches `needed`; what it read last is kept, so that a lead of
/// several steps costs one poll.
class StepWait {
 public:
  __device__ explicit StepWait(const unsigned long long* counter) : counter_(counter) {}
  __device__ void until(unsigned long long needed, const char* what, int rank, int peer) {
    const Deadline deadline;
    while (seen_ < needed) {
      seen_ = load_volatile(counter_);
      deadline.check(what, rank, blockIdx.x, peer);
    }
  }

 private:
  const unsigned long long* counter_;
  unsigned long long seen_ = 0;
};

/// Copies `vectors` to one or two places with all workers: a warp takes 4 KiB at a time, each lane with
/// kUnroll loads in flight. Other GPUs write the source while the kernel runs, hence volatile.
template <bool kKeep, bool kSend>
__device__ __forceinline__ void copy_chunk(const int4* from, int4* keep_at, int4* send_to, int vectors) {
  constexpr int kHunk = 32 * kUnroll;
  const int lane = threadIdx.x % 32;
  int4 v[kUnroll];
#pragma unroll 1
  for (int hunk = threadIdx.x / 32 * kHunk; hunk < vectors; hunk += kWorkers / 32 * kHunk) {
    const int first = hunk + lane;
    if (hunk + kHunk <= vectors) {
#pragma unroll
      for (int j = 0; j < kUnroll; ++j) v[j] = load_payload<PayloadHint::safe>(from + first + 32 * j);
      if constexpr (kKeep) {
#pragma unroll
        for (int j = 0; j < kUnroll; ++j) store_payload<PayloadHint::plain>(keep_at + first + 32 * j, v[j]);
      }
      if constexpr (kSend) {
#pragma unroll
        for (int j = 0; j < kUnroll; ++j) store_payload<PayloadHint::plain>(send_to + first + 32 * j, v[j]);
      }
    } else {
#pragma unroll 1
      for (int i = first; i < vectors; i += 32) {
        const int4 last = load_payload<PayloadHint::safe>(from + i);
        if constexpr (kKeep) store_payload<PayloadHint::plain>(keep_at + i, last);
        if constexpr (kSend) store_payload<PayloadHint::plain>(send_to + i, last);
      }
    }
  }
}

/// One rank's part of one channel. The warp behind the workers publishes a chunk, fence included, while the
/// workers are at the next.
template <bool kReceive, bool kKeep, bool kSend>
__device__ void move_channel(const RingRank& rank, const RingShape& shape) {
  const int channel = blockIdx.x, channels = gridDim.x, thread = threadIdx.x;
  const long long fifo_start = static_cast<long long>(channel) * shape.fifo_steps * shape.chunk_vectors;
  const int counter = channel * kCounterStride;
  StepWait filled(rank.in.tail + counter), freed(rank.out.head + counter);
  unsigned long long step = rank.progress[counter];
  for (long long start = 0; start < shape.vectors;) {
    // All channels share what is left evenly, so that a short message keeps them all busy.
    const long long left = shape.vectors - start, share = (left + channels - 1) / channels;
    const int chunk = static_cast<int>(min(static_cast<long long>(shape.chunk_vectors),
                                           (share + kChunkGranule - 1) / kChunkGranule * kChunkGranule));
    const long long begin = start + static_cast<long long>(channel) * chunk;
    if (begin >= shape.vectors) break;  // only in the last round
    const int vectors = static_cast<int>(min(static_cast<long long>(chunk), shape.vectors - begin));
    if (thread < kWorkers) {
      if (kReceive && thread == kWaitReceive)
        filled.until(step + 1, "ring_broadcast, receive", rank.rank, rank.before);
      if (kSend && thread == kWaitSend && step >= shape.fifo_steps)
        freed.until(step + 1 - shape.fifo_steps, "ring_broadcast, send", rank.rank, rank.after);
      named_barrier(kWorkerBarrier, kWorkers);
      const long long slot =
          fifo_start + static_cast<long long>(step % shape.fifo_steps) * shape.chunk_vectors;
      copy_chunk<kKeep, kSend>(kReceive ? rank.in.fifo + slot : rank.input + begin, rank.output + begin,
                               rank.out.fifo + slot, vectors);
    }
    __syncthreads();
    ++step;
    if (kReceive && thread == kPostReceive) store_relaxed_sys(rank.in.head + counter, step);
    if (kSend && thread == kPostSend) {
      fence_sys();
      store_relaxed_sys(rank.out.tail + counter, step);
    }
    start += static_cast<long long>(channels) * chunk;
  }
  if (thread == 0) rank.progress[counter] = step;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kWorkers + 32, 1)
    ring_broadcast(RingRank rank, RingShape shape) {
  const bool receives = rank.in.fifo != nullptr, sends = rank.out.fifo != nullptr,
             keeps = rank.output != nullptr;
  if (receives && sends) return move_channel<true, true, true>(rank, shape);
  if (receives) return move_channel<true, true, false>(rank, shape);
  if (keeps) return move_channel<false, true, true>(rank, shape);
  move_channel<false, false, true>(rank, shape);
}

}  // namespace ptxwire
