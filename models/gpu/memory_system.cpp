#include "models/gpu/memory_system.hpp"

#include <array>
#include <cassert>

#include "models/fabric/nvlink.hpp"
#include "models/gpu/address_map.hpp"
#include "models/gpu/l2_tags.hpp"
#include "models/gpu/sm_partition.hpp"

namespace ptxwire::models {
namespace {

constexpr uint8_t kAllSectors = 0xf;
/// A load or a store's header on PCIe: transaction layer packet header and framing.
constexpr uint32_t kPcieHeaderBytes = 24;

bool returns_data(const Transaction& transaction) {
  return transaction.kind == AccessKind::load || transaction.kind == AccessKind::atomic;
}

/// Picoseconds as a linear function of bytes, for resources claimed millions of times.
class ByteTime {
 public:
  explicit ByteTime(double bytes_per_second) : picoseconds_per_byte_(1e12 / bytes_per_second) {}
  [[nodiscard]] Picoseconds operator()(uint64_t bytes) const {
    return {static_cast<int64_t>(static_cast<double>(bytes) * picoseconds_per_byte_ + 0.5)};
  }

 private:
  double picoseconds_per_byte_;
};

/// Widens a mask of missing sectors to whole blocks of `bytes` within the line.
uint8_t widen(uint8_t sectors, uint32_t bytes) {
  if (bytes >= kLineBytes) return kAllSectors;
  if (bytes < 2 * kSectorBytes) return sectors;
  return static_cast<uint8_t>(((sectors & 0x3U) != 0 ? 0x3U : 0U) | ((sectors & 0xcU) != 0 ? 0xcU : 0U));
}

}  // namespace

struct GpuMemorySystem::Implementation {
  Implementation(const Machine& machine, GpuId id, LogicalProcess& logical_process, NvlinkFabric* nvlink)
      : gpu(id),
        process(logical_process),
        fabric(nvlink),
        untimed(machine.untimed),
        sides(SmLayout(machine.sm).sides(machine.l2.partitions)),
        map(machine.l2),
        tags(map.sets_per_slice() * machine.l2.slices, machine.l2.ways),
        slices(machine.l2.slices),
        hbm(machine.hbm, machine.l2.slices, counters.hbm),
        return_ports(machine.sm.count),
        hbm_parameters(machine.hbm),
        last_arrival(size_t{machine.sm.count} * 2),
        slice_time(machine.l2.slice_bytes_per_clk * machine.sm.clock_hz),
        partition_link_time(machine.l2.partition_link_bytes_per_clk * machine.sm.clock_hz),
        return_time(machine.sm.l1_return_bytes_per_clk * machine.sm.clock_hz),
        pcie_time(machine.host.pcie_bytes_per_second),
        pcie_latency(nanoseconds(machine.host.pcie_latency_ns)) {
    const ClockDomain clock(machine.sm.clock_hz);
    request_latency = clock.time(machine.l2.request_latency_clk);
    access_latency = clock.time(machine.l2.access_latency_clk);
    response_latency = clock.time(machine.l2.response_latency_clk);
    far_request = clock.time(machine.l2.far_extra_clk / 2);
    far_response = clock.time(machine.l2.far_extra_clk) - far_request;
    atomic_interval = clock.time(machine.l2.atomic_interval_clk);
    shares.fill({&tags, &slices, &link_towards, &hbm});
  }

  /// The resources that the accesses of one kernel use.
  struct Share {
    L2Tags* tags;
    std::vector<Server>* slices;
    std::array<Server, 2>* link_towards;
    Hbm* hbm;
  };
  [[nodiscard]] const Share& share_of(const Transaction& transaction) const {
    return shares[transaction.owner];
  }

  void isolate(uint32_t owners, const SharedResources& resources) {
    own_tags = resources.l2_capacity ? std::make_unique<L2Tags>(tags.sets(), tags.ways()) : nullptr;
    own_slices.assign(slices.size(), {});
    own_link_towards = {};
    own_hbm = resources.hbm
                  ? std::make_unique<Hbm>(hbm_parameters, static_cast<uint32_t>(slices.size()), counters.hbm)
                  : nullptr;
    for (unsigned owner = 0; owner < kMaxOwners; ++owner) {
      if ((owners >> owner & 1U) == 0) continue;
      if (own_tags) shares[owner].tags = own_tags.get();
      if (resources.l2_bandwidth) shares[owner].slices = &own_slices;
      if (resources.l2_bandwidth) shares[owner].link_towards = &own_link_towards;
      if (own_hbm) shares[owner].hbm = own_hbm.get();
    }
  }

  // --- from the SM to L2 and back
  // -----------------------------------------------------------------------------------

