# SPDX-License-Identifier: Apache-2.0
add_executable(bench_device_submit ${CMAKE_CURRENT_LIST_DIR}/device_submit.c)
target_link_libraries(bench_device_submit PRIVATE weir_device weir_memory)
set_target_properties(bench_device_submit PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
