# SPDX-License-Identifier: Apache-2.0
weir_fuzz(link SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_link.c LIBS weir_ptx)
