# SPDX-License-Identifier: Apache-2.0
if(TARGET cudart)
  add_executable(c_program ${CMAKE_CURRENT_LIST_DIR}/c/program.c)
  set_target_properties(c_program PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(c_program PRIVATE ${PROJECT_SOURCE_DIR}/include/cuda)
  target_link_libraries(c_program PRIVATE weir_flags weir_fatbin cudart)
  weir_program_test(programs_c ${CMAKE_CURRENT_LIST_DIR}/c/program.sh)
endif()
