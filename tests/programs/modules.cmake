# SPDX-License-Identifier: Apache-2.0
# Several modules in one process, with the same names: objects of one program, libraries linked, opened and closed.
weir_program_test(programs_modules ${CMAKE_CURRENT_LIST_DIR}/modules/modules.sh LABELS nvcc)
