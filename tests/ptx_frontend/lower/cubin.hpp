// What ptxas makes of a PTX file, for tests: its log, and the machine instructions of each entry.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace ptxwire::ptx::test {

inline bool has_ptxas() { return std::system("ptxas --version >/dev/null 2>&1") == 0; }

/// One 128-bit instruction of sm_90: twelve bits of opcode come first.
struct MachineInstruction {
  uint64_t low = 0, high = 0;
  [[nodiscard]] uint32_t opcode() const { return low & 0xfffU; }
  [[nodiscard]] bool is_padding() const { return opcode() == 0x918; }      // NOP
  [[nodiscard]] bool is_global_load() const { return opcode() == 0x981; }  // LDG
};

struct CompiledModule {
  std::string log;                                              ///< of ptxas -v
  std::map<std::string, std::vector<MachineInstruction>> code;  ///< by entry, without the NOPs at the end
};

/// Sections ".text.NAME" of a 64-bit little-endian ELF file, which a cubin is (System V ABI, chapter 4).
inline std::map<std::string, std::vector<MachineInstruction>> text_sections(const std::vector<char>& file) {
  const auto word = [&](uint64_t at, size_t bytes) {
    uint64_t value = 0;
    REQUIRE(at + bytes <= file.size());
    std::memcpy(&value, file.data() + at, bytes);
    return value;
  };
  REQUIRE(word(0, 4) == 0x464c457fU);  // "\x7fELF"
  REQUIRE(word(4, 1) == 2);            // 64 bits
  const uint64_t headers = word(0x28, 8), header_bytes = word(0x3a, 2), count = word(0x3c, 2),
                 names = word(0x3e, 2);
  const uint64_t name_table = word(headers + names * header_bytes + 0x18, 8);
  std::map<std::string, std::vector<MachineInstruction>> sections;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t header = headers + i * header_bytes;
    const std::string name = file.data() + name_table + word(header, 4);
    if (name.rfind(".text.", 0) != 0) continue;
    const uint64_t offset = word(header + 0x18, 8), bytes = word(header + 0x20, 8);
    std::vector<MachineInstruction>& code = sections[name.substr(6)];
    for (uint64_t at = offset; at < offset + bytes; at += 16) code.push_back({word(at, 8), word(at + 8, 8)});
    while (!code.empty() && code.back().is_padding()) code.pop_back();
  }
  return sections;
}

inline CompiledModule compile(const std::string& ptx) {
  const std::string stem =
      std::filesystem::temp_directory_path() / ("ptxwire_cubin_" + std::to_string(getpid()));
  const std::string cubin = stem + ".cubin", log = stem + ".log";
  const std::string command = "ptxas -arch=sm_90a -v -o '" + cubin + "' '" + ptx + "' >'" + log + "' 2>&1";
  const int status = std::system(command.c_str());
  CompiledModule module;
  std::ifstream text(log);
  module.log.assign(std::istreambuf_iterator<char>(text), {});
  INFO(module.log);
  REQUIRE(status == 0);
  std::ifstream binary(cubin, std::ios::binary);
  module.code = text_sections({std::istreambuf_iterator<char>(binary), {}});
  std::filesystem::remove(cubin);
  std::filesystem::remove(log);
  return module;
}

}  // namespace ptxwire::ptx::test
