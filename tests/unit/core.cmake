# SPDX-License-Identifier: Apache-2.0
weir_test(unit_core_printf SOURCES ${CMAKE_CURRENT_LIST_DIR}/core_printf.c LIBS weir_core PkgConfig::CMOCKA)
weir_test(unit_core_inject SOURCES ${CMAKE_CURRENT_LIST_DIR}/core_inject.c LIBS weir_core PkgConfig::CMOCKA)
weir_test(unit_core_handle SOURCES ${CMAKE_CURRENT_LIST_DIR}/core_handle.c LIBS weir_core PkgConfig::CMOCKA)
weir_test(unit_core_profile SOURCES ${CMAKE_CURRENT_LIST_DIR}/core_profile.c LIBS weir_core PkgConfig::CMOCKA)
weir_test(unit_core_host_insn SOURCES ${CMAKE_CURRENT_LIST_DIR}/core_host_insn.c LIBS weir_core PkgConfig::CMOCKA)
weir_test(unit_core_linked SOURCES ${CMAKE_CURRENT_LIST_DIR}/core_linked.c LIBS weir_core PkgConfig::CMOCKA)
