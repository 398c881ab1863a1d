#include "sim/exec/sm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace ptxwire::sim {

using models::Picoseconds;
using ptx::Op;
using ptx::Slot;

Sm::Sm(Device& device, uint32_t id)
    : device_(device), parameters_(device.group().machine->sm), id_(id), fragments_(device.warp_memory()) {}

Sm::~Sm() = default;

// ------------------------------------------------------------------------------------------------ residency

Cta& Sm::place(Launch& launch, uint64_t linear, uint32_t first_scheduler, uint32_t shared_bytes,
               int64_t cycle) {
  free_released();
  auto owned = std::make_unique<Cta>();
  Cta& cta = *owned;
  cta.launch = &launch;
  cta.program = launch.program;
  cta.constants = launch.constants;
  cta.function = launch.function;
  cta.linear = static_cast<uint32_t>(linear);
  cta.id = {static_cast<uint32_t>(linear % launch.grid[0]),
            static_cast<uint32_t>(linear / launch.grid[0] % launch.grid[1]),
            static_cast<uint32_t>(linear / launch.grid[0] / launch.grid[1])};
  cta.sm = id_;
  cta.first_scheduler = first_scheduler;
  cta.shared.resize(launch.footprint.shared_bytes);
  cta.threads = launch.footprint.threads;
  cta.threads_alive = cta.threads;
  const uint32_t warps = launch.footprint.warps();
  if (ctas_.empty())
    l1_.resize(parameters_.l1_bytes > shared_bytes ? parameters_.l1_bytes - shared_bytes : 0);
  l1_.invalidate();
  const ptx::ProgramFunction& function = cta.program->program().functions[cta.function];
  for (uint32_t w = 0; w < warps; ++w) {
    auto warp = std::make_unique<Warp>(device_.warp_memory(), device_.register_memory());
    warp->cta = &cta;
    warp->index = w;
    warp->scheduler = (first_scheduler + w) % kSchedulers;
    const uint32_t lanes = std::min(32U, cta.threads - w * 32);
    warp->existing = lanes == 32 ? ~0U : (1U << lanes) - 1;
    warp->alive = warp->existing;
    warp->rows.resize(function.register_rows);
    warp->row_ready.assign(function.register_rows, 0);
    warp->row_pending.assign(function.register_rows, 0);
    warp->predicates.assign(function.predicates, 0);
    warp->predicate_ready.assign(function.predicates, 0);
    warp->local_bytes = function.frame_bytes;
    warp->local.assign(size_t{function.frame_bytes} * 32, 0);
    warp->started = cycle;
    cta.warps.push_back(std::move(warp));
  }
  cta.warps_alive = warps;
  ctas_.push_back(std::move(owned));
  return cta;
}

void Sm::start(Cta& cta, int64_t cycle) {
  const uint32_t entry = cta.program->program().functions[cta.function].entry_pc;
  for (const std::unique_ptr<Warp>& warp : cta.warps) {
    Fragment& fragment = new_fragment(*warp);
    fragment.pc = entry;
    fragment.mask = warp->existing;
    fragment.cycle = cycle;
    fragment.frames.push_back({.return_pc = ptx::kNoPc, .function = cta.function});
    schedule(fragment, cycle);
  }
}

void Sm::release_cta_later(Cta& cta) { releasable_.push_back(&cta); }

void Sm::free_released() {
  for (Cta* done : releasable_)
    std::erase_if(retired_, [&](const std::unique_ptr<Cta>& owned) { return owned.get() == done; });
  releasable_.clear();
}

// ------------------------------------------------------------------------------------------------ fragments
// and events

Fragment& Sm::new_fragment(Warp& warp) {
  uint32_t index = 0;
  if (free_fragments_.empty()) {
    index = static_cast<uint32_t>(fragments_.size());
    fragments_.emplace_back();
  } else {
    index = free_fragments_.back();
    free_fragments_.pop_back();
  }
  Fragment& fragment = fragments_[index];
  const uint32_t token = fragment.token + 1;
  fragment = {};
  fragment.token = token;
  fragment.index = index;
  fragment.warp = &warp;
  warp.fragments.push_back(&fragment);
  return fragment;
}

void Sm::free_fragment(Fragment& fragment) {
  Warp& warp = *fragment.warp;
  std::erase(warp.fragments, &fragment);
  warp.instructions += fragment.executed;
  fragment.executed = 0;
  fragment.warp = nullptr;
  ++fragment.token;
  free_fragments_.push_back(fragment.index);
}

void Sm::schedule(Fragment& fragment, int64_t cycle) {
  ++fragment.token;
  const uint64_t argument = static_cast<uint64_t>(Timer::resume) << 60 |
                            static_cast<uint64_t>(fragment.index) << 32 | fragment.token;
  device_.process().at(device_.clock().time(cycle), event_, argument);
  prefetch_operands(fragment);
}

