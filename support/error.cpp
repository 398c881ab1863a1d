#include "support/error.hpp"

namespace ptxwire {

std::string Error::to_string() const {
  std::string text;
  if (!path.empty()) {
    text += path;
    if (line != 0) {
      text += ':' + std::to_string(line);
      if (column != 0) text += ':' + std::to_string(column);
    }
    text += ": ";
  }
  text += "error: " + message;
  if (!hint.empty()) text += ", hint: " + hint;
  return text;
}

}  // namespace ptxwire
