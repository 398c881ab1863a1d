// PTX out of binaries that fatbinary 13.0 wrote: data/vector_add_*.fatbin hold kernels/micro/vector_add.cu
// for sm_80 and, from kernels/micro/vector_add.ptx, for sm_90a.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "ptx_frontend/container/decompress.hpp"
#include "ptx_frontend/container/ptx_file.hpp"
#include "ptx_frontend/container/ptx_images.hpp"
#include "ptx_frontend/frontend.hpp"

namespace ptxwire::ptx {
namespace {

const std::string kData = PTXWIRE_SOURCE_DIR "/tests/ptx_frontend/data/";

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// fatbinary leaves out indentation.
std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\n'; });
  return text;
}

const std::string& kernel() {
  static const std::string text = read(PTXWIRE_SOURCE_DIR "/kernels/micro/vector_add.ptx");
  return text;
}

TEST_CASE("container: every compression gives back the text that went in") {
  const std::pair<const char*, const char*> cases[] = {{"none", ""}, {"size", "zstd"}, {"speed", "lz4"}};
  for (const auto& [mode, compressed] : cases) {
    INFO(mode);
    const std::string bytes = read(kData + "vector_add_" + mode + ".fatbin");
    REQUIRE(may_hold_ptx(bytes));
    const auto images = find_ptx(bytes);
    REQUIRE(images);
    REQUIRE(images->size() == 2);
    CHECK((*images)[0].target == "sm_80");
    CHECK((*images)[0].sm == 80);
    CHECK((*images)[1].target == "sm_90a");
    CHECK((*images)[1].compressed == compressed);
    CHECK(without_blanks((*images)[1].text) == without_blanks(kernel()));
  }
}

TEST_CASE("container: a fatbin is found anywhere in an ELF file, and several of them") {
  const std::string fatbin = read(kData + "vector_add_size.fatbin");
  // The magic number alone, as code that registers a fatbin has it, is none.
  const std::string elf =
      "\x7f"
      "ELF\x02\x01" +
      std::string(1000, 'x') + "\x50\xed\x55\xba" + std::string(60, '\0') + fatbin + std::string(77, '\0') +
      fatbin;
  const auto images = find_ptx(elf);
  REQUIRE(images);
  CHECK(images->size() == 4);
}

TEST_CASE("container: the pick is the newest target up to sm_90a, or the one asked for") {
  const auto image = [](const char* target) {
    PtxImage made;
    made.target = target;
    return made;
  };
  const std::vector<PtxImage> images = {image("sm_80"), image("sm_90"), image("sm_90a"), image("sm_100a"),
                                        image("sm_90a")};
  CHECK(pick_ptx(images, "")->size() == 2);
  CHECK(pick_ptx(images, "sm_80")->at(0).target == "sm_80");
  const auto none = pick_ptx(images, "sm_70");
  REQUIRE_FALSE(none);
  CHECK(none.error().message ==
        "there is no PTX for sm_70 in this file, found sm_80, sm_90, sm_90a, sm_100a");
  CHECK_FALSE(pick_ptx({}, ""));
  CHECK_FALSE(pick_ptx({image("sm_100a")}, ""));
}

TEST_CASE("container: files are read by name, with a target behind '@'") {
  const auto newest = read_ptx(kData + "vector_add_size.fatbin");
  REQUIRE(newest);
  CHECK(newest->at(0).name == kData + "vector_add_size.fatbin@sm_90a");
  const auto older = read_ptx(kData + "vector_add_size.fatbin@sm_80");
  REQUIRE(older);
  CHECK(older->at(0).text->find(".target sm_80") != std::string::npos);
  CHECK_FALSE(read_ptx(kData + "vector_add_size.fatbin@sm_75"));
  const auto program = load_program({kData + "vector_add_speed.fatbin"});
  REQUIRE(program);
  CHECK(program->functions.size() == 1);
}

TEST_CASE("container: cut and damaged files give an error or nothing, never a crash") {
  for (const char* mode : {"none", "size", "speed"}) {
    const std::string bytes = read(kData + "vector_add_" + mode + ".fatbin");
    for (size_t length = 0; length < bytes.size(); length += 7)
      CHECK_FALSE((find_ptx(bytes.substr(0, length)) && length > 16));
    for (size_t at = 0; at < bytes.size(); ++at) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(~damaged[at]);
      (void)find_ptx(damaged);
    }
  }
}

TEST_CASE("container: LZ4 blocks by the format's own rules") {
  // Token: 3 literals, match of 4 + 5 bytes at distance 3; then 1 literal.
  const std::string block = {'\x35', 'a', 'b', 'c', '\x03', '\x00', '\x10', 'z'};
  CHECK(decompress_lz4(block, 13) == "abcabcabcabcz");
  CHECK_FALSE(decompress_lz4(block, 12));
  CHECK_FALSE(decompress_lz4(block, 14));
  CHECK_FALSE(
      decompress_lz4(std::string({'\x35', 'a', 'b', 'c', '\x04', '\x00'}), 12));  // before the beginning
  // 15 + 255 + 2 literals.
  const std::string lengths = {'\xf0', '\xff', '\x02'};
  CHECK(decompress_lz4(lengths + std::string(272, 'q'), 272) == std::string(272, 'q'));
}

}  // namespace
}  // namespace ptxwire::ptx
