#include "ptx_frontend/lower/ptxas_log.hpp"

#include <charconv>
#include <optional>

#include "support/nearest.hpp"

namespace ptxwire::ptx {
namespace {

constexpr std::string_view kCompiling = "Compiling entry function '";

Error at_line(const std::string& path, uint32_t line, std::string message, std::string hint = {}) {
  return Error{.message = std::move(message), .path = path, .line = line, .hint = std::move(hint)};
}

/// The text up to `end`, which is cut off `rest` together with it.
std::optional<std::string_view> take_until(std::string_view& rest, std::string_view end) {
  const size_t at = rest.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at + end.size());
  return taken;
}

template <typename T>
bool parse_number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

/// One item of "Used 40 registers, used 1 barriers, 16 bytes smem, 8 bytes cmem[2]".
bool parse_item(std::string_view item, PtxasEntry& entry) {
  while (item.starts_with(' ')) item.remove_prefix(1);
  if (item.starts_with("used ")) item.remove_prefix(5);
  std::string_view unit = item;
  const auto number = take_until(unit, " ");
  if (!number) return false;
  if (unit == "registers") return parse_number(*number, entry.registers);
  if (unit == "barriers") return parse_number(*number, entry.barriers);
  if (unit == "bytes smem") return parse_number(*number, entry.shared_bytes);
  return true;  // constant banks, stack: not needed
}

bool parse_used(std::string_view items, PtxasEntry& entry) {
  if (!items.starts_with("Used ")) return false;
  items.remove_prefix(5);
  for (;;) {
    const auto item = take_until(items, ",");
    if (!parse_item(item.value_or(items), entry)) return false;
    if (!item) return entry.registers != 0;
  }
}

}  // namespace

Expected<std::vector<PtxasEntry>> parse_ptxas_log(std::string_view text, const std::string& path) {
  std::vector<PtxasEntry> entries;
  std::optional<PtxasEntry> open;
  uint32_t number = 0;
  const auto incomplete = [&] {
    return at_line(path, open->line, "no \"Used N registers\" line follows for entry '" + open->name + "'",
                   "the log of ptxas -v (nvcc -Xptxas -v) is expected");
  };
  while (!text.empty()) {
    std::string_view line = text;
    if (const auto whole = take_until(text, "\n")) {
      line = *whole;
    } else {
      text = {};
    }
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (size_t at = line.find(kCompiling); at != std::string_view::npos) {
      if (open) return incomplete();
      std::string_view rest = line.substr(at + kCompiling.size());
      const auto name = take_until(rest, "' for '");
      const auto architecture = take_until(rest, "'");
      if (!name || !architecture)
        return at_line(path, number,
                       "the line breaks off, expected: Compiling entry function 'NAME' for 'sm_NN'");
      open =
          PtxasEntry{.name = std::string(*name), .architecture = std::string(*architecture), .line = number};
    } else if (at = line.find("Used "); at != std::string_view::npos && open && line.starts_with("ptxas")) {
      if (!parse_used(line.substr(at), *open))
        return at_line(path, number, "expected \"Used N registers, ...\" for entry '" + open->name + "'");
      entries.push_back(*open);
      open.reset();
    }
  }
  if (open) return incomplete();
  if (entries.empty())
    return Error{.message = "no line \"ptxas info : Compiling entry function ...\"",
                 .path = path,
                 .hint = "the log of ptxas -v (nvcc -Xptxas -v) is expected"};
  return entries;
}

Expected<PtxasEntry> find_ptxas_entry(const std::vector<PtxasEntry>& entries, std::string_view name,
                                      const std::string& path) {
  const PtxasEntry* found = nullptr;
  std::string others;
  std::vector<std::string_view> names;
  for (const PtxasEntry& entry : entries) {
    names.push_back(entry.name);
    if (entry.name != name) continue;
    if (entry.architecture == "sm_90a" || (entry.architecture == "sm_90" && found == nullptr)) {
      found = &entry;
    } else if (entry.architecture != "sm_90") {
      others.append(others.empty() ? "" : ", ").append(entry.architecture);
    }
  }
  if (found != nullptr) return *found;
  if (!others.empty())
    return Error{
        .message = "entry '" + std::string(name) + "' was compiled for " + others + ", expected sm_90a",
        .path = path};
  return Error{.message = "no entry '" + std::string(name) + "' in this log",
               .path = path,
               .hint = suggestion(name, names)};
}

}  // namespace ptxwire::ptx
