# SPDX-License-Identifier: Apache-2.0
# Thread-block clusters: distributed shared memory, their barrier, how they are launched.
weir_program_test(programs_cluster ${CMAKE_CURRENT_LIST_DIR}/cluster/cluster.sh LABELS nvcc)
