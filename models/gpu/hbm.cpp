#include "models/gpu/hbm.hpp"

#include <algorithm>

#include "models/base/transaction.hpp"

namespace ptxwire::models {

// Times on a data bus are those of the column commands. Data follow them by read_latency_ or write_latency_,
// which shifts all reads and all writes alike and matters only where one turns into the other:
//   read -> write   tCL + 2 clk - tWL   (the data of both may not meet; the 2 clk are left out)
//   write -> read   tWL + tWTR
Hbm::Hbm(const HbmParameters& parameters, uint32_t slices, HbmCounters& counters)
    : sector_time_(transfer_time(kSectorBytes, parameters.bytes_per_second / parameters.channels)),
      activate_(nanoseconds(parameters.activate_ns)),
      precharge_(nanoseconds(parameters.precharge_ns)),
      row_active_(nanoseconds(parameters.row_active_ns)),
      activate_interval_(nanoseconds(parameters.activate_interval_ns)),
      read_latency_(nanoseconds(parameters.read_latency_ns)),
      write_latency_(nanoseconds(parameters.write_latency_ns)),
      read_to_precharge_(nanoseconds(parameters.read_to_precharge_ns)),
      write_recovery_(nanoseconds(parameters.write_latency_ns + parameters.write_recovery_ns)),
      read_to_write_(max({}, nanoseconds(parameters.read_latency_ns - parameters.write_latency_ns))),
      write_to_read_(nanoseconds(parameters.write_latency_ns + parameters.write_to_read_ns)),
      refresh_interval_(nanoseconds(parameters.refresh_interval_ns)),
      refresh_time_(nanoseconds(parameters.refresh_ns)),
      controller_(nanoseconds(parameters.latency_ns)),
      buffer_sectors_(parameters.write_buffer_bytes / kSectorBytes),
      slices_per_channel_(std::max(1U, slices / parameters.channels)),
      channels_per_slice_(std::max(1U, parameters.channels / slices)),
      lines_per_row_(std::max(1U, parameters.row_bytes / kLineBytes)),
      banks_(parameters.banks),
      counters_(counters),
      channels_(parameters.channels),
      bank_state_(size_t{parameters.channels} * parameters.banks) {
  for (uint32_t i = 0; i < parameters.channels; ++i) {
    // Channels refresh one after another, so that they never all stand still.
    channels_[i].refresh_due =
        refresh_time_ == Picoseconds{}
            ? kNever
            : Picoseconds{refresh_interval_.value * (i + 1) / static_cast<int64_t>(parameters.channels)};
  }
}

/// Lines of a slice take its channels in turn, then the columns of a row, then the banks.
Hbm::Place Hbm::place(uint32_t slice, uint32_t line) const {
  const uint32_t per_slice = channels_per_slice_.divisor(), per_channel = slices_per_channel_.divisor();
  uint64_t column = line;
  uint32_t channel = slice;
  if (per_slice > 1) {
    column = channels_per_slice_.quotient(line);
    const auto turn = static_cast<uint32_t>(line - column * per_slice);
    channel = slice * per_slice + rotate_in_ring(turn, golden_hash(column), per_slice);
  } else if (per_channel > 1) {
    channel = static_cast<uint32_t>(slices_per_channel_.quotient(slice));
    column = uint64_t{line} * per_channel + (slice - channel * per_channel);
  }
  const uint64_t row = lines_per_row_.quotient(column);
  const uint64_t round = banks_.quotient(row);
  const auto turn = static_cast<uint32_t>(row - round * banks_.divisor());
  return {channel, rotate_in_ring(turn, golden_hash(round), banks_.divisor()), static_cast<uint32_t>(row)};
}

/// Begin of the slot of `sectors` on the data bus, not before `from`.
Picoseconds Hbm::claim_bus(Channel& channel, Picoseconds from, bool write, uint32_t sectors) {
  Picoseconds begin = max(from, channel.bus_free);
  const Picoseconds idle_until = begin;
  if (write != channel.writing) {
    begin = max(begin, channel.bus_free + (write ? read_to_write_ : write_to_read_));
    channel.writing = write;
    if (write) ++counters_.turnarounds;
  }
  if (begin >= channel.refresh_due) {
    refresh(channel, begin);
    begin = max(begin, channel.refreshed);
  }
  channel.bus_free = begin + bus_time(sectors);
  counters_.busy += channel.bus_free - idle_until;
  return begin;
}

/// The last refresh due by `now` begins, after what is on the bus; those before it went by while nobody
/// looked.
void Hbm::refresh(Channel& channel, Picoseconds now) {
  const int64_t missed = (now - channel.refresh_due).value / refresh_interval_.value;
  channel.refresh_due += refresh_interval_ * missed;
  channel.refreshed = max(channel.refresh_due, channel.bus_free) + refresh_time_;
  channel.activate_free = max(channel.activate_free, channel.refresh_due) + refresh_time_;
  channel.refresh_due += refresh_interval_;
  ++channel.epoch;
}

/// When the column command of a request that arrived at `now` is given.
Picoseconds Hbm::column(Channel& channel, Bank& bank, uint32_t row, Picoseconds now, bool write,
                        uint32_t sectors) {
  const Picoseconds slot = bus_time(sectors);
  const Picoseconds recovery = slot + (write ? write_recovery_ : read_to_precharge_);
  const Picoseconds arrival = max(now, channel.refreshed);
  Row& open = bank.open;
  if (open.id == row && open.epoch == channel.epoch) {
    const Picoseconds command = max(arrival, open.column_free);
    open.column_free = command + slot;
    open.precharge = max(open.precharge, command + recovery);
    ++counters_.row_hits;
    return command;
  }
  // A row that is soon to be closed for another serves what still fits.
  Row& previous = bank.previous;
  if (previous.id == row && previous.epoch == channel.epoch) {
    const Picoseconds command = max(arrival, previous.column_free);
    if (command + recovery <= previous.precharge) {
      previous.column_free = command + slot;
      ++counters_.row_hits;
      return command;
    }
  }
  Picoseconds activate = max(arrival, channel.activate_free);
  channel.activate_free = activate + activate_interval_;
  counters_.activating += activate_interval_;
  if (open.epoch == channel.epoch) {
    ++counters_.row_conflicts;
    activate = max(activate, max(arrival, open.precharge) + precharge_);
    previous = open;
    previous.precharge = activate - precharge_;
  } else {
    ++counters_.row_misses;
    // Of a row closed by a refresh; what the bank still had to do then comes after it.
    const Picoseconds closed = open.precharge + precharge_;
    if (open.epoch != 0 && closed > arrival) activate = max(activate, closed + refresh_time_);
  }
  const Picoseconds command = activate + activate_;
  open = {.id = row,
          .epoch = channel.epoch,
          .column_free = command + slot,
          .precharge = max(activate + row_active_, command + recovery)};
  return command;
}

Picoseconds Hbm::read(uint32_t slice, uint32_t line, uint32_t sectors, Picoseconds now) {
  const Place at = place(slice, line);
  Channel& channel = channels_[at.channel];
  drain_while_idle(channel, at.channel, now);
  counters_.read_bytes += uint64_t{sectors} * kSectorBytes;
  const Picoseconds begin = claim_bus(channel, now, false, sectors);
  Bank& bank = bank_state_[at.channel * banks_.divisor() + at.bank];
  const Picoseconds command = max(begin, column(channel, bank, at.row, now, false, sectors));
  return command + read_latency_ + bus_time(sectors) + controller_;
}

Picoseconds Hbm::write(uint32_t slice, uint32_t line, uint32_t sectors, Picoseconds now) {
  const Place at = place(slice, line);
  Channel& channel = channels_[at.channel];
  drain_while_idle(channel, at.channel, now);
  counters_.write_bytes += uint64_t{sectors} * kSectorBytes;
  channel.buffer.push_back({at.bank, at.row, sectors});
  channel.buffered_sectors += sectors;
  channel.last_write = now;
  if (channel.buffered_sectors * 2 >= buffer_sectors_) drain(channel, at.channel, now);
  // What the last burst has not sent yet and what came since then must fit.
  return max(now, channel.drained + bus_time(channel.buffered_sectors) - bus_time(buffer_sectors_));
}

/// All buffered writes go out. They were known for a while, so their rows are opened from `now` on.
void Hbm::drain(Channel& channel, uint32_t index, Picoseconds now) {
  const Picoseconds begin = claim_bus(channel, now, true, channel.buffered_sectors);
  Picoseconds end = channel.bus_free;
  for (const BufferedWrite& write : channel.buffer) {
    Bank& bank = bank_state_[index * banks_.divisor() + write.bank];
    const Picoseconds command = column(channel, bank, write.row, now, true, write.sectors);
    end = max(end, max(begin, command) + bus_time(write.sectors));
  }
  channel.drained = end;
  channel.buffered_sectors = 0;
  channel.buffer.clear();
}

/// Writes that lay in the buffer went out if the bus was free for long enough before `now`.
void Hbm::drain_while_idle(Channel& channel, uint32_t index, Picoseconds now) {
  if (channel.buffered_sectors == 0) return;
  const Picoseconds begin = max(channel.last_write, channel.bus_free);
  const Picoseconds end = begin + read_to_write_ + bus_time(channel.buffered_sectors) + write_to_read_;
  if (end <= now) drain(channel, index, begin);
}

}  // namespace ptxwire::models
