// The accuracy of the simulator in words for people: docs/accuracy.md and the summary that CI shows.
#pragma once

#include <string>

#include "sim/study/check.hpp"

namespace ptxwire::sim {

struct AccuracyDocument {
  std::string command;  ///< that writes the document
  std::string plot;     ///< picture beside it; empty: none
};

/// Markdown: how the means stand against their limits, errors by role and by family, known misses with the
/// suspected physics, the order in which knobs act, and every row. No time and no place of the run is in it,
/// so that equal results give equal text.
std::string accuracy_document(const CheckReport& report, const AccuracyDocument& document);

/// Markdown of a screen: verdict, means, what failed. For the summary page of a CI job.
std::string check_summary(const CheckReport& report);

}  // namespace ptxwire::sim
