// The DRAM behind one GPU's L2: pseudo channels with a data bus each, banks with open rows, write buffers.
//
// A request claims two things when it arrives: time on the data bus of its channel, and commands of its bank.
// Each is used first come, first served, and the later of the two decides, so a bank that has to change rows
// holds up nobody but those who want that bank: this stands for a controller that reorders. What it may not
// do is time itself: a row stays open for tRAS, rows change one at a time, and activations of one channel
// are tRRD apart.
//
// Not modelled: bank groups (consecutive sectors are taken to go round them), per-bank refresh, the choice of
// the oldest request over a row hit, ECC.
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/spread.hpp"
#include "models/base/units.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models {

/// Sums over the channels of one GPU since the start.
struct HbmCounters {
  uint64_t read_bytes = 0, write_bytes = 0;
  uint64_t row_hits = 0;       ///< requests to a row that was open
  uint64_t row_misses = 0;     ///< to a bank without an open row
  uint64_t row_conflicts = 0;  ///< to a bank that had to close another row first
  uint64_t turnarounds = 0;    ///< of a data bus, from reads to a burst of writes
  Picoseconds busy{};          ///< data buses: data, turnarounds and refreshes that held up somebody
  Picoseconds activating{};    ///< tRRD for every activation
};

class Hbm {
 public:
  /// `slices` of L2 share the channels; one number must be a multiple of the other. `counters` outlives this.
  Hbm(const HbmParameters& parameters, uint32_t slices, HbmCounters& counters);

  /// Reads `sectors` of a line (its number within the slice) from `now` on; returns when they are at the
  /// slice. Calls of one slice come in order of time.
  Picoseconds read(uint32_t slice, uint32_t line, uint32_t sectors, Picoseconds now);

  /// Takes `sectors` of a line into the write buffer of its channel; returns when it had room for them. The
  /// buffer goes out in bursts: when it is half full, or while nobody reads.
  Picoseconds write(uint32_t slice, uint32_t line, uint32_t sectors, Picoseconds now);

 private:
  /// A row that is, or was until lately, in the row buffer of a bank.
  struct Row {
    uint32_t id = 0;
    uint32_t epoch = 0;         ///< refreshes of the channel when it was opened; rows do not survive one
    Picoseconds column_free{};  ///< next column command
    Picoseconds precharge{};    ///< open: earliest time to close it; previous: when it is closed
  };
  struct Bank {
    Row open, previous;
  };
  struct Place {
    uint32_t channel, bank, row;
  };
  struct BufferedWrite {
    uint32_t bank, row, sectors;
  };
  struct Channel {
    Picoseconds bus_free{}, activate_free{};
    Picoseconds refresh_due{}, refreshed{};  ///< begin of the next refresh, end of the last
    Picoseconds last_write{};                ///< arrival in the buffer
    Picoseconds drained{};                   ///< end of the last burst of writes
    uint32_t epoch = 1;
    uint32_t buffered_sectors = 0;
    bool writing = false;  ///< the bus last carried writes
    std::vector<BufferedWrite> buffer;
  };

  [[nodiscard]] Place place(uint32_t slice, uint32_t line) const;
  [[nodiscard]] Picoseconds bus_time(uint32_t sectors) const { return sector_time_ * sectors; }
  Picoseconds claim_bus(Channel& channel, Picoseconds from, bool write, uint32_t sectors);
  Picoseconds column(Channel& channel, Bank& bank, uint32_t row, Picoseconds now, bool write,
                     uint32_t sectors);
  void refresh(Channel& channel, Picoseconds now);
  void drain(Channel& channel, uint32_t index, Picoseconds now);
  void drain_while_idle(Channel& channel, uint32_t index, Picoseconds now);

  Picoseconds sector_time_, activate_, precharge_, row_active_, activate_interval_;
  Picoseconds read_latency_, write_latency_;        ///< column command to data
  Picoseconds read_to_precharge_, write_recovery_;  ///< end of a column's slot to precharge
  Picoseconds read_to_write_, write_to_read_;       ///< between the slots of two columns
  Picoseconds refresh_interval_, refresh_time_;
  Picoseconds controller_;  ///< there and back, beyond the DRAM itself
  uint32_t buffer_sectors_;
  FastDivider slices_per_channel_, channels_per_slice_, lines_per_row_, banks_;
  HbmCounters& counters_;
  std::vector<Channel> channels_;
  std::vector<Bank> bank_state_;  ///< [channel][bank]
};

}  // namespace ptxwire::models
