# SPDX-License-Identifier: Apache-2.0
add_executable(bench_model_submit ${CMAKE_CURRENT_LIST_DIR}/model_submit.c)
target_link_libraries(bench_model_submit PRIVATE weir_model)
set_target_properties(bench_model_submit PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
