// Which stores of a CTA are not yet acknowledged, in epochs: a release closes the epoch and waits until it
// and all earlier ones are empty. Stores of the whole CTA count, because barriers make releases cumulative.
#pragma once

#include <cstdint>
#include <deque>

namespace ptxwire::sim {

class StoreTracker {
 public:
  /// A store leaves; returns the epoch to hand back to acknowledge().
  uint64_t add() {
    ++pending_.back();
    return base_ + pending_.size() - 1;
  }
  void acknowledge(uint64_t epoch) {
    --pending_[epoch - base_];
    while (pending_.size() > 1 && pending_.front() == 0) {
      pending_.pop_front();
      ++base_;
    }
  }
  /// True if nothing is in flight.
  [[nodiscard]] bool drained() const {
    for (const uint32_t count : pending_)
      if (count != 0) return false;
    return true;
  }
  /// Closes the current epoch and returns it; passed(epoch) tells when all stores up to it are acknowledged.
  uint64_t close() {
    const uint64_t epoch = base_ + pending_.size() - 1;
    pending_.push_back(0);
    while (pending_.size() > 1 && pending_.front() == 0) {
      pending_.pop_front();
      ++base_;
    }
    return epoch;
  }
  [[nodiscard]] bool passed(uint64_t epoch) const { return base_ > epoch; }

 private:
  std::deque<uint32_t> pending_{0};
  uint64_t base_ = 0;
};

}  // namespace ptxwire::sim
