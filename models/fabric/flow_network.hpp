// Directed links with rates, and how fast demands can be moved through them at best: maximum flow and the cut
// that binds.
#pragma once

#include <cstdint>
#include <vector>

namespace ptxwire::models {

/// Demands of one commodity: what vertices put in and take out, in bytes. What is taken out may come from
/// anywhere.
struct Commodity {
  std::vector<uint64_t> supply, demand;  ///< [vertex]
  uint64_t total = 0;                    ///< of either
};

struct FlowEdge {
  uint32_t from = 0, to = 0;
  double bytes_per_second = 0;
};

/// No way of moving a commodity is faster.
struct FlowBound {
  double seconds = 0;
  std::vector<uint32_t> cut;  ///< edges that bind, indices of FlowNetwork::edges(); empty: nothing to move
  double cut_bytes = 0;       ///< must cross them
  bool possible = true;       ///< false: some of it has no way at all
};

class FlowNetwork {
 public:
  explicit FlowNetwork(uint32_t vertices) : vertices_(vertices) {}

  [[nodiscard]] uint32_t vertices() const { return vertices_; }
  [[nodiscard]] const std::vector<FlowEdge>& edges() const { return edges_; }
  void add(uint32_t from, uint32_t to, double bytes_per_second) {
    edges_.push_back({from, to, bytes_per_second});
  }

  /// The least time in which the commodity fits through the network, or `floor` with its cut if that is more.
  ///
  /// For every set of vertices, what must leave it over the rate of the edges that leave it bounds the time.
  /// The largest of these bounds is the time (maximum flow is minimum cut); it is found from below: a time
  /// that is too short has a minimum cut that does not hold what must cross it, which gives the next time.
  [[nodiscard]] FlowBound least_time(const Commodity& commodity, const FlowBound& floor = {}) const;

  /// Rate between two sets of vertices: maximum flow, in bytes per second.
  [[nodiscard]] double rate_between(const std::vector<uint32_t>& from, const std::vector<uint32_t>& to) const;

 private:
  uint32_t vertices_;
  std::vector<FlowEdge> edges_;
};

}  // namespace ptxwire::models
