// Files with PTX of any sort: text, or binaries with texts in them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/error.hpp"

namespace ptxwire::ptx {

struct PtxText {
  std::string name;  ///< the path; for one of several texts of a binary "libx.so@sm_90a#2"
  std::shared_ptr<const std::string> text;
};

/// The texts of a file. Of a binary those for one target: "libx.so@sm_80" asks for sm_80, without '@' it is
/// the newest up to sm_90a. A binary without PTX is an error.
Expected<std::vector<PtxText>> read_ptx(const std::string& path);

}  // namespace ptxwire::ptx
