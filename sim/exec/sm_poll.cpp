// Polls are parked, not executed: a fragment in a loop that only polls and whose state recurs sleeps until
// one of the polled bytes changes, and resumes at the poll that would have seen it. Its instructions are
// charged as if it had run.
#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using models::Picoseconds;

namespace {

constexpr uint32_t kMostTurns = 16;
constexpr double kJoinPatience_us = 5;  ///< how long a parked fragment lets lanes of its warp wait at a join

/// By its warp. The parts of a fragment that split and came together are counted with the warp.
uint64_t executed_so_far(const Fragment& fragment) { return fragment.warp->instructions + fragment.executed; }

}  // namespace

void Sm::note_poll(Fragment& fragment, uint64_t address, uint32_t bytes, const uint8_t* value, bool shared,
                   int64_t cycle) {
  PollState& poll = fragment.poll;
  if (poll.reads.size() >= PollState::kMaxReads || bytes > 16) {
    poll.overflow = true;
    return;
  }
  PollRead read;
  read.address = address;
  read.bytes = static_cast<uint8_t>(bytes);
  read.shared = shared;
  read.sample_cycle = cycle;
  std::memcpy(read.value.data(), value, bytes);
  poll.reads.push_back(read);
}

namespace {

/// Values of the state slots in the fragment's lanes; false if one of them is still in flight.
bool gather_state(const Fragment& fragment, const ptx::PollLoop& loop, std::vector<uint32_t>& out) {
  const Warp& warp = *fragment.warp;
  const CallFrame& frame = fragment.frames.back();
  out.clear();
  for (const ptx::Slot& slot : loop.state) {
    if (slot.kind == ptx::Slot::Kind::predicate) {
      out.push_back(warp.predicates[frame.predicate_base + slot.index] & fragment.mask);
      continue;
    }
    if (slot.kind != ptx::Slot::Kind::reg) continue;
    const size_t row = frame.row_base + slot.index;
    if (warp.row_ready[row] >= kPending) return false;
    if (slot.rows >= 2) {
      for (uint32_t r = 0; r + 1 < slot.rows; r += 2) {
        const uint32_t* wide = &warp.rows[(row + r) * 32];
        for (uint32_t m = fragment.mask; m != 0; m &= m - 1) {
          const auto lane = static_cast<size_t>(std::countr_zero(m));
          out.push_back(wide[2 * lane]);
          out.push_back(wide[2 * lane + 1]);
        }
      }
    } else {
      for (uint32_t m = fragment.mask; m != 0; m &= m - 1)
        out.push_back(warp.rows[row * 32 + static_cast<size_t>(std::countr_zero(m))]);
    }
  }
  return true;
}

}  // namespace

// The fragment splits at `op`. If its lanes come together again in the same turn of a poll loop, the join
// keeps what is known of the turn; either half notes what it reads itself.
void Sm::hand_over_polls(Fragment& fragment, const ptx::Op& op) {
  const ExecProgram& program = *fragment.warp->cta->program;
  const bool inside = op.reconvergence != ptx::kNoPc && program.op(fragment.pc).in_poll_loop &&
                      program.op(op.reconvergence).in_poll_loop;
  if (inside && fragment.poll.loop != UINT32_MAX && fragment.join->poll == nullptr) {
    fragment.join->poll = std::make_unique<PollState>(std::move(fragment.poll));
    fragment.poll = {};
  }
  fragment.poll.loop = UINT32_MAX;
}

// `fragment` has come to a join: what it read counts for those who go on from there. Not if it took a turn of
// its own meanwhile or has not seen yet what it reads.
void Sm::add_polls(PollState& poll, const Fragment& fragment) {
  const PollState& part = fragment.poll;
  const std::pmr::vector<uint32_t>& pending = fragment.warp->row_pending;
  poll.remote = poll.remote || part.remote;
  poll.overflow =
      poll.overflow || part.overflow || poll.reads.size() + part.reads.size() > PollState::kMaxReads;
  poll.impure = poll.impure || part.impure || part.loop != UINT32_MAX ||
                std::any_of(pending.begin(), pending.end(),
                            [&](uint32_t lanes) { return (lanes & fragment.mask) != 0; });
  if (!poll.overflow) poll.reads.insert(poll.reads.end(), part.reads.begin(), part.reads.end());
}

// The state may recur after several turns, in a loop that looks at several places in turn: the back edge to
// compare with is kept for twice as many turns each time (Brent's search for a cycle).
void Sm::on_back_edge(Fragment& fragment, uint32_t loop_index, int64_t cycle) {
  if (!device_.group().park_polls) return;
  PollState& poll = fragment.poll;
  const ptx::PollLoop& loop = fragment.warp->cta->program->program().poll_loops[loop_index];
  std::vector<uint32_t> state;
  const bool comparable = gather_state(fragment, loop, state);
  const bool known = comparable && poll.loop == loop_index && !poll.remote && !poll.overflow &&
                     !poll.impure && !poll.reads.empty();
  const bool recurs = known && state == poll.saved;
  if (recurs && try_park(fragment, loop, cycle)) return;
  if (known && !recurs && ++poll.turns < poll.most_turns) return;
  poll.most_turns = known && !recurs ? std::min(2 * poll.most_turns, kMostTurns) : 1;
  poll.turns = 0;
  poll.loop = comparable ? loop_index : UINT32_MAX;
  poll.back_edge_cycle = cycle;
  poll.instructions = executed_so_far(fragment);
  poll.remote = poll.overflow = poll.impure = false;
  poll.reads.clear();
  poll.saved = std::move(state);
}

