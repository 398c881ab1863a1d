// A program outside the project: it knows ptxwire only through find_package.
#include <cstdio>

#include "ptx_frontend/frontend.hpp"
#include "support/data_path.hpp"

int main(int count, char** arguments) {
  const auto path = ptxwire::find_data_file(count > 1 ? arguments[1] : "");
  if (!path) {
    std::fprintf(stderr, "%s\n", path.error().to_string().c_str());
    return 1;
  }
  std::printf("%s\n", path->c_str());
  return 0;
}
