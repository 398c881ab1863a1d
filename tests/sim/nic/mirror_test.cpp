// Requests that come back: addresses by hand, and words that name the sender in packets cut anywhere.
#include "sim/nic/mirror.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

constexpr uint32_t kKey = 0x1234;

/// 3 pieces of 0x100 bytes, one every 0x1000 from 0x50000 on, that lie 0x200 further on.
MirrorArea pieces() {
  return {.address = 0x50000, .bytes = 0x100, .stride = 0x1000, .count = 3, .shift = 0x200};
}

uint64_t redirected(const RequestMirror& mirror, uint32_t key, uint64_t address) {
  models::NicMessage message;
  message.remote_key = key;
  message.remote_address = address;
  mirror.redirect(message);
  return message.remote_address;
}

}  // namespace

TEST_CASE("mirror: only pieces of an area, under their key, lie elsewhere") {
  RequestMirror mirror;
  CHECK(redirected(mirror, kKey, 0x50000) == 0x50000);
  mirror.add(kKey, {pieces()});
  const auto [address, expected] =
      GENERATE(table<uint64_t, uint64_t>({{0x50000, 0x50200},
                                          {0x500ff, 0x502ff},
                                          {0x50100, 0x50100},  // between two pieces
                                          {0x52010, 0x52210},
                                          {0x53000, 0x53000},  // behind the last
                                          {0x4ffff, 0x4ffff}}));
  CHECK(redirected(mirror, kKey, address) == expected);
  CHECK(redirected(mirror, kKey + 1, address) == address);
}

TEST_CASE("mirror: of every item the word that names the sender is replaced, wherever a packet begins") {
  // Items of 48 bytes with the word at 40; a piece has 5 of them.
  MirrorArea area = pieces();
  area.item_bytes = 48;
  area.word_offset = 40;
  area.word = 7;
  RequestMirror mirror;
  mirror.add(kKey, {area});
  const uint32_t begin = GENERATE(0U, 4U, 40U, 44U, 48U, 60U), bytes = GENERATE(4U, 44U, 100U, 180U);
  models::NicPacket packet;
  packet.remote_key = kKey;
  packet.remote_address = 0x51200 + begin;  // second piece, where it lies
  packet.bytes = bytes;
  packet.data.fill(0xee);
  mirror.rewrite(packet);
  for (uint32_t at = 0; at < bytes; at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, packet.data.data() + at, sizeof word);
    INFO("begin " << begin << ", bytes " << bytes << ", at " << at);
    CHECK(word == ((begin + at) % 48 == 40 ? 7U : 0xeeeeeeeeU));
  }
  CHECK(packet.data[bytes] == 0xee);
}
