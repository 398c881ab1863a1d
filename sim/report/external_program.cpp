#include "sim/report/external_program.hpp"

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

/// Its exit status, or the errno of the failure to start it, negated.
int run(ExternalProgram program, std::FILE* input, std::FILE* output, std::FILE* messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input), 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(output), 1);
  posix_spawn_file_actions_adddup2(&actions, fileno(messages), 2);
  std::vector<char*> arguments = {program.name.data()};
  for (std::string& argument : program.arguments) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, program.name.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -failed;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

Expected<std::string> run_program(const ExternalProgram& program, const std::string& text) {
  const TemporaryFile input(std::tmpfile()), output(std::tmpfile()), messages(std::tmpfile());
  if (!input || !output || !messages)
    return Error{.message = "no temporary file: " + std::string(std::strerror(errno))};
  if (std::fwrite(text.data(), 1, text.size(), input.get()) != text.size() || std::fflush(input.get()) != 0)
    return Error{.message = "cannot write a temporary file: " + std::string(std::strerror(errno))};
  std::rewind(input.get());
  const int status = run(program, input.get(), output.get(), messages.get());
  constexpr int kNotFoundByShell = 127;
  if (status == -ENOENT || status == kNotFoundByShell)
    return Error{.message = program.what_for + ", and its program '" + program.name + "' is not installed",
                 .hint = "scripts/setup build, or apt-get install " + program.package};
  if (status < 0)
    return Error{.message = "cannot run '" + program.name + "': " + std::string(std::strerror(-status))};
  if (status != 0) return Error{.message = "'" + program.name + "' failed: " + read_all(messages.get())};
  return read_all(output.get());
}

}  // namespace ptxwire::sim
