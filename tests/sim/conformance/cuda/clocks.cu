// Clocks move forward, and sleep takes time.
#include <cstdint>

extern "C" __global__ void clocks(long long* cycles, unsigned long long* nanoseconds, unsigned sleep) {
  unsigned long long before = 0, after = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
  const long long start = clock64();
  const clock_t low = clock();
  __nanosleep(sleep);
  const long long end = clock64();
  const clock_t low_end = clock();
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
  cycles[2 * threadIdx.x] = end - start;
  cycles[2 * threadIdx.x + 1] = static_cast<unsigned>(low_end) - static_cast<unsigned>(low);
  nanoseconds[threadIdx.x] = after - before;
}
