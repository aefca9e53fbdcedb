# SPDX-License-Identifier: Apache-2.0
# weir trace and what reads it, on real programs.
set(dir ${CMAKE_CURRENT_LIST_DIR}/trace)
weir_program_test(programs_trace_commands ${dir}/commands.sh TIMEOUT 240 LABELS trace)
weir_program_test(programs_trace_clock ${dir}/clock.sh TIMEOUT 240 LABELS trace)
weir_program_test(programs_trace_kernel_clock ${dir}/kernel_clock.sh TIMEOUT 240 LABELS trace)
weir_program_test(programs_trace_advise ${dir}/advise.sh TIMEOUT 400 LABELS trace)
weir_program_test(programs_trace_page ${dir}/page.sh TIMEOUT 400 LABELS trace)
weir_program_test(programs_trace_questions ${dir}/questions.sh TIMEOUT 400 LABELS trace)
weir_program_test(programs_trace_touched ${dir}/touched.sh TIMEOUT 240 LABELS trace)
weir_program_test(programs_trace_reports ${dir}/reports.sh TIMEOUT 400 LABELS trace)
weir_program_test(programs_trace_examples ${dir}/examples.sh TIMEOUT 400 LABELS trace)
