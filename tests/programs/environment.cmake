# SPDX-License-Identifier: Apache-2.0
# One CUDA program among threads, children, exceptions, allocators, sanitizers and a debugger.
weir_program_test(programs_environment ${CMAKE_CURRENT_LIST_DIR}/environment/environment.sh LABELS nvcc)
