// Any bytes: the lexer comes to the end of them, each token lies behind the one before, and is not empty.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ptx_frontend/syntax/lexer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptxwire::ptx;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Diagnostics diagnostics;
  Lexer lexer(text, diagnostics);
  uint32_t end = 0;
  for (Token token = lexer.next(); token.kind != TokenKind::end; token = lexer.next()) {
    if (token.range.begin < end || token.range.end <= token.range.begin || token.range.end > size)
      __builtin_trap();
    if (token.kind == TokenKind::identifier) lexer.extend_opcode(token);
    end = token.range.end;
  }
  return 0;
}
