#include "models/base/logical_process.hpp"

#include <cstddef>

namespace ptxwire::models {
namespace {

// A 4-ary heap: half the depth of a binary one, and the four children share a cache line pair.
constexpr size_t kArity = 4;

bool before(const Event& a, const Event& b) {
  return a.time != b.time ? a.time < b.time : a.sequence < b.sequence;
}

}  // namespace

void LogicalProcess::push(const Event& event) {
  size_t hole = heap_.size();
  heap_.push_back(event);
  while (hole != 0) {
    const size_t parent = (hole - 1) / kArity;
    if (!before(event, heap_[parent])) break;
    heap_[hole] = heap_[parent];
    hole = parent;
  }
  heap_[hole] = event;
}

void LogicalProcess::pop() {
  const Event last = heap_.back();
  heap_.pop_back();
  const size_t size = heap_.size();
  if (size == 0) return;
  size_t hole = 0;
  for (;;) {
    const size_t first = hole * kArity + 1;
    if (first >= size) break;
    size_t best = first;
    const size_t end = first + kArity < size ? first + kArity : size;
    for (size_t child = first + 1; child < end; ++child)
      if (before(heap_[child], heap_[best])) best = child;
    if (!before(heap_[best], last)) break;
    heap_[hole] = heap_[best];
    hole = best;
  }
  heap_[hole] = last;
}

void LogicalProcess::run_until(Picoseconds end) {
  while (!heap_.empty() && heap_.front().time < end) {
    const Event event = heap_.front();
    pop();
    now_ = event.time;
    ++handled_;
    if (!heap_.empty()) heap_.front().handler->prepare(heap_.front().argument);
    event.handler->handle(event.time, event.argument);
  }
  if (now_ < end && end != kNever) now_ = end;
}

}  // namespace ptxwire::models
