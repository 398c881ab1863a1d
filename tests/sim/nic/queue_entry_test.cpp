// Queue entries and completions against the bytes of the public formats (rdma-core mlx5dv.h, linux
// mlx5/qp.h).
#include <catch2/catch.hpp>

#include <array>
#include <initializer_list>
#include <random>

#include "sim/nic/queue_entry.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;
using models::NicFence;
using models::NicOperation;
using models::NicSyndrome;

namespace {

/// Blocks with these bytes at the start, the rest zero.
template <size_t kBlocks = 1>
std::array<uint8_t, 64 * kBlocks> entry(std::initializer_list<int> bytes) {
  std::array<uint8_t, 64 * kBlocks> block{};
  size_t i = 0;
  for (const int byte : bytes) block[i++] = static_cast<uint8_t>(byte);
  return block;
}

// A write of 0x1234 bytes by queue pair 0x1234 at index 5, to 0x0102030405060708.
const auto kWrite = entry({0x00, 0x00, 0x05, 0x08, 0x00, 0x12, 0x34, 0x03, 0x00, 0x00, 0x00, 0x08,  //
                           0x00, 0x00, 0x00, 0x00,                                                  //
                           0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0xaa, 0xbb, 0xcc, 0xdd,  //
                           0x00, 0x00, 0x00, 0x00,                                                  //
                           0x00, 0x00, 0x12, 0x34, 0x11, 0x22, 0x33, 0x44, 0x10, 0x20, 0x30, 0x40,  //
                           0x50, 0x60, 0x70, 0x80});

// A masked 4-byte fetch and add of 7 at index 0xffff.
const auto kAdd = entry({0x08, 0xff, 0xff, 0x15, 0x00, 0x12, 0x34, 0x04, 0x00, 0x00, 0x00, 0x08,  //
                         0x00, 0x00, 0x00, 0x00,                                                  //
                         0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x04, 0xaa, 0xbb, 0xcc, 0xdd,  //
                         0x00, 0x00, 0x00, 0x00,                                                  //
                         0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0xee, 0xee, 0xee, 0xee,  //
                         0xee, 0xee, 0xee, 0xee,                                                  //
                         0x00, 0x00, 0x00, 0x04, 0x11, 0x22, 0x33, 0x44, 0x00, 0x00, 0x00, 0x00,  //
                         0x00, 0x00, 0x20, 0x00});

}  // namespace

TEST_CASE("queue entry: a write", "[nic]") {
  const DecodedEntry decoded = decode_entry(kWrite, 5, 0x1234);
  CHECK(decoded.problem.empty());
  const models::NicMessage& m = decoded.message;
  CHECK(m.operation == NicOperation::write);
  CHECK(m.bytes == 0x1234);
  CHECK(m.blocks == 1);
  CHECK(m.completes);
  CHECK(m.fence == NicFence::none);
  CHECK(m.remote_address == 0x0102030405060708);
  CHECK(m.remote_key == 0xaabbccdd);
  CHECK(m.local_key == 0x11223344);
  CHECK(m.local_address == 0x1020304050607080);
  CHECK(m.inlined.empty());
}

TEST_CASE("queue entry: bytes that a device leaves undefined are ignored", "[nic]") {
  auto bytes = kWrite;
  for (const size_t i : {8, 9, 10, 12, 13, 14, 15}) bytes[i] = 0xcd;
  const DecodedEntry decoded = decode_entry(bytes, 5, 0x1234);
  CHECK(decoded.problem.empty());
  CHECK(decoded.message.bytes == 0x1234);
}

TEST_CASE("queue entry: a masked fetch and add wraps its index at 16 bits", "[nic]") {
  for (const uint64_t index : {0xffffULL, 0x1ffffULL}) {
    const DecodedEntry decoded = decode_entry(kAdd, index, 0x1234);
    CHECK(decoded.problem.empty());
    const models::NicMessage& m = decoded.message;
    CHECK(m.operation == NicOperation::atomic);
    CHECK(m.index == index);
    CHECK(m.atomic.bytes == 4);
    CHECK_FALSE(m.atomic.compare_swap);
    CHECK(m.atomic.operand == 7);
    CHECK(m.atomic.boundary == 0);
    CHECK(m.bytes == 4);
    CHECK(m.local_address == 0x2000);
  }
}

