# SPDX-License-Identifier: Apache-2.0
# weir check inside of kernels: forms of access, bounds, contents.
weir_program_test(programs_kernel_check "${CMAKE_CURRENT_LIST_DIR}/kernel_check/kernel_check.sh;${CMAKE_CURRENT_LIST_DIR}/kernel_check" TIMEOUT 300)
