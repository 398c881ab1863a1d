// The two compressions of fatbin entries.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ptxwire::ptx {

/// A block of LZ4 (without a frame) that holds exactly `size` bytes; nothing if it does not.
std::optional<std::string> decompress_lz4(std::string_view block, size_t size);

/// A frame of Zstandard that holds exactly `size` bytes; nothing if it does not, or without the library.
std::optional<std::string> decompress_zstd(std::string_view frame, size_t size);

}  // namespace ptxwire::ptx
