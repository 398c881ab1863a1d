// Registers from the text of `ptxas -v`, as releases 11, 12 and 13 write it, and what is wrong with other
// texts.
#include "ptx_frontend/lower/ptxas_log.hpp"

#include <catch2/catch.hpp>

namespace ptxwire::ptx {
namespace {

constexpr const char* kRelease13 =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'combine_a' for 'sm_90a'\n"
    "ptxas info    : Function properties for combine_a\n"
    "    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 80 registers, used 9 barriers, 16 bytes cumulative stack size, 6144 bytes smem\n"
    "ptxas info    : Compile time = 131.042 ms\n"
    "ptxas info    : Compiling entry function '_Z4copyPKfPf' for 'sm_90a'\n"
    "ptxas info    : Function properties for _Z4copyPKfPf\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 12 registers, used 0 barriers\n";

constexpr const char* kRelease11 =
    "[1/2] nvcc -Xptxas -v copy.cu\r\n"
    "ptxas info    : 0 bytes gmem\r\n"
    "ptxas info    : Compiling entry function 'copy' for 'sm_80'\r\n"
    "ptxas info    : Function properties for copy\r\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\r\n"
    "ptxas info    : Used 18 registers, 1024 bytes smem, 368 bytes cmem[0]\r\n"
    "ptxas info    : Compiling entry function 'copy' for 'sm_90'\r\n"
    "ptxas info    : Used 20 registers, 368 bytes cmem[0]\r\n";

PtxasEntry found(const char* text, std::string_view name) {
  const auto entries = parse_ptxas_log(text, "build.log");
  if (!entries) FAIL(entries.error().to_string());
  const auto entry = find_ptxas_entry(*entries, name, "build.log");
  if (!entry) FAIL(entry.error().to_string());
  return *entry;
}

std::string message_of(const char* text, std::string_view name) {
  const auto entries = parse_ptxas_log(text, "build.log");
  if (!entries) return entries.error().to_string();
  const auto entry = find_ptxas_entry(*entries, name, "build.log");
  return entry ? "" : entry.error().to_string();
}

}  // namespace

TEST_CASE("ptxas log: registers, barriers and shared memory per entry", "[contract]") {
  const PtxasEntry combine = found(kRelease13, "combine_a");
  CHECK(combine.registers == 80);
  CHECK(combine.barriers == 9);
  CHECK(combine.shared_bytes == 6144);
  CHECK(combine.architecture == "sm_90a");
  CHECK(found(kRelease13, "_Z4copyPKfPf").registers == 12);
}

TEST_CASE("ptxas log: among several architectures the Hopper one counts", "[contract]") {
  CHECK(found(kRelease11, "copy").registers == 20);
}

TEST_CASE("ptxas log: what is missing is named with its place", "[contract]") {
  CHECK(message_of("", "copy").find("build.log: error: no line") == 0);
  CHECK(message_of("make: nothing to be done\n", "copy").find("ptxas -v") != std::string::npos);
  CHECK(message_of(kRelease13, "combine_b").find("did you mean 'combine_a'?") != std::string::npos);
  CHECK(
      message_of(
          "ptxas info    : Compiling entry function 'k' for 'sm_80'\nptxas info    : Used 8 registers\n", "k")
          .find("was compiled for sm_80, expected sm_90a") != std::string::npos);
  CHECK(message_of("x\nptxas info    : Compiling entry function 'k' for 'sm_90a'\n", "k")
            .find("build.log:2: error: no \"Used N registers\" line follows for entry 'k'") == 0);
  CHECK(message_of("ptxas info    : Compiling entry function 'k", "k")
            .find("build.log:1: error: the line breaks off") == 0);
  CHECK(
      message_of(
          "ptxas info    : Compiling entry function 'k' for 'sm_90a'\nptxas info    : Used many registers\n",
          "k")
          .find("build.log:2: error: expected \"Used N registers, ...\" for entry 'k'") == 0);
}

}  // namespace ptxwire::ptx
