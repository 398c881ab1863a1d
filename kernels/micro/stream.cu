// Streams: every CTA reads, writes or copies a range of its own, 16 bytes per lane, `unroll` (1, 2, 4 or 8)
// of them in flight per lane. CTA c works on `bytes` from c * step on; step 0 lets all read the same. A warp
// takes unroll * 512 bytes at a time; `bytes` is a multiple of that. The checksum is the sum of all words
// read or written. One entry per spelling of the access.
#include <utility>

#include "report.cuh"

namespace ptxwire {
namespace {

enum class Load {
  plain,
  payload,
  no_allocate,
  l2_64,
  l2_128,
  l2_256,
  evict_first,
  evict_last,
  by_l2,
  system
};
enum class Store { plain, no_allocate, evict_first, evict_last, system };

#define PTXWIRE_LOAD(WORDS)                                 \
  asm volatile(WORDS ".v4.u32 {%0, %1, %2, %3}, [%4+%5];"   \
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) \
               : "l"(address), "n"(kOffset)                 \
               : "memory")
#define PTXWIRE_STORE(WORDS)                                                                                \
  asm volatile(WORDS ".v4.u32 [%0+%1], {%2, %3, %4, %5};" ::"l"(address), "n"(kOffset), "r"(v.x), "r"(v.y), \
               "r"(v.z), "r"(v.w)                                                                           \
               : "memory")

template <Load kLoad, int kOffset>
__device__ __forceinline__ uint4 load(const char* address) {
  uint4 v;
  if constexpr (kLoad == Load::plain) PTXWIRE_LOAD("ld.global");
  if constexpr (kLoad == Load::payload) PTXWIRE_LOAD("ld.global.nc.L1::no_allocate.L2::256B");
  if constexpr (kLoad == Load::no_allocate) PTXWIRE_LOAD("ld.global.L1::no_allocate");
  if constexpr (kLoad == Load::l2_64) PTXWIRE_LOAD("ld.global.L2::64B");
  if constexpr (kLoad == Load::l2_128) PTXWIRE_LOAD("ld.global.L2::128B");
  if constexpr (kLoad == Load::l2_256) PTXWIRE_LOAD("ld.global.L2::256B");
  if constexpr (kLoad == Load::evict_first) PTXWIRE_LOAD("ld.global.L1::evict_first");
  if constexpr (kLoad == Load::evict_last) PTXWIRE_LOAD("ld.global.L1::evict_last");
  if constexpr (kLoad == Load::by_l2) PTXWIRE_LOAD("ld.global.cg");
  if constexpr (kLoad == Load::system) PTXWIRE_LOAD("ld.volatile.global");
  return v;
}

template <Store kStore, int kOffset>
__device__ __forceinline__ void store(char* address, uint4 v) {
  if constexpr (kStore == Store::plain) PTXWIRE_STORE("st.global");
  if constexpr (kStore == Store::no_allocate) PTXWIRE_STORE("st.global.L1::no_allocate");
  if constexpr (kStore == Store::evict_first) PTXWIRE_STORE("st.global.L1::evict_first");
  if constexpr (kStore == Store::evict_last) PTXWIRE_STORE("st.global.L1::evict_last");
  if constexpr (kStore == Store::system) PTXWIRE_STORE("st.volatile.global");
}

constexpr int kWarpBytes = 512;

/// `unroll` accesses of a warp next to each other.
template <Load kLoad, int... kIndex>
__device__ __forceinline__ void load_all(const char* from, uint4* v, std::integer_sequence<int, kIndex...>) {
  ((v[kIndex] = load<kLoad, kIndex * kWarpBytes>(from)), ...);
}
template <Store kStore, int... kIndex>
__device__ __forceinline__ void store_all(char* to, const uint4* v, std::integer_sequence<int, kIndex...>) {
  (store<kStore, kIndex * kWarpBytes>(to, v[kIndex]), ...);
}

template <int kCount>
__device__ __forceinline__ unsigned sum_of(const uint4 (&v)[kCount]) {
  unsigned sum = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) sum += v[i].x + v[i].y + v[i].z + v[i].w;
  return sum;
}

/// What one CTA does: bytes [first, first + bytes) of each buffer.
struct Range {
  long long first, bytes;
  int passes;
};

/// Calls step(p) with this lane's place in every piece of its warp, counted from `base` on.
template <int kUnroll, typename Step>
__device__ __forceinline__ void for_each_step(char* base, const Range& range, Step step) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  char* const begin = base + range.first + warp * (kUnroll * kWarpBytes) + lane * 16;
  char* const end = base + range.first + range.bytes;
  const int stride = static_cast<int>(blockDim.x) * kUnroll * 16;
#pragma unroll 1
  for (int pass = 0; pass < range.passes; ++pass)
#pragma unroll 1
    for (char* p = begin; p < end; p += stride) step(p);
}

template <Load kLoad, int kUnroll>
__device__ __forceinline__ unsigned read(char* from, const Range& range) {
  unsigned sum = 0;
  for_each_step<kUnroll>(from, range, [&](const char* p) {
    uint4 v[kUnroll];
    load_all<kLoad>(p, v, std::make_integer_sequence<int, kUnroll>());
    sum += sum_of(v);
  });
  return sum;
}

