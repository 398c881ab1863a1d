// Exchanges within a warp: shuffles of all kinds and widths, votes, matches, reductions, divergent masks.
#include <cstdint>

extern "C" __global__ void shuffles(const int* in, const double* wide, int* out, double* wide_out) {
  const int lane = threadIdx.x & 31;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned all = 0xffffffffU;
  int* to = out + 7 * i;
  to[0] = __shfl_sync(all, in[i], 31 - lane);
  to[1] = __shfl_up_sync(all, in[i], 3);
  to[2] = __shfl_down_sync(all, in[i], 5);
  to[3] = __shfl_xor_sync(all, in[i], 9);
  to[4] = __shfl_sync(all, in[i], lane + 1, 8);
  to[5] = __shfl_up_sync(all, in[i], 2, 16);
  to[6] = __shfl_down_sync(all, in[i], 1, 4);
  wide_out[i] = __shfl_xor_sync(all, wide[i], 1);
}

extern "C" __global__ void votes(const int* in, uint32_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned all = 0xffffffffU;
  uint32_t* to = out + 8 * i;
  to[0] = __ballot_sync(all, in[i] & 1);
  to[1] = __any_sync(all, in[i] == 7);
  to[2] = __all_sync(all, in[i] < 1000);
  to[3] = __match_any_sync(all, in[i] % 5);
  int same = 0;
  to[4] = __match_all_sync(all, in[i] / 100000, &same);
  to[5] = static_cast<uint32_t>(same);
  to[6] = __match_any_sync(all, static_cast<unsigned long long>(in[i] % 3) << 40);
  to[7] = __activemask();
}

extern "C" __global__ void reductions(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned all = 0xffffffffU;
  const int x = i < n ? in[i] : 0;
  int sum = x;
  for (int step = 16; step != 0; step >>= 1) sum += __shfl_down_sync(all, sum, step);
  int prefix = x;
  for (int step = 1; step < 32; step <<= 1) {
    const int other = __shfl_up_sync(all, prefix, step);
    if ((threadIdx.x & 31) >= step) prefix += other;
  }
  const int least = __reduce_min_sync(all, x), most = __reduce_max_sync(all, x);
  const unsigned bits = __reduce_or_sync(all, static_cast<unsigned>(x));
  if (i >= n) return;
  int* to = out + 6 * i;
  to[0] = __shfl_sync(__activemask(), sum, 0);
  to[1] = prefix;
  to[2] = __reduce_add_sync(__activemask(), 1);
  to[3] = least;
  to[4] = most;
  to[5] = static_cast<int>(bits);
}

// The two sides of a branch exchange among themselves, with masks of their own.
extern "C" __global__ void divergent(const int* in, int* out) {
  const int lane = threadIdx.x;
  const unsigned odd = 0xaaaaaaaaU;
  int value = in[lane];
  if ((lane & 1) != 0) {
    for (int step = 2; step < 32; step *= 2) value += __shfl_xor_sync(odd, value, step);
  } else {
    value = __popc(__ballot_sync(~odd, value > 50));
    __syncwarp(~odd);
    if (lane < 16) value += __shfl_sync(0x5555U, value, 4) * 100;
  }
  __syncwarp();
  out[lane] = value + __shfl_sync(0xffffffffU, value, lane ^ 1);
}
