# SPDX-License-Identifier: Apache-2.0
foreach(t compute copy fault order)
  weir_test(unit_device_${t} SOURCES ${CMAKE_CURRENT_LIST_DIR}/device_${t}.c LIBS weir_device PkgConfig::CMOCKA)
endforeach()
weir_test(unit_base_stackswitch SOURCES ${CMAKE_CURRENT_LIST_DIR}/base_stackswitch.c LIBS weir_base PkgConfig::CMOCKA)
