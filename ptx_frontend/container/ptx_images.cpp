#include "ptx_frontend/container/ptx_images.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "ptx_frontend/container/decompress.hpp"

namespace ptxwire::ptx {
namespace {

// A fatbin: its header, then entries of a header and a payload each. Read from what fatbinary 13.0 writes;
// all numbers are little-endian.
constexpr std::string_view kMagic = "\x50\xed\x55\xba";
constexpr uint16_t kFatbinVersion = 1;
constexpr size_t kFatbinHeader = 16, kLeastEntryHeader = 64;
constexpr uint16_t kPtxKind = 1;
constexpr size_t kHeaderSizeAt = 4, kPayloadSizeAt = 8, kCompressedSizeAt = 16, kArchitectureAt = 28,
                 kFlagsAt = 40, kOriginalSizeAt = 56;
constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000;
constexpr uint64_t kMostGain = 4096;  // of compressing text that anyone would write
constexpr uint64_t kLargestText = uint64_t{1} << 30U;

template <typename Number>
Number read(std::string_view bytes, size_t at) {
  Number value = 0;
  if (at <= bytes.size() && sizeof value <= bytes.size() - at)
    std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// "sm_90a" of ".target sm_90a, debug".
std::string target_of(std::string_view text) {
  const size_t directive = text.find(".target");
  if (directive == std::string_view::npos) return {};
  const size_t begin = text.find_first_not_of(" \t", directive + 7);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_first_of(" \t\r\n,", begin) - begin));
}

PtxImage make_image(std::string text, unsigned sm, uint64_t offset, std::string_view compressed) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::string target = target_of(text);
  return {std::move(text), sm, std::move(target), offset, compressed};
}

Error damaged(uint64_t offset, const std::string& what) {
  return Error{.message = "PTX entry at byte " + std::to_string(offset) + ' ' + what};
}

/// The entries of the fatbin that begins at `at`.
Expected<void> read_fatbin(std::string_view bytes, size_t at, std::vector<PtxImage>& images) {
  const uint64_t size = read<uint64_t>(bytes, at + 8);
  const size_t begin = at + read<uint16_t>(bytes, at + 6);
  if (begin > bytes.size() || size > bytes.size() - begin) return damaged(at, "is cut off");
  const std::string_view entries = bytes.substr(begin, size);
  for (size_t entry = 0; entry + kLeastEntryHeader <= entries.size();) {
    const auto header = read<uint32_t>(entries, entry + kHeaderSizeAt);
    const auto payload = read<uint64_t>(entries, entry + kPayloadSizeAt);
    const uint64_t room = entries.size() - entry;
    if (header < kLeastEntryHeader || header > room || payload > room - header)
      return damaged(begin + entry, "is cut off");
    if (read<uint16_t>(entries, entry) == kPtxKind) {
      const auto flags = read<uint64_t>(entries, entry + kFlagsAt);
      const auto original = read<uint64_t>(entries, entry + kOriginalSizeAt);
      std::string_view data = entries.substr(entry + header, payload);
      const bool compressed = (flags & (kLz4 | kZstd)) != 0;
      std::optional<std::string> text;
      if (compressed) {
        data = data.substr(0, read<uint32_t>(entries, entry + kCompressedSizeAt));
        if (original > kLargestText || original > kMostGain * (data.size() + 1))
          return damaged(begin + entry, "claims to be larger than it can be");
        text = (flags & kZstd) != 0 ? decompress_zstd(data, original) : decompress_lz4(data, original);
        if (!text) return damaged(begin + entry, "cannot be decompressed");
      } else {
        text = std::string(data);
      }
      const std::string_view method = !compressed ? "" : (flags & kZstd) != 0 ? "zstd" : "lz4";
      images.push_back(make_image(std::move(*text), read<uint32_t>(entries, entry + kArchitectureAt),
                                  begin + entry, method));
    }
    entry += header + payload;
  }
  return {};
}

