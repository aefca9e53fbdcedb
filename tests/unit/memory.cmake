# SPDX-License-Identifier: Apache-2.0
weir_test(unit_memory_alloc SOURCES ${CMAKE_CURRENT_LIST_DIR}/memory_alloc.c LIBS weir_memory PkgConfig::CMOCKA)
weir_test(unit_memory_host SOURCES ${CMAKE_CURRENT_LIST_DIR}/memory_host.c LIBS weir_memory PkgConfig::CMOCKA)
weir_test(unit_memory_twin SOURCES ${CMAKE_CURRENT_LIST_DIR}/memory_twin.c LIBS weir_memory PkgConfig::CMOCKA)
weir_test(unit_memory_force SOURCES ${CMAKE_CURRENT_LIST_DIR}/memory_force.c LIBS weir_memory PkgConfig::CMOCKA)
