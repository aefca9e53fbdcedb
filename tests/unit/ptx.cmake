# SPDX-License-Identifier: Apache-2.0
set(ptx_text ${PROJECT_SOURCE_DIR}/tests/support/ptx_text.c)
weir_test(unit_ptx_forms SOURCES ${CMAKE_CURRENT_LIST_DIR}/ptx_forms.c ${ptx_text} LIBS weir_ptx PkgConfig::CMOCKA)
weir_test(unit_ptx_decls SOURCES ${CMAKE_CURRENT_LIST_DIR}/ptx_decls.c ${ptx_text} LIBS weir_ptx PkgConfig::CMOCKA)
weir_test(unit_ptx_errors SOURCES ${CMAKE_CURRENT_LIST_DIR}/ptx_errors.c LIBS weir_ptx PkgConfig::CMOCKA)
weir_test(unit_ptx_nvcc SOURCES ${CMAKE_CURRENT_LIST_DIR}/ptx_nvcc.c ${ptx_text} LIBS weir_ptx
  ARGS ${CMAKE_CURRENT_LIST_DIR}/ptx_nvcc.cu TIMEOUT 180)
