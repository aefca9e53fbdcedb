# SPDX-License-Identifier: Apache-2.0
# Kernels launched by kernels.
weir_program_test(programs_nested ${CMAKE_CURRENT_LIST_DIR}/nested/nested.sh LABELS nvcc ENV WEIR_DEVICE=h200)