  /// The L2 partition that is near this SM.
  [[nodiscard]] uint32_t side_of(SmId sm) const { return sides[sm.value]; }

  void submit_local(Transaction& transaction, Picoseconds now) {
    const uint32_t side = side_of(transaction.source_sm);
    uint32_t touched = 0;
    for (unsigned i = 0; i < transaction.part_count; ++i)
      touched |= 1U << map.partition(transaction.parts[i].line);
    const bool far = (touched & ~(1U << side)) != 0;
    // Nothing of an SM overtakes on the way to a partition: this keeps the order of accesses to one address.
    Picoseconds* last = &last_arrival[size_t{transaction.source_sm.value} * 2];
    Picoseconds arrival = now + request_latency + (far ? far_request : Picoseconds{});
    for (unsigned p = 0; p < 2; ++p)
      if ((touched >> p & 1U) != 0) arrival = max(arrival, last[p]);
    for (unsigned p = 0; p < 2; ++p)
      if ((touched >> p & 1U) != 0) last[p] = arrival;
    process.at(arrival, at_l2, reinterpret_cast<uint64_t>(&transaction));
  }

  void on_l2_arrival(Picoseconds now, uint64_t argument) {
    Transaction& transaction = *reinterpret_cast<Transaction*>(argument);
    uint32_t far_bytes = 0;
    Picoseconds ready = access_parts(transaction, 0, transaction.part_count, now, &far_bytes);
    transaction.client->perform(transaction, 0, transaction.part_count, now);
    if (far_bytes != 0) {
      // Data crosses towards the SM for loads and away from it for stores; each direction is a link of its
      // own.
      const uint32_t side = side_of(transaction.source_sm);
      Server& link = (*share_of(transaction).link_towards)[returns_data(transaction) ? side : 1 - side];
      ready = max(ready, link.claim(now, partition_link_time(far_bytes))) + far_response;
    }
    ready += response_latency;
    if (returns_data(transaction)) ready += return_time(transaction.bytes());
    transaction.ready = ready;
    process.at(ready, at_sm, argument);
  }

  /// The head of the transaction and its first parts.
  void prepare(uint64_t argument) const {
    prefetch_lines(reinterpret_cast<const Transaction*>(argument & ~kPortClaimed), 3);
  }

  void on_sm_return(Picoseconds now, uint64_t argument) {
    Transaction& transaction = *reinterpret_cast<Transaction*>(argument & ~kPortClaimed);
    if (returns_data(transaction) && (argument & kPortClaimed) == 0) {
      // The event stands for the last byte through an idle port. If the port was busy it comes again, later.
      const Picoseconds duration = return_time(transaction.bytes());
      const Picoseconds end = return_ports[transaction.source_sm.value].claim(now - duration, duration);
      if (end > now) {
        process.at(end, at_sm, argument | kPortClaimed);
        return;
      }
    }
    transaction.client->complete(transaction, now);
  }

  void deliver(Transaction& transaction, Picoseconds now) {
    if (!returns_data(transaction)) {
      transaction.client->complete(transaction, now);
      return;
    }
    const Picoseconds end =
        return_ports[transaction.source_sm.value].claim(now, return_time(transaction.bytes()));
    process.at(end, at_sm, reinterpret_cast<uint64_t>(&transaction) | kPortClaimed);
  }

  // --- L2 and HBM
  // ---------------------------------------------------------------------------------------------------

  /// Accesses L2 with parts [first, first + count) at `now`; returns when the last is done. Bytes of parts in
  /// the partition away from the SM are added to `far_bytes` if that is asked for.
  Picoseconds access_parts(const Transaction& transaction, unsigned first, unsigned count, Picoseconds now,
                           uint32_t* far_bytes) {
    std::array<L2AddressMap::Place, Transaction::kMaxParts> places;
    for (unsigned i = 0; i < count; ++i) {
      places[i] = map.place(transaction.parts[first + i].line);
      share_of(transaction).tags->prefetch(places[i].set);
    }
    const uint32_t side = side_of(transaction.source_sm);
    Picoseconds ready = now;
    for (unsigned i = 0; i < count; ++i) {
      const TransactionPart& part = transaction.parts[first + i];
      ready = max(ready, access(transaction, part, places[i], now));
      if (far_bytes != nullptr && places[i].partition != side) *far_bytes += part.bytes;
    }
    return ready;
  }

