// Predicted against measured as a picture.
#pragma once

#include <string>

#include "sim/study/check.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

/// A drawing in the language of gnuplot: a panel per kind of unit with both axes logarithmic, a point per row
/// (fit, test and report told apart by shape), the diagonal, and the band of 18 % around it.
std::string accuracy_plot(const CheckReport& report);

/// Has it drawn: an SVG. Errors: gnuplot is not installed, or failed.
Expected<std::string> render_plot(const std::string& plot);

}  // namespace ptxwire::sim
