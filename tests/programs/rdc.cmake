# SPDX-License-Identifier: Apache-2.0
# Separately compiled device code: linked by symbol when it is first used.
weir_program_test(programs_rdc ${CMAKE_CURRENT_LIST_DIR}/rdc/rdc.sh LABELS nvcc)
