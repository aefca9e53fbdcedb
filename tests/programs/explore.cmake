# SPDX-License-Identifier: Apache-2.0
# weir explore: programs that are wrong in some legal order only, and right ones. ThreadSanitizer has a thread in each program
# that wakes all the time: hundreds of runs would take minutes.
if(NOT WEIR_SANITIZE MATCHES "thread")
  weir_program_test(programs_explore "${CMAKE_CURRENT_LIST_DIR}/explore/explore.sh;${CMAKE_CURRENT_LIST_DIR}/explore")
endif()
# Each failure repeats from its schedule, 100 times of 100: half an hour.
weir_deep_test(programs_explore_repeat COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/explore/repeat.sh ${CMAKE_CURRENT_LIST_DIR}/explore
  ${PROJECT_SOURCE_DIR}/../shared/cases/hazards)
set_tests_properties(deep_programs_explore_repeat PROPERTIES ENVIRONMENT "${WEIR_PROGRAM_ENV}" RUN_SERIAL ON)
