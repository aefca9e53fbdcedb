# SPDX-License-Identifier: Apache-2.0
# Taking over by itself: a miniature runtime in place of libcudart_static.a, a stub in place of libweir.so. The folder has the
# shape of an installation.
set(dir ${CMAKE_CURRENT_LIST_DIR}/takeover)
set(out ${CMAKE_BINARY_DIR}/tests/takeover)
foreach(t weir_audit weir_preload)
  add_custom_command(OUTPUT ${out}/lib/lib${t}.stamp
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:${t}> ${out}/lib/
    COMMAND ${CMAKE_COMMAND} -E touch ${out}/lib/lib${t}.stamp DEPENDS ${t})
  list(APPEND stamps ${out}/lib/lib${t}.stamp)
endforeach()
add_custom_command(OUTPUT ${out}/bin/weir.stamp
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:weir_cli> ${out}/bin/weir
  COMMAND ${CMAKE_COMMAND} -E touch ${out}/bin/weir.stamp DEPENDS weir_cli)

# These run without Weir's own flags: no sanitizer in a program that is to be taken over.
function(takeover_target name kind out_name)
  cmake_parse_arguments(K "" "" "SOURCES;DEFS;OPTIONS;LINK;LIBS" ${ARGN})
  if(kind STREQUAL "library")
    add_library(${name} SHARED ${K_SOURCES})
    target_link_options(${name} PRIVATE -Wl,-Bsymbolic)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${out}/lib)
  else()
    add_executable(${name} ${K_SOURCES})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${out})
  endif()
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${out_name} POSITION_INDEPENDENT_CODE OFF
                        C_VISIBILITY_PRESET default)
  target_compile_options(${name} PRIVATE -Wall -Wextra -O1 -g0 ${K_OPTIONS})
  target_link_options(${name} PRIVATE ${K_LINK})
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE ${K_DEFS})
  target_link_libraries(${name} PRIVATE ${K_LIBS} pthread ${CMAKE_DL_LIBS})
endfunction()
set(fake ${dir}/fake_use.c ${dir}/fake_cudart.S)
takeover_target(takeover_weir library weir SOURCES ${dir}/stub_weir.c OPTIONS -fPIC)
takeover_target(takeover_fake library fake SOURCES ${fake} DEFS "LIBRARY=\"library\"" OPTIONS -fPIC)
takeover_target(takeover_fake_stripped library fake_stripped SOURCES ${fake} DEFS "LIBRARY=\"stripped\"" OPTIONS -fPIC LINK -s)
takeover_target(takeover_pie program pie SOURCES ${fake} OPTIONS -fPIE LINK -pie)
takeover_target(takeover_nopie program nopie SOURCES ${fake} OPTIONS -fno-pie LINK -no-pie)
takeover_target(takeover_linked program linked SOURCES ${dir}/fake_use.c DEFS NO_RUNTIME LIBS takeover_fake OPTIONS -fPIE LINK -pie)
takeover_target(takeover_cuda12 program cuda12 SOURCES ${fake} DEFS CUDA12 OPTIONS -fPIE LINK -pie)
takeover_target(takeover_stripped program stripped SOURCES ${fake} OPTIONS -fPIE LINK -pie -s)
takeover_target(takeover_static program static SOURCES ${fake} DEFS STATIC OPTIONS -fno-pie LINK -static)
takeover_target(takeover_malloc library malloc SOURCES ${dir}/malloc.c OPTIONS -fPIC)
takeover_target(takeover_signals program signals SOURCES ${dir}/signals.c OPTIONS -fPIE LINK -pie)
add_custom_target(takeover_tree ALL DEPENDS ${stamps} ${out}/bin/weir.stamp)

weir_program_test(programs_takeover ${dir}/takeover.sh)
weir_program_test(programs_takeover_signals ${dir}/signals.sh)
