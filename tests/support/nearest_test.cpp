#include "support/nearest.hpp"

#include <array>
#include <catch2/catch.hpp>

using ptxwire::edit_distance;
using ptxwire::nearest;
using ptxwire::suggestion;

TEST_CASE("nearest: distances of known pairs") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);  // the textbook pair
  CHECK(edit_distance("chnuk", "chunk") == 1);     // one swap
  CHECK(edit_distance("SMS", "sms") == 0);
}

TEST_CASE("nearest: suggests what was meant and nothing else") {
  const std::array<std::string_view, 4> known = {"tokens", "topk", "chunk", "sms"};
  CHECK(nearest("token", known) == "tokens");
  CHECK(nearest("chnuk", known) == "chunk");
  CHECK(nearest("sm", known) == "sms");
  CHECK(nearest("banana", known).empty());
  CHECK(nearest("", known).empty());
}

TEST_CASE("nearest: a suggestion asks for the word, or is empty") {
  const std::array<std::string_view, 2> known = {"tokens", "chunk"};
  const std::array<std::string, 1> owned = {"sms"};
  CHECK(suggestion("chnuk", known) == "did you mean 'chunk'?");
  CHECK(suggestion("sm", owned) == "did you mean 'sms'?");
  CHECK(suggestion("banana", known).empty());
}