  Picoseconds access(const Transaction& transaction, const TransactionPart& part,
                     const L2AddressMap::Place& place, Picoseconds now) {
    if (transaction.kind == AccessKind::discard || transaction.kind == AccessKind::reprioritise)
      return control(transaction, part, place, now);
    const unsigned sectors = sector_count(part.sector_mask);
    const bool writes = transaction.kind != AccessKind::load && transaction.kind != AccessKind::prefetch;
    const bool reads = transaction.kind != AccessKind::store;
    Picoseconds service = slice_time(uint64_t{sectors} * kSectorBytes);
    if (reads && writes) service += atomic_interval * sectors;
    counters.l2_busy += service;
    const Picoseconds served = (*share_of(transaction).slices)[place.slice].claim(now, service);
    const L2Tags::Outcome outcome = use_tags(transaction, place, part.line, part.sector_mask, writes);
    Picoseconds ready = served;
    if (reads) {
      counters.l2_sector_reads += sectors;
      if (outcome.missing_sectors != 0)
        ready = fetch(transaction, part.line, place, outcome.missing_sectors, served);
    }
    if (writes) counters.l2_sector_writes += sectors;
    return max(ready, write_back(transaction, place, outcome, served)) + access_latency;
  }

  /// Looks a line up and brings it in; who had to leave for it is put to the account of the kernels.
  L2Tags::Outcome use_tags(const Transaction& transaction, const L2AddressMap::Place& place, uint64_t line,
                           uint8_t sectors, bool writes) {
    const L2Tags::Outcome outcome = share_of(transaction)
                                        .tags->access(place.set, place.tag, sectors, writes,
                                                      transaction.l2_hint.of(line), transaction.owner);
    if (!outcome.hit) {
      if (outcome.evicted) {
        ++counters.l2_evictions[transaction.owner][outcome.evicted_owner];
        --counters.l2_lines[outcome.evicted_owner];
      }
      const uint32_t lines = ++counters.l2_lines[transaction.owner];
      uint32_t& peak = counters.l2_peak_lines[transaction.owner];
      if (lines > peak) peak = lines;
    }
    return outcome;
  }

  /// discard and applypriority: tags only, at the price of one sector.
  Picoseconds control(const Transaction& transaction, const TransactionPart& part,
                      const L2AddressMap::Place& place, Picoseconds now) {
    const Picoseconds service = slice_time(kSectorBytes);
    counters.l2_busy += service;
    if (transaction.kind == AccessKind::discard) {
      share_of(transaction).tags->clean(place.set, place.tag, part.sector_mask);
    } else {
      share_of(transaction).tags->set_priority(place.set, place.tag, transaction.l2_hint.of(part.line));
    }
    return (*share_of(transaction).slices)[place.slice].claim(now, service) + access_latency;
  }

  /// Reads missing sectors from HBM, and around them as much as the access asked to prefetch. Returns when
  /// the sectors missed are there.
  Picoseconds fetch(const Transaction& transaction, uint64_t line, const L2AddressMap::Place& place,
                    uint8_t missing, Picoseconds now) {
    counters.l2_sector_read_misses += sector_count(missing);
    const uint32_t prefetch_bytes = transaction.l2_prefetch_bytes;
    if (prefetch_bytes <= kSectorBytes) return read_hbm(transaction, place, missing, now);
    const auto wanted = static_cast<uint8_t>(widen(missing, prefetch_bytes) & ~missing);
    const L2Tags::Outcome around = use_tags(transaction, place, line, wanted, false);
    const Picoseconds ready =
        read_hbm(transaction, place, static_cast<uint8_t>(missing | around.missing_sectors), now);
    if (prefetch_bytes > kLineBytes) {
      const L2AddressMap::Place other = map.place(line ^ kLineBytes);
      const L2Tags::Outcome outcome = use_tags(transaction, other, line ^ kLineBytes, kAllSectors, false);
      if (outcome.missing_sectors != 0) read_hbm(transaction, other, outcome.missing_sectors, now);
      write_back(transaction, other, outcome, now);
    }
    return ready;
  }

  // A slice sits at the controller of its channels. Its misses reach them in order, so claiming them at the
  // end of the slice's service wastes no gap.
  Picoseconds read_hbm(const Transaction& transaction, const L2AddressMap::Place& place, uint8_t sectors,
                       Picoseconds now) {
    return share_of(transaction).hbm->read(place.slice, place.line, sector_count(sectors), now);
  }

  /// Returns when the sectors evicted from the set of `place` have left the L2 for the channel's write
  /// buffer.
  Picoseconds write_back(const Transaction& transaction, const L2AddressMap::Place& place,
                         const L2Tags::Outcome& outcome, Picoseconds now) {
    if (outcome.evicted_dirty_sectors == 0) return now;
    ++counters.l2_evicted_dirty_lines;
    const uint32_t line = map.line_of_tag(place.slice, place.set, outcome.evicted_tag);
    return share_of(transaction)
        .hbm->write(place.slice, line, sector_count(outcome.evicted_dirty_sectors), now);
  }

