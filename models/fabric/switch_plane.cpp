#include "models/fabric/switch_plane.hpp"

#include <algorithm>
#include <bit>

#include "models/fabric/nvlink_door.hpp"

namespace ptxwire::models {
namespace {

/// Credits are returned in lots of this share of the buffer, or when the input runs empty: a message each
/// would cost as much as the pieces.
constexpr int64_t kCreditLots = 8;

uint32_t next_set_bit(uint64_t mask, uint32_t from) {
  const uint64_t at_or_after = mask & (~uint64_t{0} << from);
  return static_cast<uint32_t>(std::countr_zero(at_or_after != 0 ? at_or_after : mask));
}

}  // namespace

void SwitchPlane::on_input(Picoseconds now, uint64_t argument) {
  auto* piece = reinterpret_cast<NvlinkPiece*>(argument);
  Input& input = inputs_[piece->from.value];
  const bool was_empty = input.queue.empty();
  input.queue.push(piece);
  if (was_empty) advance(piece->from.value, now);
}

void SwitchPlane::advance(uint32_t input, Picoseconds now) {
  while (const NvlinkPiece* head = inputs_[input].queue.head()) {
    const uint32_t target = head->to.value;
    Output& output = outputs_[target];
    // Who finds others waiting waits too, or the round would never be fair.
    if (output.waiting != 0 || !has_room(output, head->wire_bytes, now)) {
      output.waiting |= uint64_t{1} << input;
      if (!output.wake_scheduled) wake_when_room(target, head->wire_bytes);
      return;
    }
    forward(input, now);
  }
}

void SwitchPlane::on_room(Picoseconds now, uint64_t target) {
  Output& output = outputs_[target];
  while (output.waiting != 0) {
    const uint32_t input = next_set_bit(output.waiting, output.next);
    const uint32_t bytes = inputs_[input].queue.head()->wire_bytes;
    if (!has_room(output, bytes, now)) {
      wake_when_room(static_cast<uint32_t>(target), bytes);
      return;
    }
    output.waiting &= ~(uint64_t{1} << input);
    output.next = (input + 1) % static_cast<uint32_t>(inputs_.size());
    forward(input, now);
    advance(input, now);
  }
  output.wake_scheduled = false;
}

void SwitchPlane::forward(uint32_t index, Picoseconds now) {
  Input& input = inputs_[index];
  NvlinkPiece* piece = input.queue.pop();
  input.freed_bytes += piece->wire_bytes;
  Output& output = outputs_[piece->to.value];
  claim(output, now, piece->wire_bytes, piece->payload_bytes);
  // The acknowledgement will come back through this plane a round trip later; in steady state it takes the
  // same bandwidth now, and no event.
  if (piece->ack_bytes != 0) claim(outputs_[index], now, piece->ack_bytes, 0);
  NvlinkDoor& door = *doors_[piece->to.value];
  process_.send(door.process(), output.server.free_at() + timing_.link + timing_.ingress, door.at_arrival(),
                reinterpret_cast<uint64_t>(piece));
  if (input.queue.empty() || input.freed_bytes * kCreditLots >= timing_.input_buffer_bytes) {
    NvlinkDoor& sender = *doors_[index];
    process_.send(sender.process(), now + timing_.link, sender.egress().at_credit(),
                  NvlinkEgress::pack_credit(link_, input.freed_bytes));
    input.freed_bytes = 0;
  }
}

void SwitchPlane::claim(Output& output, Picoseconds now, uint64_t wire_bytes, uint64_t payload_bytes) {
  const Picoseconds duration = timing_.transfer(wire_bytes);
  output.server.claim(now, duration);
  output.use.carry(duration, wire_bytes, payload_bytes);
}

bool SwitchPlane::has_room(const Output& output, uint32_t bytes, Picoseconds now) const {
  // The link drains at a constant rate, so the bytes buffered are the time until it is free. One piece always
  // fits.
  const Picoseconds backlog = output.server.free_at() - now;
  return backlog.value <= 0 || backlog + timing_.transfer(bytes) <= timing_.output_buffer;
}

void SwitchPlane::wake_when_room(uint32_t output, uint32_t bytes) {
  outputs_[output].wake_scheduled = true;
  const Picoseconds room = max({}, timing_.output_buffer - timing_.transfer(bytes));
  process_.at(outputs_[output].server.free_at() - room, at_room_, output);
}

bool SwitchPlane::idle() const {
  return std::all_of(inputs_.begin(), inputs_.end(),
                     [](const Input& input) { return input.queue.empty() && input.freed_bytes == 0; });
}

}  // namespace ptxwire::models
