// Pictures of graphs through Graphviz.
#pragma once

#include <string>

#include "support/error.hpp"

namespace ptxwire::sim {

/// Runs the program `dot` over a graph in its language and returns the SVG. Errors: it is not installed; it
/// failed, with what it said.
Expected<std::string> render_svg(const std::string& graph);

}  // namespace ptxwire::sim
