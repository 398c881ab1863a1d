// Ctrl-C: the work is asked to stop; if it does not within 0.7 s the process ends anyway. Both with exit code
// 130.
#pragma once

namespace ptxwire::cli {

inline constexpr int kInterruptedExitCode = 130;

void install_interrupt_handler();
[[nodiscard]] bool interrupted();

}  // namespace ptxwire::cli
