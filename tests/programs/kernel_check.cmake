# SPDX-License-Identifier: Apache-2.0
# weir check inside of kernels: forms of access, bounds, contents.
weir_program_test(programs_kernel_check "${CMAKE_CURRENT_LIST_DIR}/kernel_check/kernel_check.sh;${CMAKE_CURRENT_LIST_DIR}/kernel_check")
# What threads of one kernel do to each other. Not under ThreadSanitizer: a hundred processes, and what is new is under locks.
if(NOT WEIR_SANITIZE MATCHES "thread")
  weir_program_test(programs_kernel_races "${CMAKE_CURRENT_LIST_DIR}/kernel_check/kernel_races.sh;${CMAKE_CURRENT_LIST_DIR}/kernel_check")
endif()
