// The two halves of a port of the InfiniBand fabric, the same in NICs and switches: an output that arbitrates
// and waits for credit, and the books of an input buffer that gives credit back.
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/fabric/infiniband_packet.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models {

/// Use of one direction of a link, and of the buffer behind the port in which the other direction ends.
struct FabricPortUse {
  uint64_t wire_bytes = 0, packets = 0;
  Picoseconds busy{};
  Picoseconds blocked{};  ///< something waited, the link was free, and no lane that waited had credit
  uint64_t peak_buffer_bytes = 0;
};

/// Latencies and sizes of the machine file, converted once.
struct InfinibandTiming {
  explicit InfinibandTiming(const InfinibandParameters& parameters)
      : link(nanoseconds(parameters.link_latency_ns)),
        through_switch(nanoseconds(parameters.switch_latency_ns)),
        lanes(parameters.virtual_lanes),
        switch_buffer_bytes(parameters.switch_buffer_bytes),
        nic_buffer_bytes(parameters.nic_buffer_bytes) {}

  Picoseconds link, through_switch;
  uint32_t lanes;
  int64_t switch_buffer_bytes, nic_buffer_bytes;
};

/// Credit counts blocks of 64 B (InfiniBand architecture, volume 1, 7.9).
constexpr uint32_t credit_bytes(uint32_t wire_bytes) { return (wire_bytes + 63U) / 64U * 64U; }

/// Argument of a credit event: port, lane and bytes.
struct FabricCredit {
  uint32_t port = 0, lane = 0, bytes = 0;
  [[nodiscard]] uint64_t pack() const { return uint64_t{port} << 36U | uint64_t{lane} << 32U | bytes; }
  static FabricCredit unpack(uint64_t packed) {
    return {static_cast<uint32_t>(packed >> 36U), static_cast<uint32_t>(packed >> 32U) & 15U,
            static_cast<uint32_t>(packed)};
  }
};

/// The port at the other end of a cable.
struct FabricPeer {
  LogicalProcess* process = nullptr;
  EventHandler* at_packet = nullptr;  ///< takes a packet, as pointer
  EventHandler* at_credit = nullptr;  ///< takes a packed FabricCredit
  uint32_t port = 0;
  bool is_nic = false;
  double fastest_bytes_per_second = 0;  ///< of the ports of a switch
  int64_t buffer_bytes = 0;             ///< per lane
};

/// Sends what waits for one link: the lanes in turn, and within a lane the inputs in turn, a packet each. A
/// lane waits for credit by itself.
class FabricOutput {
 public:
  FabricOutput(const InfinibandTiming& timing, LogicalProcess& process, double bytes_per_second,
               uint32_t inputs);

  void connect(const FabricPeer& peer);
  [[nodiscard]] const FabricPeer& peer() const { return peer_; }

  void push(uint32_t input, FabricPacket& packet);
  void add_credit(uint32_t lane, uint32_t bytes) { lanes_[lane].credit += bytes; }
  /// Starts the next packet if the link is free and one may go. The caller calls finish() at end(), then this
  /// again.
  bool start(Picoseconds now);
  [[nodiscard]] Picoseconds end() const { return sending_.end; }
  /// What is being sent, noted here: the packet itself may be in other hands before its last byte is out.
  struct Departure {
    FabricPacket* packet = nullptr;
    uint32_t input = 0, lane = 0, wire_bytes = 0;
    Picoseconds end{};
  };
  /// The last byte has left.
  Departure finish();

  /// Bytes that wait or are being sent: what adaptive routing compares.
  [[nodiscard]] uint64_t backlog_bytes() const { return backlog_bytes_; }
  [[nodiscard]] const FabricPortUse& use() const { return use_; }
  [[nodiscard]] int64_t credit(uint32_t lane) const { return lanes_[lane].credit; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Input {
    PacketQueue queue;
    uint32_t next_active = kNone;
  };
  /// Inputs with packets stand in line; who sent one and has more goes to the end.
  struct Lane {
    std::vector<Input> inputs;
    uint32_t first_active = kNone, last_active = kNone;
    int64_t credit = 0;
  };
  void enlist(Lane& lane, uint32_t input);
  [[nodiscard]] Lane* arbitrate();

  const InfinibandTiming& timing_;
  LogicalProcess& process_;
  double picoseconds_per_byte_;
  FabricPeer peer_;
  std::vector<Lane> lanes_;
  uint32_t next_lane_ = 0;
  uint64_t backlog_bytes_ = 0;
  Departure sending_;
  Picoseconds blocked_since_ = kNever;
  FabricPortUse use_;
};

/// Books of an input buffer, one part per lane. Credit goes back in lots: a message each would cost as much
/// as the packets.
class FabricInput {
 public:
  FabricInput(const InfinibandTiming& timing, LogicalProcess& process, int64_t bytes_per_lane)
      : timing_(timing), process_(process), buffer_bytes_(bytes_per_lane), lanes_(timing.lanes) {}

  void connect(const FabricPeer& sender) { sender_ = sender; }
  void take(uint32_t lane, uint32_t bytes);
  void free(uint32_t lane, uint32_t bytes, Picoseconds now);
  [[nodiscard]] uint64_t peak_bytes() const { return peak_bytes_; }
  [[nodiscard]] int64_t withheld(uint32_t lane) const { return lanes_[lane].freed; }

 private:
  static constexpr int64_t kLots = 16;
  struct Lane {
    int64_t occupied = 0;
    int64_t freed = 0;  ///< credit not yet sent back
  };
  const InfinibandTiming& timing_;
  LogicalProcess& process_;
  int64_t buffer_bytes_;
  FabricPeer sender_;
  std::vector<Lane> lanes_;
  uint64_t occupied_bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace ptxwire::models
