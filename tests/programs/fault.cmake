# SPDX-License-Identifier: Apache-2.0
weir_program_test(programs_fault "${CMAKE_CURRENT_LIST_DIR}/fault/fault.sh;${CMAKE_CURRENT_LIST_DIR}/fault/fault.cu" LABELS cc)
