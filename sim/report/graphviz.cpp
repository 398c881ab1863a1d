#include "sim/report/graphviz.hpp"

#include "sim/report/external_program.hpp"

namespace ptxwire::sim {

Expected<std::string> render_svg(const std::string& graph) {
  return run_program({.name = "dot",
                      .arguments = {"-Tsvg"},
                      .what_for = "Graphviz draws the picture",
                      .package = "graphviz"},
                     graph);
}

}  // namespace ptxwire::sim
