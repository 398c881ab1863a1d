// Control flow: dense switches, nested loops with break and continue, early returns, loops of unequal length.
#include <cstdint>

extern "C" __global__ void switches(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int x = in[i];
  int y = 1;
  switch (x & 15) {
    case 0:
      y = x * 3;
      break;
    case 1:
      y = x - 17;
      break;
    case 2:
      y = x ^ 0x55;
      [[fallthrough]];
    case 3:
      y += 1000;
      break;
    case 4:
      y = -x;
      break;
    case 5:
      y = x << 3;
      break;
    case 6:
      y = x >> 2;
      break;
    case 7:
      y = x | 0x1000;
      break;
    case 8:
      y = x % 11;
      break;
    case 9:
      for (int k = 0; k < (x >> 4 & 7); ++k) y = y * 5 + k;
      break;
    case 10:
      out[i] = -999;
      return;
    case 12:
      y = x / 9;
      break;
    default:
      y = 77;
      break;
  }
  out[i] = y;
}

extern "C" __global__ void collatz(const uint32_t* in, uint32_t* steps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint64_t x = in[i];
  uint32_t count = 0;
  while (x != 1) {
    x = (x & 1) != 0 ? 3 * x + 1 : x / 2;
    if (++count > 500) break;
  }
  steps[i] = count;
}

extern "C" __global__ void nested(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int sum = 0;
  for (int a = 0; a < in[i] % 9; ++a) {
    if (a == 5) continue;
    for (int b = a; b < 12; ++b) {
      if ((a * b + in[i]) % 7 == 3) break;
      int c = b;
      do {
        sum += a ^ c;
        c -= 2;
        if (sum > 4000) goto done;
      } while (c > 0);
    }
    sum -= a;
  }
done:
  out[i] = sum;
}

// Short-circuit evaluation with calls that must not happen (they would divide by zero or read past the end).
extern "C" __global__ void short_circuit(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool inside = i < n;
  const bool odd = inside && (in[i] & 1) != 0;
  const bool big = inside && (in[i] > 100 || (in[i] != 0 && 1000 / in[i] > 50));
  if (inside) out[i] = (odd ? 1 : 0) + (big ? 2 : 0) + (odd != big ? 4 : 0) + (odd && !big ? 8 : 0);
}
