// The time half of a network interface. It runs in the logical process of its GPU and never looks at bytes: a
// client reads and writes memory when it is told to.
//
//   doorbell -> queue entries are read over PCIe -> messages, cut into packets of one MTU -> payload is read
//   over PCIe -> port (models/fabric/infiniband.hpp) ...
//   ... packet at the other NIC -> payload is written over PCIe; atomics read, change and write -> last
//   packet of a message: acknowledgement -> completion entry is written over PCIe
//
// Queues that have something to send take turns packet by packet. Reads of payload in flight and packets in
// front of the port are kept within a window, so the port stays busy and no queue gets far ahead.
//
// Order: packets of a queue pair leave in order of their messages. The responder places writes as they come;
// it acknowledges, answers reads and executes atomics when everything before them has come (RC transport).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/base/transaction.hpp"
#include "models/fabric/infiniband.hpp"
#include "models/fabric/pcie.hpp"
#include "models/gpu/memory_system.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models {

enum class NicOperation : uint8_t { write, read, atomic, nothing };
/// What of its queue must be done before a message starts (mlx5 fm field).
enum class NicFence : uint8_t { none, reads, all };

/// Outcome of a message, numbered as the syndrome of an mlx5 error completion.
enum class NicSyndrome : uint8_t {
  none = 0,
  local_length = 0x01,
  queue_operation = 0x02,
  local_protection = 0x04,
  flushed = 0x05,
  remote_invalid_request = 0x12,
  remote_access = 0x13,
  retries_exceeded = 0x15
};

/// A change of a word at the responder; operands in host order.
struct NicAtomic {
  bool compare_swap = false;
  uint8_t bytes = 8;
  uint64_t operand = 0;  ///< to add, or to swap in
  uint64_t compare = 0;
  uint64_t boundary = 0;  ///< fetch and add: bits where the carry stops
  uint64_t swap_mask = ~uint64_t{0}, compare_mask = ~uint64_t{0};

  /// The word afterwards.
  [[nodiscard]] uint64_t apply(uint64_t old) const;
};

/// One queue entry, decoded.
struct NicMessage {
  uint64_t index = 0;   ///< of its first block, never wrapped
  uint32_t blocks = 1;  ///< of 64 bytes in the ring
  NicOperation operation = NicOperation::nothing;
  NicFence fence = NicFence::none;
  NicSyndrome syndrome = NicSyndrome::none;  ///< found while decoding: nothing is sent
  bool completes = false;                    ///< asks for a completion entry
  uint8_t opcode = 0;
  uint32_t bytes = 0;  ///< of payload; atomics: of the word
  uint64_t local_address = 0, remote_address = 0;
  uint32_t local_key = 0, remote_key = 0;
  NicAtomic atomic;
  std::vector<uint8_t> inlined;  ///< payload that came with the entry
  Picoseconds rung{};            ///< last doorbell of the queue before the entry was read
};

enum class NicPacketKind : uint8_t {
  write,
  read_request,
  read_response,
  atomic,
  atomic_response,
  acknowledgement
};

inline constexpr uint32_t kMaxMtuBytes = 4096;

struct NicPacket final : FabricPacket {
  NicPacketKind kind = NicPacketKind::write;
  bool last = false;  ///< of its message
  NicSyndrome syndrome = NicSyndrome::none;
  uint8_t pending = 0;     ///< uses at the receiver that are not over
  uint32_t queue = 0;      ///< at the receiver
  uint32_t own_queue = 0;  ///< at the sender
  uint32_t bytes = 0;      ///< of data
  uint64_t sequence = 0;   ///< of a request in its queue
  uint64_t message = 0;    ///< number of the message in its queue
  uint64_t offset = 0;     ///< in the message
  uint64_t length = 0;     ///< of the whole message
  uint64_t local_address = 0, remote_address = 0;
  uint32_t local_key = 0, remote_key = 0;
  NicAtomic atomic;
  bool windowed = false;  ///< counts against the sender's window until it has departed
  alignas(16) std::array<uint8_t, kMaxMtuBytes> data;
};

