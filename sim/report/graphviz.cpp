#include "sim/report/graphviz.hpp"

#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

extern char** environ;

namespace ptxwire::sim {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
/// A file without a name, gone when it is closed.
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;

std::string read_all(std::FILE* file) {
  std::rewind(file);
  std::string text;
  std::array<char, 4096> buffer{};
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), file))
    text.append(buffer.data(), count);
  return text;
}

/// Exit status of `dot -Tsvg`, or the errno of the failure to start it, negated.
int run_dot(std::FILE* input, std::FILE* output, std::FILE* messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input), 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(output), 1);
  posix_spawn_file_actions_adddup2(&actions, fileno(messages), 2);
  std::string program = "dot", format = "-Tsvg";
  std::array<char*, 3> arguments{program.data(), format.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -failed;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

Expected<std::string> render_svg(const std::string& graph) {
  const TemporaryFile input(std::tmpfile()), output(std::tmpfile()), messages(std::tmpfile());
  if (!input || !output || !messages)
    return Error{.message = "no temporary file: " + std::string(std::strerror(errno))};
  if (std::fwrite(graph.data(), 1, graph.size(), input.get()) != graph.size() ||
      std::fflush(input.get()) != 0)
    return Error{.message = "cannot write a temporary file: " + std::string(std::strerror(errno))};
  std::rewind(input.get());
  const int status = run_dot(input.get(), output.get(), messages.get());
  constexpr int kNotFoundByShell = 127;
  if (status == -ENOENT || status == kNotFoundByShell)
    return Error{.message = "Graphviz draws the picture, and its program 'dot' is not installed",
                 .hint = "scripts/setup build, or apt-get install graphviz"};
  if (status < 0) return Error{.message = "cannot run 'dot': " + std::string(std::strerror(-status))};
  if (status != 0) return Error{.message = "'dot' failed: " + read_all(messages.get())};
  return read_all(output.get());
}

}  // namespace ptxwire::sim
