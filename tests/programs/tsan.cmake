# SPDX-License-Identifier: Apache-2.0
# Programs built with ThreadSanitizer: it is told the order of host functions and host waits.
weir_program_test(programs_tsan "${CMAKE_CURRENT_LIST_DIR}/tsan/tsan.sh;${CMAKE_CURRENT_LIST_DIR}/tsan")
