// Predicted against measured, as a table and as JSON (schema: docs/json.md).
//
//   row                                        unit  predicted  measured    error  role    note
//   h800-ep8-dispatch-fp8-0224                 GB/s     150.10    153.00   -1.9 %  test
#pragma once

#include <string>

#include "sim/study/check.hpp"

namespace ptxwire::sim {

std::string check_text(const CheckReport& report);
std::string check_json(const CheckReport& report);

}  // namespace ptxwire::sim
