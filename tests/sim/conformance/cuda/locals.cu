// Local memory with run-time indices: a sort, a byte histogram, a small matrix, pointers into the frame.
#include <cstdint>

extern "C" __global__ void sort_rows(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int row[17];
  for (int k = 0; k < 17; ++k) row[k] = in[17 * i + k];
#pragma unroll 1
  for (int k = 1; k < 17; ++k) {
    const int value = row[k];
    int j = k - 1;
    while (j >= 0 && row[j] > value) {
      row[j + 1] = row[j];
      --j;
    }
    row[j + 1] = value;
  }
  for (int k = 0; k < 17; ++k) out[17 * i + k] = row[k];
}

extern "C" __global__ void histogram(const uint8_t* in, uint16_t* most, int length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  uint8_t bins[16] = {};
#pragma unroll 1
  for (int k = 0; k < length; ++k) ++bins[in[i * length + k] & 15];
  int best = 0;
  for (int k = 1; k < 16; ++k)
    if (bins[k] > bins[best]) best = k;
  most[i] = static_cast<uint16_t>(best * 256 + bins[best]);
}

extern "C" __global__ void matrix_power(const uint32_t* in, uint64_t* out, int power) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  uint64_t result[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, base[3][3];
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) base[r][c] = in[9 * i + 3 * r + c] % 10;
#pragma unroll 1
  for (int p = 0; p < power; ++p) {
    uint64_t next[3][3];
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c)
        next[r][c] = result[r][0] * base[0][c] + result[r][1] * base[1][c] + result[r][2] * base[2][c];
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) result[r][c] = next[r][c];
  }
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) out[9 * i + 3 * r + c] = result[r][(c + i) % 3];
}

// A generic pointer that is local in some lanes, shared in some and global in the rest.
extern "C" __global__ void mixed_pointers(const int* in, int* out) {
  __shared__ int shared[64];
  int local[4];
  const int i = threadIdx.x;
  shared[i] = in[i] + 1;
  for (int k = 0; k < 4; ++k) local[k] = in[i] + 10 * k;
  __syncthreads();
  const int* from = i % 3 == 0 ? in + i : i % 3 == 1 ? shared + 63 - i : local + i % 4;
  out[i] = *from;
}
