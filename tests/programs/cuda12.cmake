# SPDX-License-Identifier: Apache-2.0
# Programs of CUDA 12. The environment's WEIR_CUDA12 says where it is; without it the test is skipped (conform_cuda12 is not).
weir_program_test(programs_cuda12 ${CMAKE_CURRENT_LIST_DIR}/cuda12/cuda12.sh LABELS nvcc)
set_tests_properties(programs_cuda12 PROPERTIES DEPENDS programs_nvcc)
