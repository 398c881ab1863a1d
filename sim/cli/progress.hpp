// One line on standard error that says how far the work is and how long it will take.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace ptxwire::cli {

/// Shows nothing for work under two seconds. On a terminal the line is rewritten in place, four times a
/// second at most; elsewhere, only if asked for, a line is printed every ten seconds.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted_without_terminal);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// `what` says what is being done; `seconds_left` is an estimate.
  void update(const std::string& what, std::optional<double> seconds_left);
  /// The same, from the share done. What the first share says was done before this object was there: a result
  /// from the cache takes no time and says nothing about the rest.
  void update_share(const std::string& what, double share);

 private:
  using Clock = std::chrono::steady_clock;
  void clear();

  Clock::time_point start_ = Clock::now(), last_ = Clock::now();
  std::optional<double> first_share_;
  bool terminal_ = false, enabled_ = false, shown_ = false;
};

}  // namespace ptxwire::cli
