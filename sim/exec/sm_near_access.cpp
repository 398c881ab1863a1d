// Accesses that end inside the SM or its cluster: shared, local, parameter and constant memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "sim/exec/atomic_ops.hpp"
#include "sim/exec/lane_runs.hpp"
#include "sim/exec/shared_place.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using ptx::Op;

namespace {

// Passes over the 32 four-byte banks that the access needs; lanes reading the same word share one.
uint32_t bank_wavefronts(const uint64_t* address, uint32_t mask, uint32_t lane_bytes) {
  const LaneSurvey survey = survey_lanes(mask, address, lane_bytes);
  if (survey.different == 0) return 1;
  const auto lanes = static_cast<uint32_t>(std::popcount(mask));
  if (survey.contiguous) return std::max(1U, (lanes * lane_bytes + 127) / 128);
  uint32_t passes = 0;
  const uint32_t group =
      32 / std::max(1U, lane_bytes / 4);  // 8 B accesses go by half warps, 16 B by quarters
  for (uint32_t begin = 0; begin < 32; begin += group) {
    std::array<std::array<uint64_t, 32>, 32> words;
    std::array<uint8_t, 32> count{};
    uint32_t worst = 0;
    for (uint32_t lane = begin; lane < begin + group; ++lane) {
      if ((mask >> lane & 1U) == 0) continue;
      for (uint64_t word = address[lane] / 4; word <= (address[lane] + lane_bytes - 1) / 4; ++word) {
        const size_t bank = word % 32;
        const auto end = words[bank].begin() + count[bank];
        if (std::find(words[bank].begin(), end, word) == end) words[bank][count[bank]++] = word;
        worst = std::max<uint32_t>(worst, count[bank]);
      }
    }
    passes += worst;
  }
  return std::max(1U, passes);
}

}  // namespace

uint8_t* Sm::near_pointer(Fragment& fragment, Window window, uint64_t address, uint32_t lane, uint32_t bytes,
                          Cta** shared_owner) {
  Warp& warp = *fragment.warp;
  Cta& cta = *warp.cta;
  const auto inside = [&](uint64_t size) { return address <= size && bytes <= size - address; };
  switch (window) {
    case Window::shared: {
      // An instruction on .shared does not take generic addresses.
      const SharedPlace place = address < kWindowBytes ? shared_place(cta, address, bytes) : SharedPlace{};
      if (shared_owner != nullptr) *shared_owner = place.cta;
      return place.cta != nullptr ? place.cta->shared.data() + place.offset : nullptr;
    }
    case Window::local:
      return inside(warp.local_bytes) ? warp.local.data() + size_t{lane} * warp.local_bytes + address
                                      : nullptr;
    case Window::parameter: {
      std::vector<uint8_t>& parameters = cta.launch->parameters;
      return inside(parameters.size()) ? parameters.data() + address : nullptr;
    }
    case Window::constant: {
      const std::vector<uint8_t>& bank = cta.program->constant_bank();
      return inside(bank.size()) ? const_cast<uint8_t*>(bank.data()) + address : nullptr;
    }
    default:
      return nullptr;
  }
}

// Everything that an SM sends to others of its cluster leaves by one port: requests, data, and the headers of
// both. Returns when the last of `bytes` leaves, less the time of one flit: latencies include that. A
// calendar, since the data that others ask for is booked half a round trip ahead; cycle by cycle, so that no
// gap of it is lost.
int64_t Sm::claim_cluster_port(uint32_t bytes, int64_t cycle) {
  constexpr uint32_t kFlitBytes = 32;
  const auto clk = [&](uint32_t size) {
    return std::max(1U, static_cast<uint32_t>(size / parameters_.dsm_bytes_per_clk + 0.5));
  };
  return std::max(cycle, cluster_port_.claim_scattered(cycle, clk(bytes)) + 1 - clk(kFlitBytes));
}

// Requests leave by the port of this SM, the data by that of the SM it lies in.
int64_t Sm::cluster_load(Sm& owner, uint32_t bytes, uint32_t packets, int64_t cycle) {
  const int64_t there = parameters_.dsm_latency_clk / 2, back = parameters_.dsm_latency_clk - there;
  const int64_t asked = claim_cluster_port(packets * parameters_.dsm_request_bytes, cycle);
  return owner.claim_cluster_port(bytes + packets * parameters_.dsm_header_bytes, asked + there) + back;
}

