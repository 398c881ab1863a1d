// A PCIe link between a NIC and its GPU. Each direction has its rate; both together have another, lower than
// twice that: a pair that reads and writes at once gets less than both alone (1.72 times one direction was
// measured on a later part, NVIDIA B300).
#pragma once

#include "models/base/units.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models {

enum class PcieDirection : uint8_t { to_gpu, from_gpu };

class PcieLink {
 public:
  explicit PcieLink(const NicParameters& nic)
      : packet_bytes_(nic.pcie_packet_bytes),
        header_bytes_(nic.pcie_header_bytes),
        picoseconds_per_byte_(1e12 / nic.pcie_bytes_per_second),
        duplex_picoseconds_per_byte_(1e12 / nic.pcie_duplex_bytes_per_second) {}

  /// Claims the link for `bytes` that come at `now`; returns when the last is through.
  Picoseconds claim(PcieDirection direction, uint64_t bytes, Picoseconds now) {
    const uint64_t packets = (bytes + packet_bytes_ - 1) / packet_bytes_;
    const auto wire = static_cast<double>(bytes + packets * header_bytes_);
    Server& way = ways_[static_cast<size_t>(direction)];
    const Picoseconds alone = way.claim(now, rounded(wire * picoseconds_per_byte_));
    return max(alone, both_.claim(now, rounded(wire * duplex_picoseconds_per_byte_)));
  }
  [[nodiscard]] Picoseconds busy(PcieDirection direction) const {
    return ways_[static_cast<size_t>(direction)].busy();
  }
  [[nodiscard]] Picoseconds busy_together() const { return both_.busy(); }

 private:
  static Picoseconds rounded(double picoseconds) { return {static_cast<int64_t>(picoseconds + 0.5)}; }

  uint32_t packet_bytes_, header_bytes_;
  double picoseconds_per_byte_, duplex_picoseconds_per_byte_;
  Server ways_[2];
  Server both_;
};

}  // namespace ptxwire::models
