# SPDX-License-Identifier: Apache-2.0
add_executable(bench_launch ${CMAKE_CURRENT_LIST_DIR}/launch.c)
target_include_directories(bench_launch PRIVATE ${PROJECT_SOURCE_DIR}/include/cuda)
target_compile_definitions(bench_launch PRIVATE _GNU_SOURCE)
target_link_libraries(bench_launch PRIVATE cudart)
set_target_properties(bench_launch PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
