// What a CTA takes of an SM, and what one SM has left: registers, warps, shared memory, barriers, CTA slots.
// The rules are those of the published occupancy calculator (cuda_occupancy.h of the CUDA toolkit).
#pragma once

#include <array>
#include <cstdint>

#include "models/machines/machine.hpp"

namespace ptxwire::models {

struct CtaFootprint {
  uint32_t threads = 1;
  uint32_t registers_per_thread = 0;
  uint32_t shared_bytes = 0;  ///< static and dynamic
  uint32_t barriers = 0;      ///< hardware barriers (bar.sync 0 is one)

  [[nodiscard]] uint32_t warps() const { return (threads + 31) / 32; }
};

/// One SM. Registers are allocated per warp, in units, in the register file of the scheduler that the warp
/// runs on; warps of one CTA go to the schedulers in turn, the first to the one with most registers left.
class SmRoom {
 public:
  static constexpr uint32_t kSchedulers = 4;

  explicit SmRoom(const SmParameters& sm);

  /// Scheduler of the CTA's first warp if the CTA fits now; kSchedulers if it does not.
  [[nodiscard]] uint32_t first_scheduler(const CtaFootprint& cta) const;
  [[nodiscard]] bool fits(const CtaFootprint& cta) const { return first_scheduler(cta) != kSchedulers; }

  /// The CTA fits. Returns the scheduler of its first warp, which give_back() wants again.
  uint32_t take(const CtaFootprint& cta);
  void give_back(const CtaFootprint& cta, uint32_t first_scheduler);

  [[nodiscard]] uint32_t ctas() const { return ctas_; }
  /// Of all resident CTAs with what is reserved for each: the rest of the unified memory is L1.
  [[nodiscard]] uint32_t shared_bytes() const { return shared_; }

 private:
  [[nodiscard]] uint32_t registers_per_warp(const CtaFootprint& cta) const;
  [[nodiscard]] uint32_t allocated_shared(const CtaFootprint& cta) const;
  /// Calls visit(scheduler, warps) for each scheduler that gets warps.
  template <typename Visit>
  static void for_each_scheduler(const CtaFootprint& cta, uint32_t first, Visit visit);

  const SmParameters* sm_;
  std::array<uint32_t, kSchedulers> registers_{};  ///< in use, per scheduler
  uint32_t ctas_ = 0, warps_ = 0, shared_ = 0, barriers_ = 0;
};

/// CTAs of this footprint that an empty SM holds at once; 0 if one does not fit.
uint32_t occupancy(const SmParameters& sm, const CtaFootprint& cta);

}  // namespace ptxwire::models
