// Intranode combine, revision A: sums are stored straight from registers.
#include "combine.cuh"

namespace ptxwire {
namespace {

struct RegisterStore {
  static constexpr bool kHasBias = false;
  __device__ void operator()(int, int4* to, int4 v) { *to = v; }
  __device__ void finish() {}
};

template <PayloadHint kHint>
__device__ void combine_a(const CommBuffers& comm, const CombineInput& in, const CombineOutput& out,
                          const CombineShape& shape) {
  RegisterStore store;
  combine<Revision::a, kHint>(comm, in, out, shape, store);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kCombineThreads, 1)
    combine_a(CommBuffers comm, CombineInput in, CombineOutput out, CombineShape shape) {
  combine_a<PayloadHint::standard>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kCombineThreads, 1)
    combine_a_no_prefetch(CommBuffers comm, CombineInput in, CombineOutput out, CombineShape shape) {
  combine_a<PayloadHint::no_prefetch>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kCombineThreads, 1)
    combine_a_plain(CommBuffers comm, CombineInput in, CombineOutput out, CombineShape shape) {
  combine_a<PayloadHint::plain>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kCombineThreads, 1)
    combine_a_volatile(CommBuffers comm, CombineInput in, CombineOutput out, CombineShape shape) {
  combine_a<PayloadHint::safe>(comm, in, out, shape);
}

}  // namespace ptxwire
