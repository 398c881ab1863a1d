// The unit that travels over NVLink in the model, and the times all parts of the fabric share.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>

#include "models/base/transaction.hpp"
#include "models/machines/machine.hpp"
#include "support/large_pages.hpp"

namespace ptxwire::models {

/// Neighbouring parts of one transaction that share a link. Taken from the pool of the source GPU, owned by
/// whichever process it is at, back in the pool when it is answered.
struct NvlinkPiece {
  Transaction* transaction = nullptr;
  NvlinkPiece* next = nullptr;  ///< in the queue or free list it is in
  Picoseconds ready{};          ///< when it came to the port of its SM, then to the queue of its link
  GpuId from, to;  ///< in the node, of the way it is on now: exchanged when it turns into its answer
  uint32_t wire_bytes = 0, payload_bytes = 0;
  uint32_t first_packet_bytes = 0;
  uint32_t ack_bytes = 0;  ///< acknowledgements it causes on the reverse way
  uint16_t link = 0;
  uint8_t first = 0, count = 0;  ///< parts of the transaction
  bool answer = false;
};

/// First in, first out, without memory of its own.
class PieceQueue {
 public:
  [[nodiscard]] NvlinkPiece* head() const { return head_; }
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  void push(NvlinkPiece* piece) {
    piece->next = nullptr;
    (head_ == nullptr ? head_ : tail_->next) = piece;
    tail_ = piece;
  }
  NvlinkPiece* pop() {
    NvlinkPiece* piece = head_;
    head_ = piece->next;
    return piece;
  }

 private:
  NvlinkPiece* head_ = nullptr;
  NvlinkPiece* tail_ = nullptr;
};

/// Pieces for reuse. Grows in blocks up to the most ever in flight.
class PiecePool {
 public:
  NvlinkPiece* take() {
    if (free_ == nullptr) grow();
    NvlinkPiece* piece = free_;
    free_ = piece->next;
    return piece;
  }
  void put(NvlinkPiece* piece) {
    piece->next = free_;
    free_ = piece;
  }

 private:
  static constexpr size_t kBlock = 256;
  void grow() {
    for (size_t i = 0; i < kBlock; ++i) put(&pieces_.emplace_back());
  }
  NvlinkPiece* free_ = nullptr;
  std::unique_ptr<LargePages> memory_ = std::make_unique<LargePages>();
  std::pmr::deque<NvlinkPiece> pieces_{memory_.get()};
};

/// Latencies, rates and sizes of the machine file, converted once.
struct NvlinkTiming {
  explicit NvlinkTiming(const NvlinkParameters& nvlink)
      : picoseconds_per_byte(1e12 / nvlink.link_bytes_per_second),
        egress(nanoseconds(nvlink.egress_latency_ns)),
        link(nanoseconds(nvlink.link_latency_ns)),
        through_switch(nanoseconds(nvlink.switch_latency_ns)),
        ingress(nanoseconds(nvlink.ingress_latency_ns)),
        input_buffer_bytes(nvlink.switch_input_buffer_bytes),
        output_buffer(transfer(nvlink.switch_output_buffer_bytes)),
        egress_buffer(transfer(nvlink.egress_buffer_bytes)) {}

  [[nodiscard]] Picoseconds transfer(int64_t bytes) const {
    return {static_cast<int64_t>(static_cast<double>(bytes) * picoseconds_per_byte + 0.5)};
  }
  /// An acknowledgement from one crossbar to the other. It takes bandwidth as a claim and never queues:
  /// credits and acknowledgements have a virtual channel of their own.
  [[nodiscard]] Picoseconds acknowledgement() const { return egress + link * 2 + through_switch + ingress; }

  double picoseconds_per_byte;
  Picoseconds egress, link, through_switch, ingress;
  int64_t input_buffer_bytes;
  Picoseconds output_buffer, egress_buffer;  ///< as the time that their bytes take on the link
};

}  // namespace ptxwire::models
