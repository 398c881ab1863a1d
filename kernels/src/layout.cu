// Counts, from the expert indices of the tokens, the tokens per rank, per node and per expert, and marks who
// gets which token.
#include "comm.cuh"

namespace ptxwire {
namespace {

constexpr int kThreads = 256;
constexpr int kRanksPerCta = 8;  // the ranks of one node

/// Counts of one thread each for `kExpertsPerCta` experts, or for 8 ranks and their node.
template <int kExpertsPerCta>
struct LayoutCounters {
  int expert[kThreads][kExpertsPerCta];
  int rank[kThreads][kRanksPerCta];
  int node[kThreads];
};

template <int kExpertsPerCta>
__device__ void count_experts(LayoutCounters<kExpertsPerCta>& counters, const int64_t* topk_idx,
                              int* per_expert, int tokens, int topk, int experts, int first) {
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int e = 0; e < kExpertsPerCta; ++e) counters.expert[thread][e] = 0;
  for (int token = thread; token < tokens; token += kThreads)
    for (int k = 0; k < topk; ++k) {
      const int64_t expert = topk_idx[static_cast<int64_t>(token) * topk + k] - first;
      if (expert >= 0 && expert < kExpertsPerCta) ++counters.expert[thread][expert];
    }
  __syncthreads();
  if (thread < kExpertsPerCta && first + thread < experts) {
    int sum = 0;
    for (int i = 0; i < kThreads; ++i) sum += counters.expert[i][thread];
    per_expert[first + thread] = sum;
  }
}

/// A token counts once per rank and once per node, however many of its experts live there.
template <int kExpertsPerCta>
__device__ void count_ranks(LayoutCounters<kExpertsPerCta>& counters, const int64_t* topk_idx, int* per_rank,
                            int* per_node, uint8_t* membership, int tokens, int topk, int experts, int ranks,
                            int first) {
  const int thread = static_cast<int>(threadIdx.x);
  const int local_experts = experts / ranks;
#pragma unroll
  for (int r = 0; r < kRanksPerCta; ++r) counters.rank[thread][r] = 0;
  counters.node[thread] = 0;
  for (int token = thread; token < tokens; token += kThreads) {
    unsigned used = 0;  // bit r: the token goes to rank first + r
    for (int k = 0; k < topk; ++k) {
      const int64_t expert = topk_idx[static_cast<int64_t>(token) * topk + k];
      if (expert < 0) continue;
      const int r = static_cast<int>(expert) / local_experts - first;
      if (r >= 0 && r < kRanksPerCta) used |= 1u << r;
    }
#pragma unroll
    for (int r = 0; r < kRanksPerCta; ++r)
      if (first + r < ranks) {
        membership[static_cast<int64_t>(token) * ranks + first + r] = used >> r & 1;
        counters.rank[thread][r] += static_cast<int>(used >> r & 1);
      }
    counters.node[thread] += used != 0;
  }
  __syncthreads();
  if (thread < kRanksPerCta && first + thread < ranks) {
    int sum = 0;
    for (int i = 0; i < kThreads; ++i) sum += counters.rank[i][thread];
    per_rank[first + thread] = sum;
  }
  if (thread == kRanksPerCta && per_node != nullptr) {
    int sum = 0;
    for (int i = 0; i < kThreads; ++i) sum += counters.node[i];
    per_node[first / kRanksPerCta] = sum;
  }
}

template <int kExpertsPerCta>
__device__ void layout(const int64_t* topk_idx, int* per_rank, int* per_node, int* per_expert,
                       uint8_t* membership, int tokens, int topk, int experts, int ranks) {
  __shared__ LayoutCounters<kExpertsPerCta> counters;
  const int expert_ctas = (experts + kExpertsPerCta - 1) / kExpertsPerCta;
  const int cta = static_cast<int>(blockIdx.x);
  if (cta < expert_ctas)
    count_experts(counters, topk_idx, per_expert, tokens, topk, experts, cta * kExpertsPerCta);
  else
    count_ranks(counters, topk_idx, per_rank, per_node, membership, tokens, topk, experts, ranks,
                (cta - expert_ctas) * kRanksPerCta);
}

}  // namespace

/// Grid: ceil(E/32) + ceil(R/8) CTAs.
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    layout_a(const int64_t* topk_idx, int* per_rank, int* per_node, int* per_expert, uint8_t* membership,
             int tokens, int topk, int experts, int ranks) {
  layout<32>(topk_idx, per_rank, per_node, per_expert, membership, tokens, topk, experts, ranks);
}
/// Grid: ceil(E/4) + ceil(R/8) CTAs.
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    layout_d(const int64_t* topk_idx, int* per_rank, int* per_node, int* per_expert, uint8_t* membership,
             int tokens, int topk, int experts, int ranks) {
  layout<4>(topk_idx, per_rank, per_node, per_expert, membership, tokens, topk, experts, ranks);
}

}  // namespace ptxwire
