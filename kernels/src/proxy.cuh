// RDMA posted by the host: the kernel writes a request into a ring in host memory, a CPU thread reads it and
// posts it, in order, on the one connection that it has to each peer.
//
// A request is four 8-byte words; the low 8 bits of each are the phase, lap number of the ring plus 1 (mod
// 256), so that the host sees each word come and zeroed memory means nothing. The upper 56 bits:
//
//   word  put                         add                         quiet
//   0     1 | rank << 8               2 | rank << 8               3
//   1     offset at the peer's heap   offset at the peer's heap   0
//   2     offset in the own heap      value (32 bits)             0
//   3     bytes                       0                           0
//
// The host counts the requests it is done with in `completed`: posted for put and add, for quiet when
// everything before it is complete at the peers.
#pragma once

#include "comm.cuh"

namespace ptxwire {

struct ProxyState {
  unsigned long long* ring;             ///< host-mapped, [entries][4]
  unsigned long long* issued;           ///< requests so far, in device memory
  const unsigned long long* completed;  ///< host-mapped, written by the host
  int entries;                          ///< a power of two
  int rank;
};

enum class ProxyRequest : unsigned { put = 1, add = 2, quiet = 3 };

namespace proxy_detail {

__device__ __forceinline__ void store_word(unsigned long long* address, unsigned long long payload,
                                           unsigned phase) {
  asm volatile("st.volatile.global.u64 [%0], %1;" ::"l"(address), "l"(payload << 8 | phase) : "memory");
}

}  // namespace proxy_detail

/// One thread hands a request over; what it and, through barriers, others wrote before is visible to the NIC.
/// Returns the number of the request.
__device__ __forceinline__ unsigned long long proxy_request(const ProxyState& proxy, ProxyRequest what,
                                                            int peer, int64_t remote, int64_t local,
                                                            int64_t bytes) {
  const unsigned long long number = atomicAdd(proxy.issued, 1ull);
  const auto entries = static_cast<unsigned long long>(proxy.entries);
  const Deadline deadline;
  while (number >= load_volatile(proxy.completed) + entries)
    deadline.check("request to the host", proxy.rank, 0, peer);
  const unsigned phase = static_cast<unsigned>(number / entries + 1) & 0xff;
  unsigned long long* words = proxy.ring + (number & (entries - 1)) * 4;
  fence_sys();
  proxy_detail::store_word(words, static_cast<unsigned>(what) | static_cast<unsigned long long>(peer) << 8,
                           phase);
  proxy_detail::store_word(words + 1, static_cast<unsigned long long>(remote), phase);
  proxy_detail::store_word(words + 2, static_cast<unsigned long long>(local), phase);
  proxy_detail::store_word(words + 3, static_cast<unsigned long long>(bytes), phase);
  return number;
}

/// One thread waits until everything handed over before is complete.
__device__ __forceinline__ void proxy_quiet(const ProxyState& proxy) {
  const unsigned long long number = proxy_request(proxy, ProxyRequest::quiet, 0, 0, 0, 0);
  const Deadline deadline;
  while (load_volatile(proxy.completed) <= number) deadline.check("quiet by the host", proxy.rank, 0, 0);
}

}  // namespace ptxwire
