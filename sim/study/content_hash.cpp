#include "sim/study/content_hash.hpp"

namespace ptxwire::sim {

void ContentHash::byte(uint8_t value) {
  constexpr unsigned __int128 kPrime =
      (static_cast<unsigned __int128>(0x0000000001000000ULL) << 64) | 0x13bULL;
  state_ = (state_ ^ value) * kPrime;
}

ContentHash& ContentHash::add(std::string_view field) {
  for (char c : field) byte(static_cast<uint8_t>(c));
  for (unsigned shift = 0; shift < 64; shift += 8) byte(static_cast<uint8_t>(field.size() >> shift));
  return *this;
}

std::string ContentHash::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(32, '0');
  unsigned __int128 rest = state_;
  for (size_t i = text.size(); i-- > 0; rest >>= 4) text[i] = kDigits[static_cast<unsigned>(rest & 15)];
  return text;
}

}  // namespace ptxwire::sim
