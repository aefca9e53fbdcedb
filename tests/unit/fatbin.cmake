# SPDX-License-Identifier: Apache-2.0
weir_test(unit_fatbin_container SOURCES ${CMAKE_CURRENT_LIST_DIR}/fatbin_container.c LIBS weir_fatbin PkgConfig::CMOCKA)
weir_test(unit_fatbin_nvcc SOURCES ${CMAKE_CURRENT_LIST_DIR}/fatbin_nvcc.c LIBS weir_fatbin PkgConfig::CMOCKA
          LABELS nvcc)
