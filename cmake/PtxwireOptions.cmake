# Options and compile flags shared by every target.
option(PTXWIRE_BUILD_TESTS "Build unit tests, benches and fuzz targets" ${PROJECT_IS_TOP_LEVEL})
option(PTXWIRE_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(PTXWIRE_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
set(PTXWIRE_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(ptxwire_flags INTERFACE)
# Contraction would fuse a multiply and an add into one rounding and change the
# bits that PTX defines; strict IEEE evaluation is part of the contract.
target_compile_options(ptxwire_flags INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers
                       -ffp-contract=off -fno-fast-math)
# GCC 12 reports overlaps that cannot happen in `"text" + std::string` (GCC bug 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(ptxwire_flags INTERFACE -Wno-restrict)
endif()
if(PTXWIRE_WERROR)
  target_compile_options(ptxwire_flags INTERFACE -Werror)
endif()
if(PTXWIRE_SANITIZE)
  add_compile_options(-fsanitize=${PTXWIRE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PTXWIRE_SANITIZE})
endif()
if(PTXWIRE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
