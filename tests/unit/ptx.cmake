# SPDX-License-Identifier: Apache-2.0
set(ptx_text ${PROJECT_SOURCE_DIR}/tests/support/ptx_text.c)
weir_test(unit_ptx_forms SOURCES ${CMAKE_CURRENT_LIST_DIR}/ptx_forms.c ${ptx_text} LIBS weir_ptx PkgConfig::CMOCKA)
weir_test(unit_ptx_reads SOURCES ${CMAKE_CURRENT_LIST_DIR}/ptx_reads.c ${ptx_text} LIBS weir_ptx PkgConfig::CMOCKA)
weir_test(unit_ptx_decls SOURCES ${CMAKE_CURRENT_LIST_DIR}/ptx_decls.c ${ptx_text} LIBS weir_ptx PkgConfig::CMOCKA)
weir_test(unit_ptx_errors SOURCES ${CMAKE_CURRENT_LIST_DIR}/ptx_errors.c LIBS weir_ptx PkgConfig::CMOCKA)
weir_test(unit_ptx_link SOURCES ${CMAKE_CURRENT_LIST_DIR}/ptx_link.c LIBS weir_ptx PkgConfig::CMOCKA)
weir_test(unit_ptx_nvcc SOURCES ${CMAKE_CURRENT_LIST_DIR}/ptx_nvcc.c ${ptx_text} LIBS weir_ptx
  ARGS ${CMAKE_CURRENT_LIST_DIR}/ptx_nvcc.cu TIMEOUT 180)
add_library(ptx_interp STATIC
  ${PROJECT_SOURCE_DIR}/tests/support/ptx_interp.c ${PROJECT_SOURCE_DIR}/tests/support/ptx_interp_alu.c
  ${PROJECT_SOURCE_DIR}/tests/support/ptx_interp_float.c ${PROJECT_SOURCE_DIR}/tests/support/ptx_interp_warp.c
  ${PROJECT_SOURCE_DIR}/tests/support/ptx_interp_mbarrier.c)
target_compile_options(ptx_interp PRIVATE -frounding-math -ffp-contract=off)
target_include_directories(ptx_interp PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(ptx_interp PUBLIC weir_ptx m)
weir_test(unit_ptx_interp SOURCES ${CMAKE_CURRENT_LIST_DIR}/ptx_interp.c LIBS ptx_interp PkgConfig::CMOCKA)