TEST_CASE("queue entry: inline data follow their header at once", "[nic]") {
  auto bytes = kWrite;
  const std::array<uint8_t, 8> tail{0x80, 0x00, 0x00, 0x04, 0xde, 0xad, 0xbe, 0xef};
  std::copy(tail.begin(), tail.end(), bytes.begin() + 32);
  const DecodedEntry decoded = decode_entry(bytes, 5, 0x1234);
  CHECK(decoded.problem.empty());
  CHECK(decoded.message.bytes == 4);
  CHECK(decoded.message.inlined == std::vector<uint8_t>{0xde, 0xad, 0xbe, 0xef});
}

TEST_CASE("queue entry: inline data go on in further blocks", "[nic]") {
  auto bytes = entry<3>({0x00, 0x00, 0x05, 0x08, 0x00, 0x12, 0x34, 0x0b, 0x00, 0x00, 0x00, 0x08});
  bytes[32] = 0x80;
  bytes[35] = 128;  // 32 lanes of 4 bytes: control, address, 9 segments
  for (size_t i = 0; i < 128; ++i) bytes[36 + i] = static_cast<uint8_t>(i);
  const DecodedEntry decoded = decode_entry(bytes, 5, 0x1234);
  CHECK(decoded.problem.empty());
  CHECK(decoded.message.blocks == 3);
  REQUIRE(decoded.message.inlined.size() == 128);
  CHECK(decoded.message.inlined[127] == 127);
}

TEST_CASE("queue entry: an 8-byte masked compare and swap takes two segments of operands", "[nic]") {
  auto bytes = entry<2>({0x09, 0x00, 0x05, 0x14, 0x00, 0x12, 0x34, 0x05, 0x00, 0x00, 0x00, 0x00});
  bytes[39] = 1, bytes[47] = 2, bytes[55] = 3, bytes[63] = 4, bytes[67] = 8;
  const DecodedEntry decoded = decode_entry(bytes, 5, 0x1234);
  CHECK(decoded.problem.empty());
  CHECK(decoded.message.blocks == 2);
  CHECK_FALSE(decoded.message.completes);
  CHECK(decoded.message.atomic.compare_swap);
  CHECK(decoded.message.atomic.operand == 1);
  CHECK(decoded.message.atomic.compare == 2);
  CHECK(decoded.message.atomic.swap_mask == 3);
  CHECK(decoded.message.atomic.compare_mask == 4);
}

TEST_CASE("queue entry: fences", "[nic]") {
  const std::pair<int, NicFence> kFences[] = {{0, NicFence::none},
                                              {1, NicFence::reads},
                                              {2, NicFence::reads},
                                              {3, NicFence::all},
                                              {4, NicFence::reads}};
  for (const auto& [code, fence] : kFences) {
    auto bytes = kWrite;
    bytes[11] = static_cast<uint8_t>(code << 5);
    CHECK(decode_entry(bytes, 5, 0x1234).message.fence == fence);
    CHECK_FALSE(decode_entry(bytes, 5, 0x1234).message.completes);
  }
}

TEST_CASE("queue entry: what cannot be executed says why", "[nic]") {
  struct Case {
    size_t at;
    int value;
    const char* words;
  };
  const Case kCases[] = {{2, 6, "its index field is 6, expected 5"},
                         {6, 0x35, "names queue pair 0x1235, expected 0x1234"},
                         {3, 0x09, "needs a receive queue"},
                         {3, 0x77, "opcode 0x77 is not executed"},
                         {7, 0x01, "ends before its remote address segment"},
                         {7, 0x00, "it has no segments"}};
  for (const Case& c : kCases) {
    auto bytes = kWrite;
    bytes[c.at] = static_cast<uint8_t>(c.value);
    const DecodedEntry decoded = decode_entry(bytes, 5, 0x1234);
    CHECK_THAT(decoded.problem, Catch::Contains(c.words));
    CHECK(decoded.message.syndrome == NicSyndrome::queue_operation);
  }
  auto odd = kAdd;
  odd[23] = 0x05;
  CHECK_THAT(decode_entry(odd, 0xffff, 0x1234).problem, Catch::Contains("not a multiple of 4"));
}

