#include "sim/report/junit.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/report/table.hpp"

namespace ptxwire::sim {
namespace {

/// Text as it may stand in an attribute. Control characters have no form in XML 1.0.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\n':
        result += "&#10;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

/// One <testsuite>.
class JunitSuite {
 public:
  explicit JunitSuite(std::string name) : name_(std::move(name)) {}

  void passed(const std::string& id, double seconds, const std::string& words) {
    open(id, seconds);
    cases_ += fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n", escaped(words));
  }
  void failed(const std::string& id, double seconds, const std::string& words) {
    ++failures_;
    with_child(id, seconds, "failure", words);
  }
  void broken(const std::string& id, const std::string& words) {
    ++errors_;
    with_child(id, 0, "error", words);
  }
  void skipped(const std::string& id, const std::string& words) {
    ++skipped_;
    with_child(id, 0, "skipped", words);
  }

  [[nodiscard]] std::string text() const {
    if (tests_ == 0) return "";
    return fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
        "time=\"{:.3f}\">\n{}"
        "  </testsuite>\n",
        escaped(name_), tests_, failures_, errors_, skipped_, seconds_, cases_);
  }
  [[nodiscard]] size_t tests() const { return tests_; }
  [[nodiscard]] size_t failures() const { return failures_; }
  [[nodiscard]] size_t errors() const { return errors_; }

 private:
  void open(const std::string& id, double seconds) {
    ++tests_;
    seconds_ += seconds;
    cases_ += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"", escaped(name_),
                          escaped(id), seconds);
  }
  void with_child(const std::string& id, double seconds, const char* kind, const std::string& words) {
    open(id, seconds);
    cases_ += fmt::format(">\n      <{} message=\"{}\"/>\n    </testcase>\n", kind, escaped(words));
  }

  std::string name_, cases_;
  size_t tests_ = 0, failures_ = 0, errors_ = 0, skipped_ = 0;
  double seconds_ = 0;
};

std::string words_of(const CheckedRow& row) {
  std::string words = fmt::format("predicted {:.4g} {}, measured {:.4g}, error {}", row.predicted,
                                  row.measurement.unit, row.measurement.value, signed_percent(row.error_pct));
  if (row.max_error_pct) words += fmt::format(", allowed {:.1f} %", *row.max_error_pct);
  if (row.outcome.result == ResultState::wrong) words += "; WRONG RESULT: " + row.outcome.mismatch;
  return words + "; " + row.outcome.bottleneck.binding;
}

}  // namespace

std::string check_junit(const CheckReport& report) {
  std::map<std::string, JunitSuite> families;
  for (const CheckedRow& row : report.rows) {
    JunitSuite& suite = families.try_emplace(row.measurement.family, row.measurement.family).first->second;
    const double seconds = row.from_cache ? 0 : row.outcome.wall_s;
    row.failed() ? suite.failed(row.measurement.id, seconds, words_of(row))
                 : suite.passed(row.measurement.id, seconds, words_of(row));
  }
  JunitSuite not_run("not run"), means("means");
  for (const NotRun& row : report.not_run)
    row.is_failure ? not_run.broken(row.id, row.reason) : not_run.skipped(row.id, row.reason);
  for (const CheckedMean& mean : report.means) {
    const std::string words =
        fmt::format("mean error {:.1f} %, allowed {:.1f} %, over {} of {} rows", mean.accuracy.mape_pct,
                    mean.max_mape_pct, mean.accuracy.rows, mean.planned);
    if (!mean.complete()) {
      means.skipped(mean.name, words);
    } else {
      mean.failed() ? means.failed(mean.name, 0, words) : means.passed(mean.name, 0, words);
    }
  }
  std::string body;
  size_t tests = 0, failures = 0, errors = 0;
  const auto add = [&](const JunitSuite& suite) {
    body += suite.text();
    tests += suite.tests();
    failures += suite.failures();
    errors += suite.errors();
  };
  for (const auto& [name, suite] : families) add(suite);
  add(means);
  add(not_run);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"ptxwire check\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" time=\"{:.3f}\">\n{}</testsuites>\n",
      tests, failures, errors, report.wall_s, body);
}

}  // namespace ptxwire::sim
