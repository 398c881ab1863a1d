// Layer norm of rows of 7168 bf16 values in float: one row per CTA at a time, the row in registers, CTA c
// takes rows c, c + grid, ... The forward kernel has the shape of a training trace: 128 threads of 7 x 16
// bytes.
#include "grid.cuh"

namespace ptxwire {
namespace {

constexpr int kHidden = 7168;
constexpr float kEpsilon = 1e-5f;

template <int kThreads>
struct Row {
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kVectors = kHidden / 8 / kThreads;  ///< 16-byte vectors per thread
  static constexpr int kRest = kHidden / 8 % kThreads;
  static_assert(kRest == 0 || kRest == kThreads / 2, "the last vector belongs to the first half");
  static constexpr int kHeld = kVectors + (kRest != 0);

  uint4 vector[kHeld];

  static __device__ __forceinline__ bool owns(int i) { return i < kVectors || threadIdx.x < kRest; }

  __device__ __forceinline__ void load(const uint4* from) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
      vector[i] = owns(i) ? from[i * kThreads + threadIdx.x] : make_uint4(0, 0, 0, 0);
  }
};

/// Sum over the CTA, in every thread. `scratch` has two floats per warp; calls alternate between them.
template <int kWarps>
__device__ __forceinline__ float cta_sum(float value, float* scratch) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) sum += scratch[warp];
  return sum;
}

template <typename Visit>
__device__ __forceinline__ void for_each_pair(const uint4& vector, Visit visit) {
  visit(0, vector.x);
  visit(1, vector.y);
  visit(2, vector.z);
  visit(3, vector.w);
}

__device__ __forceinline__ uint32_t& word(uint4& vector, int i) { return (&vector.x)[i]; }
__device__ __forceinline__ uint32_t word(const uint4& vector, int i) { return (&vector.x)[i]; }

}  // namespace
}  // namespace ptxwire

namespace ptxwire {
namespace {

/// The part after the row is in registers: statistics, then out = (x - mean) / sqrt(variance + 1e-5) * gamma
/// + beta.
__device__ __forceinline__ void normalise(const Row<128>& row, const Row<128>& scale, const Row<128>& shift,
                                          float (&scratch)[2][Row<128>::kWarps], uint4* out,
                                          float2* statistics) {
  using Mine = Row<128>;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < Mine::kHeld; ++i)
    for_each_pair(row.vector[i], [&](int, uint32_t pair) {
      const float2 v = unpacked(pair);
      sum += v.x + v.y;
    });
  const float mean = cta_sum<Mine::kWarps>(sum, scratch[0]) / kHidden;
  float squares = 0;
#pragma unroll
  for (int i = 0; i < Mine::kHeld; ++i)
    for_each_pair(row.vector[i], [&](int, uint32_t pair) {
      const float2 v = unpacked(pair);
      squares += (v.x - mean) * (v.x - mean) + (v.y - mean) * (v.y - mean);
    });
  const float inverse = rsqrtf(cta_sum<Mine::kWarps>(squares, scratch[1]) / kHidden + kEpsilon);
#pragma unroll
  for (int i = 0; i < Mine::kHeld; ++i) {
    uint4 result;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const float2 v = unpacked(word(row.vector[i], w)), g = unpacked(word(scale.vector[i], w)),
                   b = unpacked(word(shift.vector[i], w));
      word(result, w) = packed((v.x - mean) * inverse * g.x + b.x, (v.y - mean) * inverse * g.y + b.y);
    }
    out[i * 128 + threadIdx.x] = result;
  }
  if (threadIdx.x == 0) *statistics = make_float2(mean, inverse);
}

}  // namespace
}  // namespace ptxwire

/// out[r] is row r of x normalised; its mean and 1 / sqrt(...) go to `statistics`.
extern "C" __global__ void __launch_bounds__(128)
    layer_norm_forward(const uint4* x, const uint4* gamma, const uint4* beta, uint4* out, float2* statistics,
                       int rows) {
  using namespace ptxwire;
  __shared__ float scratch[2][Row<128>::kWarps];
  Row<128> scale, shift;
  scale.load(gamma);
  shift.load(beta);
  for (int r = cta_number(); r < rows; r += ctas_in_grid()) {
    const long long first = static_cast<long long>(r) * (kHidden / 8);
    Row<128> row;
    row.load(x + first);
    normalise(row, scale, shift, scratch, out + first, statistics + r);
  }
}

