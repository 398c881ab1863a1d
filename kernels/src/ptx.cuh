// The memory instructions of the communication kernels, one function per instruction. Each kernel says
// through these which cache hints, order and scope it wants; the simulator charges them differently.
#pragma once

#include <cstdint>

namespace ptxwire {

/// How payload that another SM or GPU wrote is loaded, and how payload is stored.
enum class PayloadHint {
  standard,     ///< ld.global.nc.L1::no_allocate.L2::256B, st.global.L1::no_allocate
  no_prefetch,  ///< as standard, without L2::256B
  plain,        ///< ld.global, st.global: may allocate in L1
  safe,  ///< ld.volatile.global, st.global.L1::no_allocate: within the guarantees of the PTX memory model
};

// --- Payload, 16 bytes per lane
// ------------------------------------------------------------------------------------------

template <PayloadHint kHint>
__device__ __forceinline__ int4 load_payload(const int4* address) {
  int4 v;
  if constexpr (kHint == PayloadHint::standard) {
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address));
  } else if constexpr (kHint == PayloadHint::no_prefetch) {
    asm volatile("ld.global.nc.L1::no_allocate.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address));
  } else if constexpr (kHint == PayloadHint::plain) {
    asm volatile("ld.global.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address)
                 : "memory");
  } else {
    asm volatile("ld.volatile.global.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address)
                 : "memory");
  }
  return v;
}

/// Loads only where `index` is not negative; otherwise the result must not be used. Predicated, so that
/// several may be in flight without branches between them.
template <PayloadHint kHint>
__device__ __forceinline__ int4 load_payload_unless_negative(int index, const int4* address) {
  int4 v;
  if constexpr (kHint == PayloadHint::standard) {
    asm volatile(
        "{ .reg .pred p; setp.ge.s32 p, %5, 0; @p ld.global.nc.L1::no_allocate.L2::256B.v4.s32 {%0, %1, %2, "
        "%3}, [%4]; }"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(address), "r"(index));
  } else if constexpr (kHint == PayloadHint::no_prefetch) {
    asm volatile(
        "{ .reg .pred p; setp.ge.s32 p, %5, 0; @p ld.global.nc.L1::no_allocate.v4.s32 {%0, %1, %2, %3}, "
        "[%4]; }"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(address), "r"(index));
  } else if constexpr (kHint == PayloadHint::plain) {
    asm volatile("{ .reg .pred p; setp.ge.s32 p, %5, 0; @p ld.global.v4.s32 {%0, %1, %2, %3}, [%4]; }"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address), "r"(index)
                 : "memory");
  } else {
    asm volatile(
        "{ .reg .pred p; setp.ge.s32 p, %5, 0; @p ld.volatile.global.v4.s32 {%0, %1, %2, %3}, [%4]; }"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(address), "r"(index)
        : "memory");
  }
  return v;
}

