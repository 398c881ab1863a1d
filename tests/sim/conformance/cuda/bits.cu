// Bit manipulation and byte-wise intrinsics.
#include <cstdint>

extern "C" __global__ void bits32(const uint32_t* a, const uint32_t* b, uint32_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t x = a[i], y = b[i];
  uint32_t* to = out + 20 * i;
  to[0] = __byte_perm(x, y, 0x5140);
  to[1] = __byte_perm(x, y, y & 0x7777);
  to[2] = __funnelshift_l(x, y, y & 31);
  to[3] = __funnelshift_r(x, y, x & 31);
  to[4] = __funnelshift_lc(x, y, 40);
  to[5] = __popc(x);
  to[6] = __clz(x);
  to[7] = __ffs(x);
  to[8] = __brev(x);
  to[9] = (x & y) | (~x & (y >> 3));
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(to[10]) : "r"(x), "r"(y), "r"(0x0F0F1234));
  to[11] = x << 13 | x >> 19;
  to[12] = x >> 5 & 0x7FF;
  asm("bfi.b32 %0, %1, %2, 7, 9;" : "=r"(to[13]) : "r"(x), "r"(y));
  asm("bfe.s32 %0, %1, 11, 6;" : "=r"(to[14]) : "r"(x));
  asm("bfind.u32 %0, %1;" : "=r"(to[15]) : "r"(x));
  to[16] = __dp4a(x, y, 5U);
  to[17] = __usad(x, y, 3);
  to[18] = __mul24(static_cast<int>(x), static_cast<int>(y));
  to[19] = __fns(x, 0, 2);
}

extern "C" __global__ void bits64(const uint64_t* a, uint64_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint64_t x = a[i];
  uint64_t* to = out + 6 * i;
  to[0] = __popcll(x);
  to[1] = __clzll(static_cast<long long>(x));
  to[2] = __ffsll(static_cast<long long>(x));
  to[3] = __brevll(x);
  to[4] = x << (x & 63) | x >> (64 - (x & 63) & 63);
  to[5] = __double_as_longlong(__longlong_as_double(static_cast<long long>(x)));
}

extern "C" __global__ void bytes(const uint32_t* a, const uint32_t* b, uint32_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t x = a[i], y = b[i];
  uint32_t* to = out + 12 * i;
  to[0] = __vadd4(x, y);
  to[1] = __vsub4(x, y);
  to[2] = __vabsdiffu4(x, y);
  to[3] = __vmaxu4(x, y);
  to[4] = __vcmpgtu4(x, y);
  to[5] = __vaddus4(x, y);
  to[6] = __vmins2(x, y);
  to[7] = __vavgu4(x, y);
  to[8] = __vsadu4(x, y);
  to[9] = __vsadu2(x, y);
  to[10] = __vaddss2(x, y);
  to[11] = __vabs4(x);
}
