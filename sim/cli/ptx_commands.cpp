// Commands on PTX files that run nothing: annotate and extract.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "ptx_frontend/container/ptx_file.hpp"
#include "ptx_frontend/container/ptx_images.hpp"
#include "ptx_frontend/frontend.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/output.hpp"
#include "sim/report/annotation.hpp"

namespace ptxwire::cli {

Expected<int> annotate_command(const AnnotateCommand& command) {
  const Expected<std::vector<ptx::PtxText>> texts = ptx::read_ptx(command.file);
  if (!texts) return texts.error();
  std::string out;
  for (const auto& [name, text] : *texts) {
    ptx::Diagnostics diagnostics;
    ptx::Module module = ptx::parse(text, name, diagnostics);
    ptx::check(module, diagnostics);
    if (diagnostics.has_errors())
      return Error{
          .message = "has errors and cannot be annotated", .path = name, .hint = "'ptxwire lint' lists them"};
    const Expected<ptx::Program> program = ptx::link_and_lower({&module});
    if (!program) return program.error();
    if (texts->size() > 1) out += "// " + name + '\n';
    out += sim::annotate(*program, *text);
  }
  if (Expected<void> written = write_output("", out, ""); !written) return written.error();
  return 0;
}

namespace {

std::string list(const std::vector<ptx::PtxImage>& images) {
  std::string text = "  target    bytes of PTX  compressed  at byte\n";
  char line[128];
  for (const ptx::PtxImage& image : images) {
    std::snprintf(line, sizeof line, "  %-8s  %12zu  %-10s  %llu\n", image.target.c_str(), image.text.size(),
                  image.compressed.empty() ? "no" : std::string(image.compressed).c_str(),
                  static_cast<unsigned long long>(image.offset));
    text += line;
  }
  return text + std::to_string(images.size()) + " PTX texts\n";
}

}  // namespace

Expected<int> extract_command(const ExtractCommand& command) {
  const Expected<std::shared_ptr<const std::string>> bytes = ptx::read_text_file(command.file);
  if (!bytes) return bytes.error();
  Expected<std::vector<ptx::PtxImage>> images = ptx::find_ptx(**bytes);
  if (images && !command.list) images = ptx::pick_ptx(std::move(*images), command.target);
  if (!images) {
    Error error = images.error();
    error.path = command.file;
    return error;
  }
  std::string out = command.list ? list(*images) : "";
  if (!command.list && command.folder.empty()) {
    for (const ptx::PtxImage& image : *images) out += image.text;
  }
  for (size_t i = 0; !command.folder.empty() && i < images->size(); ++i) {
    const std::filesystem::path path =
        std::filesystem::path(command.folder) / (std::filesystem::path(command.file).stem().string() + '.' +
                                                 std::to_string(i + 1) + '.' + (*images)[i].target + ".ptx");
    std::ofstream file(path, std::ios::binary);
    if (!(file << (*images)[i].text).flush())
      return Error{.message = "cannot be written", .path = path.string()};
    out += path.string() + '\n';
  }
  if (Expected<void> written = write_output("", out, ""); !written) return written.error();
  return 0;
}

}  // namespace ptxwire::cli
