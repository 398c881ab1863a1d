// Base against changed as text for people and as JSON (schema: docs/json.md): times and bandwidths, how busy
// resources were, what each role's warps waited for, and what bound before and after.
//
//                                        base  changed    change
//   time, us                            168.8    191.2   +13.3 %
//   ...
//   dispatch, senders (even CTAs), us per warp
//     store window                       90.1     20.4  -69.7 us
#pragma once

#include <string>

#include "sim/study/predict.hpp"

namespace ptxwire::sim {

std::string predict_text(const Prediction& prediction);
std::string predict_json(const Prediction& prediction);

}  // namespace ptxwire::sim
