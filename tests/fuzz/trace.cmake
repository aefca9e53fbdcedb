# SPDX-License-Identifier: Apache-2.0
weir_fuzz(trace SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_trace.c LIBS weir_view weir_advise)
