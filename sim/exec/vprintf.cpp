#include "sim/exec/vprintf.hpp"

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>

namespace ptxwire::sim {
namespace {

template <typename... Arguments>
std::string print(const std::string& conversion, Arguments... arguments) {
  std::array<char, 512> buffer{};
  // The conversion was checked character by character by the caller.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
  const int length = std::snprintf(buffer.data(), buffer.size(), conversion.c_str(), arguments...);
#pragma GCC diagnostic pop
  return {buffer.data(), std::min<size_t>(length < 0 ? 0 : static_cast<size_t>(length), buffer.size() - 1)};
}

}  // namespace

std::string format_vprintf(const std::string& format, const std::function<uint64_t(uint32_t, uint32_t)>& read,
                           const std::function<std::string(uint64_t)>& string) {
  std::string out;
  uint32_t offset = 0;
  const auto take = [&](uint32_t bytes) {
    offset = (offset + bytes - 1) / bytes * bytes;
    const uint64_t value = read(offset, bytes);
    offset += bytes;
    return value;
  };
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    std::string conversion = "%";
    uint32_t longs = 0;
    size_t j = i + 1;
    for (; j < format.size() && std::strchr("-+ #0123456789.*lhzjt", format[j]) != nullptr; ++j) {
      if (format[j] == 'l' || format[j] == 'z' || format[j] == 'j' || format[j] == 't') {
        ++longs;
      } else if (format[j] == '*') {
        conversion += std::to_string(static_cast<int32_t>(take(4)));
      } else if (format[j] != 'h') {
        conversion += format[j];
      }
    }
    if (j >= format.size()) {
      out += format.substr(i);
      break;
    }
    const char kind = format[j];
    switch (kind) {
      case '%':
        out += '%';
        break;
      case 'd':
      case 'i': {
        const int64_t value = longs != 0 ? static_cast<int64_t>(take(8)) : static_cast<int32_t>(take(4));
        out += print(conversion + "lld", static_cast<long long>(value));
        break;
      }
      case 'u':
      case 'x':
      case 'X':
      case 'o': {
        const uint64_t value = longs != 0 ? take(8) : take(4);
        out += print(conversion + "ll" + kind, static_cast<unsigned long long>(value));
        break;
      }
      case 'c':
        out += print(conversion + "c", static_cast<int>(take(4)));
        break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        out += print(conversion + kind, std::bit_cast<double>(take(8)));
        break;
      case 'p':
        out += print("0x%llx", static_cast<unsigned long long>(take(8)));
        break;
      case 's':
        out += print(conversion + "s", string(take(8)).c_str());
        break;
      default:
        out += format.substr(i, j - i + 1);
        break;
    }
    i = j;
  }
  return out;
}

}  // namespace ptxwire::sim
