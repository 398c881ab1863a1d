# `cmake --install`: the binary, the C++ API with its headers, and the data files that support/data_path.hpp looks for.
# An outside project then says find_package(ptxwire) and links ptxwire::ptxwire.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(ptxwire_libraries ptxwire_support ptxwire_frontend ptxwire_models ptxwire_sim_core ptxwire_sim_study)

# The name that users link, in an install and under add_subdirectory alike. (`ptxwire` itself is the executable.)
add_library(ptxwire_api INTERFACE)
set_target_properties(ptxwire_api PROPERTIES EXPORT_NAME ptxwire)
target_link_libraries(ptxwire_api INTERFACE ptxwire_sim_study)
target_compile_features(ptxwire_api INTERFACE cxx_std_20)
add_library(ptxwire::ptxwire ALIAS ptxwire_api)

install(TARGETS ${ptxwire_libraries} ptxwire_api EXPORT ptxwireTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET ptxwire)
  install(TARGETS ptxwire RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

install(DIRECTORY support ptx_frontend models sim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ptxwire
        FILES_MATCHING PATTERN "*.hpp" PATTERN "cli" EXCLUDE)

set(ptxwire_data ${CMAKE_INSTALL_DATADIR}/ptxwire)
install(DIRECTORY models DESTINATION ${ptxwire_data}
        FILES_MATCHING PATTERN "*.toml" PATTERN "base" EXCLUDE PATTERN "gpu" EXCLUDE PATTERN "host" EXCLUDE)
install(DIRECTORY kernels traces DESTINATION ${ptxwire_data}
        FILES_MATCHING PATTERN "*.ptx" PATTERN "*.toml" PATTERN "*.csv" PATTERN "*.json")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(ptxwire_package ${CMAKE_INSTALL_LIBDIR}/cmake/ptxwire)
install(EXPORT ptxwireTargets NAMESPACE ptxwire:: DESTINATION ${ptxwire_package})
configure_package_config_file(cmake/ptxwireConfig.cmake.in ${PROJECT_BINARY_DIR}/ptxwireConfig.cmake
                              INSTALL_DESTINATION ${ptxwire_package} PATH_VARS ptxwire_data)
# Before 1.0 every minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ptxwireConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ptxwireConfig.cmake ${PROJECT_BINARY_DIR}/ptxwireConfigVersion.cmake
        DESTINATION ${ptxwire_package})