bool Sm::access_near(Fragment& fragment, const ExecOp& exec, const Op& op, Window window, uint32_t mask,
                     const uint64_t* address, int64_t cycle) {
  Warp& warp = *fragment.warp;
  const uint32_t element = type_bytes(op.modifiers.type);
  const uint32_t lane_bytes = element * op.modifiers.vector;
  const bool load = exec.kind == ExecKind::load;
  if ((window == Window::parameter || window == Window::constant) && !load) {
    stop(fragment, "store to read-only memory", static_cast<uint32_t>(std::countr_zero(mask)));
    return false;
  }
  alignas(16) uint8_t data[512];
  alignas(16) uint8_t second[512];
  if (!load) gather_operands(fragment, op, 1, mask, lane_bytes, data);
  if (op.modifiers.atomic == ptx::AtomicOp::cas) gather_operands(fragment, op, 2, mask, lane_bytes, second);
  Cta* other_cta = nullptr;  // lanes of one access that go to several CTAs are charged as if to one of them
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    Cta* owner = nullptr;
    uint8_t* memory = near_pointer(fragment, window, address[lane], lane, lane_bytes, &owner);
    if (memory == nullptr || address[lane] % lane_bytes != 0) {
      static constexpr std::array<const char*, 6> kNames = {"unmapped",  "shared",   "local",
                                                            "parameter", "constant", "device"};
      stop(fragment,
           fmt::format("{} access to {} memory at {:#x} ({} bytes)",
                       memory == nullptr ? "out-of-bounds" : "misaligned",
                       kNames[static_cast<size_t>(window)], address[lane], lane_bytes),
           lane);
      return false;
    }
    if (owner != nullptr && owner != warp.cta) other_cta = owner;
    uint8_t* mine = data + size_t{lane} * lane_bytes;
    if (load) {
      std::memcpy(mine, memory, lane_bytes);
      if (exec.in_poll_loop && window == Window::shared) {
        if (owner == warp.cta) {
          note_poll(fragment, address[lane] & ((1U << kSharedRankShift) - 1), lane_bytes, memory, true,
                    cycle);
        } else {
          fragment.poll.remote = true;
        }
      }
    } else if (exec.kind == ExecKind::store) {
      std::memcpy(memory, mine, lane_bytes);
    } else {
      apply_atomic_bytes(op.modifiers.atomic, op.modifiers.type, lane_bytes, memory, mine,
                         second + size_t{lane} * lane_bytes, false);
    }
    if (!load && window == Window::shared && !owner->shared_parked.empty()) {
      const auto offset = static_cast<uint32_t>(address[lane] & ((1U << kSharedRankShift) - 1));
      notify_shared_write(*owner, offset, lane_bytes, cycle, warp.slot());
    }
  }
  int64_t ready = cycle + exec.latency;
  if (window == Window::shared) {
    const uint32_t wavefronts = bank_wavefronts(address, mask, lane_bytes);
    const auto width = std::max<uint32_t>(static_cast<uint32_t>(parameters_.lsu_interval_clk), wavefronts);
    const int64_t start = claim_lsu(fragment, cycle, width);
    const bool atomic = exec.kind == ExecKind::atomic || exec.kind == ExecKind::reduction;
    const uint32_t bytes =
        std::min(static_cast<uint32_t>(std::popcount(mask)) * lane_bytes, 128 * wavefronts);
    if (other_cta == nullptr) {
      ready = start + wavefronts - 1 +
              (atomic ? parameters_.shared_atomic_latency_clk : parameters_.shared_latency_clk);
    } else if (exec.kind == ExecKind::load) {
      ready = cluster_load(device_.sm(other_cta->sm), bytes, wavefronts, start);
    } else {
      const int64_t sent = claim_cluster_port(bytes + wavefronts * parameters_.dsm_header_bytes, start);
      fragment.cycle = std::max(fragment.cycle, sent - kBookedAhead_clk);
      ready = sent + parameters_.dsm_latency_clk;
    }
  } else if (window == Window::local && op.latency == ptx::LatencyClass::memory) {
    const int64_t start = claim_lsu(
        fragment, cycle, std::max(2U, static_cast<uint32_t>(std::popcount(mask)) * lane_bytes / 128));
    ready = start + parameters_.l1_hit_latency_clk;
  }
  if (exec.kind != ExecKind::store && exec.kind != ExecKind::reduction) {
    scatter(warp, fragment.frames.back().row_base, op, mask, lane_bytes, data);
    set_results(fragment, exec, ready);
  }
  fragment.phase = kFresh;
  ++fragment.pc;
  return true;
}

}  // namespace ptxwire::sim