/// The functional side of a NIC.
class NicClient {
 public:
  /// Entries [begin, begin + blocks) of a queue, as they are in memory now.
  virtual void decode(uint32_t queue, uint64_t begin, uint32_t blocks, std::vector<NicMessage>& messages) = 0;
  /// More entries are posted and not complete than the ring has: some were overwritten. The queue is in
  /// error.
  virtual void overflowed(uint32_t queue, uint64_t outstanding, Picoseconds now) = 0;
  /// Address of a block of the ring.
  virtual uint64_t entry_address(uint32_t queue, uint64_t index) = 0;
  /// Fills `packet.data` from the local address of the packet; not none: the key does not allow it.
  virtual NicSyndrome gather(NicPacket& packet) = 0;
  /// Whether a request that came in is allowed; of a write or a read the whole message is judged.
  virtual NicSyndrome admit(const NicPacket& packet) = 0;
  /// Answers to a read: fills packet.data from the responder's memory.
  virtual void gather_response(NicPacket& packet) = 0;
  /// Writes packet.data to memory of this NIC's GPU or host: at the remote address (write) or the local
  /// address (answers to reads and atomics) of the packet.
  virtual void place(const NicPacket& packet, Picoseconds now) = 0;
  /// Executes an atomic; the old value stays in packet.data.
  virtual void execute(NicPacket& packet, Picoseconds now) = 0;
  /// A message is over. Called in order of the queue; completion entries that are asked for are written now.
  virtual void complete(uint32_t queue, const NicMessage& message, NicSyndrome syndrome, Picoseconds now) = 0;
  /// Whether L2 and HBM of the GPU stand behind an address; else host memory.
  virtual bool in_gpu_memory(uint64_t address) = 0;
  /// Where the next completion entry goes.
  virtual uint64_t completion_address(uint32_t queue) = 0;

 protected:
  ~NicClient() = default;
};

struct NicCounters {
  uint64_t doorbells = 0, stale_doorbells = 0;  ///< stale: told nothing new
  uint64_t entries = 0, messages = 0, packets_sent = 0, packets_received = 0, completions = 0, errors = 0;
  uint64_t payload_sent_bytes = 0, payload_received_bytes = 0, wire_sent_bytes = 0;
  uint64_t messages_over = 0;      ///< acknowledged or failed
  Picoseconds time_of_messages{};  ///< of these, from doorbell to acknowledgement, summed
};

/// What a queue pair is connected to.
struct NicQueueTarget {
  NicId nic;
  uint32_t queue = 0;
  uint8_t virtual_lane = 0;
  bool adaptive = false;
};

class Nic final : public NicPort {
 public:
  /// `fabric` carries what leaves the NIC; `memory` is its GPU's.
  Nic(const Machine& machine, NicId id, LogicalProcess& process, GpuMemorySystem& memory,
      InfinibandFabric& fabric, NicClient& client);
  ~Nic();
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;

  /// Queues are numbered from 0 in the order of these calls.
  uint32_t add_queue(uint32_t entries, const NicQueueTarget& target);
  /// The producer index of a queue, of which a doorbell carries the low 16 bits.
  void post(uint32_t queue, uint16_t index, Picoseconds now);

  [[nodiscard]] const NicCounters& counters() const { return counters_; }
  [[nodiscard]] const PcieLink& pcie() const { return pcie_; }
  [[nodiscard]] bool idle() const;

  void departed(FabricPacket& packet, Picoseconds now) override;
  void arrived(FabricPacket& packet, Picoseconds now) override;
  void lost(FabricPacket& packet, Picoseconds now) override;

 private:
  struct Sent {
    NicMessage message;
    uint64_t number = 0;
    bool done = false;
    NicSyndrome syndrome = NicSyndrome::none;
  };
  struct Response {  ///< to a read
    uint64_t message = 0, offset = 0, length = 0, remote_address = 0;
    uint32_t remote_key = 0;
  };
  struct Queue {
    NicQueueTarget target;
    uint32_t entries = 0;
    // requester
    uint64_t posted = 0, fetched = 0;
    Picoseconds rung{};    ///< last doorbell
    uint64_t retired = 0;  ///< entries before it are complete
    bool fetching = false, listed = false, failed = false;
    std::vector<NicMessage> incoming;  ///< on their way over PCIe
    std::deque<NicMessage> unsent;
    uint64_t offset = 0;  ///< of the head of `unsent`
    std::deque<Sent> sent;
    uint64_t next_message = 0, next_sequence = 0;
    uint32_t reads_outstanding = 0;
    uint32_t in_turn = 0;  ///< packets between their start and their turn at the port, in order
    Picoseconds entered_port{};
    Picoseconds rate_free{};
    // responder
    uint64_t expected = 0;
    bool refusing = false;
    std::unordered_map<uint64_t, NicPacket*> early;
    std::deque<Response> responses;
  };

