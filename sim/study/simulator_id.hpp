// Which program simulates.
#pragma once

#include <string>

namespace ptxwire::sim {

/// A name for everything in this program that results depend on: the sources of front end, models and
/// simulation, compiler and options (cmake/SimulatorId.cmake writes it). Two programs of the same name give
/// the same results; reports and the command line are no part of it.
std::string simulator_id();

}  // namespace ptxwire::sim
