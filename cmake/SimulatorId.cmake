# Run as a script while building: writes OUTPUT, a C++ source that holds a name for the program that simulates: a hash over
# the content of the files listed in SOURCES_FILE and over BUILD (compiler and options). The same name means the same
# results, so results stay valid while reports and the command line change.
file(STRINGS ${SOURCES_FILE} sources)
list(SORT sources)
set(content "${BUILD}")
foreach(source IN LISTS sources)
  file(SHA256 ${ROOT}/${source} hash)
  string(APPEND content "\n${source} ${hash}")
endforeach()
string(SHA256 id "${content}")
string(SUBSTRING ${id} 0 32 id)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "sim/study/simulator_id.hpp"

std::string ptxwire::sim::simulator_id() { return "@id@"; }
]])
