// Integer arithmetic of every width. Each kernel writes kOperations results per pair, sign-extended to 64
// bits.
#include <cstdint>

namespace {

template <typename T>
__device__ void arithmetic(const T* a, const T* b, int64_t* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const T x = a[i], y = b[i];
  int64_t* to = out + 16 * i;
  to[0] = static_cast<T>(x + y);
  to[1] = static_cast<T>(x - y);
  to[2] = static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  to[3] = y == 0 ? 0 : static_cast<T>(x / y);
  to[4] = y == 0 ? 0 : static_cast<T>(x % y);
  to[5] = static_cast<T>(x & y);
  to[6] = static_cast<T>(x | y);
  to[7] = static_cast<T>(x ^ y);
  to[8] = static_cast<T>(~x);
  to[9] = static_cast<T>(x << (y & (8 * sizeof(T) - 1)));
  to[10] = static_cast<T>(x >> (y & (8 * sizeof(T) - 1)));
  to[11] = x < y ? x : y;
  to[12] = x > y ? x : y;
  to[13] = x < y ? -1 : x == y ? 0 : 1;
  to[14] = static_cast<T>(x / 7);
  to[15] = static_cast<T>(x % 10);
}

}  // namespace

#define PTXWIRE_INTEGERS(type)                                                                    \
  extern "C" __global__ void integers_##type(const type* a, const type* b, int64_t* out, int n) { \
    arithmetic<type>(a, b, out, n);                                                               \
  }
PTXWIRE_INTEGERS(int8_t)
PTXWIRE_INTEGERS(uint8_t)
PTXWIRE_INTEGERS(int16_t)
PTXWIRE_INTEGERS(uint16_t)
PTXWIRE_INTEGERS(int32_t)
PTXWIRE_INTEGERS(uint32_t)
PTXWIRE_INTEGERS(int64_t)
PTXWIRE_INTEGERS(uint64_t)

// Products wider than a register, and 128-bit arithmetic with carries.
extern "C" __global__ void wide_products(const uint64_t* a, const uint64_t* b, uint64_t* out) {
  const int i = threadIdx.x;
  const uint64_t x = a[i], y = b[i];
  uint64_t* to = out + 10 * i;
  to[0] = __umul64hi(x, y);
  to[1] = __mul64hi(static_cast<long long>(x), static_cast<long long>(y));
  to[2] = __umulhi(static_cast<uint32_t>(x), static_cast<uint32_t>(y));
  to[3] = static_cast<int64_t>(__mulhi(static_cast<int>(x), static_cast<int>(y)));
  to[4] = static_cast<uint64_t>(static_cast<uint32_t>(x)) * static_cast<uint32_t>(y);
  to[5] = static_cast<int64_t>(static_cast<int32_t>(x)) * static_cast<int32_t>(y);
  const unsigned __int128 p = static_cast<unsigned __int128>(x) * y + x;
  to[6] = static_cast<uint64_t>(p);
  to[7] = static_cast<uint64_t>(p >> 64);
  const __int128 s = (static_cast<__int128>(static_cast<int64_t>(x)) << 17) - static_cast<int64_t>(y);
  to[8] = static_cast<uint64_t>(s);
  to[9] = static_cast<uint64_t>(s >> 64);
}

// 128-bit division: the compiler's own routine of add, sub and mad with carry in both directions.
extern "C" __global__ void wide_quotients(const uint64_t* high, const uint64_t* low, const uint64_t* divisor,
                                          uint64_t* out) {
  const int i = threadIdx.x;
  const unsigned __int128 x = static_cast<unsigned __int128>(high[i]) << 64 | low[i];
  const unsigned __int128 y = static_cast<unsigned __int128>(high[i] >> (low[i] % 64)) << 32 | divisor[i] | 1;
  const __int128 s = static_cast<__int128>(x), d = static_cast<int64_t>(divisor[i] | 1);
  const unsigned __int128 results[4] = {x / y, x % y, static_cast<unsigned __int128>(s / d),
                                        static_cast<unsigned __int128>(s % d)};
  for (int k = 0; k < 4; ++k) {
    out[8 * i + 2 * k] = static_cast<uint64_t>(results[k]);
    out[8 * i + 2 * k + 1] = static_cast<uint64_t>(results[k] >> 64);
  }
}