  // --- host memory
  // --------------------------------------------------------------------------------------------------

  void submit_host(Transaction& transaction, Picoseconds now) {
    // The way to the link is the same for all SMs, so claiming it here keeps the order of arrival.
    const uint32_t payload = transaction.kind == AccessKind::load ? 0 : transaction.bytes();
    const Picoseconds sent = to_host.claim(now, pcie_time(payload + kPcieHeaderBytes));
    process.at(sent + pcie_latency, at_host, reinterpret_cast<uint64_t>(&transaction));
  }

  void on_host_arrival(Picoseconds now, uint64_t argument) {
    Transaction& transaction = *reinterpret_cast<Transaction*>(argument);
    transaction.client->perform(transaction, 0, transaction.part_count, now);
    // Writes over PCIe are posted: nothing comes back.
    Picoseconds back = now;
    if (returns_data(transaction))
      back = pcie_latency + from_host.claim(now, pcie_time(transaction.bytes() + kPcieHeaderBytes));
    process.at(back, at_sm, argument | kPortClaimed);
  }

  static constexpr uint64_t kPortClaimed = 1;  // low bit of an event's pointer

  GpuId gpu;
  LogicalProcess& process;
  NvlinkFabric* fabric;
  bool untimed;
  std::vector<uint8_t> sides;  // [sm]
  L2AddressMap map;
  L2Tags tags;
  MemoryCounters counters;
  std::vector<Server> slices;
  Hbm hbm;
  std::vector<Server> return_ports;
  std::array<Server, 2> link_towards;  // [partition]
  HbmParameters hbm_parameters;
  std::array<Share, kMaxOwners> shares;
  std::unique_ptr<L2Tags> own_tags;  // these of isolated kernels
  std::vector<Server> own_slices;
  std::array<Server, 2> own_link_towards;
  std::unique_ptr<Hbm> own_hbm;
  Server to_host, from_host;
  std::vector<Picoseconds> last_arrival;  // [sm][partition]
  ByteTime slice_time, partition_link_time, return_time, pcie_time;
  Picoseconds pcie_latency;
  Picoseconds request_latency, access_latency, response_latency, far_request, far_response, atomic_interval;
  EventMember<Implementation, &Implementation::on_l2_arrival, &Implementation::prepare> at_l2{*this};
  EventMember<Implementation, &Implementation::on_sm_return, &Implementation::prepare> at_sm{*this};
  EventMember<Implementation, &Implementation::on_host_arrival> at_host{*this};
};

GpuMemorySystem::GpuMemorySystem(const Machine& machine, GpuId gpu, LogicalProcess& process,
                                 NvlinkFabric* fabric)
    : implementation_(std::make_unique<Implementation>(machine, gpu, process, fabric)) {}
GpuMemorySystem::~GpuMemorySystem() = default;

void GpuMemorySystem::submit(Transaction& transaction, Picoseconds now) {
  assert(transaction.part_count > 0 && transaction.source_gpu == implementation_->gpu);
  if (transaction.host_memory) {
    implementation_->submit_host(transaction, now);
  } else if (transaction.remote()) {
    implementation_->fabric->inject(transaction, now);
  } else if (implementation_->untimed && transaction.answer_at_once) {
    transaction.client->perform(transaction, 0, transaction.part_count, now);
    transaction.client->complete(transaction, now);
  } else {
    implementation_->submit_local(transaction, now);
  }
}

Picoseconds GpuMemorySystem::serve_remote(Transaction& transaction, unsigned first, unsigned count,
                                          Picoseconds now) {
  const Picoseconds ready = implementation_->access_parts(transaction, first, count, now, nullptr);
  transaction.client->perform(transaction, first, count, now);
  return ready;
}

void GpuMemorySystem::deliver(Transaction& transaction, Picoseconds now) {
  implementation_->deliver(transaction, now);
}

void GpuMemorySystem::isolate(uint32_t owners, const SharedResources& resources) {
  implementation_->isolate(owners, resources);
}

void GpuMemorySystem::flush_l2() {
  implementation_->tags.invalidate_all();
  if (implementation_->own_tags) implementation_->own_tags->invalidate_all();
  implementation_->counters.l2_lines = {};
}
const MemoryCounters& GpuMemorySystem::counters() const { return implementation_->counters; }
MemoryCounters& GpuMemorySystem::counters() { return implementation_->counters; }
LogicalProcess& GpuMemorySystem::process() { return implementation_->process; }

}  // namespace ptxwire::models
