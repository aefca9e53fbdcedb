# SPDX-License-Identifier: Apache-2.0
# weir explore: programs that are wrong in some legal order only, and right ones. ThreadSanitizer has a thread in each program
# that wakes all the time: hundreds of runs would take minutes.
if(NOT WEIR_SANITIZE MATCHES "thread")
  weir_program_test(programs_explore "${CMAKE_CURRENT_LIST_DIR}/explore/explore.sh;${CMAKE_CURRENT_LIST_DIR}/explore" TIMEOUT 300)
endif()
