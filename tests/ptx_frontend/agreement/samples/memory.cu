// Loads and stores with hints, atomics of every scope, fences, asynchronous copies, warp operations.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda_pipeline.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>

namespace cg = cooperative_groups;

template <typename T>
__global__ void hints(T* out, const T* __restrict__ in) {
  out[0] = __ldg(in);
  out[1] = __ldcg(in + 1);
  out[2] = __ldca(in + 2);
  out[3] = __ldcs(in + 3);
  out[4] = __ldlu(in + 4);
  out[5] = __ldcv(in + 5);
  __stwb(out + 6, in[0]);
  __stcg(out + 7, in[1]);
  __stcs(out + 8, in[2]);
  __stwt(out + 9, in[3]);
}
template __global__ void hints(char*, const char*);
template __global__ void hints(short*, const short*);
template __global__ void hints(int*, const int*);
template __global__ void hints(long long*, const long long*);
template __global__ void hints(float2*, const float2*);
template __global__ void hints(int4*, const int4*);
template __global__ void hints(double2*, const double2*);
template __global__ void hints(uchar4*, const uchar4*);
template __global__ void hints(short2*, const short2*);

__global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d, __half2* h,
                        __nv_bfloat162* b, unsigned short* s) {
  __shared__ int shared[4];
  i[1] = atomicAdd(i, 1) + atomicSub(i, 2) + atomicMin(i, 3) + atomicMax(i, 4) + atomicExch(i, 5) +
         atomicCAS(i, 6, 7);
  u[1] = atomicInc(u, 1) + atomicDec(u, 2) + atomicAnd(u, 3) + atomicOr(u, 4) + atomicXor(u, 5);
  l[1] = atomicAdd(l, 1) + atomicCAS(l, 1, 2) + atomicMax(l, 3) + atomicAnd(l, 4) + atomicExch(l, 7);
  f[1] = atomicAdd(f, 1.5f);
  atomicAdd(f + 2, 1.5f);
  d[1] = atomicAdd(d, 2.5);
  h[1] = atomicAdd(h, h[2]);
  b[1] = atomicAdd(b, b[2]);
  s[1] = atomicCAS(s, 1, 2);
  atomicAdd_system(i + 8, 1);
  atomicAdd_block(i + 9, 1);
  atomicAdd(&shared[threadIdx.x & 3], 1);
  atomicMax(&shared[0], i[3]);
  __threadfence();
  __threadfence_block();
  __threadfence_system();
  i[2] = shared[1];
}

template <cuda::thread_scope scope>
__global__ void scoped(int* a, unsigned long long* b) {
  cuda::atomic_ref<int, scope> x(*a);
  cuda::atomic_ref<unsigned long long, scope> y(*b);
  x.store(1, cuda::memory_order_release);
  x.store(2, cuda::memory_order_relaxed);
  x.fetch_add(x.load(cuda::memory_order_acquire), cuda::memory_order_acq_rel);
  y.fetch_max(y.load(cuda::memory_order_relaxed), cuda::memory_order_release);
  unsigned long long old = 3;
  y.compare_exchange_strong(old, 4, cuda::memory_order_seq_cst);
  x.exchange(5, cuda::memory_order_acquire);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, scope);
  cuda::atomic_thread_fence(cuda::memory_order_acquire, scope);
}
template __global__ void scoped<cuda::thread_scope_block>(int*, unsigned long long*);
template __global__ void scoped<cuda::thread_scope_device>(int*, unsigned long long*);
template __global__ void scoped<cuda::thread_scope_system>(int*, unsigned long long*);

__global__ void warps(int* out, unsigned mask) {
  int v = threadIdx.x;
  v += __shfl_sync(mask, v, 3) + __shfl_up_sync(mask, v, 1, 16) + __shfl_down_sync(mask, v, 2) +
       __shfl_xor_sync(mask, v, 4);
  double d = __shfl_sync(mask, double(v), 1);
  v += __ballot_sync(mask, v > 3) + __any_sync(mask, v) + __all_sync(mask, v) + __activemask() +
       __uni_sync(mask, v);
#if __CUDA_ARCH__ >= 800
  v += __reduce_add_sync(mask, v) + __reduce_min_sync(mask, v) + __reduce_or_sync(mask, unsigned(v));
#endif
  v += __match_any_sync(mask, v) + __match_all_sync(mask, (long long)v, out);
  __syncwarp(mask);
  v += __syncthreads_count(v) + __syncthreads_and(v) + __syncthreads_or(v);
  __nanosleep(100);
  out[v & 31] = v + int(d) + __fns(mask, 3, 2);
}

__global__ void groups(int* out) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int v = cg::reduce(tile, int(threadIdx.x), cg::plus<int>());
  auto active = cg::coalesced_threads();
  v += active.shfl(v, 0) + active.size();
  grid.sync();
  out[grid.thread_rank()] = v + tile.any(v);
}

__global__ void copies(int4* out, const int4* in, int n) {
  __shared__ alignas(128) int4 buffer[256];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(buffer + threadIdx.x, in + threadIdx.x, cuda::aligned_size_t<16>(16), bar);
  bar.arrive_and_wait();
  __pipeline_memcpy_async(buffer + threadIdx.x, in, 16, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = buffer[threadIdx.x];
}

#if __CUDA_ARCH__ >= 900
__global__ void bulk(int4* out, const int4* in, unsigned bytes) {
  extern __shared__ int4 smem[];
  __shared__ uint64_t bar;
  namespace ptx = cuda::ptx;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, bytes);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, smem, in, bytes, &bar);
  }
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
  }
  ptx::fence_proxy_async(ptx::space_shared);
  ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, smem, bytes);
  ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, (int*)out, (int*)smem, bytes);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
  cg::cluster_group cluster = cg::this_cluster();
  int* remote = (int*)cluster.map_shared_rank(smem, 1);
  remote[0] = cluster.block_rank();
  cluster.sync();
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
}
#endif
