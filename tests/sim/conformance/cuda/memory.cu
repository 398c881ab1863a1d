// Memory in unusual shapes: 128-bit values and atomics, memcpy and memset, alloca, unaligned structures.
#include <cstdint>
#include <cstring>

struct __align__(16) Wide {
  uint64_t low, high;
};

// Each thread adds (1, 2) to a 128-bit pair with compare-and-swap.
extern "C" __global__ void wide_cas(Wide* target, Wide* exchanged) {
  unsigned __int128 seen = 0;
  auto* bits = reinterpret_cast<unsigned __int128*>(target);
  for (;;) {
    const unsigned __int128 next = seen + 1 + (static_cast<unsigned __int128>(2) << 64);
    const unsigned __int128 old = atomicCAS(bits, seen, next);
    if (old == seen) break;
    seen = old;
  }
  if (threadIdx.x == 5)
    atomicExch(reinterpret_cast<unsigned __int128*>(exchanged),
               static_cast<unsigned __int128>(0x1234) << 64 | 0x5678);
}

struct __attribute__((packed)) Packed {
  uint8_t tag;
  uint32_t value;
  uint16_t tail;
};

extern "C" __global__ void copies(const Packed* in, Packed* out, uint8_t* filled, int bytes) {
  const int i = threadIdx.x;
  Packed p;
  memcpy(&p, &in[31 - i], sizeof(Packed));
  p.value += p.tag;
  out[i] = p;
  memset(filled + i * 16, i, static_cast<size_t>(bytes));
}

__device__ __noinline__ uint32_t checksum(const uint32_t* values, int count) {
  uint32_t sum = 0;
  for (int k = 0; k < count; ++k) sum = sum * 31 + values[k];
  return sum;
}

extern "C" __global__ void stack(const uint32_t* in, uint32_t* out, int count) {
  auto* values = static_cast<uint32_t*>(__builtin_alloca(static_cast<size_t>(count) * 4));
  for (int k = 0; k < count; ++k) values[k] = in[k] ^ threadIdx.x;
  out[threadIdx.x] = checksum(values, count);
}
