// Time and identity in strong types: a number without a unit cannot be mistaken for one with another.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace ptxwire::models {

/// A point in simulated time or a duration, in picoseconds. 64 bits hold 106 days.
struct Picoseconds {
  int64_t value = 0;

  friend constexpr auto operator<=>(Picoseconds, Picoseconds) = default;
  friend constexpr Picoseconds operator+(Picoseconds a, Picoseconds b) { return {a.value + b.value}; }
  friend constexpr Picoseconds operator-(Picoseconds a, Picoseconds b) { return {a.value - b.value}; }
  friend constexpr Picoseconds operator*(Picoseconds a, int64_t n) { return {a.value * n}; }
  constexpr Picoseconds& operator+=(Picoseconds b) {
    value += b.value;
    return *this;
  }
  [[nodiscard]] constexpr double us() const { return static_cast<double>(value) * 1e-6; }
  [[nodiscard]] constexpr double ns() const { return static_cast<double>(value) * 1e-3; }
};

inline constexpr Picoseconds kNever{std::numeric_limits<int64_t>::max()};

constexpr Picoseconds nanoseconds(double ns) { return {static_cast<int64_t>(ns * 1e3 + 0.5)}; }
constexpr Picoseconds microseconds(double us) { return {static_cast<int64_t>(us * 1e6 + 0.5)}; }
constexpr Picoseconds max(Picoseconds a, Picoseconds b) { return a < b ? b : a; }
constexpr Picoseconds min(Picoseconds a, Picoseconds b) { return a < b ? a : b; }

/// Converts between cycles of one clock and time. Exact to a picosecond: cycles stay integers and are scaled
/// by a 32.32 fixed-point period (1.755 GHz is 569.8005 ps, not 569).
class ClockDomain {
 public:
  constexpr explicit ClockDomain(double hertz)
      : period_fixed_(static_cast<uint64_t>(1e12 / hertz * 4294967296.0 + 0.5)), hertz_(hertz) {}
  [[nodiscard]] constexpr Picoseconds time(int64_t cycles) const {
    return {static_cast<int64_t>(
        (static_cast<unsigned __int128>(static_cast<uint64_t>(cycles)) * period_fixed_) >> 32)};
  }
  /// First cycle that starts at or after `t`. A floating-point guess saves a 128-bit division; the loops make
  /// it exact.
  [[nodiscard]] constexpr int64_t cycle_at_or_after(Picoseconds t) const {
    auto cycle = static_cast<int64_t>(static_cast<double>(t.value) * (hertz_ * 1e-12));
    while (time(cycle) < t) ++cycle;
    while (cycle > 0 && !(time(cycle - 1) < t)) --cycle;
    return cycle;
  }
  [[nodiscard]] constexpr double hertz() const { return hertz_; }

 private:
  uint64_t period_fixed_;
  double hertz_;
};

/// Time that `bytes` need on something that moves `bytes_per_second`.
constexpr Picoseconds transfer_time(uint64_t bytes, double bytes_per_second) {
  return {static_cast<int64_t>(static_cast<double>(bytes) * 1e12 / bytes_per_second + 0.5)};
}

template <typename Tag>
struct Id {
  uint32_t value = 0;
  friend constexpr auto operator<=>(Id, Id) = default;
};
using GpuId = Id<struct GpuTag>;
using NicId = Id<struct NicTag>;  ///< NIC i of the network is that of GPU i
using SmId = Id<struct SmTag>;

/// A resource that serves one request after another: claimed when a request arrives.
class Server {
 public:
  /// Claims the server from `arrival` (or when it is free) for `duration`; returns when the service ends.
  constexpr Picoseconds claim(Picoseconds arrival, Picoseconds duration) {
    Picoseconds start = max(arrival, free_at_);
    free_at_ = start + duration;
    busy_ += duration;
    return free_at_;
  }
  [[nodiscard]] constexpr Picoseconds free_at() const { return free_at_; }
  [[nodiscard]] constexpr Picoseconds busy() const { return busy_; }

 private:
  Picoseconds free_at_{};
  Picoseconds busy_{};
};

}  // namespace ptxwire::models
