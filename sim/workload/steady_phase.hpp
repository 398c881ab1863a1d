// A call as seen from outside: payload that has arrived and rows that each ring has been given, over time;
// and what follows for a call whose steady phase is longer. With ' for the call that ran and without for the
// longer one,
//
//   T = T' + (W - W') / R + tail (g - 1),   g = (M + L) / (M' + L')
//
// W is the payload and R the rate at which it arrives in the middle of the call. The tail is what the call
// that ran took after that beyond its payload over R. It ends with the ring that has most left when the
// others end: M rows by the routing (the largest ring over the mean), L by the lag behind the others that
// rings gather. M is exact; L' is measured, and grows in proportion to the rows. Where lags are small
// (revision D) that leaves an error of 1 or 2 %. Where they grow without bound (revision A), calls of the
// same routing differ by several percent from each other, and the error that is stated says so.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ptxwire::sim {

/// What a longer call takes, and how sure that is.
struct LongerCall {
  double us = 0;
  double error_pct = 0;  ///< about two standard errors
  bool steady = false;   ///< both halves of the steady phase had the same rate
};

/// Recorded while a call runs, evaluated when it has ended. The middle of the call, by payload, counts as its
/// steady phase: caches have filled by then and no ring has ended.
class SteadyPhase {
 public:
  /// `rows`: of each ring over the whole call. They are given `chunk` at a time, by all senders in step at
  /// first: rates swing with that period, so they are taken over whole ones.
  SteadyPhase(std::vector<uint32_t> rows, uint32_t chunk);

  /// State of the run: payload that has arrived, and rows that each ring has been given.
  void observe(double now_us, uint64_t payload_bytes, std::span<const uint32_t> produced);

  /// The call ended at `end_us` on the clock of observe(), and took `call_us` by that of its events. What
  /// would a call take whose rings have `longer_rows`, each as many more as it has steady time more?
  [[nodiscard]] LongerCall extrapolate(double end_us, double call_us,
                                       const std::vector<uint32_t>& longer_rows) const;

 private:
  struct Point {
    double us = 0, bytes = 0;
    std::vector<uint32_t> produced;
  };
  [[nodiscard]] double payload() const { return points_.back().bytes; }
  /// When this share of the payload had arrived.
  [[nodiscard]] double time_of(double share) const;
  /// Bytes per microsecond between two shares of the payload.
  [[nodiscard]] double rate(double from, double to) const;
  [[nodiscard]] double steady_rate() const;
  [[nodiscard]] double halves_differ_by() const;
  [[nodiscard]] double rate_error() const;
  /// How rings stand at the end, in rows.
  struct Lags {
    double most = 0;       ///< that the ring with most left has beyond what routing gave it
    double deviation = 0;  ///< standard deviation of what rings have been given that have not ended
  };
  [[nodiscard]] Lags lags_at_end(double most_by_routing) const;

  std::vector<uint32_t> rows_;
  double period_;  ///< share of the payload that a chunk of every ring is
  int periods_;    ///< that the steady phase takes
  std::vector<Point> points_;
};

}  // namespace ptxwire::sim
