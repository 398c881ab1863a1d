#include "sim/study/runner.hpp"

#include <nlohmann/json.hpp>

namespace ptxwire::sim {
namespace {

std::string description_of(const Job& job) {
  std::string text = job.scenario;
  for (const std::string& setting : job.settings) text += ' ' + setting;
  if (!job.machine.empty()) text += " machine=" + job.machine;
  return text;
}

}  // namespace

Expected<Outcome> RecallingRunner::run(const Job& /*job*/, const JobControl& /*control*/) {
  return Error{.message = "not simulated yet with these sources and settings"};
}

Expected<Outcome> CachingRunner::run(const Job& job, const JobControl& control) {
  if (store_ == nullptr) return inner_.run(job, control);
  const Expected<std::string> key = inner_.fingerprint(job);
  if (!key) return key.error();
  if (const std::optional<std::string> stored = store_->find(*key)) {
    // What cannot be read (an older form, say) is computed again and replaced.
    if (Expected<Outcome> outcome = outcome_from_json(*stored)) {
      outcome->from_cache = true;
      return outcome;
    }
  }
  Expected<Outcome> outcome = inner_.run(job, control);
  if (!outcome) return outcome;
  const Expected<void> kept =
      store_->put(*key, description_of(job), json_text(to_json(*outcome), JsonLayout::compact));
  if (!kept) store_problem_ = kept.error().to_string();
  return outcome;
}

}  // namespace ptxwire::sim
