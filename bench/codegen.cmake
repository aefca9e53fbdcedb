# SPDX-License-Identifier: Apache-2.0
add_executable(kernels_direct EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/kernels_direct.c
  ${PROJECT_SOURCE_DIR}/tests/unit/codegen_lower_harness.c)
target_include_directories(kernels_direct PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(kernels_direct PRIVATE weir_flags weir-jit weir_codegen_image weir_ptx weir_base m)
