// CUB's block-wide collectives: whole algorithms of shared memory, barriers and shuffles.
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include <cstdint>

extern "C" __global__ void __launch_bounds__(128) block_sort(const uint32_t* in, uint32_t* out) {
  using Sort = cub::BlockRadixSort<uint32_t, 128, 4>;
  __shared__ Sort::TempStorage storage;
  uint32_t keys[4];
  for (int k = 0; k < 4; ++k) keys[k] = in[blockIdx.x * 512 + threadIdx.x * 4 + k];
  Sort(storage).Sort(keys);
  for (int k = 0; k < 4; ++k) out[blockIdx.x * 512 + threadIdx.x * 4 + k] = keys[k];
}

extern "C" __global__ void __launch_bounds__(128) block_scan(const int* in, int* out, long long* totals) {
  using Scan = cub::BlockScan<int, 128>;
  using Reduce = cub::BlockReduce<long long, 128>;
  __shared__ Scan::TempStorage scan_storage;
  __shared__ Reduce::TempStorage reduce_storage;
  const int i = blockIdx.x * 128 + threadIdx.x;
  int prefix = 0;
  Scan(scan_storage).ExclusiveSum(in[i], prefix);
  out[i] = prefix;
  const long long total = Reduce(reduce_storage).Sum(static_cast<long long>(in[i]) << 33);
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}
