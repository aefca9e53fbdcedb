# SPDX-License-Identifier: Apache-2.0
weir_program_test(programs_stats_pages ${CMAKE_CURRENT_LIST_DIR}/stats/pages.sh LABELS cc)
