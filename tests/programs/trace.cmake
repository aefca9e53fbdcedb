# SPDX-License-Identifier: Apache-2.0
# weir trace and what reads it, on real programs.
set(dir ${CMAKE_CURRENT_LIST_DIR}/trace)
weir_program_test(programs_trace_commands ${dir}/commands.sh LABELS trace)
weir_program_test(programs_trace_clock ${dir}/clock.sh LABELS trace)
weir_program_test(programs_trace_kernel_clock ${dir}/kernel_clock.sh LABELS trace)
weir_program_test(programs_trace_advise ${dir}/advise.sh LABELS trace)
weir_program_test(programs_trace_page ${dir}/page.sh LABELS trace)
weir_program_test(programs_trace_questions ${dir}/questions.sh LABELS trace)
weir_program_test(programs_trace_touched ${dir}/touched.sh LABELS trace)
weir_program_test(programs_trace_graph_edges ${dir}/graph_edges.sh LABELS trace)
weir_program_test(programs_trace_reports ${dir}/reports.sh LABELS trace)
weir_program_test(programs_trace_examples ${dir}/examples.sh LABELS trace)