TEST_CASE("atomics: fields, masks and carries", "[nic]") {
  models::NicAtomic add{.bytes = 8, .operand = 1};
  CHECK(add.apply(0xffffffff) == 0x100000000);
  add.boundary = 0x80000000;  // the carry out of bit 31 stops
  CHECK(add.apply(0xffffffff) == 0);
  add.boundary = ~uint64_t{0};
  add.operand = 0xf0f0;
  CHECK(add.apply(0xff00) == (0xff00 ^ 0xf0f0));  // all ones: exclusive or
  models::NicAtomic swap{.compare_swap = true, .operand = 0x11, .compare = 0x22};
  CHECK(swap.apply(0x22) == 0x11);
  CHECK(swap.apply(0x23) == 0x23);
  swap.compare_mask = 0;
  swap.swap_mask = 0xf;
  CHECK(swap.apply(0xabc3) == 0xabc1);
}

TEST_CASE("completion: fields, owner bit and errors", "[nic]") {
  const auto done = encode_completion(
      {.queue = 0x1234, .entry_index = 0xfffe, .opcode = 0x08, .bytes = 0x01020304}, 0, 128);
  CHECK(done[44] == 0x01);
  CHECK(done[47] == 0x04);
  CHECK(done[56] == 0x08);
  CHECK(done[58] == 0x12);
  CHECK(done[59] == 0x34);
  CHECK(done[60] == 0xff);
  CHECK(done[61] == 0xfe);
  CHECK(done[63] == 0x00);
  // 128 entries: the owner bit turns with every pass.
  const std::pair<uint64_t, int> kOwners[] = {{127, 0}, {128, 1}, {255, 1}, {256, 0}};
  for (const auto& [ordinal, owner] : kOwners) CHECK((encode_completion({}, ordinal, 128)[63] & 1) == owner);
  const auto failed = encode_completion({.syndrome = NicSyndrome::remote_access}, 0, 128);
  CHECK(failed[63] >> 4 == 13);
  CHECK(failed[55] == 0x13);
}

TEST_CASE("queue entry: any bytes are decoded or refused", "[nic]") {
  std::mt19937_64 random(7);
  uint32_t executed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::array<uint8_t, size_t{kMaxEntryBlocks} * kEntryBlockBytes> bytes;
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    const uint64_t index = random();
    if (round % 2 == 0) {  // more than noise: a plausible control segment
      const int kOpcodes[] = {0x00, 0x08, 0x10, 0x11, 0x12, 0x14, 0x15};
      bytes[0] = static_cast<uint8_t>(8 + random() % 2);
      bytes[1] = static_cast<uint8_t>(index >> 8U);
      bytes[2] = static_cast<uint8_t>(index);
      bytes[3] = static_cast<uint8_t>(kOpcodes[random() % 7]);
      bytes[4] = 0, bytes[5] = 0x12, bytes[6] = 0x34;
    }
    const EntryControl control = decode_control(std::span(bytes).first<kSegmentBytes>());
    const size_t size = size_t{std::min(control.blocks(), kMaxEntryBlocks)} * kEntryBlockBytes;
    const DecodedEntry decoded = decode_entry(std::span(bytes).first(size), index, 0x1234);
    CHECK(decoded.problem.empty() == (decoded.message.syndrome == NicSyndrome::none));
    CHECK(decoded.message.blocks >= 1);
    if (decoded.problem.empty()) ++executed;
    if (!decoded.message.inlined.empty()) CHECK(decoded.message.inlined.size() == decoded.message.bytes);
  }
  CHECK(executed > 100);
}