/// The same of x + residual, which is written to `sum` as well, piece by piece: nothing says that `sum` and
/// the inputs are different memory, so a piece is loaded only when the one before is stored, and every piece
/// costs a latency. This is the form of the fused kernel of that name in flash-attention (csrc/layer_norm),
/// whose traits the trace kernel shows.
extern "C" __global__ void __launch_bounds__(128)
    add_layer_norm_forward(const uint4* x, const uint4* residual, const uint4* gamma, const uint4* beta,
                           uint4* sum, uint4* out, float2* statistics, int rows) {
  using namespace ptxwire;
  __shared__ float scratch[2][Row<128>::kWarps];
  Row<128> scale, shift;
  scale.load(gamma);
  shift.load(beta);
  for (int r = cta_number(); r < rows; r += ctas_in_grid()) {
    const long long first = static_cast<long long>(r) * (kHidden / 8);
    Row<128> row;
#pragma unroll
    for (int i = 0; i < Row<128>::kHeld; ++i) {
      const long long at = first + i * 128 + threadIdx.x;
      uint4 left = x[at], right = residual[at];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const float2 a = unpacked(word(left, w)), b = unpacked(word(right, w));
        word(row.vector[i], w) = packed(a.x + b.x, a.y + b.y);
      }
      sum[at] = row.vector[i];
    }
    normalise(row, scale, shift, scratch, out + first, statistics + r);
  }
}

/// dx of the same, and per CTA the sums of dy (beta's gradient) and dy * normalised x (gamma's), 2 x 7168
/// floats, which a second kernel would add up. The two sums stay in registers over all rows of a CTA.
extern "C" __global__ void __launch_bounds__(256)
    layer_norm_backward(const uint4* dy, const uint4* x, const uint4* gamma, const float2* statistics,
                        uint4* dx, float* partial, int rows) {
  using namespace ptxwire;
  using Mine = Row<256>;
  __shared__ float scratch[2][Mine::kWarps];
  Mine scale;
  scale.load(gamma);
  float of_beta[Mine::kHeld][8] = {}, of_gamma[Mine::kHeld][8] = {};
  for (int r = cta_number(); r < rows; r += ctas_in_grid()) {
    const long long first = static_cast<long long>(r) * (kHidden / 8);
    Mine gradient, row;
    gradient.load(dy + first);
    row.load(x + first);
    const float2 stored = statistics[r];
    float sum = 0, product = 0;
#pragma unroll
    for (int i = 0; i < Mine::kHeld; ++i)
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const float2 d = unpacked(word(gradient.vector[i], w)), v = unpacked(word(row.vector[i], w)),
                     g = unpacked(word(scale.vector[i], w));
        const float low = (v.x - stored.x) * stored.y, high = (v.y - stored.x) * stored.y;
        of_beta[i][2 * w] += d.x;
        of_beta[i][2 * w + 1] += d.y;
        of_gamma[i][2 * w] += d.x * low;
        of_gamma[i][2 * w + 1] += d.y * high;
        sum += d.x * g.x + d.y * g.y;
        product += d.x * g.x * low + d.y * g.y * high;
      }
    const float mean_sum = cta_sum<Mine::kWarps>(sum, scratch[0]) / kHidden;
    const float mean_product = cta_sum<Mine::kWarps>(product, scratch[1]) / kHidden;
#pragma unroll
    for (int i = 0; i < Mine::kHeld; ++i) {
      uint4 result;
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const float2 d = unpacked(word(gradient.vector[i], w)), v = unpacked(word(row.vector[i], w)),
                     g = unpacked(word(scale.vector[i], w));
        const float low = (v.x - stored.x) * stored.y, high = (v.y - stored.x) * stored.y;
        word(result, w) = packed((d.x * g.x - mean_sum - low * mean_product) * stored.y,
                                 (d.y * g.y - mean_sum - high * mean_product) * stored.y);
      }
      if (Mine::owns(i)) dx[first + i * 256 + threadIdx.x] = result;
    }
    __syncthreads();
  }
  float* const mine = partial + static_cast<long long>(cta_number()) * 2 * kHidden;
#pragma unroll
  for (int i = 0; i < Mine::kHeld; ++i) {
    if (!Mine::owns(i)) continue;
    const int column = (i * 256 + threadIdx.x) * 8;
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      mine[column + e] = of_beta[i][e];
      mine[kHidden + column + e] = of_gamma[i][e];
    }
  }
}
