/* Inside the interpreter: ptx_interp.c has memory, control flow, calls and the scheduler;
 * ptx_interp_warp.c barriers, shuffles and votes; ptx_interp_alu.c integers, comparisons and
 * selections; ptx_interp_float.c floating point on bits, and conversions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_SUPPORT_PTX_INTERP_INT_H
#define WEIR_TESTS_SUPPORT_PTX_INTERP_INT_H

#include "base/vec.h"
#include "support/ptx_interp.h"

struct bits { /* a value, zero-extended */
    uint64_t lo, hi;
};

/* What of a function does not change from call to call. */
struct code {
    uint32_t *slot; /* register -> first slot: vector registers have several */
    uint32_t slots;
    uint64_t shared_base; /* of its .shared variables in a block's shared memory */
    uint64_t ret_bytes;
};

struct frame {
    const struct weir_ptx_function *fn;
    const struct code *code;
    struct frame *caller;
    const struct weir_ptx_call *call; /* of the caller */
    uint32_t pc;
    bool carry;
    uint64_t local_base;
    uint64_t stack; /* bytes of alloca behind the .local variables */
    struct bits *regs;
    char *in, *out, *body; /* .param: formal parameters, results, variables of the body */
    bool owns_in;
};

enum state { RUNNING, AT_BARRIER, AT_WARP, AT_SOFT, EXITED };

struct thread {
    struct block *block;
    uint32_t tid[3], linear, lane;
    enum state state;
    struct frame *top;
    unsigned depth;
    char *local;
    uint64_t local_used;
    /* the instruction that it waits at */
    uint32_t mask, barrier, count;
    struct bits value;
    uint32_t b, c;
    bool pred;
};

struct block {
    struct run *run;
    uint32_t ctaid[3];
    uint32_t threads, live;
    struct thread *thread;
    char *shared;
    uint32_t arrived[16]; /* by bar.arrive */
};

struct range {
    uint64_t base, bytes;
};

struct weir_interp {
    const struct weir_ptx_module *m;
    void **vars;
    bool *owned;
    struct code *codes; /* by function->index */
    WEIR_VEC(struct range) allowed;
    FILE *out;
};

struct run {
    struct weir_interp *in;
    const struct weir_ptx_function *kernel;
    const struct weir_interp_launch *launch;
    uint64_t shared_bytes, static_shared, local_bytes;
    uint64_t steps, rng;
    enum weir_err err;
};

/* Notes the first error with the instruction's place; always false. */
bool interp_fail(struct thread *t, enum weir_err err, const char *fmt, ...) WEIR_PRINTF(3, 4);
bool interp_unsupported(struct thread *t, const struct weir_ptx_inst *i);

/* Reading and writing. Types decide the width; a wider register is extended by the type's
 * signedness. */
struct bits interp_read_operand(struct thread *t, const struct weir_ptx_operand *o,
                                enum weir_ptx_type type);
bool interp_read_predicate(struct thread *t, const struct weir_ptx_operand *o);
void interp_write_operand(struct thread *t, const struct weir_ptx_operand *o, struct bits v,
                          enum weir_ptx_type type);
void interp_write_predicate(struct thread *t, int32_t reg, bool v);
/* Host address of an [address] operand, checked for `bytes` bytes; NULL after an error. */
void *interp_resolve_address(struct thread *t, const struct weir_ptx_inst *i,
                             const struct weir_ptx_operand *o, unsigned bytes);
bool interp_is_shared_address(const struct thread *t, uint64_t a);

uint64_t interp_mask_bits(uint64_t v, unsigned bits);
int64_t interp_sign_extend(uint64_t v, unsigned bits);

/* ptx_interp_alu.c: false after an error or when the instruction is unknown here. */
bool interp_alu(struct thread *t, const struct weir_ptx_inst *i);
bool interp_alu_compare(enum weir_ptx_cmp cmp, enum weir_ptx_type type, uint64_t a, uint64_t b,
                        bool ftz);
/* New value of an atomic operation; false: not supported. */
bool interp_alu_atomic(const struct weir_ptx_inst *i, uint64_t old, uint64_t b, uint64_t c,
                       bool flush, uint64_t *out);

/* ptx_interp_float.c: values are bits of the type. */
double interp_float_to_double(uint64_t v, enum weir_ptx_type type); /* exact; f16, bf16, f32, f64 */
uint64_t interp_float_from_double(double x, enum weir_ptx_type type, enum weir_ptx_rounding r,
                                  bool satfinite);
uint64_t interp_float_canonical(uint64_t v, enum weir_ptx_type type); /* NaNs of f32 and smaller */
uint64_t interp_float_flush(uint64_t v, enum weir_ptx_type type);     /* subnormals to zeros */
bool interp_float_is_nan(uint64_t v, enum weir_ptx_type type);
double interp_float_to_odd(long double x); /* to double so that rounding again is right */
bool interp_float(struct thread *t, const struct weir_ptx_inst *i);
bool interp_cvt(struct thread *t, const struct weir_ptx_inst *i);
uint64_t interp_float_add(enum weir_ptx_type type, uint64_t a, uint64_t b, bool ftz);
uint64_t interp_float_minmax(const struct weir_ptx_inst *i, enum weir_ptx_type type, bool max,
                             uint64_t a, uint64_t b);

/* ptx_interp_mbarrier.c; _copies: cp.async.mbarrier.arrive */
bool interp_mbarrier(struct thread *t, const struct weir_ptx_inst *i);
bool interp_mbarrier_copies(struct thread *t, const struct weir_ptx_inst *i);

/* ptx_interp_warp.c: begin notes what the thread waits for; try_release lets go on who can. */
bool interp_warp_begin(struct thread *t, const struct weir_ptx_inst *i);
bool interp_barrier_begin(struct thread *t, const struct weir_ptx_inst *i);
bool interp_release_waiting(struct block *b, bool soft); /* true when some thread goes on */
const struct weir_ptx_inst *interp_current_inst(const struct thread *t);

#endif
