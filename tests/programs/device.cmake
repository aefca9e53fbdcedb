# SPDX-License-Identifier: Apache-2.0
# What device code of real programs is made of, as nvcc compiles it: libcu++, cooperative groups, Thrust, CUB and the language.
set(dir ${CMAKE_CURRENT_LIST_DIR}/device)
foreach(p barrier atomics calls groups)
  weir_program_test(programs_device_${p} "${dir}/run.sh;${dir}/${p}.cu" TIMEOUT 300 LABELS nvcc)
endforeach()
