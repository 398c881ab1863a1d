#include "support/large_pages.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <random>

namespace ptxwire::test {

TEST_CASE("large pages: pieces are aligned, do not overlap and keep what is written") {
  struct Piece {
    unsigned char* begin;
    size_t bytes;
  };
  LargePages pages;
  std::vector<Piece> pieces;
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const size_t alignment = size_t{1} << random() % 13;
    const size_t bytes = i % 50 == 0 ? (size_t{3} << 20) + 5 : random() % 40000 + 1;
    auto* begin = static_cast<unsigned char*>(pages.allocate(bytes, alignment));
    REQUIRE(reinterpret_cast<uintptr_t>(begin) % alignment == 0);
    std::memset(begin, i % 251, bytes);
    pieces.push_back({begin, bytes});
    if (i % 3 == 0) pages.deallocate(begin, bytes, alignment);  // changes nothing
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    REQUIRE(pieces[i].begin[0] == i % 251);
    REQUIRE(pieces[i].begin[pieces[i].bytes - 1] == i % 251);
  }
}

}  // namespace ptxwire::test
