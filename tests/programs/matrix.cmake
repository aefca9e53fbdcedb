# SPDX-License-Identifier: Apache-2.0
# Matrix instructions as nvcc makes them: the wmma classes, and mma with ldmatrix in inline PTX.
weir_program_test(programs_matrix ${CMAKE_CURRENT_LIST_DIR}/matrix/matrix.sh LABELS nvcc)
