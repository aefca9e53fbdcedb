# SPDX-License-Identifier: Apache-2.0
set(takeover ${PROJECT_SOURCE_DIR}/src/takeover)
weir_test(unit_takeover_object SOURCES ${CMAKE_CURRENT_LIST_DIR}/takeover_object.c ${takeover}/object.c ${takeover}/sys.c
          ${CMAKE_CURRENT_LIST_DIR}/../programs/takeover/fake_cudart.S LIBS PkgConfig::CMOCKA)
weir_test(unit_takeover_patch SOURCES ${CMAKE_CURRENT_LIST_DIR}/takeover_patch.c ${takeover}/patch_x86_64.c
          LIBS PkgConfig::CMOCKA)
