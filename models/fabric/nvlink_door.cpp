#include "models/fabric/nvlink_door.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "models/fabric/switch_plane.hpp"
#include "models/gpu/memory_system.hpp"

namespace ptxwire::models {
namespace {

struct PacketSize {
  uint32_t wire_bytes = 0, packets = 0, first_packet_bytes = 0;
};

/// Packets that carry the sectors of the parts: whole sectors travel, never across a line.
PacketSize data_packets(const NvlinkPiece& piece, const NvlinkParameters& nvlink) {
  PacketSize size;
  for (unsigned i = 0; i < piece.count; ++i) {
    const TransactionPart& part = piece.transaction->parts[piece.first + i];
    const uint32_t data = sector_count(part.sector_mask) * kSectorBytes;
    const uint32_t packets = (data + nvlink.packet_payload_bytes - 1) / nvlink.packet_payload_bytes;
    if (i == 0) size.first_packet_bytes = std::min(data, nvlink.packet_payload_bytes) + nvlink.header_bytes;
    size.packets += packets;
    size.wire_bytes += data + packets * nvlink.header_bytes;
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
      egress_(nvlink.links_per_gpu) {
  for (Egress& egress : egress_) egress.credit_bytes = timing.input_buffer_bytes;
}

void NvlinkDoor::attach(GpuMemorySystem& memory) {
  memory_ = &memory;
  counters_ = &memory.counters();
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
    enqueue(piece, now + timing_.egress);
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

void NvlinkDoor::enqueue(NvlinkPiece& piece, Picoseconds arrival) {
  Egress& egress = egress_[piece.link];
  piece.ready = arrival;
  if (egress.queue.empty() && has_credit(egress, piece))
    transmit(egress, piece, arrival);
  else
    egress.queue.push(&piece);
}

bool NvlinkDoor::has_credit(const Egress& egress, const NvlinkPiece& piece) const {
  // A piece larger than the buffer goes through it alone, packet by packet.
  return egress.credit_bytes >= piece.wire_bytes || egress.credit_bytes == timing_.input_buffer_bytes;
}

/// A link serves its queue in order and its pieces need nothing but credit, so the start is known as soon as
/// there is credit: no event for the link becoming free.
void NvlinkDoor::transmit(Egress& egress, NvlinkPiece& piece, Picoseconds now) {
  egress.credit_bytes -= piece.wire_bytes;
  claim(egress, now, piece.wire_bytes, piece.payload_bytes);
  // Cut-through: the switch may pass on the first packet while the last is still on the link. It cannot run
  // dry, since all links have one rate.
  const Picoseconds start = egress.server.free_at() - timing_.transfer(piece.wire_bytes);
  const Picoseconds arrival =
      start + timing_.transfer(piece.first_packet_bytes) + timing_.link + timing_.through_switch;
  process_.send(egress.plane->process(), arrival, egress.plane->at_input(),
                reinterpret_cast<uint64_t>(&piece));
}

void NvlinkDoor::claim(Egress& egress, Picoseconds now, uint32_t wire_bytes, uint32_t payload_bytes) {
  const Picoseconds duration = timing_.transfer(wire_bytes);
  egress.server.claim(now, duration);
  egress.use.busy += duration;
  egress.use.wire_bytes += wire_bytes;
  egress.use.payload_bytes += payload_bytes;
  counters_->nvlink_sent_wire_bytes += wire_bytes;
  counters_->nvlink_sent_payload_bytes += payload_bytes;
}

void NvlinkDoor::on_credit(Picoseconds now, uint64_t packed) {
  Egress& egress = egress_[packed >> 32U];
  egress.credit_bytes += static_cast<int64_t>(packed & 0xffffffffU);
  while (!egress.queue.empty() && has_credit(egress, *egress.queue.head())) {
    NvlinkPiece& piece = *egress.queue.pop();
    const Picoseconds could_start = max(piece.ready, egress.server.free_at());
    if (could_start < now) egress.use.blocked += now - could_start;
    transmit(egress, piece, max(now, piece.ready));
  }
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
  claim(egress_[piece.link], now, piece.ack_bytes, 0);
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
  enqueue(piece, now + timing_.egress);
}

void NvlinkDoor::size_answer(NvlinkPiece& piece) const {
  const PacketSize size = data_packets(piece, nvlink_);
  piece.payload_bytes = payload_of(piece);
  piece.wire_bytes = size.wire_bytes;
  piece.first_packet_bytes = size.first_packet_bytes;
}

bool NvlinkDoor::idle() const {
  return std::all_of(egress_.begin(), egress_.end(), [&](const Egress& egress) {
    return egress.queue.empty() && egress.credit_bytes == timing_.input_buffer_bytes;
  });
}

}  // namespace ptxwire::models
