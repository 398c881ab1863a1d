// Where the data files of ptxwire (machines, kernels, scenarios, measurements) are found at run time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/error.hpp"

namespace ptxwire {

/// The folders searched for data files, best first, whether or not they exist:
///  1. `$PTXWIRE_DATA` alone, if it is set and not empty: who names a place means that place;
///  2. otherwise `<folder of the executable>/../share/ptxwire` (an installed binary, wherever it was moved),
///  3. the source tree that the library was built from (a build tree, and programs linked against one),
///  4. the data folder of the configured install prefix (an outside program linked against the installed
///  library).
[[nodiscard]] std::vector<std::string> data_roots();

/// Absolute path of the data file or folder `relative`, e.g. "models/machines/h800-node.toml", below the
/// first root that has it. An absolute `relative` is an error, as is a file that is below no root; the error
/// names the roots searched.
[[nodiscard]] Expected<std::string> find_data_file(std::string_view relative);

}  // namespace ptxwire
