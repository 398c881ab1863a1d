// A check as CI servers read it.
#pragma once

#include <string>

#include "sim/study/check.hpp"

namespace ptxwire::sim {

/// JUnit XML: a test suite per family, a test case per row; a row beyond its threshold or with wrong values
/// is a failure, one that was not run is skipped (an error if the suite asked for it and it broke). Means
/// with a threshold are a suite of their own.
std::string check_junit(const CheckReport& report);

}  // namespace ptxwire::sim
