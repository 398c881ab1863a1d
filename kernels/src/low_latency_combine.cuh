// Low-latency combine: what its phases share.
#pragma once

#include "low_latency.cuh"

namespace ptxwire {

struct LowLatencyCombineInput {
  const char* rows;  ///< [L][R T] BF16 rows, `row_stride` bytes apart
  int64_t row_stride;
  const int* source;          ///< [L][R T], as dispatch left it
  const long long* segments;  ///< [L][R], the same
  const int64_t* experts;     ///< [T][K] of the own tokens; -1: none
  const float* weights;       ///< [T][K]
};

/// Where a row lies in its slot: state a leaves 16 bytes free in front.
template <LowLatencyRevision kRevision>
struct CombineSlot {
  static constexpr int kRowOffset = kRevision == LowLatencyRevision::a ? 16 : 0;
  int row_bytes;
  __device__ explicit CombineSlot(const LowLatencyShape& shape) : row_bytes(2 * shape.hidden) {}
  __device__ int bytes() const { return kRowOffset + row_bytes; }
};

}  // namespace ptxwire
