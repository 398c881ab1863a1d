// Low-latency dispatch: the message of a token and where the kernel's parameters lie.
#pragma once

#include "low_latency.cuh"
#include "low_latency_cast.cuh"

namespace ptxwire {

struct LowLatencyDispatchInput {
  const int4* rows;        ///< [T][H] BF16
  const int64_t* experts;  ///< [T][K]; -1: none
};

struct LowLatencyDispatchOutput {
  int4* rows;           ///< [L][R T][H], by local expert, within it by source in any order
  float* scales;        ///< [L][H/128][R T]
  int* source;          ///< [L][R T]: token index at the source
  long long* segments;  ///< [L][R]: messages from a source << 32 | the first one's place
  int* counts;          ///< [L]
};

/// Row and scales, and a header with the token's index: in front of them, in revision a behind them.
template <LowLatencyRevision kRevision, bool kCast>
struct DispatchMessage {
  static constexpr int kHeaderBytes = 16;
  int row_bytes, scales;
  __device__ explicit DispatchMessage(const LowLatencyShape& shape)
      : row_bytes(kCast ? shape.hidden : 2 * shape.hidden), scales(kCast ? shape.hidden / kScaleGroup : 0) {}
  __device__ int bytes() const { return kHeaderBytes + row_bytes + scales * 4; }
  __device__ int row_offset() const { return kRevision == LowLatencyRevision::a ? 0 : kHeaderBytes; }
  __device__ int scales_offset() const { return row_offset() + row_bytes; }
  __device__ int header_offset() const {
    return kRevision == LowLatencyRevision::a ? row_bytes + scales * 4 : 0;
  }
};

}  // namespace ptxwire