/// Section `.nv_debug_ptx_txt` of a cubin: lines, each ended by a zero.
void read_debug_text(std::string_view bytes, std::vector<PtxImage>& images) {
  constexpr size_t kSectionsAt = 40, kSectionBytesAt = 58, kSectionCountAt = 60, kNamesAt = 62;
  if (!bytes.starts_with("\x7f"
                         "ELF\x02"))
    return;
  const auto table = read<uint64_t>(bytes, kSectionsAt);
  const auto each = read<uint16_t>(bytes, kSectionBytesAt), count = read<uint16_t>(bytes, kSectionCountAt);
  if (table > bytes.size() || uint64_t{each} * count > bytes.size() - table) return;
  const auto section = [&](unsigned i) { return bytes.substr(table + uint64_t{i} * each, each); };
  const auto content = [&](unsigned i) -> std::string_view {
    const auto offset = read<uint64_t>(section(i), 24), size = read<uint64_t>(section(i), 32);
    return offset > bytes.size() || size > bytes.size() - offset ? std::string_view()
                                                                 : bytes.substr(offset, size);
  };
  const unsigned names = read<uint16_t>(bytes, kNamesAt);
  for (unsigned i = 0; names < count && i < count; ++i) {
    const auto name = read<uint32_t>(section(i), 0);
    const std::string_view all = content(names);
    if (name >= all.size() || !all.substr(name).starts_with(std::string_view(".nv_debug_ptx_txt\0", 18)))
      continue;
    std::string text(content(i));
    std::replace(text.begin(), text.end(), '\0', '\n');
    images.push_back(make_image(std::move(text), 0, read<uint64_t>(section(i), 24), ""));
  }
}

/// For ordering: 90a after 90.
unsigned rank(const std::string& target) {
  if (!target.starts_with("sm_")) return 0;
  return 2 * static_cast<unsigned>(std::atoi(target.c_str() + 3)) + (target.ends_with('a') ? 1 : 0);
}

std::string list_targets(const std::vector<PtxImage>& images) {
  std::vector<std::string> targets;
  for (const PtxImage& image : images) {
    if (std::find(targets.begin(), targets.end(), image.target) == targets.end())
      targets.push_back(image.target);
  }
  std::string text;
  for (const std::string& target : targets) text += (text.empty() ? "" : ", ") + target;
  return text;
}

}  // namespace

bool may_hold_ptx(std::string_view bytes) {
  return bytes.starts_with(kMagic) ||
         bytes.starts_with(
             "\x7f"
             "ELF") ||
         bytes.starts_with("!<arch>\n");
}

Expected<std::vector<PtxImage>> find_ptx(std::string_view bytes) {
  std::vector<PtxImage> images;
  for (size_t at = bytes.find(kMagic); at != std::string_view::npos;
       at = bytes.find(kMagic, at + kMagic.size())) {
    // The magic number also stands in the code that registers the fatbin.
    const bool header =
        read<uint16_t>(bytes, at + 4) == kFatbinVersion && read<uint16_t>(bytes, at + 6) == kFatbinHeader;
    if (!header) continue;
    if (Expected<void> done = read_fatbin(bytes, at, images); !done) return done.error();
  }
  read_debug_text(bytes, images);
  return images;
}

Expected<std::vector<PtxImage>> pick_ptx(std::vector<PtxImage> images, std::string_view target) {
  if (images.empty())
    return Error{.message = "there is no PTX in this file",
                 .hint = "compile with '-gencode arch=compute_90a,code=compute_90a'"};
  std::string wanted(target);
  if (wanted.empty()) {
    const unsigned newest = rank("sm_90a");
    for (const PtxImage& image : images) {
      if (rank(image.target) <= newest && rank(image.target) > rank(wanted)) wanted = image.target;
    }
  }
  const std::string all = list_targets(images);
  std::erase_if(images, [&](const PtxImage& image) { return image.target != wanted; });
  if (!images.empty()) return images;
  return Error{.message = "there is no PTX for " +
                          (target.empty() ? "sm_90a or an older target" : std::string(target)) +
                          " in this file, found " + all};
}

}  // namespace ptxwire::ptx
