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
    unsigned char value;
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
    if (i % 3 == 0)
      pages.deallocate(begin, bytes, alignment);
    else
      pieces.push_back({begin, bytes, static_cast<unsigned char>(i % 251)});
  }
  for (const Piece& piece : pieces) {
    REQUIRE(piece.begin[0] == piece.value);
    REQUIRE(piece.begin[piece.bytes - 1] == piece.value);
  }
}

TEST_CASE("large pages: freed pieces of over a page serve others of about their size, again and again") {
  LargePages pages;
  void* first = pages.allocate(20000, 64);
  void* other = pages.allocate(20000, 64);
  pages.deallocate(first, 20000, 64);
  CHECK(pages.allocate(30000, 64) != first);
  CHECK(pages.allocate(18000, 64) == first);
  CHECK(pages.allocate(18000, 64) != other);
  pages.deallocate(first, 18000, 64);
  CHECK(pages.allocate(20000, 64) == first);
}

}  // namespace ptxwire::test
