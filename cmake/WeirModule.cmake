# SPDX-License-Identifier: Apache-2.0

# weir_module(NAME SOURCES a.c b.c [DEPENDS base model])
# A layer of src/: static library weir_NAME, position independent, hidden symbols.
function(weir_module name)
  cmake_parse_arguments(M "" "" "SOURCES;DEPENDS;LIBS" ${ARGN})
  add_library(weir_${name} STATIC ${M_SOURCES})
  target_link_libraries(weir_${name} PUBLIC weir_flags ${M_LIBS} Threads::Threads)
  foreach(d IN LISTS M_DEPENDS)
    target_link_libraries(weir_${name} PUBLIC weir_${d})
  endforeach()
endfunction()

# weir_test(NAME SOURCES t.c [LIBS weir_model] [ARGS ...] [LABELS ...] [TIMEOUT s])
# One test program; exit code 77 means skipped (it prints why).
function(weir_test name)
  cmake_parse_arguments(T "" "TIMEOUT" "SOURCES;LIBS;ARGS;LABELS;ENV" ${ARGN})
  add_executable(t_${name} ${T_SOURCES})
  set_target_properties(t_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(t_${name} PRIVATE weir_flags ${T_LIBS})
  target_include_directories(t_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  add_test(NAME ${name} COMMAND t_${name} ${T_ARGS})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 600)
  endif()
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}")
  if(T_ENV)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${T_ENV}")
  endif()
endfunction()

# weir_deep_test(NAME COMMAND program args...): minutes or more; only `make deep` (ctest -C Deep) runs it.
function(weir_deep_test name)
  add_test(NAME deep_${name} CONFIGURATIONS Deep ${ARGN})
  set_tests_properties(deep_${name} PROPERTIES TIMEOUT 3600 SKIP_RETURN_CODE 77 LABELS deep
    ENVIRONMENT "WEIR_JIT_LIBRARY=${CMAKE_BINARY_DIR}/lib/libweir-jit.so")
endfunction()
