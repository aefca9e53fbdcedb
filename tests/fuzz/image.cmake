# SPDX-License-Identifier: Apache-2.0
weir_fuzz(image SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_image.c LIBS weir_codegen_image)
