# SPDX-License-Identifier: Apache-2.0
weir_test(unit_pipe SOURCES ${CMAKE_CURRENT_LIST_DIR}/pipe.c LIBS weir_pipe cudart PkgConfig::CMOCKA LABELS pipe
  ENV "WEIR_DEVICES=2;WEIR_CACHE=off;WEIR_JIT_LIBRARY=${CMAKE_BINARY_DIR}/tests/libstub_jit.so")
add_dependencies(t_unit_pipe stub_jit)
target_include_directories(t_unit_pipe PRIVATE ${PROJECT_SOURCE_DIR}/tests/conform)
weir_test(unit_pipe_pools SOURCES ${CMAKE_CURRENT_LIST_DIR}/pipe_pools.c LIBS weir_pipe cudart PkgConfig::CMOCKA LABELS pipe)
# Items, seed. 10^6 in `make deep`.
weir_test(unit_pipe_stress SOURCES ${CMAKE_CURRENT_LIST_DIR}/pipe_stress.c LIBS weir_pipe cudart ARGS 10000 1 LABELS pipe
  ENV "WEIR_DEVICES=2")
weir_deep_test(pipe_soak COMMAND t_unit_pipe_stress 1000000 2)
set_tests_properties(deep_pipe_soak PROPERTIES ENVIRONMENT "WEIR_DEVICES=2")
weir_deep_test(pipe_orders COMMAND weir_cli explore --runs 300 --devices 2 -- $<TARGET_FILE:t_unit_pipe_stress> 150 3)
