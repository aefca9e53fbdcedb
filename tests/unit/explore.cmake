# SPDX-License-Identifier: Apache-2.0
weir_test(unit_explore_schedule SOURCES ${CMAKE_CURRENT_LIST_DIR}/explore_schedule.c
  LIBS weir_explore weir_model weir_base model_naive PkgConfig::CMOCKA)
