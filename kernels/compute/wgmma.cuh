// Warpgroup matrix multiply and bulk tensor copies, one function per instruction.
#pragma once

#include <cstdint>

namespace ptxwire {

/// What the driver (or the simulator's encoder) puts into a tensor map is its own affair.
struct alignas(64) TensorMap {
  uint8_t opaque[128];
};

// --- Tensor maps and copies of boxes; coordinates count elements, the innermost first

__device__ __forceinline__ void prefetch_tensor_map(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
__device__ __forceinline__ void tensor_load(uint32_t shared, const TensorMap* map, int x, int y,
                                            uint32_t mbarrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(mbarrier)
      : "memory");
}
/// To the same place of every CTA of the cluster in `mask`, each told through its own mbarrier.
__device__ __forceinline__ void tensor_load_multicast(uint32_t shared, const TensorMap* map, int x, int y,
                                                      uint32_t mbarrier, uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%2, %3}], [%4], %5;" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(mbarrier), "h"(mask)
      : "memory");
}
__device__ __forceinline__ void tensor_store(const TensorMap* map, int x, int y, uint32_t shared) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
               "r"(x), "r"(y), "r"(shared)
               : "memory");
}
__device__ __forceinline__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until at most `kPending` groups of this thread have not read their source.
template <int kPending>
__device__ __forceinline__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
template <int kPending>
__device__ __forceinline__ void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}

// --- Registers of a warpgroup

template <int kCount>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

// --- wgmma

/// Of an operand with k innermost, in rows of 128 bytes that are swizzled by 128: eight rows are 1024 bytes.
__device__ __forceinline__ uint64_t matrix_descriptor(uint32_t shared) {
  constexpr uint64_t kStride = 1024 >> 4, kLeading = 1 /* not used */, kSwizzle128 = 1;
  return (shared & 0x3FFFF) >> 4 | kLeading << 16 | kStride << 32 | kSwizzle128 << 62;
}
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

#define PTXWIRE_SUMS8(i)                                                                      \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define PTXWIRE_SUMS32(i) PTXWIRE_SUMS8(i), PTXWIRE_SUMS8(i + 8), PTXWIRE_SUMS8(i + 16), PTXWIRE_SUMS8(i + 24)
#define PTXWIRE_SUMS128 PTXWIRE_SUMS32(0), PTXWIRE_SUMS32(32), PTXWIRE_SUMS32(64), PTXWIRE_SUMS32(96)

/// The sums are named so that nothing reads them before.
template <int kPending>
__device__ __forceinline__ void wgmma_wait(float (&d)[128]) {
  asm volatile("wgmma.wait_group.sync.aligned %128;" : PTXWIRE_SUMS128 : "n"(kPending) : "memory");
}

#define PTXWIRE_REGISTERS                                                                        \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
/// d (64 x 256) = a * b, 32 bytes deep, added to d if `add`.
#define PTXWIRE_WGMMA(name, form, immediates)                                                           \
  __device__ __forceinline__ void name(float(&d)[128], uint64_t a, uint64_t b, bool add) {              \
    asm volatile(                                                                                       \
        "{ .reg .pred p; setp.ne.b32 p, %130, 0;\n"                                                     \
        "wgmma.mma_async.sync.aligned." form " {" PTXWIRE_REGISTERS "}, %128, %129, p" immediates "; }" \
        : PTXWIRE_SUMS128                                                                               \
        : "l"(a), "l"(b), "r"(static_cast<int>(add)));                                                  \
  }
PTXWIRE_WGMMA(wgmma_bf16, "m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0")
PTXWIRE_WGMMA(wgmma_e4m3, "m64n256k32.f32.e4m3.e4m3", ", 1, 1")

#undef PTXWIRE_WGMMA
#undef PTXWIRE_REGISTERS
#undef PTXWIRE_SUMS8
#undef PTXWIRE_SUMS32
#undef PTXWIRE_SUMS128

__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
__device__ __forceinline__ void store_shared(uint32_t address, uint32_t value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
/// At the mbarrier that lies at the same place in CTA `rank` of the cluster.
__device__ __forceinline__ void mbarrier_arrive_at(uint32_t mbarrier, int rank) {
  asm volatile(
      "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there]; }" ::"r"(mbarrier),
      "r"(rank)
      : "memory");
}
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

}  // namespace ptxwire
