#include "models/fabric/nic.hpp"

#include <algorithm>
#include <utility>

namespace ptxwire::models {

namespace {

/// Bytes around the payload of a packet: LRH 8, BTH 12, ICRC 4, VCRC 2, and what its kind adds: RETH 16,
/// AETH 4, AtomicETH 28, AtomicAckETH 8 (InfiniBand architecture; opcodes in linux/rdma/ib_pack.h).
constexpr uint32_t kBaseHeaderBytes = 26, kReth = 16, kAeth = 4, kAtomicEth = 28, kAtomicAckEth = 8;
constexpr uint32_t kEntryBytes = 64;
constexpr uint32_t kUnsentEntries = 16;  ///< further entries are not fetched before these are sent

uint32_t header_bytes(const NicPacket& packet) {
  switch (packet.kind) {
    case NicPacketKind::write:
      return kBaseHeaderBytes + (packet.offset == 0 ? kReth : 0);
    case NicPacketKind::read_request:
      return kBaseHeaderBytes + kReth;
    case NicPacketKind::read_response:
      return kBaseHeaderBytes + (packet.offset == 0 || packet.last ? kAeth : 0);
    case NicPacketKind::atomic:
      return kBaseHeaderBytes + kAtomicEth;
    case NicPacketKind::atomic_response:
      return kBaseHeaderBytes + kAeth + kAtomicAckEth;
    case NicPacketKind::acknowledgement:
      return kBaseHeaderBytes + kAeth;
  }
  return kBaseHeaderBytes;
}

bool carries_payload(NicPacketKind kind) {
  return kind == NicPacketKind::write || kind == NicPacketKind::read_response;
}

/// Headers, and payload in whole words.
uint32_t wire_bytes(const NicPacket& packet) {
  return header_bytes(packet) + (carries_payload(packet.kind) ? (packet.bytes + 3) / 4 * 4 : 0);
}

NicPacket& packet_of(uint64_t argument) { return *reinterpret_cast<NicPacket*>(argument); }
uint64_t argument_of(NicPacket& packet) { return reinterpret_cast<uint64_t>(&packet); }

bool is_read(const NicMessage& message) {
  return message.operation == NicOperation::read || message.operation == NicOperation::atomic;
}

}  // namespace

uint64_t NicAtomic::apply(uint64_t old) const {
  if (compare_swap)
    return ((old ^ compare) & compare_mask) != 0 ? old : (old & ~swap_mask) | (operand & swap_mask);
  // The carry out of a bit of the boundary is dropped: fields are added side by side.
  const uint64_t low = (old & ~boundary) + (operand & ~boundary);
  return boundary == 0 ? old + operand : low ^ ((old ^ operand) & boundary);
}

Nic::Nic(const Machine& machine, NicId id, LogicalProcess& process, GpuMemorySystem& memory,
         InfinibandFabric& fabric, NicClient& client)
    : parameters_(machine.nic),
      mtu_bytes_(std::min(machine.infiniband.mtu_bytes, kMaxMtuBytes)),
      id_(id),
      process_(process),
      memory_(memory),
      fabric_(fabric),
      client_(client),
      pcie_latency_(nanoseconds(machine.nic.pcie_latency_ns)),
      processing_(nanoseconds(machine.nic.processing_ns)),
      message_time_(nanoseconds(machine.nic.message_ns)),
      queue_picoseconds_per_byte_(1e12 / machine.nic.queue_bytes_per_second),
      pcie_(machine.nic) {
  scratch_.client = &no_bytes_;
  scratch_.source_gpu = scratch_.home_gpu = GpuId{id.value};
  fabric.attach(id, *this, ReceiveBuffer::freed_by_port);
}

Nic::~Nic() = default;

uint32_t Nic::add_queue(uint32_t entries, const NicQueueTarget& target) {
  Queue& queue = queues_.emplace_back();
  queue.entries = entries;
  queue.target = target;
  return static_cast<uint32_t>(queues_.size() - 1);
}

bool Nic::idle() const {
  return completions_.empty() && window_used_ == 0 &&
         std::all_of(queues_.begin(), queues_.end(), [](const Queue& queue) {
           return queue.posted == queue.fetched && queue.unsent.empty() && queue.sent.empty() &&
                  queue.responses.empty() && queue.early.empty();
         });
}

/// Reads or writes of the NIC end in L2 as those of a peer do.
Picoseconds Nic::touch(uint64_t address, uint64_t bytes, AccessKind kind, Picoseconds now) {
  if (bytes == 0 || !client_.in_gpu_memory(address)) return now;
  constexpr uint64_t kPerTransaction = uint64_t{Transaction::kMaxParts} * kLineBytes;
  Picoseconds ready = now;
  for (const uint64_t end = address + bytes; address < end;) {
    const uint64_t step = std::min(end, line_of(address) + kPerTransaction) - address;
    scratch_.kind = kind;
    scratch_.cover(address, step);
    ready = max(ready, memory_.serve_remote(scratch_, 0, scratch_.part_count, now));
    address += step;
  }
  return ready;
}

// ---------------------------------------------------------------------------------------------- queue
// entries

void Nic::post(uint32_t index, uint16_t producer, Picoseconds now) {
  Queue& queue = queues_[index];
  ++counters_.doorbells;
  const auto ahead = static_cast<uint16_t>(producer - static_cast<uint16_t>(queue.posted));
  if (ahead == 0 || ahead > queue.entries) {
    ++counters_.stale_doorbells;
    return;
  }
  queue.posted += ahead;
  queue.rung = now;
  if (const uint64_t outstanding = queue.posted - queue.retired;
      outstanding > queue.entries && !queue.failed) {
    client_.overflowed(index, outstanding, now);
    fail(queue, queue.sent.empty() ? queue.next_message : queue.sent.front().number,
         NicSyndrome::queue_operation);
    retire(index, now);
  }
  fetch(index, now);
}

void Nic::fetch(uint32_t index, Picoseconds now) {
  Queue& queue = queues_[index];
  if (queue.fetching || queue.fetched == queue.posted || queue.unsent.size() >= kUnsentEntries) return;
  queue.fetching = true;
  process_.at(now + pcie_latency_, at_entries_read_, index);
}

void Nic::on_entries_read(Picoseconds now, uint64_t index) {
  Queue& queue = queues_[index];
  const auto blocks =
      static_cast<uint32_t>(std::min<uint64_t>(parameters_.fetch_entries, queue.posted - queue.fetched));
  client_.decode(static_cast<uint32_t>(index), queue.fetched, blocks, queue.incoming);
  Picoseconds ready = now;
  uint64_t read = 0;
  for (NicMessage& message : queue.incoming) {
    message.rung = queue.rung;
    for (uint32_t block = 0; block < message.blocks; ++block) {
      ready = max(ready, touch(client_.entry_address(static_cast<uint32_t>(index), message.index + block),
                               kEntryBytes, AccessKind::load, now));
    }
    read += message.blocks;
  }
  queue.fetched += read;
  counters_.entries += read;
  ready = pcie_.claim(PcieDirection::from_gpu, read * kEntryBytes, ready);
  process_.at(ready + pcie_latency_, at_entries_, index);
}

void Nic::on_entries(Picoseconds now, uint64_t index) {
  Queue& queue = queues_[index];
  for (NicMessage& message : queue.incoming) queue.unsent.push_back(std::move(message));
  queue.incoming.clear();
  queue.fetching = false;
  if (queue.failed) {
    fail(queue, queue.next_message, NicSyndrome::flushed);
    retire(static_cast<uint32_t>(index), now);
  }
  list(static_cast<uint32_t>(index), now);
  fetch(static_cast<uint32_t>(index), now);
}

// ---------------------------------------------------------------------------------------------- requester

bool Nic::may_send(const Queue& queue) const {
  if (!queue.responses.empty()) return true;
  if (queue.failed || queue.unsent.empty()) return false;
  if (queue.offset != 0) return true;
  const NicMessage& message = queue.unsent.front();
  if (message.fence == NicFence::all && !queue.sent.empty()) return false;
  if (message.fence == NicFence::reads && queue.reads_outstanding != 0) return false;
  return !is_read(message) || queue.reads_outstanding < parameters_.outstanding_reads;
}

void Nic::list(uint32_t index, Picoseconds now) {
  Queue& queue = queues_[index];
  if (queue.listed || !may_send(queue)) return;
  queue.listed = true;
  ready_.push_back(index);
  pump(now);
}

void Nic::on_rate(Picoseconds now, uint64_t index) {
  ready_.push_back(static_cast<uint32_t>(index));
  pump(now);
}

void Nic::on_pump(Picoseconds now, uint64_t) {
  pump_scheduled_ = false;
  pump(now);
}

/// Queues take turns, a packet each, while there is room in the window.
void Nic::pump(Picoseconds now) {
  while (!ready_.empty() && window_used_ < parameters_.window_bytes) {
    if (engine_.free_at() > now) {
      if (!pump_scheduled_) process_.at(engine_.free_at(), at_pump_, 0);
      pump_scheduled_ = true;
      return;
    }
    const uint32_t index = ready_.front();
    Queue& queue = queues_[index];
    ready_.pop_front();
    if (queue.rate_free > now) {  // comes back by itself
      process_.at(queue.rate_free, at_rate_, index);
      continue;
    }
    queue.listed = false;
    if (!may_send(queue)) continue;
    if (!queue.responses.empty())
      send_response(index, now);
    else
      send_segment(index, now);
    if (!queue.listed && may_send(queue)) {
      queue.listed = true;
      ready_.push_back(index);
    }
  }
}

NicPacket& Nic::new_packet(const Queue& queue, NicPacketKind kind) {
  if (free_packets_.empty()) free_packets_.push_back(&packets_.emplace_back());
  NicPacket& packet = *free_packets_.back();
  free_packets_.pop_back();
  packet.from = id_;
  packet.to = queue.target.nic;
  packet.flow = queue.target.queue;
  packet.virtual_lane = queue.target.virtual_lane;
  packet.adaptive = queue.target.adaptive;
  packet.queue = queue.target.queue;
  packet.kind = kind;
  packet.last = true;
  packet.windowed = false;
  packet.syndrome = NicSyndrome::none;
  packet.pending = 0;
  packet.bytes = 0;
  packet.offset = packet.length = 0;
  return packet;
}

void Nic::send_segment(uint32_t index, Picoseconds now) {
  Queue& queue = queues_[index];
  NicMessage& message = queue.unsent.front();
  if (queue.offset == 0) {
    engine_.claim(now, message_time_);
    ++counters_.messages;
  }
  const uint64_t number = queue.next_message;
  const bool sends = message.syndrome == NicSyndrome::none && message.operation != NicOperation::nothing;
  bool over = true;
  if (sends) {
    const auto kind = message.operation == NicOperation::write  ? NicPacketKind::write
                      : message.operation == NicOperation::read ? NicPacketKind::read_request
                                                                : NicPacketKind::atomic;
    NicPacket& packet = new_packet(queue, kind);
    packet.sequence = queue.next_sequence++;
    packet.message = number;
    packet.offset = queue.offset;
    packet.length = message.bytes;
    packet.bytes = message.bytes;
    packet.remote_address = message.remote_address + queue.offset;
    packet.remote_key = message.remote_key;
    packet.local_address = message.local_address + queue.offset;
    packet.local_key = message.local_key;
    packet.atomic = message.atomic;
    if (kind == NicPacketKind::write) {
      packet.bytes = static_cast<uint32_t>(std::min<uint64_t>(mtu_bytes_, message.bytes - queue.offset));
      queue.offset += packet.bytes;
      over = packet.last = queue.offset == message.bytes;
      if (!message.inlined.empty())
        std::copy_n(message.inlined.begin() + static_cast<std::ptrdiff_t>(packet.offset), packet.bytes,
                    packet.data.begin());
    }
    const bool reads_memory = kind == NicPacketKind::write && message.inlined.empty() && packet.bytes != 0;
    dispatch(packet, index, reads_memory, now);
  }
  if (!over) return;
  if (is_read(message) && sends) ++queue.reads_outstanding;
  const bool done = !sends;
  const NicSyndrome syndrome = message.syndrome;
  queue.sent.push_back({std::move(message), number, done, syndrome});
  queue.unsent.pop_front();
  queue.offset = 0;
  ++queue.next_message;
  if (syndrome != NicSyndrome::none) fail(queue, number, syndrome);
  if (done) retire(index, now);
  fetch(index, now);
}

/// The next packet of the answer to a read, at the responder.
void Nic::send_response(uint32_t index, Picoseconds now) {
  Queue& queue = queues_[index];
  Response& response = queue.responses.front();
  NicPacket& packet = new_packet(queue, NicPacketKind::read_response);
  packet.message = response.message;
  packet.offset = response.offset;
  packet.length = response.length;
  packet.bytes = static_cast<uint32_t>(std::min<uint64_t>(mtu_bytes_, response.length - response.offset));
  packet.remote_address = response.remote_address + response.offset;
  packet.remote_key = response.remote_key;
  response.offset += packet.bytes;
  packet.last = response.offset == response.length;
  if (packet.last) queue.responses.pop_front();
  dispatch(packet, index, packet.bytes != 0, now);
}

/// On its way to the port, past the GPU's memory if its payload comes from there.
void Nic::dispatch(NicPacket& packet, uint32_t index, bool reads_memory, Picoseconds now) {
  Queue& queue = queues_[index];
  packet.own_queue = index;
  packet.wire_bytes = wire_bytes(packet);
  packet.windowed = true;
  window_used_ += packet.wire_bytes;
  const auto rate_time = static_cast<int64_t>(packet.wire_bytes * queue_picoseconds_per_byte_);
  queue.rate_free = max(now, queue.rate_free) + Picoseconds{rate_time};
  const Picoseconds start = max(now, engine_.free_at());
  // Nothing of a queue overtakes what reads memory before it.
  if (!reads_memory && queue.in_turn == 0) return enter_port(packet, queue, start + processing_);
  ++queue.in_turn;
  process_.at(start + pcie_latency_, reads_memory ? static_cast<EventHandler&>(at_payload_read_) : at_turn_,
              argument_of(packet));
}

void Nic::on_turn(Picoseconds now, uint64_t argument) {
  NicPacket& packet = packet_of(argument);
  Queue& queue = queues_[packet.own_queue];
  --queue.in_turn;
  enter_port(packet, queue, now);
}

void Nic::on_payload_read(Picoseconds now, uint64_t argument) {
  NicPacket& packet = packet_of(argument);
  const bool response = packet.kind == NicPacketKind::read_response;
  if (response)
    client_.gather_response(packet);
  else
    packet.syndrome = client_.gather(packet);
  Picoseconds ready = now;
  if (packet.syndrome == NicSyndrome::none)
    ready =
        touch(response ? packet.remote_address : packet.local_address, packet.bytes, AccessKind::load, now);
  counters_.payload_sent_bytes += packet.bytes;
  ready = pcie_.claim(PcieDirection::from_gpu, packet.bytes, ready) + pcie_latency_;
  Queue& queue = queues_[packet.own_queue];
  --queue.in_turn;
  enter_port(packet, queue, ready + processing_);
}

void Nic::enter_port(NicPacket& packet, Queue& queue, Picoseconds ready) {
  queue.entered_port = max(ready, queue.entered_port);
  process_.at(queue.entered_port, at_port_, argument_of(packet));
}

void Nic::on_port(Picoseconds now, uint64_t argument) {
  NicPacket& packet = packet_of(argument);
  Queue& queue = queues_[packet.own_queue];
  if (packet.syndrome != NicSyndrome::none && packet.kind == NicPacketKind::write) {
    // Its own key does not cover it: nothing more of this queue leaves.
    const uint64_t message = packet.message;
    const NicSyndrome syndrome = packet.syndrome;
    const uint32_t index = packet.own_queue;
    window_used_ -= packet.wire_bytes;
    free_packets_.push_back(&packet);
    fail(queue, message, syndrome);
    retire(index, now);
    pump(now);
    return;
  }
  ++counters_.packets_sent;
  counters_.wire_sent_bytes += packet.wire_bytes;
  fabric_.send(packet, now);
}

void Nic::departed(FabricPacket& fabric_packet, Picoseconds now) {
  auto& packet = static_cast<NicPacket&>(fabric_packet);
  if (!packet.windowed) return;
  window_used_ -= packet.wire_bytes;
  pump(now);
}

/// Links on the way are down: to the sender it looks as if the responder never answered.
void Nic::lost(FabricPacket& fabric_packet, Picoseconds now) {
  auto& packet = static_cast<NicPacket&>(fabric_packet);
  const uint32_t index = packet.own_queue;
  if (packet.windowed) window_used_ -= packet.wire_bytes;
  const bool request = packet.kind == NicPacketKind::write || packet.kind == NicPacketKind::read_request ||
                       packet.kind == NicPacketKind::atomic;
  const uint64_t message = packet.message;
  free_packets_.push_back(&packet);
  if (request) {
    fail(queues_[index], message, NicSyndrome::retries_exceeded);
    retire(index, now);
  }
  pump(now);
}

/// A message ends with an error: the queue is in error from it on, and everything behind it is flushed.
void Nic::fail(Queue& queue, uint64_t message, NicSyndrome syndrome) {
  queue.failed = true;
  while (!queue.unsent.empty()) {
    queue.sent.push_back({std::move(queue.unsent.front()), queue.next_message++, false, NicSyndrome::none});
    queue.unsent.pop_front();
  }
  queue.offset = 0;
  for (Sent& sent : queue.sent) {
    if (sent.number < message) continue;
    if (sent.number == message && sent.syndrome == NicSyndrome::none && syndrome != NicSyndrome::flushed)
      sent.syndrome = syndrome;
    if (sent.syndrome == NicSyndrome::none) sent.syndrome = NicSyndrome::flushed;
    sent.done = true;
  }
}

/// They have numbers without gaps.
Nic::Sent* Nic::find_sent(Queue& queue, uint64_t message) {
  if (queue.sent.empty() || message < queue.sent.front().number) return nullptr;
  const uint64_t place = message - queue.sent.front().number;
  return place < queue.sent.size() ? &queue.sent[place] : nullptr;
}

void Nic::acknowledged(uint32_t index, uint64_t message, NicSyndrome syndrome, Picoseconds now) {
  Queue& queue = queues_[index];
  if (syndrome != NicSyndrome::none) {
    fail(queue, message, syndrome);
  } else {
    Sent* sent = find_sent(queue, message);
    if (sent == nullptr || sent->done) return;  // flushed meanwhile
    sent->done = true;
    if (is_read(sent->message)) --queue.reads_outstanding;
  }
  retire(index, now);
  list(index, now);
}

/// Completes the oldest messages that are done.
void Nic::retire(uint32_t index, Picoseconds now) {
  Queue& queue = queues_[index];
  while (!queue.sent.empty() && queue.sent.front().done) {
    Sent& sent = queue.sent.front();
    const NicSyndrome syndrome = sent.syndrome;
    queue.retired = sent.message.index + sent.message.blocks;
    if (syndrome != NicSyndrome::none) ++counters_.errors;
    ++counters_.messages_over;
    counters_.time_of_messages += now - sent.message.rung;
    if (sent.message.completes || syndrome != NicSyndrome::none) {
      completions_.push_back({index, std::move(sent.message), syndrome});
      process_.at(pcie_.claim(PcieDirection::to_gpu, kEntryBytes, now) + pcie_latency_, at_complete_, 0);
    }
    queue.sent.pop_front();
  }
}

void Nic::on_complete(Picoseconds now, uint64_t) {
  const Completion& completion = completions_.front();
  touch(client_.completion_address(completion.queue), kEntryBytes, AccessKind::store, now);
  client_.complete(completion.queue, completion.message, completion.syndrome, now);
  ++counters_.completions;
  completions_.pop_front();
}

// ---------------------------------------------------------------------------------------------- arrivals

void Nic::arrived(FabricPacket& fabric_packet, Picoseconds now) {
  auto& packet = static_cast<NicPacket&>(fabric_packet);
  ++counters_.packets_received;
  if (!carries_payload(packet.kind)) fabric_.freed(id_, packet.virtual_lane, packet.wire_bytes, now);
  switch (packet.kind) {
    case NicPacketKind::write:
    case NicPacketKind::read_request:
    case NicPacketKind::atomic:
      request_arrived(packet, now);
      break;
    case NicPacketKind::read_response:
    case NicPacketKind::atomic_response:
    case NicPacketKind::acknowledgement:
      answer_arrived(packet, now);
      break;
  }
}

void Nic::request_arrived(NicPacket& packet, Picoseconds now) {
  Queue& queue = queues_[packet.queue];
  packet.pending = 1;
  if (packet.syndrome == NicSyndrome::none && !queue.refusing) packet.syndrome = client_.admit(packet);
  if (packet.kind == NicPacketKind::write) {
    if (packet.syndrome == NicSyndrome::none && !queue.refusing && packet.bytes != 0)
      place_after(packet, now);
    else
      fabric_.freed(id_, packet.virtual_lane, packet.wire_bytes, now);
  }
  if (packet.sequence != queue.expected) {
    queue.early.emplace(packet.sequence, &packet);
    return;
  }
  in_order(packet, now);
  for (++queue.expected;; ++queue.expected) {
    const auto next = queue.early.find(queue.expected);
    if (next == queue.early.end()) return;
    NicPacket& waiting = *next->second;
    queue.early.erase(next);
    in_order(waiting, now);
  }
}

/// Everything that its queue was sent before has come.
void Nic::in_order(NicPacket& packet, Picoseconds now) {
  Queue& queue = queues_[packet.queue];
  if (queue.refusing) return release(packet);
  if (packet.syndrome != NicSyndrome::none) {
    queue.refusing = true;
    answer(packet, NicPacketKind::acknowledgement, packet.syndrome, now);
    return release(packet);
  }
  if (packet.kind == NicPacketKind::atomic) {
    process_.at(now + processing_ + pcie_latency_, at_word_read_, argument_of(packet));
    return;
  }
  if (packet.kind == NicPacketKind::read_request) {
    queue.responses.push_back({packet.message, 0, packet.length, packet.remote_address, packet.remote_key});
    list(packet.queue, now);
  } else if (packet.last) {
    answer(packet, NicPacketKind::acknowledgement, NicSyndrome::none, now);
  }
  release(packet);
}

/// Payload goes to memory as a posted write.
void Nic::place_after(NicPacket& packet, Picoseconds now) {
  ++packet.pending;
  const Picoseconds through = pcie_.claim(PcieDirection::to_gpu, packet.bytes, now + processing_);
  process_.at(through + pcie_latency_, at_place_, argument_of(packet));
}

void Nic::on_place(Picoseconds now, uint64_t argument) {
  NicPacket& packet = packet_of(argument);
  const bool answer =
      packet.kind == NicPacketKind::read_response || packet.kind == NicPacketKind::atomic_response;
  if (carries_payload(packet.kind)) fabric_.freed(id_, packet.virtual_lane, packet.wire_bytes, now);
  touch(answer ? packet.local_address : packet.remote_address, packet.bytes, AccessKind::store, now);
  client_.place(packet, now);
  counters_.payload_received_bytes += packet.bytes;
  if (answer && packet.last) acknowledged(packet.queue, packet.message, NicSyndrome::none, now);
  release(packet);
}

// An atomic reads the word over PCIe, changes it and writes it back.
void Nic::on_word_read(Picoseconds now, uint64_t argument) {
  NicPacket& packet = packet_of(argument);
  const Picoseconds ready = touch(packet.remote_address, packet.bytes, AccessKind::load, now);
  process_.at(ready + pcie_latency_, at_word_, argument);
}

void Nic::on_word(Picoseconds now, uint64_t argument) {
  const Picoseconds through = pcie_.claim(PcieDirection::to_gpu, packet_of(argument).bytes, now);
  process_.at(through + pcie_latency_, at_word_written_, argument);
}

void Nic::on_word_written(Picoseconds now, uint64_t argument) {
  NicPacket& packet = packet_of(argument);
  touch(packet.remote_address, packet.bytes, AccessKind::store, now);
  client_.execute(packet, now);
  answer(packet, NicPacketKind::atomic_response, NicSyndrome::none, now);
  release(packet);
}

void Nic::answer(const NicPacket& request, NicPacketKind kind, NicSyndrome syndrome, Picoseconds now) {
  NicPacket& packet = new_packet(queues_[request.queue], kind);
  packet.own_queue = request.queue;
  packet.message = request.message;
  packet.bytes = kind == NicPacketKind::atomic_response ? request.bytes : 0;
  if (packet.bytes != 0) std::copy_n(request.data.begin(), packet.bytes, packet.data.begin());
  packet.atomic = request.atomic;
  packet.syndrome = syndrome;
  packet.wire_bytes = wire_bytes(packet);
  process_.at(now + processing_, at_answer_, argument_of(packet));
}

void Nic::on_answer(Picoseconds now, uint64_t argument) {
  NicPacket& packet = packet_of(argument);
  ++counters_.packets_sent;
  counters_.wire_sent_bytes += packet.wire_bytes;
  fabric_.send(packet, now);
}

void Nic::answer_arrived(NicPacket& packet, Picoseconds now) {
  packet.pending = 1;
  Queue& queue = queues_[packet.queue];
  const Sent* sent = find_sent(queue, packet.message);
  const bool wanted = sent != nullptr && !sent->done;
  if (packet.kind == NicPacketKind::acknowledgement) {
    acknowledged(packet.queue, packet.message, packet.syndrome, now);
  } else if (wanted) {
    packet.local_address = sent->message.local_address + packet.offset;
    packet.local_key = sent->message.local_key;
    place_after(packet, now);
  } else if (carries_payload(packet.kind)) {
    fabric_.freed(id_, packet.virtual_lane, packet.wire_bytes, now);
  }
  release(packet);
}

void Nic::release(NicPacket& packet) {
  if (--packet.pending == 0) free_packets_.push_back(&packet);
}

}  // namespace ptxwire::models
