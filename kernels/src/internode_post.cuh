// How rows and counters cross the NIC: posted by the GPU (revisions B and D) or through the host (revision
// A).
#pragma once

#include "internode.cuh"
#include "proxy.cuh"

namespace ptxwire {

/// Revision B: a queue pair per channel and peer, posted by whoever has something to send.
struct GpuPosting {
  static constexpr Revision kRevision = Revision::b;

  /// One thread puts `bytes` (that do not cross the end of a memory key).
  __device__ void put(const InternodeComm& comm, int node, int channel, void* to, const void* from,
                      int bytes) const {
    rdma_put_thread(comm.rdma, comm.rank_on(node), channel, to, from, bytes, true);
  }
  /// The same by a warp.
  __device__ void put_warp(const InternodeComm& comm, int node, int channel, void* to, const void* from,
                           int bytes, int lane) const {
    rdma_put_warp(comm.rdma, comm.rank_on(node), channel, to, from, bytes, lane, true);
  }
  /// One thread adds to a counter behind what it put in the same channel.
  __device__ void add(const InternodeComm& comm, int node, int channel, unsigned long long* counter,
                      int value) const {
    rdma_add(comm.rdma, comm.rank_on(node), channel, counter, value);
  }
  /// One lane per node gives slots back once a chunk of them is free: an addition at their producer.
  __device__ void give_back(const InternodeComm& comm, int node, int channel, int before, int now) const {
    give_back(comm, node, channel, 0, before, now);
  }
  __device__ static int least_to_give_back(int rdma_chunk) { return rdma_chunk; }

  /// Some threads of a CTA wait until everything this GPU has posted is complete. Without it a credit of the
  /// call before could arrive after its counter was cleared.
  __device__ void quiet(const InternodeComm& comm, int thread, int threads) const {
    const int queues = comm.rdma.queues_per_rank;
    for (int i = thread; i < comm.nodes * queues; i += threads)
      if (i / queues != comm.node) rdma_quiet(comm.rdma, comm.rank_on(i / queues), i % queues);
  }

 protected:
  /// On the queue `further` behind that of the channel.
  __device__ void give_back(const InternodeComm& comm, int node, int channel, int further, int before,
                            int now) const {
    if (node == comm.node)
      atomic_add_sys(comm.consumed(channel, node), static_cast<unsigned long long>(now - before));
    else
      add(comm, node, channel + further, comm.consumed(channel, comm.node), now - before);
  }
};

/// Revision D: slots are given back on queue pairs of their own, so that they do not wait behind rows.
struct ApartPosting : GpuPosting {
  static constexpr Revision kRevision = Revision::d;

  __device__ void give_back(const InternodeComm& comm, int node, int channel, int before, int now) const {
    GpuPosting::give_back(comm, node, channel, static_cast<int>(gridDim.x) / 2, before, now);
  }
};

/// Revision A: the host posts, on one queue pair per peer.
struct HostPosting {
  static constexpr Revision kRevision = Revision::a;
  ProxyState proxy;

  __device__ void put(const InternodeComm& comm, int node, int, void* to, const void* from, int bytes) const {
    proxy_request(proxy, ProxyRequest::put, comm.rank_on(node), static_cast<char*>(to) - comm.rdma.heap,
                  static_cast<const char*>(from) - comm.rdma.heap, bytes);
  }
  __device__ void put_warp(const InternodeComm& comm, int node, int channel, void* to, const void* from,
                           int bytes, int lane) const {
    if (lane == 0) put(comm, node, channel, to, from, bytes);
    __syncwarp();
  }
  __device__ void add(const InternodeComm& comm, int node, int, unsigned long long* counter,
                      int value) const {
    proxy_request(proxy, ProxyRequest::add, comm.rank_on(node),
                  reinterpret_cast<char*>(counter) - comm.rdma.heap, value, 0);
  }
  /// Whenever anything is free: the index itself is put to their producer.
  __device__ void give_back(const InternodeComm& comm, int node, int channel, int, int now) const {
    const auto value = static_cast<unsigned long long>(now);
    if (node == comm.node) {
      store_relaxed_sys(comm.consumed(channel, node), value);
      return;
    }
    unsigned long long* source = comm.returned(channel, node);
    store_relaxed_sys(source, value);  // a put on its way may carry the newer value: it is true as well
    put(comm, node, channel, comm.consumed(channel, comm.node), source, sizeof(value));
  }
  __device__ static int least_to_give_back(int) { return 1; }

  __device__ void quiet(const InternodeComm&, int thread, int) const {
    if (thread == 0) proxy_quiet(proxy);
  }
};

}  // namespace ptxwire
