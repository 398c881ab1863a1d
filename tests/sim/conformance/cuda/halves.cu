// Half and bfloat16: scalar and paired arithmetic, conversions, comparisons.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

extern "C" __global__ void half_arithmetic(const float* a, const float* b, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const __half x = __float2half(a[i]), y = __float2half(b[i]);
  float* to = out + 10 * i;
  to[0] = __half2float(x);
  to[1] = __half2float(__hadd(x, y));
  to[2] = __half2float(__hsub(x, y));
  to[3] = __half2float(__hmul(x, y));
  to[4] = __half2float(__hfma(x, y, x));
  to[5] = __half2float(__hneg(x));
  to[6] = __hlt(x, y) ? 1.0F : 0.0F;
  to[7] = __half2float(__hmax(x, y));
  to[8] = static_cast<float>(__half2int_rn(x));
  to[9] = __half2float(__int2half_rn(static_cast<int>(a[i])));
}

extern "C" __global__ void bfloat_arithmetic(const float* a, const float* b, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const __nv_bfloat16 x = __float2bfloat16(a[i]), y = __float2bfloat16(b[i]);
  float* to = out + 10 * i;
  to[0] = __bfloat162float(x);
  to[1] = __bfloat162float(__hadd(x, y));
  to[2] = __bfloat162float(__hsub(x, y));
  to[3] = __bfloat162float(__hmul(x, y));
  to[4] = __bfloat162float(__hfma(x, y, x));
  to[5] = __bfloat162float(__hneg(x));
  to[6] = __hlt(x, y) ? 1.0F : 0.0F;
  to[7] = __bfloat162float(__hmax(x, y));
  to[8] = static_cast<float>(__bfloat162int_rn(x));
  to[9] = __bfloat162float(__float2bfloat16_rz(a[i]));
}

// The inner loop of a combine: pairs of bfloat16 added up in float and rounded once.
extern "C" __global__ void bfloat_pairs(const __nv_bfloat162* rows, __nv_bfloat162* sums, int count,
                                        int stride) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float2 sum{0, 0};
  for (int r = 0; r < count; ++r) {
    const float2 value = __bfloat1622float2(rows[r * stride + i]);
    sum.x += value.x;
    sum.y += value.y;
  }
  sums[i] = __float22bfloat162_rn(sum);
}

extern "C" __global__ void half_pairs(const __half2* a, const __half2* b, __half2* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[3 * i] = __hadd2(a[i], b[i]);
  out[3 * i + 1] = __hfma2(a[i], b[i], b[i]);
  out[3 * i + 2] = __lowhigh2highlow(__hmul2(a[i], b[i]));
}
