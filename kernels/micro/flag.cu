// Two threads pass a counter back and forth through flags, `rounds` times. `own` is the flag that a side
// polls, `partner` the one it writes; where both lie is the caller's choice. `first` is 1 on the side that
// begins. One round is two messages. The checksum is the sum of the values seen.
#include "../src/comm.cuh"
#include "report.cuh"

namespace ptxwire {
namespace {

enum class Message { release, fenced, relaxed };

template <Message kMessage>
__device__ __forceinline__ void send(int* flag, int value) {
  if constexpr (kMessage == Message::fenced) fence_sys();
  if constexpr (kMessage == Message::release)
    store_release_sys(flag, value);
  else
    store_relaxed_sys(flag, value);
}

template <Message kMessage>
__device__ __forceinline__ int receive(const int* flag) {
  if constexpr (kMessage == Message::release) return load_acquire_sys(flag);
  return load_volatile(flag);
}

template <Message kMessage>
__device__ __forceinline__ void pass(int* own, int* partner, int rounds, int first, Report* report) {
  unsigned sum = 0;
  const unsigned long long begin = clock_now();
#pragma unroll 1
  for (int round = 1; round <= rounds; ++round) {
    if (first) send<kMessage>(partner, round);
    const Deadline deadline;
    int seen;
    while ((seen = receive<kMessage>(own)) < round) deadline.check("flag", first, 0, 0);
    if (!first) send<kMessage>(partner, round);
    sum += seen;
  }
  write_report(report, clock_now() - begin, rounds, 4ULL * rounds, sum);
}

}  // namespace
}  // namespace ptxwire

extern "C" __global__ void flag_release(int* own, int* partner, int rounds, int first,
                                        ptxwire::Report* report) {
  ptxwire::pass<ptxwire::Message::release>(own, partner, rounds, first, report);
}
extern "C" __global__ void flag_fenced(int* own, int* partner, int rounds, int first,
                                       ptxwire::Report* report) {
  ptxwire::pass<ptxwire::Message::fenced>(own, partner, rounds, first, report);
}
extern "C" __global__ void flag_relaxed(int* own, int* partner, int rounds, int first,
                                        ptxwire::Report* report) {
  ptxwire::pass<ptxwire::Message::relaxed>(own, partner, rounds, first, report);
}
