# SPDX-License-Identifier: Apache-2.0
foreach(t stream event op host_rules limits)
  weir_test(unit_model_${t} SOURCES ${CMAKE_CURRENT_LIST_DIR}/model_${t}.c LIBS weir_model PkgConfig::CMOCKA LABELS model)
endforeach()
