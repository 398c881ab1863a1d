// Traffic matrices of users: bytes from GPU to GPU, from a file or a rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/fabric/topology.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

/// Rows of `from,to,bytes` under that header; GPUs are numbered through all nodes, `bytes` may carry a unit
/// ("4 MiB"), rows of the same pair add up. Errors, with path and line: no such GPU, no number of bytes, a
/// header of other columns; more than fits the arithmetic in all.
Expected<models::TrafficMatrix> read_traffic(const std::string& path, uint32_t gpus);

/// As many bytes from each GPU to each other: "1000000" or "1 MB". Errors name no file.
Expected<models::TrafficMatrix> all_to_all_traffic(std::string_view bytes, uint32_t gpus);

/// All bytes off the diagonal.
uint64_t total_bytes(const models::TrafficMatrix& traffic);

}  // namespace ptxwire::sim
