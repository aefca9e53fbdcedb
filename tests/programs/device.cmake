# SPDX-License-Identifier: Apache-2.0
# What device code of real programs is made of, as nvcc compiles it: libcu++, cooperative groups and the language.
set(dir ${CMAKE_CURRENT_LIST_DIR}/device)
foreach(p barrier atomics calls groups language intrinsics)
  weir_program_test(programs_device_${p} "${dir}/run.sh;${dir}/${p}.cu" LABELS nvcc)
endforeach()
# Kernels that begin before the one in front of them has ended: from capability 9.0 on.
weir_program_test(programs_device_dependent "${dir}/run.sh;${dir}/dependent.cu;-arch=sm_90" LABELS nvcc
  ENV WEIR_DEVICE=h200)
weir_program_test(programs_device_graph_device "${dir}/run.sh;${dir}/graph_device.cu;-arch=sm_90;-rdc=true;-lcudadevrt"
  LABELS nvcc ENV WEIR_DEVICE=h200)
# The program of weir cc's tests; its last line is another one.
weir_program_test(programs_device_textures "${dir}/run.sh;${dir}/../cc/textures.cu" LABELS nvcc)
# Without optimisation everything is in local memory, and every function is called.
weir_program_test(programs_device_calls_debug "${dir}/run.sh;${dir}/calls.cu;-G" LABELS nvcc ENV FORM=_debug)
# Code for processors without AVX-512.
weir_program_test(programs_device_cpu "${dir}/cpu.sh")
weir_program_test(programs_device_atomics_v3 "${dir}/run.sh;${dir}/atomics.cu" LABELS nvcc
  ENV FORM=_v3 WEIR_JIT_CPU=x86-64-v3)
# Kernels of thousands of instructions: much to compile, for nvcc and for Weir.
foreach(p thrust cub)
  weir_deep_test(programs_device_${p} COMMAND sh ${dir}/run.sh ${dir}/${p}.cu)
  set_tests_properties(deep_programs_device_${p} PROPERTIES ENVIRONMENT "${WEIR_PROGRAM_ENV}")
endforeach()
