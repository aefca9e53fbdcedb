# SPDX-License-Identifier: Apache-2.0
weir_fuzz(ptx SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_ptx.c LIBS weir_ptx)