/// Word w of what is written holds w.
template <Store kStore, int kUnroll>
__device__ __forceinline__ unsigned write(char* to, const Range& range) {
  unsigned sum = 0;
  for_each_step<kUnroll>(to, range, [&](char* p) {
    const auto word = static_cast<unsigned>((p - to) / 4);
    uint4 v[kUnroll];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      const unsigned w = word + i * (kWarpBytes / 4);
      v[i] = make_uint4(w, w + 1, w + 2, w + 3);
    }
    store_all<kStore>(p, v, std::make_integer_sequence<int, kUnroll>());
    sum += sum_of(v);
  });
  return sum;
}

template <Load kLoad, Store kStore, int kUnroll>
__device__ __forceinline__ unsigned copy(char* from, char* to, const Range& range) {
  unsigned sum = 0;
  const long long distance = to - from;
  for_each_step<kUnroll>(from, range, [&](char* p) {
    uint4 v[kUnroll];
    load_all<kLoad>(p, v, std::make_integer_sequence<int, kUnroll>());
    store_all<kStore>(p + distance, v, std::make_integer_sequence<int, kUnroll>());
    sum += sum_of(v);
  });
  return sum;
}

template <template <int> typename Kernel, typename... Arguments>
__device__ __forceinline__ unsigned unrolled(int unroll, Arguments... arguments) {
  switch (unroll) {
    case 1:
      return Kernel<1>::run(arguments...);
    case 2:
      return Kernel<2>::run(arguments...);
    case 4:
      return Kernel<4>::run(arguments...);
    default:
      return Kernel<8>::run(arguments...);
  }
}

template <Load kLoad>
struct Reader {
  template <int kUnroll>
  struct Kernel {
    static __device__ unsigned run(char* from, Range range) { return read<kLoad, kUnroll>(from, range); }
  };
};
template <Store kStore>
struct Writer {
  template <int kUnroll>
  struct Kernel {
    static __device__ unsigned run(char* to, Range range) { return write<kStore, kUnroll>(to, range); }
  };
};
template <Load kLoad, Store kStore>
struct Copier {
  template <int kUnroll>
  struct Kernel {
    static __device__ unsigned run(char* from, char* to, Range range) {
      return copy<kLoad, kStore, kUnroll>(from, to, range);
    }
  };
};

__device__ __forceinline__ Range range_of(long long step, long long bytes, int passes) {
  return {blockIdx.x * step, bytes, passes};
}

template <template <int> typename Kernel, typename... Arguments>
__device__ __forceinline__ void timed(Report* report, int unroll, const Range& range, int directions,
                                      Arguments... arguments) {
  const Stopwatch watch;
  const unsigned sum = unrolled<Kernel>(unroll, arguments..., range);
  const unsigned long long clk = watch.stop(sum);
  const unsigned long long bytes = range.bytes * range.passes;
  write_report(report, clk, bytes / kWarpBytes * directions, bytes, sum);
}

}  // namespace
}  // namespace ptxwire

#define PTXWIRE_READ(NAME, LOAD)                                                                         \
  extern "C" __global__ void stream_read_##NAME(char* from, long long step, long long bytes, int passes, \
                                                int unroll, ptxwire::Report* report) {                   \
    ptxwire::timed<ptxwire::Reader<ptxwire::Load::LOAD>::Kernel>(                                        \
        report, unroll, ptxwire::range_of(step, bytes, passes), 1, from);                                \
  }
#define PTXWIRE_WRITE(NAME, STORE)                                                                      \
  extern "C" __global__ void stream_write_##NAME(char* to, long long step, long long bytes, int passes, \
                                                 int unroll, ptxwire::Report* report) {                 \
    ptxwire::timed<ptxwire::Writer<ptxwire::Store::STORE>::Kernel>(                                     \
        report, unroll, ptxwire::range_of(step, bytes, passes), 1, to);                                 \
  }
#define PTXWIRE_COPY(NAME, LOAD, STORE)                                                                \
  extern "C" __global__ void stream_copy_##NAME(char* from, char* to, long long step, long long bytes, \
                                                int passes, int unroll, ptxwire::Report* report) {     \
    ptxwire::timed<ptxwire::Copier<ptxwire::Load::LOAD, ptxwire::Store::STORE>::Kernel>(               \
        report, unroll, ptxwire::range_of(step, bytes, passes), 2, from, to);                          \
  }

PTXWIRE_READ(plain, plain)
PTXWIRE_READ(payload, payload)
PTXWIRE_READ(no_allocate, no_allocate)
PTXWIRE_READ(l2_64, l2_64)
PTXWIRE_READ(l2_128, l2_128)
PTXWIRE_READ(l2_256, l2_256)
PTXWIRE_READ(evict_first, evict_first)
PTXWIRE_READ(evict_last, evict_last)
PTXWIRE_READ(by_l2, by_l2)
PTXWIRE_READ(volatile, system)
PTXWIRE_WRITE(plain, plain)
PTXWIRE_WRITE(no_allocate, no_allocate)
PTXWIRE_WRITE(evict_first, evict_first)
PTXWIRE_WRITE(evict_last, evict_last)
PTXWIRE_WRITE(volatile, system)
PTXWIRE_COPY(plain, plain, plain)
PTXWIRE_COPY(payload, payload, no_allocate)
PTXWIRE_COPY(evict_first, evict_first, evict_first)
PTXWIRE_COPY(volatile, system, system)
