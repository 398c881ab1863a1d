#include "models/fabric/nvlink_door.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "models/gpu/memory_system.hpp"

namespace ptxwire::models {
namespace {

struct PacketSize {
  uint32_t wire_bytes = 0, packets = 0, first_packet_bytes = 0;
};

/// Packets that carry the sectors of the parts: whole sectors travel, never across a line. A sector that is
/// written in part takes a flit that says which bytes.
PacketSize data_packets(const NvlinkPiece& piece, const NvlinkParameters& nvlink) {
  PacketSize size;
  for (unsigned i = 0; i < piece.count; ++i) {
    const TransactionPart& part = piece.transaction->parts[piece.first + i];
    const uint32_t data = sector_count(part.sector_mask) * kSectorBytes;
    const uint32_t packets = (data + nvlink.packet_payload_bytes - 1) / nvlink.packet_payload_bytes;
    if (i == 0) size.first_packet_bytes = std::min(data, nvlink.packet_payload_bytes) + nvlink.header_bytes;
    size.packets += packets;
    size.wire_bytes += data + packets * nvlink.header_bytes;
    if (part.bytes < data) size.wire_bytes += nvlink.byte_enable_bytes;
  }
  return size;
}

uint32_t payload_of(const NvlinkPiece& piece) {
  uint32_t sum = 0;
  for (unsigned i = 0; i < piece.count; ++i) sum += piece.transaction->parts[piece.first + i].bytes;
  return sum;
}

bool answered_with_data(AccessKind kind) { return kind == AccessKind::load || kind == AccessKind::atomic; }

bool carries_data(AccessKind kind) {
  return kind == AccessKind::store || kind == AccessKind::atomic || kind == AccessKind::reduction;
}

}  // namespace

NvlinkDoor::NvlinkDoor(const NvlinkParameters& nvlink, const NvlinkTiming& timing, GpuId first, GpuId gpu,
                       LogicalProcess& process)
    : nvlink_(nvlink),
      timing_(timing),
      links_(nvlink.links_per_gpu),
      lines_per_granule_(nvlink.interleave_bytes / kLineBytes),
      first_(first),
      gpu_(gpu),
      process_(process),
      egress_(nvlink, timing, process) {}

void NvlinkDoor::attach(GpuMemorySystem& memory) {
  memory_ = &memory;
  counters_ = &memory.counters();
  egress_.attach(*counters_);
}

uint64_t NvlinkDoor::granule_of(uint64_t line) const {
  return lines_per_granule_.quotient(line / kLineBytes);
}

uint32_t NvlinkDoor::link_of(uint64_t granule) const {
  const uint64_t round = links_.quotient(granule);
  const auto column = static_cast<uint32_t>(granule - round * links_.divisor());
  return rotate_in_ring(column, golden_hash(round), links_.divisor());
}

// --- source
// -----------------------------------------------------------------------------------------------------------

void NvlinkDoor::inject(Transaction& transaction, Picoseconds now) {
  const uint32_t sm = transaction.source_sm.value;
  if (on_the_way_.size() <= sm) on_the_way_.resize(sm + 1);
  OnTheWay& way = on_the_way_[sm];
  // An SM says ahead when its port will have let a store pass. Taken at once it would keep the link from what
  // others send before; what the SM sends later must not overtake it either.
  way.last = max(way.last, now);
  ++way.count;
  if (way.count == 1 && way.last <= process_.now())
    on_inject(now, reinterpret_cast<uint64_t>(&transaction));
  else
    process_.at(way.last, at_inject_, reinterpret_cast<uint64_t>(&transaction));
}

void NvlinkDoor::on_inject(Picoseconds now, uint64_t argument) {
  Transaction& transaction = *reinterpret_cast<Transaction*>(argument);
  --on_the_way_[transaction.source_sm.value].count;
  transaction.parts_pending = transaction.part_count;
  unsigned first = 0;
  while (first < transaction.part_count) {
    const uint64_t granule = granule_of(transaction.parts[first].line);
    unsigned end = first + 1;
    while (end < transaction.part_count && granule_of(transaction.parts[end].line) == granule) ++end;
    NvlinkPiece& piece = *pool_.take();
    piece.transaction = &transaction;
    piece.from = gpu_;
    piece.to = {transaction.home_gpu.value - first_.value};
    piece.link = static_cast<uint16_t>(link_of(granule));
    piece.first = static_cast<uint8_t>(first);
    piece.count = static_cast<uint8_t>(end - first);
    piece.answer = false;
    size_request(piece);
    egress_.send_request(piece, transaction.source_sm, now + timing_.egress);
    first = end;
  }
}

void NvlinkDoor::size_request(NvlinkPiece& piece) const {
  const AccessKind kind = piece.transaction->kind;
  if (!carries_data(kind)) {
    piece.payload_bytes = 0;
    piece.ack_bytes = answered_with_data(kind) ? 0 : piece.count * nvlink_.ack_bytes;
    piece.wire_bytes = piece.count * nvlink_.read_request_bytes;
    piece.first_packet_bytes = nvlink_.read_request_bytes;
    return;
  }
  const PacketSize size = data_packets(piece, nvlink_);
  piece.payload_bytes = payload_of(piece);
  piece.wire_bytes = size.wire_bytes;
  piece.first_packet_bytes = size.first_packet_bytes;
  // An atomic's answer is its acknowledgement.
  piece.ack_bytes = answered_with_data(kind) ? 0 : size.packets * nvlink_.ack_bytes;
}

/// The piece itself was asked for when its message was delivered.
void NvlinkDoor::prepare(uint64_t piece) const {
  prefetch_lines(reinterpret_cast<const NvlinkPiece*>(piece)->transaction, 3);
}

void NvlinkDoor::on_acknowledgement(Picoseconds now, uint64_t argument) {
  finish(*reinterpret_cast<NvlinkPiece*>(argument), now);
}

void NvlinkDoor::finish(NvlinkPiece& piece, Picoseconds now) {
  Transaction& transaction = *piece.transaction;
  transaction.parts_pending = static_cast<uint8_t>(transaction.parts_pending - piece.count);
  pool_.put(&piece);
  if (transaction.parts_pending == 0) memory_->deliver(transaction, now);
}

// --- home
// -------------------------------------------------------------------------------------------------------------

void NvlinkDoor::on_arrival(Picoseconds now, uint64_t argument) {
  NvlinkPiece& piece = *reinterpret_cast<NvlinkPiece*>(argument);
  counters_->nvlink_received_payload_bytes += piece.payload_bytes;
  if (piece.answer)
    finish(piece, now);
  else
    serve(piece, now);
}

void NvlinkDoor::serve(NvlinkPiece& piece, Picoseconds now) {
  assert(piece.to == gpu_);
  const Picoseconds ready = memory_->serve_remote(*piece.transaction, piece.first, piece.count, now);
  if (answered_with_data(piece.transaction->kind)) {
    process_.at(ready, at_answer_ready_, reinterpret_cast<uint64_t>(&piece));
    return;
  }
  egress_.claim(piece.link, now, piece.ack_bytes);
  NvlinkDoor& source = *doors_[piece.from.value];
  process_.send(source.process_, ready + timing_.acknowledgement(), source.at_acknowledgement_,
                reinterpret_cast<uint64_t>(&piece));
}

void NvlinkDoor::on_answer_ready(Picoseconds now, uint64_t argument) {
  NvlinkPiece& piece = *reinterpret_cast<NvlinkPiece*>(argument);
  std::swap(piece.from, piece.to);
  piece.answer = true;
  piece.ack_bytes = 0;
  size_answer(piece);
  egress_.send_answer(piece, now + timing_.egress);
}

void NvlinkDoor::size_answer(NvlinkPiece& piece) const {
  const PacketSize size = data_packets(piece, nvlink_);
  piece.payload_bytes = payload_of(piece);
  piece.wire_bytes = size.wire_bytes;
  piece.first_packet_bytes = size.first_packet_bytes;
}

}  // namespace ptxwire::models
