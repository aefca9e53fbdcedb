# SPDX-License-Identifier: Apache-2.0
# weir cc: the driver alone, then programs that it compiled.
set(dir ${CMAKE_CURRENT_LIST_DIR}/cc)
weir_program_test(programs_cc_driver ${dir}/driver.sh LABELS cc)
weir_program_test(programs_cc_rdc ${dir}/rdc.sh LABELS cc ENV CXX=c++)
weir_program_test(programs_cc_language "${dir}/run.sh;${dir}/language.cu;-std=c++17;--expt-relaxed-constexpr" LABELS cc)
weir_program_test(programs_cc_debug "${dir}/run.sh;${dir}/debug.cu;-G;-g" LABELS cc)
foreach(p math device grid groups half managed simd symbols textures)
  weir_program_test(programs_cc_${p} "${dir}/run.sh;${dir}/${p}.cu" LABELS cc)
endforeach()
