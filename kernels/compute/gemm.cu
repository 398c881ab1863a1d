// Persistent matrix product C = A * B^T: A [m][k] and B [n][k] in bf16, sums in f32, C [m][n] in bf16. One
// CTA of 384 threads per SM takes every gridDim.x-th tile of 128 x 256. The first warpgroup copies boxes of A
// and B into a ring of four stages by bulk tensor copies; each of the two others multiplies 64 rows with
// wgmma and stores them through shared memory, again by bulk tensor copies. What lies beyond the matrices is
// zero on the way in and dropped on the way out, so m and n may be anything and k any multiple of 8.
//
// In clusters of two CTAs both take tiles of the same columns, and each loads half of B for both (multicast).
//
// Dynamic shared memory: kSharedBytes, aligned to 1024. Tensor maps: A and B with boxes of 64 x 128 (k
// innermost), C with boxes of 64 x 64 (n innermost); all swizzled by 128 bytes.
#include "../micro/report.cuh"
#include "../src/ptx.cuh"
#include "wgmma.cuh"

namespace ptxwire {
namespace {

constexpr int kTileM = 128, kTileN = 256, kTileK = 64, kStages = 4;
constexpr int kWarpgroup = 128;
constexpr uint32_t kBytesA = kTileM * kTileK * 2, kBytesB = kTileN * kTileK * 2;
constexpr uint32_t kStageBytes = kBytesA + kBytesB;
constexpr uint32_t kStoreColumns = 64, kStoreBytes = 64 * kStoreColumns * 2;  ///< of one warpgroup at a time
constexpr uint32_t kStoreOffset = kStages * kStageBytes;
constexpr uint32_t kBarrierOffset = kStoreOffset + 2 * kStoreBytes;
[[maybe_unused]] constexpr uint32_t kSharedBytes = kBarrierOffset + 2 * kStages * 8;

/// Position in the ring: a stage and how often the ring was gone round, modulo 2.
struct RingPosition {
  int stage = 0;
  uint32_t phase = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

struct Shared {
  uint32_t base;
  [[nodiscard]] __device__ __forceinline__ uint32_t a(int stage) const { return base + stage * kStageBytes; }
  [[nodiscard]] __device__ __forceinline__ uint32_t b(int stage) const { return a(stage) + kBytesA; }
  [[nodiscard]] __device__ __forceinline__ uint32_t full(int stage) const {
    return base + kBarrierOffset + stage * 8;
  }
  [[nodiscard]] __device__ __forceinline__ uint32_t empty(int stage) const {
    return full(stage) + kStages * 8;
  }
  [[nodiscard]] __device__ __forceinline__ uint32_t store(int warpgroup) const {
    return base + kStoreOffset + warpgroup * kStoreBytes;
  }
};

/// The one or two CTAs of a cluster.
struct Team {
  int size, rank;
  __device__ Team() {
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  }
};

/// Tiles of the output. A team takes as many at once, one below the other, so that they share a piece of B;
/// teams go down a column first.
struct Tiles {
  int rows, count, steps, first, stride, rank, size;
  __device__ Tiles(const Team& team, int m, int n, int k)
      : rows((m + kTileM * team.size - 1) / (kTileM * team.size)),
        count(rows * ((n + kTileN - 1) / kTileN)),
        steps((k + kTileK - 1) / kTileK),
        first(blockIdx.x / team.size),
        stride(gridDim.x / team.size),
        rank(team.rank),
        size(team.size) {}
  [[nodiscard]] __device__ __forceinline__ int row(int tile) const {
    return (tile % rows * size + rank) * kTileM;
  }
  [[nodiscard]] __device__ __forceinline__ int column(int tile) const { return tile / rows * kTileN; }
};

/// One thread keeps the ring full. Of two CTAs each brings half of B to both.
__device__ __forceinline__ void produce(const Shared& shared, const Team& team, const Tiles& tiles,
                                        const TensorMap* a, const TensorMap* b) {
  RingPosition at;
#pragma unroll 1
  for (int tile = tiles.first; tile < tiles.count; tile += tiles.stride) {
    const int row = tiles.row(tile), column = tiles.column(tile);
#pragma unroll 1
    for (int step = 0; step < tiles.steps; ++step) {
      const int k = step * kTileK;
      const uint32_t full = shared.full(at.stage);
      mbarrier_wait(shared.empty(at.stage), at.phase ^ 1);
      mbarrier_arrive_expect(full, kStageBytes);
      tensor_load(shared.a(at.stage), a, k, row, full);
      if (team.size == 1) {
        tensor_load(shared.b(at.stage), b, k, column, full);
        tensor_load(shared.b(at.stage) + kBytesB / 2, b, k, column + kTileN / 2, full);
      } else {
        tensor_load_multicast(shared.b(at.stage) + team.rank * kBytesB / 2, b, k,
                              column + team.rank * kTileN / 2, full, 3);
      }
      at.advance();
    }
  }
}

/// The 64 x 256 sums of a warpgroup, 64 columns at a time: rounded, put where the swizzle wants them, stored.
__device__ __forceinline__ void store_tile(const Shared& shared, const TensorMap* c, const float (&sum)[128],
                                           int warpgroup, int row, int column) {
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const bool leader = threadIdx.x % kWarpgroup == 0;
#pragma unroll
  for (int part = 0; part < kTileN / kStoreColumns; ++part) {
    const uint32_t buffer = shared.store(warpgroup);
    if (leader) bulk_wait_read<0>();
    named_barrier(1 + warpgroup, kWarpgroup);
#pragma unroll
    for (int group = 0; group < 8; ++group) {  // of 8 columns: 16 bytes of a row
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int i = part * 32 + group * 4 + half * 2;
        const uint32_t line = warp * 16 + half * 8 + lane / 4;
        const uint32_t chunk = static_cast<uint32_t>(group) ^ (line % 8);
        store_shared(buffer + line * 128 + chunk * 16 + lane % 4 * 4, pack_bf16(sum[i], sum[i + 1]));
      }
    }
    fence_proxy_async_shared();
    named_barrier(1 + warpgroup, kWarpgroup);
    if (leader) {
      tensor_store(c, column + part * kStoreColumns, row, buffer);
      bulk_commit();
    }
  }
}

/// A stage may be filled again once all consumers of the team, which share what is in it, are done with it.
__device__ __forceinline__ void release(const Shared& shared, const Team& team, int stage) {
  const int peer = threadIdx.x % kWarpgroup;
  if (stage >= 0 && peer < team.size) mbarrier_arrive_at(shared.empty(stage), peer);
}

__device__ __forceinline__ void consume(const Shared& shared, const Team& team, const Tiles& tiles,
                                        const TensorMap* c, int warpgroup) {
  RingPosition at;
#pragma unroll 1
  for (int tile = tiles.first; tile < tiles.count; tile += tiles.stride) {
    float sum[128];
    int previous = -1;
#pragma unroll 1
    for (int step = 0; step < tiles.steps; ++step) {
      mbarrier_wait(shared.full(at.stage), at.phase);
      const uint64_t a = matrix_descriptor(shared.a(at.stage) + warpgroup * kBytesA / 2);
      const uint64_t b = matrix_descriptor(shared.b(at.stage));
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < kTileK / 16; ++k)  // 32 bytes further in every row
        wgmma_bf16(sum, a + k * 2, b + k * 2, step != 0 || k != 0);
      wgmma_commit();
      wgmma_wait<1>(sum);
      release(shared, team, previous);
      previous = at.stage;
      at.advance();
    }
    wgmma_wait<0>(sum);
    release(shared, team, previous);
    store_tile(shared, c, sum, warpgroup, tiles.row(tile) + warpgroup * 64, tiles.column(tile));
  }
  if (threadIdx.x % kWarpgroup == 0) bulk_wait<0>();
}

}  // namespace
}  // namespace ptxwire

