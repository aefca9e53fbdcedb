# SPDX-License-Identifier: Apache-2.0
weir_test(unit_plan_sim SOURCES ${CMAKE_CURRENT_LIST_DIR}/plan_sim.c LIBS weir_plan PkgConfig::CMOCKA LABELS unit)
weir_test(unit_plan_text SOURCES ${CMAKE_CURRENT_LIST_DIR}/plan_text.c LIBS weir_plan PkgConfig::CMOCKA LABELS unit)
weir_test(unit_plan_recorded SOURCES ${CMAKE_CURRENT_LIST_DIR}/plan_recorded.c LIBS weir_advise PkgConfig::CMOCKA LABELS unit)
