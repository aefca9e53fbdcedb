# SPDX-License-Identifier: Apache-2.0
if(TARGET weir_core)
  weir_fuzz(profile SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_profile.c LIBS weir_plan weir_core)
endif()
