// Compact lists of lists: neighbours per vertex, ranges per register, and the like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ptxwire::ptx {

/// For each of `size()` keys the items added for it, in order of addition. Built once from (key, item)
/// records.
template <typename Item>
class Adjacency {
 public:
  using Record = std::pair<uint32_t, Item>;

  Adjacency() = default;
  Adjacency(uint32_t keys, const std::vector<Record>& records) : first_(keys + 1, 0), items_(records.size()) {
    for (const Record& record : records) ++first_[record.first + 1];
    for (uint32_t k = 0; k < keys; ++k) first_[k + 1] += first_[k];
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (const Record& record : records) items_[next[record.first]++] = record.second;
  }

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(first_.size()) - 1; }
  [[nodiscard]] size_t item_count() const { return items_.size(); }
  [[nodiscard]] std::span<const Item> of(uint32_t key) const {
    return {items_.data() + first_[key], items_.data() + first_[key + 1]};
  }

 private:
  std::vector<uint32_t> first_ = {0};
  std::vector<Item> items_;
};

using VertexList = Adjacency<uint32_t>;

}  // namespace ptxwire::ptx