// What the next op waits for and reads, which may be long out of the host's cache.
void Sm::prefetch_operands(const Fragment& fragment) {
  const Warp& warp = *fragment.warp;
  const ExecOp& exec = warp.cta->program->op(fragment.pc);
  const uint32_t row_base = fragment.frames.back().row_base;
  for (uint32_t i = 0; i < exec.waits; ++i) {
    const size_t row = size_t{row_base} + exec.wait_rows[i];
    models::prefetch_lines(warp.row_ready.data() + row, 1);
    models::prefetch_lines(warp.rows.data() + row * 32, 2);
  }
}

void Sm::prepare(uint64_t argument) const {
  if (static_cast<Timer>(argument >> 60) != Timer::resume) return;
  models::prefetch_lines(&fragments_[static_cast<uint32_t>(argument >> 32 & 0x0FFFFFFF)], 3);
}

void Sm::on_event(Picoseconds now, uint64_t argument) {
  free_released();
  const auto timer = static_cast<Timer>(argument >> 60);
  const auto index = static_cast<uint32_t>(argument >> 32 & 0x0FFFFFFF);
  if (timer == Timer::chunk) {
    bulk_finished(bulk_copies_[index], device_.cycle(now));
    return;
  }
  Fragment& fragment = fragments_[index];
  if (fragment.warp == nullptr || fragment.token != static_cast<uint32_t>(argument)) return;
  const int64_t cycle = device_.cycle(now);
  if (timer == Timer::join_check) {
    for (Join* join = fragment.join; join != nullptr; join = join->parent)
      if (join->waiting != nullptr) release_waiting(*join, cycle);
    return;
  }
  if (fragment.waiting) {  // a time limit: nanosleep is over, a suspended try_wait gives up
    account_wait(fragment, cycle);
    std::erase(fragment.warp->cta->mbarrier_waiting, &fragment);
    fragment.cycle = std::max(fragment.cycle, cycle);
  }
  run(fragment);
}

void Sm::wait(Fragment& fragment, Wait reason, int64_t cycle) {
  fragment.waiting = true;
  fragment.reason = reason;
  fragment.wait_since = cycle;
}

// Each lane may sleep from 0 to twice its time, at most 1 ms; "the implementation may reduce the sleep
// duration for individual threads within a warp such that all sleeping threads in the warp wake up together"
// (PTX ISA, nanosleep): all wake with the first.
bool Sm::sleep(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  constexpr uint64_t kLongest_ns = 1000000;
  uint64_t ns = kLongest_ns;
  for (uint32_t m = mask; m != 0; m &= m - 1) ns = std::min(ns, uniform_source(fragment, op.src[0], m));
  ++fragment.pc;
  wait(fragment, Wait::sleep, cycle);
  const double clk = static_cast<double>(ns) * device_.clock().hertz() * 1e-9;
  schedule(fragment, cycle + std::max<int64_t>(1, static_cast<int64_t>(clk)));
  return false;
}

// Lanes that wait for others of their warp add nothing: what those others wait for is what holds up the warp.
void Sm::account_wait(Fragment& fragment, int64_t cycle) {
  if (fragment.waiting && fragment.reason != Wait::reconverge) {
    const int64_t waited = std::max<int64_t>(0, cycle - fragment.wait_since);
    fragment.warp->waited[static_cast<size_t>(fragment.reason)] += waited;
    const bool polls = fragment.reason == Wait::local_poll || fragment.reason == Wait::remote_poll;
    if (polls || fragment.waker != kWokenOtherwise) {  // the latter also of shared memory
      Launch::Profile& profile = fragment.warp->cta->launch->profile_of(fragment.warp->slot());
      profile.polled_for[fragment.waker] += waited;
      ++profile.polls[fragment.waker];
    }
  }
  fragment.waker = kWokenOtherwise;
  fragment.waiting = false;
  if (fragment.warp->rows.stowed()) restore_registers(*fragment.warp);
}

void Sm::resume(Fragment& fragment, int64_t cycle) {
  account_wait(fragment, cycle);
  fragment.on_scoreboard = false;
  fragment.cycle = std::max(fragment.cycle, cycle);
  schedule(fragment, fragment.cycle);
}

// ------------------------------------------------------------------------------------------------ operands

bool Sm::operands_ready(Fragment& fragment, const ExecOp& exec, int64_t& cycle) {
  Warp& warp = *fragment.warp;
  const CallFrame& frame = fragment.frames.back();
  int64_t ready = fragment.cycle;
  for (uint32_t i = 0; i < exec.waits; ++i)
    ready = std::max(ready, warp.row_ready[frame.row_base + exec.wait_rows[i]]);
  for (uint32_t i = 0; i < exec.predicate_waits; ++i)
    ready = std::max(ready, warp.predicate_ready[frame.predicate_base + exec.predicate_rows[i]]);
  if (ready >= kPending && waits_for_flight(fragment, exec, ready)) {
    fragment.on_scoreboard = true;
    wait(fragment, static_cast<Wait>(ready - kPending), fragment.cycle);
    return false;
  }
  cycle = ready;
  return true;
}

