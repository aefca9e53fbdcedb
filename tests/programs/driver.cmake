# SPDX-License-Identifier: Apache-2.0
if(TARGET cuda_driver)
  weir_program_test(programs_driver ${CMAKE_CURRENT_LIST_DIR}/driver/driver.sh LABELS driver)
  weir_program_test(programs_nvrtc ${CMAKE_CURRENT_LIST_DIR}/driver/nvrtc.sh LABELS driver)
  weir_program_test(programs_nvjitlink ${CMAKE_CURRENT_LIST_DIR}/driver/nvjitlink.sh LABELS driver)
  weir_program_test(programs_numba ${CMAKE_CURRENT_LIST_DIR}/driver/numba.sh LABELS driver)
endif()
