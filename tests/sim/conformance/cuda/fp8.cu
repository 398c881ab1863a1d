// cuda_fp8.h: eight-bit floats to and from float and half.
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

extern "C" __global__ void to_fp8(const float* in, uint8_t* e4m3, uint8_t* e5m2) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  e4m3[i] = __nv_fp8_e4m3(in[i]).__x;
  e5m2[i] = __nv_fp8_e5m2(in[i]).__x;
}

extern "C" __global__ void pairs_to_fp8(const float2* in, uint16_t* e4m3, uint16_t* e5m2) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  e4m3[i] = __nv_fp8x2_e4m3(in[i]).__x;
  e5m2[i] = __nv_cvt_float2_to_fp8x2(in[i], __NV_SATFINITE, __NV_E5M2);
}

extern "C" __global__ void from_fp8(const uint8_t* in, float* e4m3, float* e5m2) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __nv_fp8_e4m3 a;
  __nv_fp8_e5m2 b;
  a.__x = in[i];
  b.__x = in[i];
  e4m3[i] = static_cast<float>(a);
  e5m2[i] = static_cast<float>(b);
}

// Per-group scaling as a low-latency dispatch does it: 32 values share the largest magnitude.
extern "C" __global__ void quantise(const float* in, uint32_t* packed, float* scales) {
  const int lane = threadIdx.x;
  const float4 v = reinterpret_cast<const float4*>(in)[blockIdx.x * 32 + lane];
  float most = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
  for (int step = 16; step != 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
  most = fmaxf(most, 1e-4F);
  const float scale = 448.0F / most;
  const __nv_fp8x4_e4m3 q(make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale));
  packed[blockIdx.x * 32 + lane] = q.__x;
  if (lane == 0) scales[blockIdx.x] = most * (1 / 448.0F);
}
