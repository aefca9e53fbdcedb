# SPDX-License-Identifier: Apache-2.0
add_executable(bench_trace_record ${CMAKE_CURRENT_LIST_DIR}/trace_record.c)
target_link_libraries(bench_trace_record PRIVATE weir_trace weir_trace_read)
set_target_properties(bench_trace_record PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
# (As libweir.so is linked: it turns the recorder on and off, which no program can.)
add_executable(bench_trace_overhead ${CMAKE_CURRENT_LIST_DIR}/trace_overhead.c)
target_include_directories(bench_trace_overhead PRIVATE ${PROJECT_SOURCE_DIR}/include/cuda)
target_compile_definitions(bench_trace_overhead PRIVATE _GNU_SOURCE)
target_link_libraries(bench_trace_overhead PRIVATE
  -Wl,--whole-archive weir_runtime weir_driver weir_plan_clock -Wl,--no-whole-archive)
set_target_properties(bench_trace_overhead PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
