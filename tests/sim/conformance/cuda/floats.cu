// IEEE arithmetic and conversions of float and double; library functions that are exact or bounded.
#include <cmath>
#include <cstdint>

extern "C" __global__ void float_arithmetic(const float* a, const float* b, const float* c, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = a[i], y = b[i], z = c[i];
  float* to = out + 16 * i;
  to[0] = __fadd_rn(x, y);
  to[1] = __fsub_rn(x, y);
  to[2] = __fmul_rn(x, y);
  to[3] = x / y;
  to[4] = sqrtf(fabsf(x));
  to[5] = fmaf(x, y, z);
  to[6] = floorf(x);
  to[7] = ceilf(x);
  to[8] = truncf(x);
  to[9] = rintf(x);
  to[10] = fminf(x, y);
  to[11] = fmaxf(x, y);
  to[12] = copysignf(x, y);
  to[13] = -x;
  to[14] = fmodf(x, y);
  to[15] = roundf(x);
}

extern "C" __global__ void double_arithmetic(const double* a, const double* b, const double* c, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const double x = a[i], y = b[i], z = c[i];
  double* to = out + 16 * i;
  to[0] = __dadd_rn(x, y);
  to[1] = __dsub_rn(x, y);
  to[2] = __dmul_rn(x, y);
  to[3] = x / y;
  to[4] = sqrt(fabs(x));
  to[5] = fma(x, y, z);
  to[6] = floor(x);
  to[7] = ceil(x);
  to[8] = trunc(x);
  to[9] = rint(x);
  to[10] = fmin(x, y);
  to[11] = fmax(x, y);
  to[12] = static_cast<float>(x);
  to[13] = -x;
  to[14] = fmod(x, y);
  to[15] = round(x);
}

extern "C" __global__ void float_to_integer(const float* a, int64_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = a[i];
  int64_t* to = out + 8 * i;
  to[0] = static_cast<int32_t>(x);
  to[1] = static_cast<int64_t>(x);
  to[2] = x >= 0 ? static_cast<uint32_t>(x) : 0;
  to[3] = static_cast<int64_t>(static_cast<double>(x));
  to[4] = __float2int_rn(x);
  to[5] = __float2int_ru(x);
  to[6] = __float2int_rd(x);
  to[7] = __float_as_int(x);
}

extern "C" __global__ void integer_to_float(const int64_t* a, float* singles, double* doubles) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int64_t x = a[i];
  singles[4 * i] = static_cast<float>(x);
  singles[4 * i + 1] = static_cast<float>(static_cast<uint64_t>(x));
  singles[4 * i + 2] = static_cast<float>(static_cast<int32_t>(x));
  singles[4 * i + 3] = static_cast<float>(static_cast<uint8_t>(x));
  doubles[4 * i] = static_cast<double>(x);
  doubles[4 * i + 1] = static_cast<double>(static_cast<uint64_t>(x));
  doubles[4 * i + 2] = static_cast<double>(static_cast<uint32_t>(x));
  doubles[4 * i + 3] = static_cast<double>(static_cast<int16_t>(x));
}

// The library's own code, argument reduction through local memory included.
extern "C" __global__ void float_library(const float* a, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = a[i];
  float* to = out + 8 * i;
  to[0] = sinf(x);
  to[1] = cosf(x);
  to[2] = expf(x * 0.01F);
  to[3] = logf(fabsf(x) + 0.5F);
  to[4] = powf(fabsf(x) + 0.5F, 0.75F);
  to[5] = tanhf(x);
  to[6] = erff(x);
  to[7] = cbrtf(x);
}

extern "C" __global__ void double_library(const double* a, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const double x = a[i];
  double* to = out + 6 * i;
  to[0] = sin(x);
  to[1] = exp(x * 0.01);
  to[2] = log(fabs(x) + 0.5);
  to[3] = pow(fabs(x) + 0.5, 0.75);
  to[4] = atan2(x, 2.0);
  to[5] = 1 / sqrt(fabs(x) + 0.5);
}