// Rows whose bytes are in flight for other lanes only do not hold up this fragment: lanes that spin on an
// atomic would starve those they wait for.
bool Sm::waits_for_flight(const Fragment& fragment, const ExecOp& exec, int64_t& ready) {
  const Warp& warp = *fragment.warp;
  const CallFrame& frame = fragment.frames.back();
  ready = fragment.cycle;
  for (uint32_t i = 0; i < exec.waits; ++i) {
    const size_t row = size_t{frame.row_base} + exec.wait_rows[i];
    if (warp.row_ready[row] < kPending || (warp.row_pending[row] & fragment.mask) != 0)
      ready = std::max(ready, warp.row_ready[row]);
  }
  for (uint32_t i = 0; i < exec.predicate_waits; ++i)
    ready = std::max(ready, warp.predicate_ready[frame.predicate_base + exec.predicate_rows[i]]);
  return ready >= kPending;
}

void Sm::set_pending(const Fragment& fragment, const ExecOp& exec, uint32_t mask, Wait reason) {
  Warp& warp = *fragment.warp;
  for (uint32_t i = 0; i < exec.results; ++i) {
    const size_t row = size_t{fragment.frames.back().row_base} + exec.result_rows[i];
    warp.row_ready[row] = kPending + static_cast<int64_t>(reason);
    warp.row_pending[row] |= mask;
  }
}

void Sm::set_results(const Fragment& fragment, const ExecOp& exec, int64_t ready) {
  Warp& warp = *fragment.warp;
  const CallFrame& frame = fragment.frames.back();
  for (uint32_t i = 0; i < exec.results; ++i) {
    int64_t& row = warp.row_ready[frame.row_base + exec.result_rows[i]];
    if (row < kPending) row = ready;  // else other lanes' bytes are in flight
  }
  for (uint32_t i = 0; i < exec.predicate_results; ++i)
    warp.predicate_ready[frame.predicate_base + exec.predicate_result_rows[i]] = ready;
}

// ------------------------------------------------------------------------------------------------ the issue
// loop

void Sm::run(Fragment& fragment) {
  Warp& warp = *fragment.warp;
  const ExecProgram& program = *warp.cta->program;
  const ptx::Op* code = program.program().code.data();
  const int64_t limit = fragment.cycle + device_.group().quantum_cycles;
  SlotCalendar& issue = issue_[warp.scheduler];
  const bool elides = device_.group().elides;
  for (;;) {
    if (fragment.pc == fragment.join_pc && arrive_at_join(fragment)) return;
    const ExecOp& exec = program.op(fragment.pc);
    int64_t cycle = 0;
    if (!operands_ready(fragment, exec, cycle)) return;
    if (exec.issue_slots != 0) {
      if (cycle > limit) {
        fragment.cycle = cycle;
        schedule(fragment, cycle);
        return;
      }
      if (fragment.phase == kFresh) {  // an op that waited for room or acknowledgements has its slot already
        cycle = issue.claim(cycle, exec.issue_slots);
        if (exec.pipe != kNoPipe) cycle = pipes_[warp.scheduler][exec.pipe].claim(cycle, exec.pipe_interval);
        ++fragment.executed;
      }
      fragment.cycle = cycle + exec.issue_slots;
    }
    uint32_t mask = fragment.mask;
    if (exec.guarded) {
      const uint32_t guard = warp.predicates[fragment.frames.back().predicate_base + exec.guard];
      mask &= exec.guard_negated ? ~guard : guard;
    }
    if (elides && mask != 0 && fragment.phase == kFresh &&
        !follow_marks(fragment, exec, code[fragment.pc], mask))
      return;
    if (exec.kind == ExecKind::lane) {
      if (mask != 0) exec.lane_op(code[fragment.pc], lane_frame(fragment), mask);
      set_results(fragment, exec, cycle + exec.latency);
      ++fragment.pc;
      continue;
    }
    if (mask == 0) {
      ++fragment.pc;
      continue;
    }
    if (!execute(fragment, exec, code[fragment.pc], mask, cycle)) return;
  }
}

