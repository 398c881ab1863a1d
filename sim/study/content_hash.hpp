// A name for content: equal names mean equal content, for everything that is not made to collide.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ptxwire::sim {

/// 128-bit FNV-1a over a sequence of fields. Each field is hashed with its length, so that ("ab", "c") and
/// ("a", "bc") differ.
class ContentHash {
 public:
  ContentHash& add(std::string_view field);
  /// 32 hexadecimal digits.
  [[nodiscard]] std::string hex() const;

 private:
  void byte(uint8_t value);

  // Offset basis and prime of the 128-bit variant (draft-eastlake-fnv).
  unsigned __int128 state_ =
      (static_cast<unsigned __int128>(0x6c62272e07bb0142ULL) << 64) | 0x62b821756295c58dULL;
};

}  // namespace ptxwire::sim
