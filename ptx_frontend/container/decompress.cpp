#include "ptx_frontend/container/decompress.hpp"

#include <cstdint>

#ifdef PTXWIRE_HAVE_ZSTD
#include <zstd.h>
#endif

namespace ptxwire::ptx {
namespace {

constexpr size_t kShortestMatch = 4;

class Lz4Reader {
 public:
  explicit Lz4Reader(std::string_view block) : block_(block) {}
  [[nodiscard]] bool at_end() const { return at_ == block_.size(); }
  std::optional<uint8_t> byte() {
    if (at_end()) return {};
    return static_cast<uint8_t>(block_[at_++]);
  }
  /// 15 in a nibble of the token goes on in bytes, the last of which is not 255.
  std::optional<size_t> length(size_t nibble) {
    size_t total = nibble;
    for (bool more = nibble == 15; more;) {
      const auto next = byte();
      if (!next) return {};
      total += *next;
      more = *next == 255;
    }
    return total;
  }
  std::optional<std::string_view> take(size_t count) {
    if (count > block_.size() - at_) return {};
    at_ += count;
    return block_.substr(at_ - count, count);
  }

 private:
  std::string_view block_;
  size_t at_ = 0;
};

}  // namespace

std::optional<std::string> decompress_lz4(std::string_view block, size_t size) {
  std::string out;
  out.reserve(size);
  Lz4Reader reader(block);
  while (!reader.at_end()) {
    const uint8_t token = *reader.byte();
    const auto literals = reader.length(token >> 4U);
    const auto text = literals ? reader.take(*literals) : std::nullopt;
    if (!text || out.size() + text->size() > size) return {};
    out += *text;
    if (reader.at_end()) break;  // the last sequence has no match
    const auto low = reader.byte(), high = reader.byte();
    const auto match = low && high ? reader.length(token & 15U) : std::nullopt;
    if (!match) return {};
    const size_t distance = *low + size_t{*high} * 256, count = *match + kShortestMatch;
    if (distance == 0 || distance > out.size() || count > size - out.size()) return {};
    for (size_t i = 0; i < count; ++i) out += out[out.size() - distance];  // the two may overlap
  }
  if (out.size() != size) return {};
  return out;
}

std::optional<std::string> decompress_zstd(std::string_view frame, size_t size) {
#ifdef PTXWIRE_HAVE_ZSTD
  std::string out(size, '\0');
  const size_t written = ZSTD_decompress(out.data(), size, frame.data(), frame.size());
  if (ZSTD_isError(written) != 0 || written != size) return {};
  return out;
#else
  (void)frame;
  (void)size;
  return {};
#endif
}

}  // namespace ptxwire::ptx
