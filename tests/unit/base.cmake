# SPDX-License-Identifier: Apache-2.0
weir_test(unit_base SOURCES ${CMAKE_CURRENT_LIST_DIR}/base_map.c LIBS weir_base PkgConfig::CMOCKA)
weir_test(unit_base_thread SOURCES ${CMAKE_CURRENT_LIST_DIR}/base_thread.c LIBS weir_base PkgConfig::CMOCKA)
weir_test(unit_base_text SOURCES ${CMAKE_CURRENT_LIST_DIR}/base_text.c LIBS weir_base PkgConfig::CMOCKA)
weir_test(unit_base_kernel_name SOURCES ${CMAKE_CURRENT_LIST_DIR}/base_kernel_name.c LIBS weir_base PkgConfig::CMOCKA)
