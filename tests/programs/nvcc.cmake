# SPDX-License-Identifier: Apache-2.0
weir_program_test(programs_nvcc ${CMAKE_CURRENT_LIST_DIR}/nvcc/nvcc.sh LABELS nvcc)
