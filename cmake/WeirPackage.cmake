# SPDX-License-Identifier: Apache-2.0
# The Debian package (`make deb`, tools/deb). Everything but the command stands in /usr/lib/weir: no other program must find
# this CUDA runtime by accident.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weir)
set(CPACK_PACKAGE_VENDOR Weir)
set(CPACK_PACKAGE_CONTACT "Weir developers <weir@localhost.localdomain>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "run and compile CUDA programs where there is no GPU")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Weir runs unmodified CUDA programs on the CPU, with CUDA's own rules of
order: streams, events, asynchronous copies, many devices. Kernels come
from the PTX inside the program and run as vector code.

It also compiles CUDA C++ (weir cc) with clang and headers of its own; no
NVIDIA software is needed for either.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
# weir cc needs a compiler and the C++ library's headers; weir run needs neither.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "clang-19, libstdc++-12-dev | libstdc++-dev, binutils")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

find_program(WEIR_GZIP gzip)
if(WEIR_GZIP)
  set(man ${CMAKE_BINARY_DIR}/gen/weir.1.gz)
  add_custom_command(OUTPUT ${man} COMMAND sh -c "'${WEIR_GZIP}' -9nc '${PROJECT_SOURCE_DIR}/docs/man/weir.1' > '${man}'"
    DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/weir.1 VERBATIM)
  add_custom_target(weir_man ALL DEPENDS ${man})
  install(FILES ${man} DESTINATION share/man/man1)
endif()
option(WEIR_DEBIAN_FILES "install the copyright file and the change log of the Debian package" OFF)
if(WEIR_DEBIAN_FILES AND WEIR_GZIP)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE ${CMAKE_BINARY_DIR}/gen/changelog
    "weir (${PROJECT_VERSION}-1) unstable; urgency=low\n\n  * Built from the sources by `make deb`.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  execute_process(COMMAND sh -c "'${WEIR_GZIP}' -9nf changelog && mv changelog.gz changelog.Debian.gz"
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/gen)
  install(FILES ${CMAKE_BINARY_DIR}/gen/changelog.Debian.gz packaging/debian/copyright DESTINATION share/doc/weir)
  install(FILES packaging/debian/lintian-overrides DESTINATION share/lintian/overrides RENAME weir)
endif()
include(CPack)
