// Module variables: constants, initialised globals, pointers between them, templates with static storage.
#include <cstdint>

__constant__ int coefficients[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__constant__ double scale = 0.125;
__constant__ char letters[] = "conformance";
__device__ int counter = 40;
__device__ uint16_t steps[5] = {1, 10, 100, 1000, 10000};
__device__ float matrix[2][3] = {{1, 2, 3}, {4, 5, 6.5F}};
__device__ int* const pointer = &counter;
__device__ const char* words[3] = {"alpha", "be", "gamma!"};
struct Setting {
  uint8_t id;
  int64_t limit;
  const uint16_t* step;
};
__device__ Setting settings[2] = {{7, -5, &steps[2]}, {9, 1LL << 40, steps + 4}};
__device__ uint64_t written[4];

extern "C" __global__ void read_variables(const int* in, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double* to = out + 7 * i;
  to[0] = coefficients[in[i] & 7] * scale;
  to[1] = letters[in[i] % 11];
  to[2] = *pointer;
  to[3] = matrix[in[i] & 1][in[i] % 3];
  const char* word = words[in[i] % 3];
  int length = 0;
  while (word[length] != 0) ++length;
  to[4] = length * 1000 + word[in[i] % length];
  const Setting& s = settings[in[i] & 1];
  to[5] = s.id + static_cast<double>(s.limit) + *s.step;
  to[6] = steps[in[i] % 5];
}

extern "C" __global__ void write_variables() {
  if (threadIdx.x == 0) counter += 2;
  written[threadIdx.x & 3] = 1ULL << (40 + (threadIdx.x & 3));
}

template <typename T, int kSize>
__device__ T rotate_sum(T x, int by) {
  __shared__ T buffer[kSize];
  buffer[threadIdx.x] = x;
  __syncthreads();
  T sum = 0;
  for (int k = 0; k < by; ++k) sum += buffer[(threadIdx.x + k) % kSize];
  __syncthreads();
  return sum;
}

template <typename T>
__global__ void rotate(const T* in, T* out, int by) {
  out[threadIdx.x] = rotate_sum<T, 64>(in[threadIdx.x], by) - rotate_sum<T, 64>(static_cast<T>(1), by);
}
template __global__ void rotate<float>(const float*, float*, int);
template __global__ void rotate<int64_t>(const int64_t*, int64_t*, int);

struct Shape {
  int rows, columns;
  float gains[5];
  uint8_t flags[3];
};

// Parameters of every width, a structure by value indexed at run time.
extern "C" __global__ void parameters(char a, short b, int c, long long d, float e, double f, bool g,
                                      Shape shape, double* out) {
  const int i = threadIdx.x;
  out[i] = a + 2.0 * b + 3.0 * c + 4.0 * static_cast<double>(d) + 5.0 * e + 6.0 * f + (g ? 7.0 : 0.0) +
           shape.rows * shape.columns + shape.gains[i % 5] + 1000.0 * shape.flags[i % 3];
}
