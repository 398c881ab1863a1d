#include "sim/cli/progress.hpp"

#include <unistd.h>

#include <cstdio>

#include "sim/report/table.hpp"

namespace ptxwire::cli {
namespace {

constexpr double kQuietSeconds = 2, kTerminalInterval = 0.25, kLogInterval = 10;
constexpr double kShareWorthAnEstimate = 0.02;

}  // namespace

ProgressLine::ProgressLine(bool wanted_without_terminal)
    : terminal_(isatty(STDERR_FILENO) != 0), enabled_(terminal_ || wanted_without_terminal) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  if (shown_ && terminal_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void ProgressLine::update(const std::string& what, std::optional<double> seconds_left) {
  if (!enabled_) return;
  const Clock::time_point now = Clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double since_last = std::chrono::duration<double>(now - last_).count();
  if (elapsed < kQuietSeconds || (shown_ && since_last < (terminal_ ? kTerminalInterval : kLogInterval)))
    return;
  std::string text = what + ", " + sim::duration(elapsed) + " so far";
  text += seconds_left ? ", about " + sim::duration(*seconds_left) + " left" : "";
  if (text.size() > sim::kReportWidth) text.resize(sim::kReportWidth);
  std::fputs((terminal_ ? "\r\033[K" + text : text + '\n').c_str(), stderr);
  std::fflush(stderr);
  shown_ = true;
  last_ = now;
}

void ProgressLine::update_share(const std::string& what, double share) {
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  if (!first_share_) first_share_ = share;
  const double done = share - *first_share_;
  std::optional<double> left;
  if (done >= kShareWorthAnEstimate) left = elapsed * (1 - share) / done;
  update(what + ' ' + sim::share_percent(share), left);
}

}  // namespace ptxwire::cli