/// The checksum is the number of elements of C.
extern "C" __global__ void __launch_bounds__(384, 1)
    gemm_bf16(const __grid_constant__ ptxwire::TensorMap a, const __grid_constant__ ptxwire::TensorMap b,
              const __grid_constant__ ptxwire::TensorMap c, int m, int n, int k, ptxwire::Report* report) {
  using namespace ptxwire;
  extern __shared__ __align__(1024) char memory[];
  const Shared shared{shared_address(memory)};
  const Team team;
  const Tiles tiles(team, m, n, k);
  const int warpgroup = threadIdx.x / kWarpgroup;
  if (threadIdx.x == 0) {
    prefetch_tensor_map(&a);
    prefetch_tensor_map(&b);
    prefetch_tensor_map(&c);
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(shared.full(stage), 1);
      mbarrier_init(shared.empty(stage), 2 * team.size);
    }
    fence_mbarrier_init();
  }
  cluster_sync();  // the barriers of all are there
  const Stopwatch watch;
  if (warpgroup == 0) {
    give_registers<40>();
    if (threadIdx.x == 0) produce(shared, team, tiles, &a, &b);
  } else {
    take_registers<232>();
    consume(shared, team, tiles, &c, warpgroup - 1);
  }
  const unsigned long long clk = watch.stop(0);
  cluster_sync();  // nobody reaches into this CTA any more
  unsigned long long steps = 0;
  unsigned elements = 0;
#pragma unroll 1
  for (int tile = tiles.first; tile < tiles.count; tile += tiles.stride) {
    steps += tiles.steps;
    elements += max(0, min(kTileM, m - tiles.row(tile))) * min(kTileN, n - tiles.column(tile));
  }
  write_report(report, clk, steps, steps * kStageBytes, threadIdx.x == 0 ? elements : 0);
}
