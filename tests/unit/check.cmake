# SPDX-License-Identifier: Apache-2.0
weir_test(unit_check_shadow SOURCES ${CMAKE_CURRENT_LIST_DIR}/check_shadow.c LIBS weir_check weir_model weir_base PkgConfig::CMOCKA)
weir_test(unit_check_guard SOURCES ${CMAKE_CURRENT_LIST_DIR}/check_guard.c LIBS weir_check weir_model weir_base PkgConfig::CMOCKA)
weir_test(unit_check_bodies SOURCES ${CMAKE_CURRENT_LIST_DIR}/check_bodies.c LIBS weir_check weir_model weir_base PkgConfig::CMOCKA)
