# SPDX-License-Identifier: Apache-2.0
weir_test(unit_trace_file SOURCES ${CMAKE_CURRENT_LIST_DIR}/trace_file.c LIBS weir_trace weir_trace_read PkgConfig::CMOCKA LABELS unit)
weir_test(unit_trace_ticks SOURCES ${CMAKE_CURRENT_LIST_DIR}/trace_ticks.c LIBS weir_trace PkgConfig::CMOCKA LABELS unit)
weir_test(unit_trace_view SOURCES ${CMAKE_CURRENT_LIST_DIR}/trace_view.c LIBS weir_trace weir_view PkgConfig::CMOCKA LABELS unit)
weir_test(unit_trace_nvtx SOURCES ${CMAKE_CURRENT_LIST_DIR}/trace_nvtx.c LIBS weir_trace weir_trace_read PkgConfig::CMOCKA LABELS unit)
weir_test(unit_advise SOURCES ${CMAKE_CURRENT_LIST_DIR}/advise.c LIBS weir_advise PkgConfig::CMOCKA LABELS unit)
weir_test(unit_advise_questions SOURCES ${CMAKE_CURRENT_LIST_DIR}/advise_questions.c LIBS weir_advise PkgConfig::CMOCKA LABELS unit)
