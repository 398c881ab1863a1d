// Program::constants without duplicates.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ptx_frontend/program.hpp"

namespace ptxwire::ptx {

class ConstantPool {
 public:
  explicit ConstantPool(std::vector<Constant>& constants) : constants_(constants) {}

  /// A slot that reads `constant`.
  Slot slot(const Constant& constant);
  Slot slot(uint64_t value) { return slot(Constant{value, RelocationKind::none, 0}); }

  /// False once more constants were asked for than Slot::index can tell apart; slots given out since are
  /// void.
  [[nodiscard]] bool within_limits() const { return constants_.size() <= kLimit; }
  static constexpr size_t kLimit = 65536;

 private:
  struct Hash {
    size_t operator()(const Constant& c) const {
      const uint64_t mixed =
          (c.value ^ (static_cast<uint64_t>(c.symbol) << 20)) + static_cast<uint64_t>(c.relocation);
      return (mixed * 0x9E3779B97F4A7C15ULL) ^ (mixed >> 29);
    }
  };
  struct Equal {
    bool operator()(const Constant& a, const Constant& b) const {
      return a.value == b.value && a.relocation == b.relocation && a.symbol == b.symbol;
    }
  };
  std::vector<Constant>& constants_;
  std::unordered_map<Constant, uint32_t, Hash, Equal> index_;
};

}  // namespace ptxwire::ptx
