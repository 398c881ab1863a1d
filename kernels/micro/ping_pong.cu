// Two threads pass a counter back and forth through flags: release to the partner's memory, acquire from the
// own.
#include "../src/comm.cuh"

/// `own`, `partner`: the flag each side polls and the one it writes. `first` is 1 on the side that begins.
/// `cycles` gets the clock cycles of all rounds.
extern "C" __global__ void ping_pong(int* own, int* partner, int rounds, int first, long long* cycles) {
  if (threadIdx.x != 0) return;
  const long long begin = clock64();
  for (int round = 1; round <= rounds; ++round) {
    if (first) ptxwire::store_release_sys(partner, round);
    const ptxwire::Deadline deadline;
    while (ptxwire::load_acquire_sys(own) < round) deadline.check("ping_pong", first, 0, 0);
    if (!first) ptxwire::store_release_sys(partner, round);
  }
  *cycles = clock64() - begin;
}
