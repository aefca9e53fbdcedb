# SPDX-License-Identifier: Apache-2.0
# A texture unit's answers, beside an H200's.
weir_program_test(programs_textures_h200 ${CMAKE_CURRENT_LIST_DIR}/textures_h200/textures.sh LABELS nvcc)
