# SPDX-License-Identifier: Apache-2.0
add_executable(bench_trace_record ${CMAKE_CURRENT_LIST_DIR}/trace_record.c)
target_link_libraries(bench_trace_record PRIVATE weir_trace weir_trace_read)
set_target_properties(bench_trace_record PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
