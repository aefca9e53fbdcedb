# SPDX-License-Identifier: Apache-2.0
# The compiler with its own small harness (also used by bench/kernels_direct): what t_ptx does not look at.
if(TARGET weir-jit)
  weir_test(unit_codegen_lower SOURCES ${CMAKE_CURRENT_LIST_DIR}/codegen_lower.c ${CMAKE_CURRENT_LIST_DIR}/codegen_lower_harness.c
    LIBS weir-jit weir_codegen_image weir_ptx weir_base PkgConfig::CMOCKA)
endif()
