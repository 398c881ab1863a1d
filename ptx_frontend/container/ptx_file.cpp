#include "ptx_frontend/container/ptx_file.hpp"

#include <filesystem>

#include "ptx_frontend/container/ptx_images.hpp"
#include "ptx_frontend/frontend.hpp"

namespace ptxwire::ptx {

Expected<std::vector<PtxText>> read_ptx(const std::string& path) {
  std::string file = path, target;
  const size_t at = path.rfind("@sm_");
  std::error_code code;
  if (at != std::string::npos && !std::filesystem::exists(path, code)) {
    file = path.substr(0, at);
    target = path.substr(at + 1);
  }
  const Expected<std::shared_ptr<const std::string>> bytes = read_text_file(file);
  if (!bytes) return bytes.error();
  if (!may_hold_ptx(**bytes)) return std::vector<PtxText>{{file, *bytes}};
  const auto located = [&](Error error) {
    error.path = file;
    return error;
  };
  Expected<std::vector<PtxImage>> images = find_ptx(**bytes);
  if (!images) return located(images.error());
  images = pick_ptx(std::move(*images), target);
  if (!images) return located(images.error());
  std::vector<PtxText> texts;
  for (PtxImage& image : *images) {
    std::string name = file + '@' + image.target;
    if (images->size() > 1) name += '#' + std::to_string(texts.size() + 1);
    texts.push_back({std::move(name), std::make_shared<const std::string>(std::move(image.text))});
  }
  return texts;
}

}  // namespace ptxwire::ptx
