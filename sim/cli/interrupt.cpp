#include "sim/cli/interrupt.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>

namespace ptxwire::cli {
namespace {

// Signal handlers reach nothing but objects of static storage.
volatile std::sig_atomic_t interrupt_seen = 0;

/// Files are written under temporary names in milliseconds and the result store is transactional, so that
/// ending here leaves nothing half-written.
void end_now(int) { _exit(kInterruptedExitCode); }

void on_interrupt(int) {
  if (interrupt_seen != 0) _exit(kInterruptedExitCode);  // asked twice
  interrupt_seen = 1;
  const itimerval grace{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 700000}};
  setitimer(ITIMER_REAL, &grace, nullptr);
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = end_now;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
}

bool interrupted() { return interrupt_seen != 0; }

}  // namespace ptxwire::cli
