// How GPUs and switches are cabled, from a file (models/fabric/topologies/*.toml):
//
//   [vertices]
//   gpu = 8            # gpu0 .. gpu7
//   switch = 4         # switch0 .. switch3
//   [[link]]
//   from = "gpu[0-7]"  # a vertex or a range
//   to = "switch[0-3]" # each of `from` is cabled to each of `to`
//   count = 2          # parallel links
//   rate = "25 GB/s"   # of one link in one direction
//
// The graph gives routes, the cabling of the fabric model, and the speed of light of a traffic matrix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "support/error.hpp"

namespace ptxwire::models {

/// Bytes to move from each GPU to each other; the diagonal is free.
class TrafficMatrix {
 public:
  explicit TrafficMatrix(uint32_t gpus) : gpus_(gpus), bytes_(size_t{gpus} * gpus) {}
  [[nodiscard]] uint32_t gpus() const { return gpus_; }
  uint64_t& at(GpuId from, GpuId to) { return bytes_[size_t{from.value} * gpus_ + to.value]; }
  [[nodiscard]] uint64_t at(GpuId from, GpuId to) const {
    return bytes_[size_t{from.value} * gpus_ + to.value];
  }

 private:
  uint32_t gpus_;
  std::vector<uint64_t> bytes_;
};

/// A bundle of parallel links between two vertices. GPUs are vertices [0, gpus), switches follow.
struct TopologyEdge {
  uint32_t a = 0, b = 0;
  uint32_t count = 0;
  double bytes_per_second = 0;  ///< of one link, each direction
};

class Topology {
 public:
  /// Errors, with path and line: not TOML, unknown key or vertex, wrong unit, zero or negative count, a link
  /// of a vertex with itself, GPUs between which there is no way.
  static Expected<Topology> load(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] uint32_t gpus() const { return gpus_; }
  [[nodiscard]] uint32_t switches() const { return switches_; }
  [[nodiscard]] const std::vector<TopologyEdge>& edges() const { return edges_; }
  /// "gpu3" or "switch0".
  [[nodiscard]] std::string vertex_name(uint32_t vertex) const;

  /// For each link of the GPU, the index of the switch at its other end; links to other GPUs are left out.
  [[nodiscard]] std::vector<uint32_t> link_switches(GpuId gpu) const;

  /// Vertices of a way with fewest hops, both ends included; of several the one through the lowest numbers.
  [[nodiscard]] std::vector<uint32_t> route(GpuId from, GpuId to) const;

  /// No schedule moves the matrix (of gpus() GPUs) faster: the largest of the times at which the maximum flow
  /// through the graph reaches the demand, for each GPU alone as source or as destination, and for all
  /// together as one commodity. All at raw link rate: headers and acknowledgements are the caller's to add to
  /// the bytes.
  [[nodiscard]] Picoseconds speed_of_light(const TrafficMatrix& traffic) const;

 private:
  friend class TopologyReader;
  std::string path_;
  uint32_t gpus_ = 0, switches_ = 0;
  std::vector<TopologyEdge> edges_;
};

}  // namespace ptxwire::models
