# SPDX-License-Identifier: Apache-2.0
# Objects for the loader, by the ordinary compiler: once as the compiler library makes them (position independent), once
# with absolute 32-bit addresses, which must be refused. Never instrumented.
foreach(kind pic abs)
  add_library(codegen_object_${kind} OBJECT ${CMAKE_CURRENT_LIST_DIR}/codegen_object.c)
  set_target_properties(codegen_object_${kind} PROPERTIES POSITION_INDEPENDENT_CODE OFF C_VISIBILITY_PRESET default)
  target_compile_options(codegen_object_${kind} PRIVATE -O1 -g0 -fno-stack-protector -fcf-protection=none -fno-builtin)
endforeach()
target_compile_options(codegen_object_pic PRIVATE -fPIC)
target_compile_options(codegen_object_abs PRIVATE -fno-pic -fno-pie)

weir_test(unit_codegen_image SOURCES ${CMAKE_CURRENT_LIST_DIR}/codegen_image.c
  LIBS weir_codegen_image PkgConfig::CMOCKA
  ARGS $<TARGET_OBJECTS:codegen_object_pic> $<TARGET_OBJECTS:codegen_object_abs>)
# The same with lines.
add_library(codegen_object_lines OBJECT ${CMAKE_CURRENT_LIST_DIR}/codegen_object.c)
set_target_properties(codegen_object_lines PROPERTIES POSITION_INDEPENDENT_CODE OFF C_VISIBILITY_PRESET default)
target_compile_options(codegen_object_lines PRIVATE -O1 -gdwarf-4
  -fno-stack-protector -fcf-protection=none -fno-builtin -fPIC)
weir_test(unit_codegen_lines SOURCES ${CMAKE_CURRENT_LIST_DIR}/codegen_lines.c
  LIBS weir_codegen_image PkgConfig::CMOCKA
  ARGS $<TARGET_OBJECTS:codegen_object_lines> ${CMAKE_CURRENT_LIST_DIR}/codegen_object.c)
add_dependencies(t_unit_codegen_lines codegen_object_lines)

weir_test(unit_codegen_cache SOURCES ${CMAKE_CURRENT_LIST_DIR}/codegen_cache.c
  LIBS weir_codegen_image PkgConfig::CMOCKA)
add_dependencies(t_unit_codegen_image codegen_object_pic codegen_object_abs)

# The front with a compiler library that only pretends.
add_library(codegen_fakejit MODULE ${CMAKE_CURRENT_LIST_DIR}/codegen_fakejit.c)
set_target_properties(codegen_fakejit PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_link_libraries(codegen_fakejit PRIVATE weir_flags)
target_include_directories(codegen_fakejit PRIVATE ${PROJECT_SOURCE_DIR}/tests)
weir_test(unit_codegen_kernel SOURCES ${CMAKE_CURRENT_LIST_DIR}/codegen_kernel.c
  LIBS weir_codegen PkgConfig::CMOCKA
  ARGS $<TARGET_FILE:codegen_fakejit> $<TARGET_OBJECTS:codegen_object_pic>)
add_dependencies(t_unit_codegen_kernel codegen_fakejit codegen_object_pic)
weir_test(unit_codegen_exit SOURCES ${CMAKE_CURRENT_LIST_DIR}/codegen_exit.c LIBS weir_codegen)
