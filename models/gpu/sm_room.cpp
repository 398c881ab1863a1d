#include "models/gpu/sm_room.hpp"

#include <algorithm>

namespace ptxwire::models {
namespace {

constexpr uint32_t round_up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

SmRoom::SmRoom(const SmParameters& sm) : sm_(&sm) {}

uint32_t SmRoom::registers_per_warp(const CtaFootprint& cta) const {
  return round_up(cta.registers_per_thread * 32, sm_->register_allocation_unit);
}

uint32_t SmRoom::allocated_shared(const CtaFootprint& cta) const {
  return round_up(cta.shared_bytes + sm_->shared_reserved_per_cta_bytes, sm_->shared_allocation_unit_bytes);
}

template <typename Visit>
void SmRoom::for_each_scheduler(const CtaFootprint& cta, uint32_t first, Visit visit) {
  const uint32_t warps = cta.warps();
  for (uint32_t i = 0; i < std::min(kSchedulers, warps); ++i)
    visit((first + i) % kSchedulers, (warps - i + kSchedulers - 1) / kSchedulers);
}

uint32_t SmRoom::first_scheduler(const CtaFootprint& cta) const {
  if (ctas_ == sm_->max_ctas || warps_ + cta.warps() > sm_->max_warps ||
      shared_ + allocated_shared(cta) > sm_->shared_bytes || barriers_ + cta.barriers > sm_->barriers)
    return kSchedulers;
  // "The hardware verifies as if registers were allocated in all partitions at once": a CTA of one warp with
  // more than a quarter of the file's worth of registers would be refused, which no register count reaches.
  const uint32_t per_warp = registers_per_warp(cta), file = sm_->registers / kSchedulers;
  const auto emptiest =
      static_cast<uint32_t>(std::min_element(registers_.begin(), registers_.end()) - registers_.begin());
  for (uint32_t i = 0; i < kSchedulers; ++i) {
    const uint32_t first = (emptiest + i) % kSchedulers;
    bool fits = true;
    for_each_scheduler(cta, first, [&](uint32_t scheduler, uint32_t warps) {
      fits = fits && registers_[scheduler] + warps * per_warp <= file;
    });
    if (fits) return first;
  }
  return kSchedulers;
}

uint32_t SmRoom::take(const CtaFootprint& cta) {
  const uint32_t first = first_scheduler(cta), per_warp = registers_per_warp(cta);
  for_each_scheduler(cta, first,
                     [&](uint32_t scheduler, uint32_t warps) { registers_[scheduler] += warps * per_warp; });
  ++ctas_;
  warps_ += cta.warps();
  shared_ += allocated_shared(cta);
  barriers_ += cta.barriers;
  return first;
}

void SmRoom::give_back(const CtaFootprint& cta, uint32_t first_scheduler) {
  const uint32_t per_warp = registers_per_warp(cta);
  for_each_scheduler(cta, first_scheduler,
                     [&](uint32_t scheduler, uint32_t warps) { registers_[scheduler] -= warps * per_warp; });
  --ctas_;
  warps_ -= cta.warps();
  shared_ -= allocated_shared(cta);
  barriers_ -= cta.barriers;
}

uint32_t occupancy(const SmParameters& sm, const CtaFootprint& cta) {
  SmRoom room(sm);
  while (room.fits(cta)) room.take(cta);
  return room.ctas();
}

}  // namespace ptxwire::models
