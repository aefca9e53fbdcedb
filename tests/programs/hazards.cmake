# SPDX-License-Identifier: Apache-2.0
# weir check: hazards and their corrected twins, each with its verdict.
weir_program_test(programs_hazards "${CMAKE_CURRENT_LIST_DIR}/hazards/hazards.sh;${CMAKE_CURRENT_LIST_DIR}/hazards")
weir_program_test(programs_misuse "${CMAKE_CURRENT_LIST_DIR}/hazards/misuse.sh;${CMAKE_CURRENT_LIST_DIR}/hazards")
# The program's own accesses to memory that operations use.
weir_program_test(programs_hazards_host "${CMAKE_CURRENT_LIST_DIR}/hazards/host.sh;${CMAKE_CURRENT_LIST_DIR}/hazards")
# System calls on pages that are closed.
weir_program_test(programs_hazards_calls "${CMAKE_CURRENT_LIST_DIR}/hazards/calls.sh;${CMAKE_CURRENT_LIST_DIR}/hazards")
# Kernels that begin before the one in front of them is complete.
weir_program_test(programs_hazards_dependent "${CMAKE_CURRENT_LIST_DIR}/hazards/dependent.sh;${CMAKE_CURRENT_LIST_DIR}/hazards")
# Programs as users write them, with one synchronisation forgotten, and as they should be.
weir_program_test(programs_hazards_real "${CMAKE_CURRENT_LIST_DIR}/hazards/real.sh;${CMAKE_CURRENT_LIST_DIR}/hazards")
# Pipelines with one thing forgotten, and their right twins.
weir_program_test(programs_hazards_pipelines "${CMAKE_CURRENT_LIST_DIR}/hazards/pipelines.sh;${CMAKE_CURRENT_LIST_DIR}/hazards")
# However a process ends, what was found in it is told.
weir_program_test(programs_hazards_ends "${CMAKE_CURRENT_LIST_DIR}/hazards/ends.sh;${CMAKE_CURRENT_LIST_DIR}/hazards")