  // requester
  void fetch(uint32_t queue, Picoseconds now);
  void on_entries_read(Picoseconds now, uint64_t queue);
  void on_entries(Picoseconds now, uint64_t queue);
  void list(uint32_t queue, Picoseconds now);
  [[nodiscard]] bool may_send(const Queue& queue) const;
  void pump(Picoseconds now);
  void on_pump(Picoseconds now, uint64_t unused);
  void on_rate(Picoseconds now, uint64_t queue);
  void send_segment(uint32_t queue, Picoseconds now);
  void send_response(uint32_t queue, Picoseconds now);
  NicPacket& new_packet(const Queue& queue, NicPacketKind kind);
  void dispatch(NicPacket& packet, uint32_t queue, bool reads_memory, Picoseconds now);
  void on_turn(Picoseconds now, uint64_t packet);
  void on_payload_read(Picoseconds now, uint64_t packet);
  void on_port(Picoseconds now, uint64_t packet);
  void enter_port(NicPacket& packet, Queue& queue, Picoseconds ready);
  /// A message that is sent and not retired; null: it is retired.
  static Sent* find_sent(Queue& queue, uint64_t message);
  void acknowledged(uint32_t queue, uint64_t message, NicSyndrome syndrome, Picoseconds now);
  void fail(Queue& queue, uint64_t message, NicSyndrome syndrome);
  void retire(uint32_t queue, Picoseconds now);
  // responder
  void request_arrived(NicPacket& packet, Picoseconds now);
  void answer_arrived(NicPacket& packet, Picoseconds now);
  void in_order(NicPacket& packet, Picoseconds now);
  void place_after(NicPacket& packet, Picoseconds now);
  void on_place(Picoseconds now, uint64_t packet);
  void on_word_read(Picoseconds now, uint64_t packet);
  void on_word(Picoseconds now, uint64_t packet);
  void on_word_written(Picoseconds now, uint64_t packet);
  void on_complete(Picoseconds now, uint64_t completion);
  void answer(const NicPacket& request, NicPacketKind kind, NicSyndrome syndrome, Picoseconds now);
  void on_answer(Picoseconds now, uint64_t packet);
  void release(NicPacket& packet);

  /// The GPU's or host's memory is read or written now; returns when that is done.
  Picoseconds touch(uint64_t address, uint64_t bytes, AccessKind kind, Picoseconds now);

  struct NoBytes final : MemoryClient {
    void perform(Transaction&, unsigned, unsigned, Picoseconds) override {}
    void complete(Transaction&, Picoseconds) override {}
  };

  NicParameters parameters_;
  uint32_t mtu_bytes_;
  NicId id_;
  LogicalProcess& process_;
  GpuMemorySystem& memory_;
  InfinibandFabric& fabric_;
  NicClient& client_;
  Picoseconds pcie_latency_, processing_, message_time_;
  double queue_picoseconds_per_byte_;
  PcieLink pcie_;
  std::deque<Queue> queues_;
  std::deque<uint32_t> ready_;  ///< queues that may have something to send
  Server engine_;
  uint64_t window_used_ = 0;
  bool pump_scheduled_ = false;
  struct Completion {
    uint32_t queue;
    NicMessage message;
    NicSyndrome syndrome;
  };
  std::deque<Completion> completions_;  ///< being written; in order
  NoBytes no_bytes_;
  Transaction scratch_;
  NicCounters counters_;
  std::deque<NicPacket> packets_;
  std::vector<NicPacket*> free_packets_;
  EventMember<Nic, &Nic::on_entries_read> at_entries_read_{*this};
  EventMember<Nic, &Nic::on_entries> at_entries_{*this};
  EventMember<Nic, &Nic::on_pump> at_pump_{*this};
  EventMember<Nic, &Nic::on_payload_read> at_payload_read_{*this};
  EventMember<Nic, &Nic::on_turn> at_turn_{*this};
  EventMember<Nic, &Nic::on_rate> at_rate_{*this};
  EventMember<Nic, &Nic::on_port> at_port_{*this};
  EventMember<Nic, &Nic::on_answer> at_answer_{*this};
  EventMember<Nic, &Nic::on_place> at_place_{*this};
  EventMember<Nic, &Nic::on_word_read> at_word_read_{*this};
  EventMember<Nic, &Nic::on_word> at_word_{*this};
  EventMember<Nic, &Nic::on_word_written> at_word_written_{*this};
  EventMember<Nic, &Nic::on_complete> at_complete_{*this};
};

}  // namespace ptxwire::models
