#include "ptx_frontend/check/fragment.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace ptxwire::ptx {
namespace {

constexpr unsigned kLanes = 32, kRegisterBits = 32;

/// Bits of an element; 0 for a word that is no type of matrices.
unsigned element_bits(std::string_view word) {
  if (word == "f64") return 64;
  if (word == "f32" || word == "s32" || word == "tf32") return 32;
  if (word == "f16" || word == "bf16") return 16;
  if (word == "s8" || word == "u8" || word == "e4m3" || word == "e5m2" || word == "e3m2" || word == "e2m3" ||
      word == "e2m1")
    return 8;
  if (word == "s4" || word == "u4") return 4;
  return word == "b1" ? 1 : 0;
}

struct Spelling {
  unsigned m = 0, n = 0, k = 0;
  unsigned matrices = 0;  ///< of ldmatrix: x1, x2, x4
  std::vector<std::string_view> types;

  explicit Spelling(std::string_view text) {
    text.remove_prefix(std::min(text.find('.'), text.size()));
    while (!text.empty()) {
      text.remove_prefix(1);
      const size_t dot = std::min(text.find('.'), text.size());
      const std::string_view word = text.substr(0, dot);
      if (element_bits(word) != 0) types.push_back(word);
      if (word.size() == 2 && word[0] == 'x' && word[1] >= '1' && word[1] <= '4')
        matrices = static_cast<unsigned>(word[1] - '0');
      if (word.size() > 1 && word[0] == 'm' && word[1] >= '0' && word[1] <= '9') read_shape(word);
      text.remove_prefix(dot);
    }
  }

 private:
  void read_shape(std::string_view word) {
    const char* end = word.data() + word.size();
    const char* at = word.data() + 1;
    for (unsigned* number : {&m, &n, &k}) {
      at = std::from_chars(at, end, *number).ptr;
      if (at == end) return;
      ++at;
    }
  }
};

Fragment of_elements(unsigned elements, unsigned bits) {
  const unsigned per_lane = elements * bits / kLanes;
  if (bits == 64) return {per_lane / 64, 8, 0};
  return {std::max(1U, per_lane / kRegisterBits), 4, 0};
}

/// Matrix 0 is D, 1 A, 2 B, 3 C.
Fragment of_product(const Spelling& s, unsigned matrix, unsigned bits, bool sparse) {
  if (s.m == 0 || s.n == 0 || s.k == 0) return {};
  const unsigned depth = matrix == 1 && sparse ? s.k / 2 : s.k;
  const unsigned elements = matrix == 1 ? s.m * depth : matrix == 2 ? s.k * s.n : s.m * s.n;
  return of_elements(elements, bits);
}

Fragment of_mma(const Spelling& s, unsigned place, bool sparse) {
  if (s.types.size() < 4) return {};
  Fragment result = of_product(s, place, element_bits(s.types[place]), sparse);
  // The oldest shape is four products at once, one per group of eight threads.
  if (s.m == 8 && s.n == 8 && s.k == 4 && s.types[1] == "f16") {
    result = of_elements(4 * (place == 1 || place == 2 ? 32 : 64), element_bits(s.types[place]));
  }
  return result;
}

/// Fragments of wmma: as of mma, but halves of A and B are kept twice.
Fragment of_wmma(const Spelling& s, unsigned matrix, std::string_view type) {
  if ((matrix == 1 || matrix == 2) && type == "f16") return {8, 4, 0};
  return of_product(s, matrix, element_bits(type), false);
}

}  // namespace

Fragment fragment(std::string_view spelling, unsigned place) {
  const Spelling s(spelling);
  if (spelling.starts_with("ldmatrix") || spelling.starts_with("stmatrix")) {
    // 16 x 16 bytes are two registers.
    return {spelling.find("m16n16") != std::string_view::npos ? 2 * s.matrices : s.matrices, 4, 0};
  }
  if (spelling.starts_with("wgmma")) {
    const bool half = !s.types.empty() && s.types[0] == "f16";
    return {place == 0 ? s.n / (half ? 4 : 2) : 4, 4, s.n};
  }
  if (spelling.starts_with("wmma.load.") || spelling.starts_with("wmma.store.")) {
    const char letter = spelling[spelling.find('.', 5) + 1];
    if (s.types.empty()) return {};
    return of_wmma(s, letter == 'a' ? 1 : letter == 'b' ? 2 : 0, s.types[0]);
  }
  if (spelling.starts_with("wmma.mma")) {
    if (place > 3 || s.types.size() < 2) return {};
    if (s.types.size() == 2)
      return of_wmma(s, place, place == 0 ? s.types[0] : place == 3 ? s.types[1] : "f16");
    return s.types.size() < 4 ? Fragment{} : of_wmma(s, place, s.types[place]);
  }
  if (spelling.starts_with("mma") && place < 4) return of_mma(s, place, spelling.starts_with("mma.sp"));
  return {};
}

}  // namespace ptxwire::ptx
