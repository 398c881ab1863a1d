// Cooperative groups: tiles, coalesced groups, collective reductions, the grid barrier, clusters.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cstdint>

namespace cg = cooperative_groups;

extern "C" __global__ void tiles(const int* in, int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  const int i = block.group_index().x * block.size() + block.thread_rank();
  int* to = out + 5 * i;
  to[0] = cg::reduce(tile, in[i], cg::plus<int>());
  to[1] = cg::reduce(tile, in[i], cg::greater<int>());
  to[2] = cg::inclusive_scan(tile, in[i]);
  to[3] = static_cast<int>(tile.ballot(in[i] & 1));
  to[4] = tile.shfl(in[i], 7 - tile.thread_rank());
}

extern "C" __global__ void compact(const int* in, int* out, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] % 3 == 0) {
    const cg::coalesced_group active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0) base = atomicAdd(count, static_cast<int>(active.size()));
    out[active.shfl(base, 0) + active.thread_rank()] = in[i];
  }
}

// Each step reads what other CTAs wrote in the step before.
extern "C" __global__ void grid_steps(int* a, int* b, int steps) {
  const cg::grid_group grid = cg::this_grid();
  const int n = static_cast<int>(grid.size()), i = static_cast<int>(grid.thread_rank());
  for (int s = 0; s < steps; ++s) {
    b[i] = a[(i + 37) % n] + a[(i + n - 41) % n];
    grid.sync();
    int* const t = a;
    a = b;
    b = t;
  }
}

extern "C" __global__ void clusters(const int* in, int* out) {
  __shared__ int values[64];
  const cg::cluster_group cluster = cg::this_cluster();
  values[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  cluster.sync();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  const int* other = cluster.map_shared_rank(values, next);
  const int taken = other[63 - threadIdx.x];
  cluster.sync();
  atomicAdd(cluster.map_shared_rank(&values[0], 0), 1);
  cluster.sync();
  out[blockIdx.x * 64 + threadIdx.x] =
      taken * 100 + (cluster.block_rank() == 0 && threadIdx.x == 0 ? values[0] : 0);
}
