// Integer and floating-point arithmetic of all widths, conversions, intrinsics.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <typename T>
__global__ void integers(T* out, const T* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T a = in[i], b = in[i + n];
  out[0] = a + b;
  out[1] = a * b;
  out[2] = a / (b | 1);
  out[3] = a % (b | 1);
  out[4] = a << (b & 7);
  out[5] = a >> (b & 7);
  out[6] = (a & b) ^ ~a;
  out[7] = a < b ? a : b;
  out[8] = a > b ? -a : b;
  out[9] = T(a == b) + T(a >= b);
}
template __global__ void integers(signed char*, const signed char*, int);
template __global__ void integers(unsigned char*, const unsigned char*, int);
template __global__ void integers(short*, const short*, int);
template __global__ void integers(unsigned short*, const unsigned short*, int);
template __global__ void integers(int*, const int*, int);
template __global__ void integers(unsigned*, const unsigned*, int);
template __global__ void integers(long long*, const long long*, int);
template __global__ void integers(unsigned long long*, const unsigned long long*, int);
template __global__ void integers(__int128*, const __int128*, int);
template __global__ void integers(unsigned __int128*, const unsigned __int128*, int);

__global__ void integer_intrinsics(unsigned* o, int* s, unsigned long long* l, unsigned a, unsigned b, int c,
                                   int d, long long e) {
  o[0] = __popc(a) + __clz(b) + __brev(a) + __ffs(c) + __popcll(e) + __clzll(e);
  o[1] = __byte_perm(a, b, 0x5410);
  o[2] = __funnelshift_l(a, b, c) + __funnelshift_r(a, b, c) + __funnelshift_lc(a, b, c) +
         __funnelshift_rc(a, b, c);
  o[3] = __umulhi(a, b) + __umul24(a, b) + __usad(a, b, 3) + __uhadd(a, b) + __urhadd(a, b);
  s[0] = __mulhi(c, d) + __mul24(c, d) + __sad(c, d, 3) + __hadd(c, d) + __rhadd(c, d);
  l[0] = __umul64hi(a, e) + __mul64hi(e, e) + __brevll(e) + __ffsll(e);
  s[1] = __dp4a(c, d, 5) + __dp2a_lo(c, d, 5) + __dp2a_hi(c, d, 5);
  o[4] = __dp4a(a, b, 5u) + __dp2a_lo(a, b, 5u);
  o[5] =
      __vadd2(a, b) + __vsub4(a, b) + __vmaxs2(a, b) + __vminu4(a, b) + __vavgs2(a, b) + __vabsdiffu4(a, b);
  o[6] = __vcmpeq4(a, b) + __vcmpgts2(a, b) + __vsetltu4(a, b) + __vsads4(a, b) + __vhaddu4(a, b) +
         __vaddss2(a, b);
  o[7] = __viaddmax_s32(c, d, 3) + __vimax3_s16x2_relu(a, b, a) + __vimin_s16x2_relu(a, b);
  o[8] = abs(c) + llabs(e) + min(c, d) + max(a, b);
}

template <typename T>
__global__ void floats(T* out, const T* in, int n) {
  int i = threadIdx.x;
  T a = in[i], b = in[i + n], c = in[i + 2 * n];
  out[0] = a + b - c;
  out[1] = a * b + c;
  out[2] = a / b;
  out[3] = sqrt(a) + rsqrt(b);
  out[4] = sin(a) + cos(b) * exp(c) - log(a);
  out[5] = pow(a, b) + fmod(a, c) + tanh(b);
  out[6] = a < b ? floor(a) : ceil(b) + rint(c) + trunc(a) + round(b);
  out[7] = fmin(a, b) + fmax(b, c) + fabs(a) + copysign(a, b);
  out[8] = isnan(a) || isinf(b) || signbit(c) || isfinite(a) ? a : -b;
  out[9] = T(int(a)) + T((unsigned)b) + T((long long)c) + T((unsigned long long)a) + T((short)b) + T((char)c);
  out[10] = erf(a) + lgamma(b) + cbrt(c) + hypot(a, b) + atan2(a, b) + ldexp(a, i) + log2(a) + exp2(b);
}
template __global__ void floats(float*, const float*, int);
template __global__ void floats(double*, const double*, int);

