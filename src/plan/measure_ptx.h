/* The kernels by which a device is measured: one that does nothing, and one that runs for so many
 * ns. Includes nothing: kernel_times.c knows nothing of the rest of Weir.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PLAN_MEASURE_PTX_H
#define WEIR_PLAN_MEASURE_PTX_H

#define WEIR_MEASURE_HEAD ".version 6.0\n.target sm_50\n.address_size 64\n"
#define WEIR_MEASURE_SPINS(name)                                                                   \
    ".visible .entry " name "(.param .u64 ns)\n"                                                   \
    "{\n"                                                                                          \
    ".reg .u64 %t<4>;\n.reg .pred %p;\n"                                                           \
    "ld.param.u64 %t1, [ns];\n"                                                                    \
    "mov.u64 %t2, %globaltimer;\n"                                                                 \
    "again:\n"                                                                                     \
    "mov.u64 %t3, %globaltimer;\n"                                                                 \
    "sub.u64 %t3, %t3, %t2;\n"                                                                     \
    "setp.lt.u64 %p, %t3, %t1;\n"                                                                  \
    "@%p bra again;\n"                                                                             \
    "ret;\n"                                                                                       \
    "}\n"

#define WEIR_MEASURE_NOP  "weir_nop"
#define WEIR_MEASURE_SPIN "weir_spin"
#define WEIR_MEASURE_PTX                                                                           \
    WEIR_MEASURE_HEAD ".visible .entry " WEIR_MEASURE_NOP                                          \
                      "() { ret; }\n" WEIR_MEASURE_SPINS(WEIR_MEASURE_SPIN)

#endif
