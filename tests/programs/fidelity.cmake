# SPDX-License-Identifier: Apache-2.0
weir_program_test(programs_fidelity "${CMAKE_CURRENT_LIST_DIR}/fidelity/run.sh;${CMAKE_CURRENT_LIST_DIR}/fidelity/two.cu" LABELS cc)
