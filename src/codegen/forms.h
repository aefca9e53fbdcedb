/* Which instructions, and which forms of them, can be compiled: read off the parsed text, without
 * LLVM, so that a launch can be refused by name at once. The front (libweir.so) and the compiler
 * (libweir-jit.so) both have it: what this lets through, lower/ must be able to emit.
 * Thread: any; pure functions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_FORMS_H
#define WEIR_CODEGEN_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/ptx.h"

/* False: *why is a word for what is not known of it. */
bool weir_cg_form_supported(const struct weir_ptx_inst *i, const char **why);

/* The first instruction that cannot be compiled in f and what it calls, as "name (line n)" in
 * message; "" when there is none. Calls through pointers are not followed. Errors:
 * MEMORY_ALLOCATION. */
enum weir_err weir_cg_forms_check(const struct weir_ptx_function *f, char *message,
                                  size_t bytes) WEIR_MUST_CHECK;

/* cvt.pack: width and sign of the parts; false: another cvt. */
bool weir_cg_form_pack(const struct weir_ptx_inst *p, unsigned *bits, bool *sign);

/* cp.async: copies at once, so that waiting for it is nothing */
enum low_copy { LOW_COPY_OTHER, LOW_COPY_WAIT, LOW_COPY_DATA };
enum low_copy weir_cg_form_copy(const struct weir_ptx_inst *p);

/* mbarrier and cp.async.mbarrier.arrive */
enum low_mbarrier {
    LOW_MBARRIER_OTHER,
    LOW_MBARRIER_INIT,
    LOW_MBARRIER_INVAL,
    LOW_MBARRIER_EXPECT,
    LOW_MBARRIER_COMPLETE,
    LOW_MBARRIER_ARRIVE,
    LOW_MBARRIER_ARRIVE_EXPECT,
    LOW_MBARRIER_DROP,
    LOW_MBARRIER_DROP_EXPECT,
    LOW_MBARRIER_WAIT,
    LOW_MBARRIER_WAIT_PARITY,
    LOW_MBARRIER_PENDING,
    LOW_MBARRIER_ARRIVE_COPY,
    LOW_MBARRIER_NONE_COPY,
};
enum low_mbarrier weir_cg_form_mbarrier(const struct weir_ptx_inst *p);

/* barrier.cluster.arrive and .wait, with any order: one worker runs a cluster */
enum weir_cg_cluster_barrier { CLUSTER_BARRIER_NONE, CLUSTER_BARRIER_ARRIVE, CLUSTER_BARRIER_WAIT };
enum weir_cg_cluster_barrier weir_cg_form_cluster_barrier(const struct weir_ptx_inst *p);

/* Video instructions. */
enum weir_cg_video {
    VIDEO_NONE,
    V_ADD,
    V_SUB,
    V_AVRG,
    V_ABSDIFF,
    V_MIN,
    V_MAX,
    V_SET,
    V_SHL,
    V_SHR,
    V_MAD
};

enum weir_cg_video weir_cg_video_kind(uint16_t opcode, unsigned *parts);
unsigned weir_cg_form_video_parts(uint16_t opcode); /* 0: not one of them */
bool weir_cg_form_video(const struct weir_ptx_inst *p);
/* Selectors "b0", "h1", "b3210", the first character in the lowest byte; digit k from the end. */
unsigned weir_cg_video_selector_length(int64_t s);
unsigned weir_cg_video_digit(int64_t s, unsigned k);
/* The second operation, by the form's last word. */
enum weir_ptx_sub weir_cg_video_second(const struct weir_ptx_inst *p);

#endif
