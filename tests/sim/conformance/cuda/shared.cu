// Dynamic and static shared memory, grids and blocks of three dimensions.
#include <cstdint>

extern __shared__ __align__(16) unsigned char arena[];

extern "C" __global__ void transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

// Two arrays carved from dynamic shared memory, beside a static one.
extern "C" __global__ void carved(const double* in, double* out, int n) {
  __shared__ int order[64];
  auto* values = reinterpret_cast<double*>(arena);
  auto* marks = reinterpret_cast<uint8_t*>(values + n);
  const int t = threadIdx.x;
  order[t] = (t * 29 + 3) % 64;
  for (int k = t; k < n; k += 64) {
    values[k] = in[k];
    marks[k] = static_cast<uint8_t>(k * 7);
  }
  __syncthreads();
  for (int k = t; k < n; k += 64) out[k] = values[n - 1 - k] + marks[(k + order[t]) % n];
}

extern "C" __global__ void coordinates(uint32_t* out) {
  const uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const uint32_t block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const uint32_t threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] = threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 |
                                  blockIdx.y << 16 | blockIdx.z << 20 | (gridDim.z * blockDim.z) << 24;
}
