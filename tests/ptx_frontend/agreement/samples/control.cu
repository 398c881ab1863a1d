// Calls, recursion, tables, virtual functions, printf, assert, local memory, initialised data.
#include <cassert>
#include <cstdio>

struct Big {
  int words[23];
  double d;
  char c;
};

__constant__ int table[5] = {1, -2, 3, 4, 5};
__constant__ Big constant_big;
__device__ float weights[2][3] = {{1.5f, 2.5f, -0.0f}, {4, 5, 6}};
__device__ double doubles[2] = {1e300, -2.5};
__device__ const char* names[] = {"alpha", "beta", nullptr};
__device__ int counter;
__managed__ unsigned managed_value = 7;
extern __shared__ char dynamic[];

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ Big pass(Big b, int k) {
  b.words[k] += 3;
  return b;
}
__device__ __noinline__ void nothing(char a, short b, long long c, float4 d) {
  weights[0][0] += a + b + c + d.x + d.w;
}

struct Shape {
  __device__ virtual int area(int scale) const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int side;
  __device__ Square(int s) : side(s) {}
  __device__ int area(int scale) const override { return side * side * scale; }
};
struct Circle : Shape {
  float radius;
  __device__ Circle(float r) : radius(r) {}
  __device__ int area(int scale) const override { return int(3.14f * radius * radius) * scale; }
};

__device__ int add(int a, int b) { return a + b; }
__device__ int sub(int a, int b) { return a - b; }
__device__ int (*functions[2])(int, int) = {add, sub};

__global__ void __launch_bounds__(256, 2)
    kernel(int* out, const Big big, int n, __grid_constant__ const Big grid) {
  __shared__ int tile[64];
  __shared__ alignas(16) double more[8];
  int i = threadIdx.x;
  tile[i & 63] = n;
  more[i & 7] = n * 2.0;
  __syncthreads();
  Big copy = pass(big, i % 23);
  int sum =
      fibonacci(i & 3) + copy.words[i % 23] + table[i % 5] + constant_big.words[i % 23] + grid.words[i % 23];
  switch (n) {
    case 0:
      sum += 1;
      break;
    case 1:
      sum *= 3;
      break;
    case 2:
      sum -= tile[(i + 1) & 63];
      break;
    case 3:
      sum ^= 0x55;
      break;
    case 4:
      sum = -sum;
      break;
    case 5:
      sum <<= 3;
      break;
    case 6:
      sum /= 7;
      break;
    case 7:
      sum += int(more[3]);
      break;
    default:
      break;
  }
  nothing(char(i), short(n), 5, make_float4(1, 2, 3, 4));
  Shape* shape = n & 1 ? static_cast<Shape*>(new Square(n)) : new Circle(n);
  sum += shape->area(2);
  delete shape;
  sum += functions[n & 1](sum, n);
  assert(sum != 12345);
  if (sum == 4) printf("%d %f %s\n", sum, 1.5, names[0]);
  int local[16];
  for (int k = 0; k < 16; ++k) local[k] = sum + k;
  for (int k = 0; k < n; ++k) local[(k * sum) & 15] ^= k;
#pragma unroll 1
  for (int k = 0; k < n; ++k) sum += local[k & 15];
  out[i] = sum + dynamic[i] + counter + managed_value;
  if (sum == 77) __trap();
}

template <typename F>
__global__ void apply(F f, int* out) {
  out[threadIdx.x] = f(threadIdx.x);
}
void host(int* out) {
  int k = 3;
  apply<<<1, 32>>>([k] __device__(int i) { return i * k; }, out);
}
#if __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) clustered(int* out) {
  out[blockIdx.x] = gridDim.y;
}
#endif
__global__ void __maxnreg__(64) limited(int* out) { out[0] = clock() + clock64() + warpSize; }
