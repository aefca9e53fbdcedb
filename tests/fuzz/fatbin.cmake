# SPDX-License-Identifier: Apache-2.0
weir_fuzz(fatbin SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_fatbin.c LIBS weir_fatbin)