__global__ void float_intrinsics(float* f, double* d, int* s, unsigned* u, long long* l) {
  float a = f[1], b = f[2], c = f[3];
  double x = d[1], y = d[2], z = d[3];
  f[0] = __fadd_rz(a, b) + __fadd_ru(a, b) + __fadd_rd(a, b) + __fmul_rn(a, c) + __fmaf_rz(a, b, c) +
         __fdiv_rd(a, b);
  f[4] = __frcp_ru(a) + __fsqrt_rz(b) + __frsqrt_rn(c) + __fdividef(a, b) + __saturatef(a) + __expf(a) +
         __logf(b);
  f[5] =
      __sinf(a) + __cosf(b) + __tanf(c) + __powf(a, b) + __exp10f(c) + __log2f(a) + fmaf(a, b, c) + rsqrtf(a);
  d[0] =
      __dadd_rz(x, y) + __dmul_ru(x, y) + __fma_rd(x, y, z) + __ddiv_rz(x, y) + __drcp_rn(x) + __dsqrt_ru(z);
  s[0] = __float2int_rn(a) + __float2int_rz(a) + __float2int_ru(b) + __float2int_rd(c) + __double2int_rn(x);
  u[0] =
      __float2uint_rn(a) + __double2uint_rz(x) + __float_as_uint(a) + __double2hiint(x) + __double2loint(y);
  l[0] = __float2ll_rn(a) + __double2ll_rz(x) + __float2ull_ru(b) + __double_as_longlong(y);
  f[6] = __int2float_rz(s[1]) + __uint2float_ru(u[1]) + __ll2float_rn(l[1]) + __ull2float_rd(l[2]) +
         __int_as_float(s[2]);
  d[4] = __int2double_rn(s[1]) + __ll2double_ru(l[1]) + __hiloint2double(s[1], s[2]) + __double2float_rz(x);
}

__global__ void halves(__half* h, __half2* h2, __nv_bfloat16* b, __nv_bfloat162* b2, float* f, int* s) {
  h[0] = __hfma(h[1], h[2], h[3]) + __hdiv(h[1], h[2]) - __hmul_sat(h[1], h[2]) + hsqrt(h[1]) + hexp2(h[2]) +
         htanh_approx(h[3]);
  h2[0] =
      __hfma2_relu(h2[1], h2[2], h2[3]) + __hmax2(h2[1], h2[2]) + __hmin2_nan(h2[1], h2[2]) + __habs2(h2[3]);
  h[5] = hrcp(h[1]);
  b[0] = b[1] * b[2] - __hneg(b[3]);
  b2[0] = b2[1] * b2[2] - b2[3];
  f[0] = __half2float(h[1]) + __bfloat162float(b[1]) + __low2float(h2[1]) + __high2float(b2[1]);
  h[4] = __float2half_rz(f[1]) + __int2half_rn(s[1]) + __ushort_as_half(7);
  b[4] = __float2bfloat16_ru(f[1]) + __int2bfloat16_rn(s[1]) + __double2bfloat16(f[2]);
  h2[1] = __floats2half2_rn(f[1], f[2]);
  b2[1] = __floats2bfloat162_rn(f[1], f[2]);
  s[0] = __half2int_rn(h[1]) + __half2uint_rz(h[2]) + __bfloat162int_rd(b[1]) + __heq(h[1], h[2]) +
         __hbgt2(h2[1], h2[2]);
  s[2] = __hlt(b[1], b[2]) + __hisnan(b[3]) + __hbequ2(b2[1], b2[2]) + __hne2_mask(h2[1], h2[2]) +
         __hgtu2_mask(b2[1], b2[2]);
}

#if __CUDA_ARCH__ >= 800
__global__ void bfloats(__nv_bfloat16* b, __nv_bfloat162* b2) {
  b[0] = hexp2(b[1]) + hlog2(b[2]);
  b2[0] = __hfma2(b2[1], b2[2], b2[3]) + __hmin2(b2[1], b2[2]) * __habs2(b2[1]) + b2[2] / b2[3];
}
#endif
__global__ void fp8(__nv_fp8_e4m3* e4, __nv_fp8_e5m2* e5, __nv_fp8x2_e4m3* p4, __nv_fp8x4_e5m2* p5, float* f,
                    __half* h) {
  e4[0] = __nv_fp8_e4m3(f[0]);
  e5[0] = __nv_fp8_e5m2(f[1]);
  f[2] = float(e4[1]) + float(e5[1]);
  p4[0] = __nv_fp8x2_e4m3(make_float2(f[3], f[4]));
  p5[0] = __nv_fp8x4_e5m2(make_float4(f[3], f[4], f[5], f[6]));
  h[0] = __half(e4[2]);
  float2 pair = float2(p4[1]);
  f[7] = pair.x + pair.y;
}
