# SPDX-License-Identifier: Apache-2.0
add_executable(bench_compile_time ${CMAKE_CURRENT_LIST_DIR}/compile_time.c)
target_link_libraries(bench_compile_time PRIVATE weir_codegen weir_flags)
set_target_properties(bench_compile_time PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
if(TARGET weir-jit)
  add_dependencies(bench_compile_time weir-jit)
endif()