template <PayloadHint kHint>
__device__ __forceinline__ void store_payload(int4* address, int4 v) {
  if constexpr (kHint == PayloadHint::plain) {
    asm volatile("st.global.v4.s32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
  } else {
    asm volatile("st.global.L1::no_allocate.v4.s32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.x),
                 "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
  }
}

/// Stores only where `index` is not negative; predicated.
template <PayloadHint kHint>
__device__ __forceinline__ void store_payload_unless_negative(int index, int4* address, int4 v) {
  if constexpr (kHint == PayloadHint::plain) {
    asm volatile(
        "{ .reg .pred p; setp.ge.s32 p, %5, 0; @p st.global.v4.s32 [%0], {%1, %2, %3, %4}; }" ::"l"(address),
        "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(index)
        : "memory");
  } else {
    asm volatile(
        "{ .reg .pred p; setp.ge.s32 p, %5, 0; @p st.global.L1::no_allocate.v4.s32 [%0], {%1, %2, %3, %4}; "
        "}" ::"l"(address),
        "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(index)
        : "memory");
  }
}

/// Own input that nobody writes during the kernel: may live in L1.
__device__ __forceinline__ int4 load_read_only(const int4* address) {
  int4 v;
  asm volatile("ld.global.nc.v4.s32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address));
  return v;
}

__device__ __forceinline__ int4 load_read_only_unless_negative(int index, const int4* address) {
  int4 v;
  asm volatile("{ .reg .pred p; setp.ge.s32 p, %5, 0; @p ld.global.nc.v4.s32 {%0, %1, %2, %3}, [%4]; }"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address), "r"(index));
  return v;
}

/// Keeps the compiler from computing a pointer anew wherever it is used.
template <typename T>
__device__ __forceinline__ T* keep(T* pointer) {
  asm volatile("" : "+l"(pointer));
  return pointer;
}

// --- Payload, small words
// ------------------------------------------------------------------------------------------------

template <PayloadHint kHint>
__device__ __forceinline__ int load_payload(const int* address) {
  int v;
  if constexpr (kHint == PayloadHint::standard)
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.s32 %0, [%1];" : "=r"(v) : "l"(address));
  else if constexpr (kHint == PayloadHint::no_prefetch)
    asm volatile("ld.global.nc.L1::no_allocate.s32 %0, [%1];" : "=r"(v) : "l"(address));
  else if constexpr (kHint == PayloadHint::plain)
    asm volatile("ld.global.s32 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  else
    asm volatile("ld.volatile.global.s32 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  return v;
}

template <PayloadHint kHint>
__device__ __forceinline__ float load_payload(const float* address) {
  return __int_as_float(load_payload<kHint>(reinterpret_cast<const int*>(address)));
}

template <PayloadHint kHint>
__device__ __forceinline__ int64_t load_payload(const int64_t* address) {
  int64_t v;
  if constexpr (kHint == PayloadHint::standard)
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.s64 %0, [%1];" : "=l"(v) : "l"(address));
  else if constexpr (kHint == PayloadHint::no_prefetch)
    asm volatile("ld.global.nc.L1::no_allocate.s64 %0, [%1];" : "=l"(v) : "l"(address));
  else if constexpr (kHint == PayloadHint::plain)
    asm volatile("ld.global.s64 %0, [%1];" : "=l"(v) : "l"(address) : "memory");
  else
    asm volatile("ld.volatile.global.s64 %0, [%1];" : "=l"(v) : "l"(address) : "memory");
  return v;
}

__device__ __forceinline__ void store_payload(int* address, int v) {
  asm volatile("st.global.L1::no_allocate.s32 [%0], %1;" ::"l"(address), "r"(v) : "memory");
}
__device__ __forceinline__ void store_payload(float* address, float v) {
  store_payload(reinterpret_cast<int*>(address), __float_as_int(v));
}
__device__ __forceinline__ void store_payload(int64_t* address, int64_t v) {
  asm volatile("st.global.L1::no_allocate.s64 [%0], %1;" ::"l"(address), "l"(v) : "memory");
}

// --- Indices and counts shared between SMs and GPUs
// ----------------------------------------------------------------------

/// Publishes an index: every earlier write of the CTA (made cumulative by a barrier) is visible to who
/// acquires it.
__device__ __forceinline__ void store_release_sys(int* address, int v) {
  asm volatile("st.release.sys.global.s32 [%0], %1;" ::"l"(address), "r"(v) : "memory");
}
__device__ __forceinline__ void store_relaxed_sys(int* address, int v) {
  asm volatile("st.relaxed.sys.global.s32 [%0], %1;" ::"l"(address), "r"(v) : "memory");
}
__device__ __forceinline__ void store_relaxed_sys(unsigned long long* address, unsigned long long v) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(address), "l"(v) : "memory");
}
__device__ __forceinline__ int load_acquire_sys(const int* address) {
  int v;
  asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  return v;
}
__device__ __forceinline__ unsigned long long load_acquire_sys(const unsigned long long* address) {
  unsigned long long v;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(address) : "memory");
  return v;
}
__device__ __forceinline__ int load_volatile(const int* address) {
  int v;
  asm volatile("ld.volatile.global.s32 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  return v;
}
__device__ __forceinline__ unsigned long long load_volatile(const unsigned long long* address) {
  unsigned long long v;
  asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(v) : "l"(address) : "memory");
  return v;
}
__device__ __forceinline__ int atomic_add_sys(int* address, int v) {
  int old;
  asm volatile("atom.relaxed.sys.global.add.s32 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(v) : "memory");
  return old;
}
__device__ __forceinline__ void atomic_add_sys(unsigned long long* address, unsigned long long v) {
  asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(address), "l"(v) : "memory");
}
__device__ __forceinline__ void fence_sys() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

/// Index in shared memory that one warp publishes and another of the CTA polls.
__device__ __forceinline__ void store_release_cta(int* shared, int v) {
  asm volatile("st.release.cta.shared.s32 [%0], %1;" ::"r"(shared_address(shared)), "r"(v) : "memory");
}
__device__ __forceinline__ int load_acquire_cta(const int* shared) {
  int v;
  asm volatile("ld.acquire.cta.shared.s32 %0, [%1];" : "=r"(v) : "r"(shared_address(shared)) : "memory");
  return v;
}

/// A lock in shared memory, 0 when free. Lanes of a warp may each take one of their own, not the same.
__device__ __forceinline__ bool try_lock_cta(int* shared) {
  int old;
  asm volatile("atom.acquire.cta.shared.cas.b32 %0, [%1], 0, 1;"
               : "=r"(old)
               : "r"(shared_address(shared))
               : "memory");
  return old == 0;
}
__device__ __forceinline__ void unlock_cta(int* shared) {
  asm volatile(
      "{ .reg .b32 old; atom.release.cta.shared.exch.b32 old, [%0], 0; }" ::"r"(shared_address(shared))
      : "memory");
}

/// Joins `threads` threads (a multiple of 32) of the CTA on one of its 16 hardware barriers.
__device__ __forceinline__ void named_barrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// --- Bulk copies (revision D)
// ---------------------------------------------------------------------------------------------

/// L2 eviction policies as 64-bit policy words.
inline constexpr uint64_t kEvictFirst = 0x12f0000000000000;
inline constexpr uint64_t kEvictNormal = 0x1000000000000000;

__device__ __forceinline__ void mbarrier_init(uint32_t mbarrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(mbarrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void mbarrier_arrive_expect(uint32_t mbarrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(mbarrier), "r"(bytes)
               : "memory");
}
/// Waits until the phase with this parity has ended. The hint suspends the thread for up to about 10 ms per
/// try.
__device__ __forceinline__ void mbarrier_wait(uint32_t mbarrier, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, %3; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(mbarrier), "r"(parity), "r"(0x989680)
        : "memory");
  } while (done == 0);
}
__device__ __forceinline__ void bulk_load(uint32_t shared, const void* global, int bytes, uint32_t mbarrier,
                                          uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, "
      "[%3], %4;" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(mbarrier), "l"(policy)
      : "memory");
}
__device__ __forceinline__ void bulk_store(void* global, uint32_t shared, int bytes, uint64_t policy) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(global),
               "r"(shared), "r"(bytes), "l"(policy)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Waits until at most kPending bulk groups of this thread have not yet written their bytes.
template <int kPending>
__device__ __forceinline__ void bulk_store_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}
/// Makes shared memory written by normal stores visible to bulk copies.
__device__ __forceinline__ void fence_proxy_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace ptxwire
