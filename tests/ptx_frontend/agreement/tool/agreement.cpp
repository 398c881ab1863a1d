// Do ptxas and the front end give the same verdicts? On modules as they are, and on mutants of them:
//
//   agreement [--mutants N] [--seed S] [--threads T] [--keep FOLDER] FILE.ptx...
//
//   files accepted by ptxas: 41, by us too: 41
//   delete operand     1251 of 1254 agree
//   ...
//   disagreements: mutation, line, what each says
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "ptx_frontend/frontend.hpp"
#include "tests/ptx_frontend/agreement/comparison.hpp"
#include "tests/ptx_frontend/agreement/shards.hpp"

namespace {

using namespace ptxwire::ptx;
using namespace ptxwire::ptx::agreement;

constexpr size_t kLongestShard = 12000;

struct Options {
  size_t mutants = 1000;
  uint64_t seed = 1;
  unsigned threads = 1;
  std::string keep;
  std::vector<std::string> files;
};

Options read_options(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const bool valued = i + 1 < count;
    if (word == "--mutants" && valued) {
      options.mutants = std::strtoull(words[++i], nullptr, 10);
    } else if (word == "--seed" && valued) {
      options.seed = std::strtoull(words[++i], nullptr, 10);
    } else if (word == "--threads" && valued) {
      options.threads = static_cast<unsigned>(std::strtoul(words[++i], nullptr, 10));
    } else if (word == "--keep" && valued) {
      options.keep = words[++i];
    } else {
      options.files.emplace_back(word);
    }
  }
  return options;
}

std::string_view line_of(std::string_view text, uint32_t number) {
  if (number == 0) return {};
  for (uint32_t i = 1; i < number; ++i) text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  return text.substr(0, text.find('\n'));
}

void print(const Comparison& comparison) {
  for (size_t i = 0; i < comparison.by_mutation.size(); ++i) {
    const auto& count = comparison.by_mutation[i];
    std::printf("%-17s %6zu of %6zu agree\n", std::string(name(static_cast<Mutation>(i))).c_str(),
                count.agreed, count.mutants);
  }
  const auto total = comparison.total();
  std::printf("%-17s %6zu of %6zu agree, %.2f %%; undecided %zu\n", "all", total.agreed, total.mutants,
              total.mutants == 0
                  ? 100.0
                  : 100.0 * static_cast<double>(total.agreed) / static_cast<double>(total.mutants),
              comparison.undecided);
  for (const Disagreement& d : comparison.disagreements) {
    std::printf("\nseed %llu, %s, line %u: %.*s\n  ptxas: %s\n  ours:  %s\n",
                static_cast<unsigned long long>(d.seed), std::string(name(d.mutant.mutation)).c_str(),
                d.mutant.line, static_cast<int>(line_of(d.mutant.text, d.mutant.line).size()),
                line_of(d.mutant.text, d.mutant.line).data(),
                d.ptxas.accepted ? "accepts" : d.ptxas.message.c_str(),
                d.ours.accepted ? "accepts" : (d.ours.id + ": " + d.ours.message).c_str());
  }
}

}  // namespace

int main(int count, char** words) {
  const Options options = read_options(count, words);
  if (options.files.empty() || !have_ptxas()) {
    std::fprintf(stderr,
                 "usage: agreement [--mutants N] [--seed S] [--threads T] [--keep FOLDER] FILE.ptx...\n"
                 "needs ptxas in PATH\n");
    return 2;
  }
  std::vector<std::string> modules;
  size_t accepted = 0, both = 0;
  for (const std::string& file : options.files) {
    const auto text = read_text_file(file);
    if (!text) {
      std::fprintf(stderr, "%s\n", text.error().to_string().c_str());
      return 2;
    }
    for (std::string& shard : shards(**text, kLongestShard)) modules.push_back(std::move(shard));
    if (options.mutants != 0) continue;
    const Verdict ptxas = ask_ptxas(**text), ours = ask_front_end(**text);
    accepted += ptxas.accepted ? 1 : 0;
    both += ptxas.accepted && ours.accepted ? 1 : 0;
    if (ptxas.accepted != ours.accepted)
      std::printf("%s\n  ptxas: %s\n  ours:  %s\n", file.c_str(),
                  ptxas.accepted ? "accepts" : ptxas.message.c_str(),
                  ours.accepted ? "accepts" : (ours.id + ": " + ours.message).c_str());
  }
  if (options.mutants == 0) {
    std::printf("%zu files, %zu accepted by ptxas, %zu of these by us\n", options.files.size(), accepted,
                both);
    return both == accepted ? 0 : 1;
  }
  std::printf("%zu modules of one function\n", modules.size());
  const Comparison comparison = compare(modules, options.mutants, options.seed, options.threads);
  print(comparison);
  for (const Disagreement& d : comparison.disagreements) {
    if (options.keep.empty()) break;
    std::filesystem::create_directories(options.keep);
    std::ofstream(options.keep + '/' + std::to_string(d.seed) + ".ptx") << d.mutant.text;
  }
  return 0;
}