// Returns whether the fragment goes on at once.
bool Sm::execute(Fragment& fragment, const ExecOp& exec, const Op& op, uint32_t mask, int64_t cycle) {
  switch (exec.kind) {
    case ExecKind::branch: {
      const uint32_t pc = fragment.pc;
      if (mask == fragment.mask) {
        fragment.pc = op.target;
        fragment.cycle += op.issue_slots == 0 ? 0 : parameters_.branch_taken_clk;  // 0: predicates instead
        if (op.target <= pc) {
          if (fragment.join != nullptr && fragment.join->waiting != nullptr && ++fragment.join->spins > 4096)
            release_waiting(*fragment.join, cycle);
          if (exec.poll_loop != UINT32_MAX) {
            on_back_edge(fragment, exec.poll_loop, fragment.cycle);
            return !fragment.parked;
          }
        }
        return true;
      }
      branch(fragment, op, mask, cycle);
      return true;
    }
    case ExecKind::branch_indexed:
      branch_indexed(fragment, op, mask, cycle);
      return fragment.warp != nullptr && !fragment.waiting;
    case ExecKind::load:
    case ExecKind::store:
    case ExecKind::atomic:
    case ExecKind::reduction:
      return memory_access(fragment, exec, op, mask, cycle);
    case ExecKind::fence:
      if (op.modifiers.proxy !=
          ptx::Proxy::none) {  // orders proxies of this thread; waits for no acknowledgement
        fragment.cycle += op.modifiers.proxy == ptx::Proxy::async ? parameters_.fence_proxy_async_clk
                                                                  : parameters_.fence_cta_clk;
        ++fragment.pc;
        return true;
      }
      if (!release_first(fragment, op, cycle)) return false;
      if (op.modifiers.scope != ptx::Scope::cta && op.modifiers.order != ptx::Order::release)
        l1_.invalidate();
      fragment.phase = kFresh;
      ++fragment.pc;
      return true;
    case ExecKind::warp_exchange:
    case ExecKind::warp_barrier:
      return warp_exchange(fragment, exec, op, mask, cycle);
    case ExecKind::read_special:
      read_special(fragment, op, mask, cycle);
      break;
    case ExecKind::frame_address: {
      const uint64_t* offset = source64(fragment, op.src[0]);
      for (uint32_t m = mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(m));
        write_lane(fragment, op.dst[0], lane, offset[lane] + fragment.frames.back().local_base);
      }
      break;
    }
    case ExecKind::cvta:
      convert_address(fragment, op, mask);
      break;
    case ExecKind::cluster_address:
      cluster_address(fragment, op, mask);
      break;
    case ExecKind::call:
      return call(fragment, op, mask, cycle);
    case ExecKind::ret:
      do_return(fragment, mask, cycle);
      return fragment.warp != nullptr && !fragment.waiting && fragment.mask != 0;
    case ExecKind::exit:
      exit_lanes(fragment, mask, cycle);
      return fragment.warp != nullptr;
    case ExecKind::trap:
      stop(fragment, "the kernel executed a trap", static_cast<uint32_t>(std::countr_zero(mask)));
      return false;
    case ExecKind::nop:
    case ExecKind::cache_control:
      if (!cache_control(fragment, op, mask, cycle)) return false;
      break;
    case ExecKind::hint:
    case ExecKind::grid_dependency:
      break;
    case ExecKind::nanosleep:
      return sleep(fragment, op, mask, cycle);
    case ExecKind::barrier:
      return barrier(fragment, op, mask, cycle);
    case ExecKind::cluster_barrier:
      return cluster_barrier(fragment, op, mask, cycle);
    case ExecKind::mbarrier:
      if (!mbarrier(fragment, op, mask, cycle)) return false;
      break;
    case ExecKind::mbarrier_wait:
      return mbarrier_wait(fragment, op, mask, cycle);
    case ExecKind::cp_async:
      return async_copy(fragment, op, mask, cycle);
    case ExecKind::cp_async_control:
      return async_control(fragment, op, mask, cycle);
    case ExecKind::bulk_copy:
      return bulk_copy(fragment, op, mask, cycle);
    case ExecKind::bulk_control:
      return bulk_control(fragment, op, mask, cycle);
    case ExecKind::tensor_copy:
      return tensor_copy(fragment, op, mask, cycle);
    case ExecKind::tensor_prefetch:
      if (!tensor_prefetch(fragment, op, mask, cycle)) return false;
      break;
    case ExecKind::tensor_map_change:
      return tensor_map_change(fragment, op, mask, cycle);
    case ExecKind::warp_matrix:
      return warp_matrix(fragment, exec, op, mask, cycle);
    case ExecKind::matrix_product:
      return matrix_product(fragment, op, mask, cycle);
    case ExecKind::matrix_control:
      return matrix_control(fragment, op, mask, cycle);
    case ExecKind::lane:
      break;
    case ExecKind::refused:
      stop(fragment,
           fmt::format("instruction '{}' is not executed by this version",
                       fragment.warp->cta->program->program().texts[fragment.pc]),
           static_cast<uint32_t>(std::countr_zero(mask)));
      return false;
  }
  set_results(fragment, exec, cycle + exec.latency);
  ++fragment.pc;
  return true;
}

}  // namespace ptxwire::sim
