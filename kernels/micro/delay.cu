// Holds its stream for a number of clock cycles, so that what is enqueued behind it finds the host already
// ahead.
extern "C" __global__ void delay(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}