bool Sm::try_park(Fragment& fragment, const ptx::PollLoop& loop, int64_t cycle) {
  PollState& poll = fragment.poll;
  Cta& cta = *fragment.warp->cta;
  bool shared = false;
  for (const PollRead& read : poll.reads) {  // a write may have landed since the sample
    const uint8_t* now = nullptr;
    if (read.shared) {
      shared = true;
      now = read.address + read.bytes <= cta.shared.size() ? cta.shared.data() + read.address : nullptr;
    } else {
      now = device_.space(home_of(read.address))->resolve(read.address, read.bytes);
    }
    if (now == nullptr || std::memcmp(now, read.value.data(), read.bytes) != 0) return false;
  }
  const int64_t period = std::max<int64_t>(1, cycle - poll.back_edge_cycle);
  const uint64_t instructions = executed_so_far(fragment) - poll.instructions;
  poll.back_edge_cycle = cycle;
  poll.instructions = instructions;
  fragment.wait_detail = static_cast<uint64_t>(period);
  fragment.parked = true;
  wait(fragment, shared ? Wait::shared_memory : Wait::local_poll, cycle);
  stow_registers(fragment, loop.header);
  if (shared) cta.shared_parked.push_back(&fragment);
  for (const PollRead& read : poll.reads)
    if (!read.shared) device_.watch(read.address, read.bytes, fragment);
  for (Join* join = fragment.join; join != nullptr; join = join->parent) {
    if (join->waiting == nullptr) continue;
    const uint64_t argument = static_cast<uint64_t>(Timer::join_check) << 60 |
                              static_cast<uint64_t>(fragment.index) << 32 | fragment.token;
    device_.process().at(device_.clock().time(cycle) + models::microseconds(kJoinPatience_us), event_,
                         argument);
    break;
  }
  return true;
}

void Sm::unpark(Fragment& fragment, int64_t change_cycle) {
  PollState& poll = fragment.poll;
  const auto period = static_cast<int64_t>(fragment.wait_detail);
  int64_t polls = INT64_MAX;  // the first sample at or after the change, counted from the parked one
  for (const PollRead& read : poll.reads)
    polls = std::min(polls, std::max<int64_t>(1, (change_cycle - read.sample_cycle + period - 1) / period));
  device_.unwatch(fragment, poll.reads);
  std::erase(fragment.warp->cta->shared_parked, &fragment);
  const uint64_t skipped = static_cast<uint64_t>(polls - 1) * poll.instructions;
  device_.charge(skipped);
  fragment.warp->cta->launch->charged_instructions += skipped;
  fragment.parked = false;
  const int64_t cycle = std::max(fragment.cycle, poll.back_edge_cycle + (polls - 1) * period);
  resume(fragment, cycle);
  poll.reads.clear();
  poll.turns = 0;
  poll.back_edge_cycle = cycle;
  poll.instructions = executed_so_far(fragment);
}

void Sm::wake_parked(Fragment& fragment, Picoseconds now, uint8_t waker) {
  if (fragment.warp == nullptr || !fragment.parked) return;
  fragment.waker = waker;
  unpark(fragment, device_.cycle(now));
}

void Sm::notify_shared_write(Cta& cta, uint32_t offset, uint32_t bytes, int64_t cycle, uint8_t waker) {
  for (size_t i = 0; i < cta.shared_parked.size();) {
    Fragment& fragment = *cta.shared_parked[i];
    const bool hit =
        std::any_of(fragment.poll.reads.begin(), fragment.poll.reads.end(), [&](const PollRead& read) {
          return read.shared && read.address < uint64_t{offset} + bytes && offset < read.address + read.bytes;
        });
    if (hit) {
      fragment.waker = waker;
      unpark(fragment, cycle);  // takes it off the list
    } else {
      ++i;
    }
  }
}

bool Sm::nudge_joins(int64_t cycle) {
  bool moved = false;
  for (const std::unique_ptr<Cta>& cta : ctas_) {
    for (const std::unique_ptr<Warp>& warp : cta->warps) {
      const std::vector<Fragment*> fragments = warp->fragments;
      for (Fragment* fragment : fragments) {
        if (fragment->warp == nullptr) continue;
        for (Join* join = fragment->join; join != nullptr; join = join->parent) {
          if (join->waiting != nullptr && join->waiting != fragment) {
            release_waiting(*join, cycle);
            moved = true;
            break;
          }
        }
      }
    }
  }
  return moved;
}

bool Sm::nudge_clocks(int64_t cycle, int64_t parked_since) {
  bool moved = false;
  for (const std::unique_ptr<Cta>& cta : ctas_) {
    const std::vector<ptx::PollLoop>& loops = cta->program->program().poll_loops;
    for (const std::unique_ptr<Warp>& warp : cta->warps) {
      for (Fragment* fragment : warp->fragments) {
        if (!fragment->parked || fragment->wait_since > parked_since) continue;
        if (fragment->poll.loop == UINT32_MAX || !loops[fragment->poll.loop].reads_clock) continue;
        unpark(*fragment, cycle);
        moved = true;
      }
    }
  }
  return moved;
}

}  // namespace ptxwire::sim
