# SPDX-License-Identifier: Apache-2.0
# Package files: lib/pkgconfig/weir.pc and lib/cmake/Weir. And the three libraries; the rest
# of what is installed stands beside its target.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# From lib/pkgconfig back to the prefix: as many steps up as the folder has parts.
string(REGEX REPLACE "[^/]+" ".." WEIR_PC_TO_PREFIX "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
configure_file(${CMAKE_CURRENT_LIST_DIR}/weir.pc.in ${CMAKE_BINARY_DIR}/gen/weir.pc @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/weir-pipe.pc.in ${CMAKE_BINARY_DIR}/gen/weir-pipe.pc @ONLY)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/WeirConfig.cmake.in ${CMAKE_BINARY_DIR}/gen/WeirConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Weir
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/gen/WeirConfigVersion.cmake COMPATIBILITY SameMajorVersion)

foreach(t weir cudart cudart12 cuda_driver weir-jit)
  if(TARGET ${t})
    install(TARGETS ${t} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/gen/weir.pc ${CMAKE_BINARY_DIR}/gen/weir-pipe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_BINARY_DIR}/gen/WeirConfig.cmake ${CMAKE_BINARY_DIR}/gen/WeirConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Weir)
