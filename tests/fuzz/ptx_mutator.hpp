// Mutations of PTX text that know what a statement and a word is; plain byte changes rarely get past the
// lexer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptxwire::fuzz {

/// Changes the text in place and returns its new size, at most `max_size`: replaces a word by one of the
/// instruction table or of the text itself, doubles, drops or swaps statements, or asks libFuzzer for a
/// change of bytes.
size_t mutate_ptx(uint8_t* data, size_t size, size_t max_size, unsigned seed);

}  // namespace ptxwire::fuzz
