// Calls that stay calls: parameters and results by value, pointers to locals, recursion, tables of functions,
// virtual functions.
#include <cstdint>

struct Sample {
  int8_t kind;
  int16_t weight;
  double value;
  uint32_t tags[3];
};

struct Pair {
  int64_t sum;
  float mean;
};

__device__ __noinline__ Sample scaled(Sample s, float factor, char tag) {
  s.value *= factor;
  s.weight = static_cast<int16_t>(s.weight + tag);
  s.tags[s.kind % 3] ^= static_cast<uint32_t>(tag);
  return s;
}

__device__ __noinline__ Pair digest(const Sample* samples, int count) {
  Pair p{0, 0};
  for (int i = 0; i < count; ++i) {
    p.sum += samples[i].weight + samples[i].tags[0] + samples[i].tags[1] * 3 + samples[i].tags[2] * 5;
    p.mean += static_cast<float>(samples[i].value);
  }
  p.mean /= static_cast<float>(count);
  return p;
}

__device__ __noinline__ void swap_if(int64_t* a, int64_t* b, bool yes) {
  if (!yes) return;
  const int64_t t = *a;
  *a = *b;
  *b = t;
}

extern "C" __global__ void structs(const int* in, int64_t* sums, float* means) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Sample local[2];
  for (int k = 0; k < 2; ++k) {
    local[k].kind = static_cast<int8_t>((in[i] + k) & 63);
    local[k].weight = static_cast<int16_t>(in[i] * (k + 1));
    local[k].value = 0.5 * in[i];
    for (int t = 0; t < 3; ++t) local[k].tags[t] = static_cast<uint32_t>(in[i] + t * k);
  }
  local[1] = scaled(local[1], 1.5F, static_cast<char>(in[i] & 31));
  const Pair p = digest(local, 2);
  int64_t a = p.sum, b = -in[i];
  swap_if(&a, &b, (in[i] & 1) != 0);
  sums[2 * i] = a;
  sums[2 * i + 1] = b;
  means[i] = p.mean;
}

__device__ __noinline__ uint32_t ackermann(uint32_t m, uint32_t n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ int64_t fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void recursion(uint32_t* ackermanns, int64_t* fibonaccis) {
  const int i = threadIdx.x;
  ackermanns[i] = ackermann(i % 3, i % 4);
  fibonaccis[i] = fibonacci(i % 11);
}

using Binary = int (*)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ __noinline__ int largest(int a, int b) { return a > b ? a : b; }
__device__ Binary table[4] = {plus, minus, times, largest};
__device__ Binary chosen = minus;

extern "C" __global__ void function_table(const int* a, const int* b, const int* which, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = table[which[i] & 3](a[i], b[i]) * 10 + chosen(a[i], 3);
}

struct Shape {
  float size;
  __device__ explicit Shape(float s) : size(s) {}
  __device__ virtual float area() const = 0;
  __device__ virtual int corners() const { return 0; }
};
struct Square final : Shape {
  __device__ explicit Square(float s) : Shape(s) {}
  __device__ float area() const override { return size * size; }
  __device__ int corners() const override { return 4; }
};
struct Disc final : Shape {
  __device__ explicit Disc(float s) : Shape(s) {}
  __device__ float area() const override { return 3 * size * size; }
};

__device__ __noinline__ float describe(const Shape& shape) { return shape.area() + 1000 * shape.corners(); }

extern "C" __global__ void virtual_calls(const float* sizes, float* out) {
  const int i = threadIdx.x;
  const Square square(sizes[i]);
  const Disc disc(sizes[i]);
  out[i] = describe(i % 2 == 0 ? static_cast<const Shape&>(square) : disc);
}
