# SPDX-License-Identifier: Apache-2.0
# Subcommands that run no program.
weir_program_test(programs_cli_explain ${CMAKE_CURRENT_LIST_DIR}/cli/explain.sh LABELS cli)
