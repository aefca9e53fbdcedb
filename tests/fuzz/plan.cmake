# SPDX-License-Identifier: Apache-2.0
weir_fuzz(plan SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_plan.c LIBS weir_plan)
