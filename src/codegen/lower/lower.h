/* Inside of the compiler library: one `struct low` is one compilation of one kernel for one block
 * shape. The way: program.c flattens the kernel and what it calls into one list of instructions and
 * cuts it into blocks; cfg.c orders the blocks and says which lanes can wait where; liveness.c and
 * shape.c say what each register is (one value a warp, affine in the lane, or a vector); control.c
 * emits the blocks, emit_*.c the instructions; pipeline.c optimises.
 *
 * A warp is LOW_LANES lanes, worked on in `groups` vectors of `width` lanes each (16; with AVX2
 * LLVM makes two of each). A PTX register is
 *   UNIFORM  one scalar for the warp
 *   AFFINE   one scalar a group, of its lane 0; lane k holds that + k * stride in its width
 *   VARYING  one vector a group
 * Thread: a compilation is owned by one thread; nothing is shared.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_LOWER_H
#define WEIR_CODEGEN_LOWER_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "codegen/forms.h"
#include "codegen/jit.h"
#include "device/kernel.h"
#include "ptx/ptx.h"

#define LOW_LANES      32
#define LOW_MAX_GROUPS 8
#define LOW_MAX_DESTS  16
#define LOW_PIECE_ROWS 1024

enum low_shape { LOW_UNDEF, LOW_UNIFORM, LOW_AFFINE, LOW_VARYING };

/* What is known of a register's or operand's value before any code is made. */
struct low_fact {
    uint8_t shape;  /* enum low_shape */
    uint8_t align;  /* log2 of a divisor of every group's lane-0 value */
    uint8_t each;   /* VARYING: log2 of a divisor of all lanes' values (low_each_align) */
    bool is_const;  /* UNIFORM with a known value */
    bool has_range; /* all lanes are in [lo, hi], 0 <= lo <= hi < 2^31 */
    bool invariant; /* the same whenever it is computed: depends on launch constants and the
                       thread's index only */
    bool spec;      /* VARYING, but probably affine with `stride`: tested where it pays */
    bool flat;      /* VARYING predicate, but all lanes of a group are alike (inactive ones too) */
    bool root; /* spec: not a linear step from other registers; tested by comparing all lanes */
    int64_t stride;
    int64_t value, lo, hi;
};

struct low_reg {
    uint8_t type; /* enum weir_ptx_type */
    uint8_t bits; /* 1 for predicates */
    bool is_float;
    bool addr_only;  /* used only as an address, or by registers of which this holds */
    bool is_virtual; /* spec and addr_only: never stored, its vector is computed where a slow path
                        needs it */
    bool guarded;    /* AFFINE with several definitions, valid only while ok_slot holds; else the
                        vector is in slow_slot */
    uint8_t nan;     /* nan.c */
    bool blended;    /* some definition keeps other lanes' values */
    uint32_t def_count, use_count;
    uint32_t def_inst; /* the definition when def_count is 1 */
    struct low_fact fact;
    LLVMValueRef slot[LOW_MAX_GROUPS]; /* allocas; [0] alone when UNIFORM */
    LLVMValueRef ok_slot, slow_slot;
    int32_t state_offset; /* in a warp's saved state, -1: none yet */
    uint32_t kept_stamp;  /* general: `kept` is what the block of this stamp wrote last */
    LLVMValueRef kept[LOW_MAX_GROUPS];
};

enum low_inst_kind {
    LOW_PTX,  /* an instruction of the text */
    LOW_MOVE, /* dst = src, the pseudo-instructions of call parameters */
    LOW_JUMP, /* to `target` (a call's return) */
    LOW_SKIP, /* to `target` unless the guard holds: made for guarded barriers and calls */
};

struct low_inst {
    const struct weir_ptx_inst *p; /* LOW_MOVE and the like: what it stands for */
    uint8_t kind;
    bool no_guard; /* the guard was made a branch */
    uint8_t type;  /* LOW_MOVE */
    uint32_t frame;
    uint32_t target;
    int32_t dst;                        /* LOW_MOVE: register */
    const struct weir_ptx_operand *src; /* LOW_MOVE: in src_frame */
    int32_t src_reg;                    /* LOW_MOVE: register when src is NULL */
    uint32_t src_frame;
};

/* One function, or one inlined call of it. */
struct low_frame {
    const struct weir_ptx_function *fn;
    uint32_t parent;
    const struct weir_ptx_call *call;
    int32_t reg_base, cc_reg;
    uint32_t *flat; /* instruction of fn -> index in low->insts */
    uint64_t local_base, shared_base;
    uint32_t depth;
    struct low_instance *instance; /* a recursive function's only frame */
};

/* A piece of a .param variable of a call: a register. */
struct low_piece {
    struct low_piece *next;
    const struct weir_ptx_var *var;
    uint32_t frame, bytes;
    uint64_t offset;
    int32_t reg;
};

enum low_term {
    LOW_TERM_FALL,      /* succ[0] */
    LOW_TERM_COND,      /* pred: succ[0], else succ[1] */
    LOW_TERM_EXIT,      /* all lanes end */
    LOW_TERM_COND_EXIT, /* lanes where pred holds end, others go to succ[0] */
    LOW_TERM_BRX,       /* indexed: succ[] */
    LOW_TERM_BARRIER,   /* block barrier, then succ[0] */
    LOW_TERM_TRAP,
};

struct low_block {
    uint32_t first, end; /* instructions, the terminator included */
    uint8_t term;
    bool pred_negated;
    int32_t pred;
    uint32_t *succ, *preds;
    uint32_t succ_count, pred_count;
    int32_t loop;                 /* innermost, -1 */
    bool divergent;               /* its own branch can split the lanes */
    bool partial;                 /* lanes may wait elsewhere while it runs */
    bool needs_mask;              /* lanes arrive in parts */
    bool lost_lanes;              /* some lanes may have ended before */
    uint64_t *live_in, *live_out; /* register sets */
    uint64_t *wait;               /* blocks where other lanes may wait while this runs */
    uint64_t *wait_live;          /* registers live there */
    int32_t barrier;     /* LOW_TERM_BARRIER: its number, the region that follows is this + 1 */
    uint32_t turn;       /* turns.c: number of the region that begins here, counted behind those of
                            barriers, from 1; 0: none */
    uint64_t *turn_live; /* registers that it needs */
};

struct low_loop {
    uint32_t header;
    int32_t parent;
    uint32_t depth;
    uint32_t last; /* last block in order */
    uint64_t *blocks;
    bool polls; /* its end depends on what others do */
};

/* A value while code is made: v[0] alone when UNIFORM, lane-0 scalars when AFFINE, vectors when
 * VARYING. */
struct low_val {
    uint8_t shape;
    int64_t stride;
    LLVMValueRef v[LOW_MAX_GROUPS];
};

struct low_types {
    LLVMTypeRef i1, i8, i16, i32, i64, i128, f16, bf16, f32, f64, ptr, v;
    LLVMTypeRef mask; /* <width x i1> */
};

enum low_stage {
    LOW_STAGE_TARGET,
    LOW_STAGE_ANALYSIS,
    LOW_STAGE_IR,
    LOW_STAGE_SSA,
    LOW_STAGE_PASSES,
    LOW_STAGE_CODE,
    LOW_STAGES
};

/* CPU time and counts of one compilation, kept when WEIR_JIT_TIMES is set. */
struct low_times {
    double last, ms[LOW_STAGES];
    size_t ir[2]; /* instructions before and after the passes */
};

struct low {
    struct weir_arena arena;
    struct low_times *times;       /* NULL: not asked for */
    struct low_debug *debug;       /* debug.c; NULL: not asked for */
    struct ssa *ssa;               /* while low_ssa works */
    struct mask_words *mask_words; /* while low_mask_words works */
    const struct weir_jit_request *request;
    struct weir_jit_result *result;
    const struct weir_ptx_function *kernel;
    jmp_buf refuse; /* left by low_refuse, low_no_memory */
    enum weir_err error;

    /* the target */
    uint32_t width, groups;
    bool avx512;
    char cpu[64], *features;
    uint32_t threads, warps;
    uint32_t tail_lanes; /* of the last warp; 0 = full */

    /* the program */
    WEIR_VEC(struct low_inst) insts;
    WEIR_VEC(struct low_frame) frames;
    WEIR_VEC(struct low_reg) regs;
    WEIR_VEC(struct low_block) blocks;
    WEIR_VEC(struct low_loop) loops;
    struct low_piece *pieces[LOW_PIECE_ROWS]; /* by variable and frame */
    uint64_t *addressed; /* functions whose address is taken; NULL: not looked for yet */
    size_t reg_words, block_words;
    uint64_t local_bytes, shared_total;
    uint64_t *shared_offsets;           /* of module->vars in shared memory */
    uint64_t local_align;               /* of the bytes of one thread */
    struct low_fn_params **fn_params;   /* params.c, by function */
    struct low_memory_var *memory_vars; /* params.c */
    struct low_instance *instances;     /* recursion.c */
    uint64_t **reach;                   /* by function: those that it may call, itself too */
    uint32_t stack_bytes;               /* at the start of local memory; 0: none */
    int32_t alloca_top, recursion_top;
    const struct weir_ptx_inst *call_site; /* what made instructions stand for */
    uint64_t reserved_base; /* of what the system keeps of shared memory (cooperative groups) */
    uint32_t barriers, turns;
    bool any_exit_partial, uses_ftz, uses_f32_no_ftz, uses_f64, all_ftz;
    bool irreducible;
    bool general, needs_general; /* general.c: everything in memory, any order */
    bool polls;                  /* loops that wait for others */
    bool clusters;               /* names other blocks of the cluster, or its barrier */
    uint64_t *local_regs;        /* general: registers that live inside one block only */
    struct low_general *gen;
    uint32_t named_barriers; /* bit per barrier number used */
    uint64_t *past;          /* race.c: a bit for each barrier that a block is behind */
    bool clocks;             /* modelled, and some instruction reads a clock or the SM's number */

    /* emission */
    LLVMContextRef ctx;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    LLVMTargetMachineRef machine;
    LLVMValueRef fn;
    struct low_types t;
    LLVMBasicBlockRef entry_bb;
    LLVMValueRef lane_index[2]; /* <width x i32>, <width x i64> */
    LLVMValueRef block_ptr, launch_ptr, services, params, shared, shared_bytes, local, module_data,
        window_base, window_bytes, touched, untouched, state, ctaid[3], nctaid[3];
    LLVMValueRef warp;                 /* i32, the warp being run */
    LLVMValueRef mask[LOW_MAX_GROUPS]; /* active lanes of the instruction being emitted */
    bool mask_full;
    LLVMValueRef scratch; /* alloca: addresses and data of slow paths */
    LLVMValueRef live_slot[LOW_MAX_GROUPS];
    LLVMValueRef *wait_slot; /* [block * groups + g] */
    LLVMBasicBlockRef *bb, done_bb;
    struct weir_map chains;
    const struct low_inst *inst; /* being emitted */
    LLVMBasicBlockRef otherwise; /* twice.c: goes on there unless addresses are as guessed; NULL: a
                                    slow path does it */
    struct low_rows *rows;       /* rows.c; NULL outside of a block's first form */
    uint32_t block;              /* being emitted */
    uint32_t block_stamp;        /* general: another for each block, 0 outside of blocks */
    uint32_t region;
    LLVMValueRef slow_fn;
    LLVMValueRef slow_line;       /* while a function of outline.c is made: the access's line */
    struct low_outline *outlines; /* made so far */
    struct low_pure_outline *pure_outlines;
    LLVMValueRef values_area; /* of the kernel's function: results of low_outline_values */
    LLVMTypeRef slow_asm_type;
    unsigned md_scope, md_noalias, md_invariant, md_prof, md_range;
    LLVMValueRef md_state, md_not_state, md_shared, md_not_shared, md_global, md_not_global,
        md_local, md_not_local, md_not_any, md_empty, md_unlikely;
    uint32_t state_bytes; /* of one warp */
};

/* Leaves the compilation with NOT_SUPPORTED and a message that names the instruction being looked
 * at. */
WEIR_NORETURN void low_refuse(struct low *l, const struct weir_ptx_inst *i, const char *why);
WEIR_NORETURN void low_no_memory(struct low *l);
/* The CPU time since the last call belongs to `stage`. */
void low_stage(struct low *l, enum low_stage stage);
void low_count_ir(struct low *l, bool after);
bool low_is_above(struct low *l, size_t limit); /* are there more LLVM instructions? */
void *low_alloc(struct low *l,
                size_t bytes); /* zeroed, of the compilation; leaves when out of memory */

/* debug.c: lines in the object (weir_jit_request.lines), else nothing. begin: l->fn is the kernel's
 * function. at: what is made from now on is made for i; not between leave and return, when other
 * functions of the object are made. finish: before the passes. dispose: before the module. */
void low_debug_begin(struct low *l);
void low_debug_at(struct low *l, const struct low_inst *i);
void low_debug_leave(const struct low *l);
void low_debug_return(const struct low *l);
void low_debug_finish(struct low *l);
void low_debug_dispose(struct low *l);

/* program.c */
void low_program_build(struct low *l);
enum low_visit { LOW_USE, LOW_DEF, LOW_ADDRESS };
typedef void (*low_visit_fn)(void *ctx, int32_t reg, enum low_visit what);
/* Every register that the instruction reads or writes; uses first. */
void low_inst_visit(const struct low *l, const struct low_inst *i, low_visit_fn fn, void *ctx);
/* Index of an operand's register in low->regs. */
int32_t low_reg_of(const struct low *l, const struct low_inst *i, int32_t reg);
/* The guard's register or -1. */
int32_t low_guard_of(const struct low *l, const struct low_inst *i);
/* Of an argument that a built-in function takes: how many words, and the register of the n-th. */
uint32_t low_argument_pieces(const struct weir_ptx_var *var, uint32_t *bytes);
int32_t low_argument_piece(struct low *l, uint32_t frame, const struct weir_ptx_var *var,
                           uint32_t n);
/* Register that stands for bytes of a call's parameter, made on first use. */
int32_t low_param_piece(struct low *l, uint32_t frame, const struct weir_ptx_var *var,
                        uint64_t offset, uint32_t bytes);
/* Branches, exits and traps: they end a block always, block barriers end theirs beside them. */
bool low_is_branch(const struct low_inst *i);
bool low_is_kernel_param(const struct low *l, uint32_t frame, const struct weir_ptx_var *var);
/* Offset of a .local variable of this frame in a thread's local memory. */
uint64_t low_local_offset(const struct low *l, uint32_t frame, const struct weir_ptx_var *var);
uint64_t low_shared_offset(const struct low *l, const struct weir_ptx_var *var);
uint32_t low_static_shared(const struct low *l);
/* %reserved_smem_offset_begin, _end, _cap, _0 and _1, by number (ptx.h). */
uint32_t low_reserved_smem(const struct low *l, uint8_t which);

/* twice.c: blocks in two forms, and by instruction where the second form starts with it (NULL: it
 * is not left for that) */
bool low_twice_wanted(const struct low *l, const struct low_block *b);
LLVMBasicBlockRef *low_twice_starts(struct low *l, const struct low_block *b);
/* The address of a load or store that may be guessed; NULL: it is another instruction. */
const struct weir_ptx_operand *low_twice_address(const struct low_inst *i);

/* rows.c: accesses of a block's first form whose addresses differ by a constant */
struct low_rows *low_rows_find(struct low *l, const struct low_block *b);

/* turns.c: sets low_block.turn of headers of loops in which warps take turns. After low_shapes, the
 * builder in the entry block, registers made. */
#define LOW_TURN_PASSES 2u
void low_turns_find(struct low *l);
/* prefetch.c: does a load in the loop move on by far in each pass, beside few others? */
bool low_strides_far(struct low *l, const struct low_loop *loop);

/* indirect.c: the functions that a call through a pointer can reach, and instructions that pick
 * one; reg is relative to the frame's first register */
size_t low_indirect_candidates(struct low *l, const struct weir_ptx_inst *p,
                               const struct weir_ptx_function ***out);
bool low_indirect_is_nested(const struct low *l, uint32_t frame);
const struct weir_ptx_inst *low_indirect_compare(struct low *l, const struct weir_ptx_inst *p,
                                                 const struct weir_ptx_function *f, int32_t reg);
const struct weir_ptx_inst *low_indirect_guard(struct low *l, const struct weir_ptx_inst *p,
                                               int32_t reg);
const struct weir_ptx_inst *low_indirect_trap(struct low *l, const struct weir_ptx_inst *p);

/* recursion.c: functions that may call themselves stand once, their calls are jumps */
#define LOW_STACK_TRAP ".stack" /* suffix of the trap of a stack that is full */
bool low_is_recursive(struct low *l, const struct weir_ptx_function *f);
void low_call_instance(struct low *l, const struct weir_ptx_inst *p,
                       const struct weir_ptx_function *f, uint32_t frame);
void low_instances_build(struct low *l); /* behind the kernel's own text */
void low_instances_finish(struct low *l);
/* In a frame with an instance: the instruction with its variables in the activation. */
const struct weir_ptx_inst *low_instance_inst(struct low *l, const struct weir_ptx_inst *p,
                                              uint32_t frame);
/* Gives the stack its part of local memory when the kernel needs one; then sets its registers. */
void low_stack_reserve(struct low *l);
void low_stack_start(struct low *l);
/* Around an inlined function: what it takes by alloca ends with it. */
int32_t low_stack_enter(struct low *l, const struct weir_ptx_function *f);
void low_stack_leave(struct low *l, int32_t saved);
/* alloca, stacksave, stackrestore; false: another instruction */
bool low_stack_inst(struct low *l, const struct weir_ptx_inst *p, uint32_t frame);

/* program.c, for the above */
struct low_inst *low_push(struct low *l, struct low_inst i);
int32_t low_new_reg(struct low *l, enum weir_ptx_type type);
uint32_t low_new_frame(struct low *l, const struct weir_ptx_function *f, uint32_t parent,
                       const struct weir_ptx_call *call, uint32_t depth);
void low_flatten(struct low *l, uint32_t frame);

/* params.c: parameters of calls that need a place in local memory. _find: before the frame's text
 * is flattened; _inst: the instruction as it is then */
void low_params_find(struct low *l, uint32_t frame);
bool low_param_in_memory(struct low *l, uint32_t frame, const struct weir_ptx_var *var,
                         uint64_t *offset);
const struct weir_ptx_inst *low_param_inst(struct low *l, const struct weir_ptx_inst *p,
                                           uint32_t frame);
/* program.c: a callee's parameter is the caller's variable when that was passed. */
void low_param_canonical(const struct low *l, uint32_t *frame, const struct weir_ptx_var **var);

/* cfg.c */
void low_cfg_order(struct low *l); /* orders blocks, finds loops */
void low_cfg_wait(struct low *l);  /* fills wait, partial, needs_mask from `divergent` */

enum low_way {
    LOW_REGION, /* onwards, up to the next barriers */
    LOW_AHEAD,  /* onwards, through barriers */
    LOW_BACK    /* the blocks that lead to it */
};
/* Adds to `set` block `from` and what is reached from it. */
void low_reach(struct low *l, uint32_t from, enum low_way way, uint64_t *set);

/* liveness.c */
void low_liveness(struct low *l);
static inline bool low_bit(const uint64_t *set, uint32_t i)
{
    return (set[i >> 6] >> (i & 63)) & 1;
}
static inline void low_bit_set(uint64_t *set, uint32_t i)
{
    set[i >> 6] |= (uint64_t)1 << (i & 63);
}

/* shape.c */
void low_shapes(struct low *l);
/* log2 of a divisor of all lanes' values. */
uint8_t low_each_align(const struct low_fact *f);
struct low_fact low_operand_fact(const struct low *l, const struct low_inst *i,
                                 const struct weir_ptx_operand *o, enum weir_ptx_type type);
/* Bytes that the address's lanes are apart, when it is affine or probably so. */
struct low_fact low_address_fact(const struct low *l, const struct low_inst *i,
                                 const struct weir_ptx_operand *o);

/* values.c: registers and operands as LLVM values */
LLVMTypeRef low_type(const struct low *l, enum weir_ptx_type t); /* scalar, floats as floats */
LLVMTypeRef low_int(const struct low *l, unsigned bits);
LLVMTypeRef low_vec_type(const struct low *l, LLVMTypeRef scalar);
LLVMTypeRef low_like(const struct low *l, LLVMTypeRef scalar,
                     LLVMValueRef as); /* vector when `as` is one */
LLVMValueRef low_const(const struct low *l, LLVMTypeRef t,
                       int64_t v); /* splat when t is a vector */
LLVMValueRef low_fconst(const struct low *l, LLVMTypeRef t, double v);
LLVMValueRef low_fbits(const struct low *l, LLVMTypeRef t, uint64_t bits); /* by bit pattern */
LLVMValueRef low_splat(struct low *l, LLVMValueRef scalar);
LLVMValueRef low_lanes(const struct low *l, LLVMTypeRef scalar_int,
                       int64_t stride); /* const vector 0, stride, 2*stride */
unsigned low_bits_of(LLVMValueRef v);   /* element width */
bool low_is_vec(LLVMValueRef v);
LLVMTypeRef low_scalar_type(LLVMTypeRef t);
LLVMValueRef low_bitcast(struct low *l, LLVMValueRef v, LLVMTypeRef scalar);
LLVMValueRef low_resize(struct low *l, LLVMValueRef v, unsigned bits,
                        bool sign);                            /* integer width */
LLVMValueRef low_any(struct low *l, LLVMValueRef *mask);       /* i1: some lane of the groups */
LLVMValueRef low_mask_bits(struct low *l, LLVMValueRef *mask); /* i32, bit = lane */
void low_mask_from_bits(struct low *l, LLVMValueRef bits, LLVMValueRef *mask);
LLVMValueRef low_mask_and(struct low *l, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef low_mask_not(struct low *l, LLVMValueRef a);
/* Where a register's value (UNIFORM: g is 0) is kept. Loads and stores of such slots; in general
 * mode they are in the block's state. */
LLVMValueRef low_slot(struct low *l, const struct low_reg *r, uint32_t g);
LLVMValueRef low_slot_load(struct low *l, LLVMTypeRef t, LLVMValueRef slot);
void low_slot_store(struct low *l, LLVMValueRef v, LLVMValueRef slot);
void low_scope_state(struct low *l, LLVMValueRef inst); /* it loads from or stores to the state */
/* An operand in its natural shape, as `type`. */
struct low_val low_read(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                        enum weir_ptx_type type);
/* Vector of group g (of any shape), as element type of `v`. */
LLVMValueRef low_vector(struct low *l, const struct low_val *v, uint32_t g);
/* Writes a register: converts the shape, blends where other lanes live. */
void low_write(struct low *l, int32_t reg, const struct low_val *v);
struct low_val low_read_reg(struct low *l, int32_t reg);
/* Operand's predicate as masks / as a scalar. */
struct low_val low_read_pred(struct low *l, int32_t reg, bool negated);
LLVMValueRef low_alloca(struct low *l, LLVMTypeRef t, const char *name);
LLVMValueRef low_intrinsic(struct low *l, const char *name, LLVMTypeRef *over, unsigned over_count,
                           LLVMValueRef *args, unsigned count);
LLVMValueRef low_unary(struct low *l, const char *name, LLVMValueRef a);
LLVMValueRef low_binary(struct low *l, const char *name, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef low_ternary(struct low *l, const char *name, LLVMValueRef a, LLVMValueRef b,
                         LLVMValueRef c);
void low_registers_make(struct low *l);
/* Lane-0 value of a speculated register and whether it is affine for all active lanes (ANDed into
 * *ok, NULL = true). */
LLVMValueRef low_spec_base(struct low *l, int32_t reg, uint32_t g);
void low_spec_ok(struct low *l, int32_t reg, LLVMValueRef *ok);
/* Whether a register's lanes begin at first[group] (NULL: at their own first) and move on from
 * there as was guessed. */
void low_lanes_ok(struct low *l, int32_t reg, const LLVMValueRef *first, LLVMValueRef *ok);
/* The same for the operands of a linear instruction and its own possible wrap. */
void low_step_ok(struct low *l, const struct low_inst *i, LLVMValueRef *ok);
LLVMValueRef low_and_ok(struct low *l, LLVMValueRef a, LLVMValueRef b);
LLVMBasicBlockRef low_bb(struct low *l, const char *name);
void low_cond_unlikely(struct low *l, LLVMValueRef cond, LLVMBasicBlockRef likely,
                       LLVMBasicBlockRef unlikely);

/* emit.c: instructions */
void low_emit_inst(struct low *l, const struct low_inst *i);
/* Value of a pure instruction: with `vector` the vector of group g, else its lane 0. */
LLVMValueRef low_pure_value(struct low *l, const struct low_inst *i, bool vector, uint32_t g,
                            uint32_t dest);

/* emit_arith.c, emit_cvt.c, emit_math.c: value of a pure instruction from LLVM operands, scalars or
 * vectors alike. NULL: not one of theirs. */
struct low_args {
    const struct low_inst *li;
    const struct weir_ptx_inst *p;
    LLVMValueRef a[6];
    LLVMValueRef carry; /* in */
    uint32_t count;
    uint32_t dest; /* which destination is wanted */
    bool vector;
    uint32_t g;
};
/* outline.c: in the quick tier, a long instruction as a call of a function of the object whose body
 * `evaluate` made once; NULL: it is to be made in place. */
LLVMValueRef low_outline_pure(struct low *l, const struct low_args *x,
                              LLVMValueRef (*evaluate)(struct low *, struct low_args *));
/* outline.c: calls a function of the object, made once for all instructions of the same text and
 * kind: `results` values of one type from `in`. With `accesses` the body may check addresses and
 * use the scratch area; the active lanes are those of the call. */
struct low_values {
    const struct low_inst *i;
    uint32_t kind;
    bool accesses;
    void (*build)(struct low *l, const struct low_values *v, LLVMValueRef *in, LLVMValueRef *out);
    LLVMValueRef *in, *out;
    unsigned count, results;
    LLVMTypeRef type;
};
void low_outline_values(struct low *l, const struct low_values *v);
LLVMValueRef low_arith(struct low *l, struct low_args *x);
LLVMValueRef low_carry_out(struct low *l, struct low_args *x);
LLVMValueRef low_float(struct low *l, struct low_args *x);
LLVMValueRef low_cvt(struct low *l, struct low_args *x);
LLVMValueRef low_compare(struct low *l, struct low_args *x);
LLVMValueRef low_math(struct low *l, struct low_args *x);
LLVMValueRef low_flush(struct low *l, LLVMValueRef v);
LLVMValueRef low_saturate(struct low *l, LLVMValueRef v);
LLVMValueRef low_round_integral(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v);
LLVMValueRef low_float_to_int(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v);
LLVMValueRef low_float_arithmetic(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef *a);
bool low_directed(const struct weir_ptx_inst *p); /* rounding other than to nearest */
/* emit_round.c; op: add, sub, mul, div, sqrt, vfmadd */
LLVMValueRef low_rounded(struct low *l, const struct weir_ptx_inst *p, const char *op,
                         LLVMValueRef *a, unsigned n);
LLVMValueRef low_rounded_int(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v,
                             bool sign); /* of 64 bits */
/* emit_half.c */
bool low_half_kind(enum weir_ptx_type t, bool *bf, unsigned *parts);
LLVMValueRef low_from_half(struct low *l, LLVMValueRef v, bool bf); /* to f32 */
LLVMValueRef low_to_half(struct low *l, LLVMValueRef v, bool bf);   /* from f32: its bits */
LLVMValueRef low_half_part(struct low *l, LLVMValueRef v, unsigned k);
LLVMValueRef low_half(struct low *l, struct low_args *x, bool bf, unsigned parts);
LLVMValueRef low_cvt_half(struct low *l, struct low_args *x);
LLVMValueRef low_half_approx(struct low *l, struct low_args *x,
                             LLVMValueRef (*f)(struct low *, LLVMValueRef));
LLVMValueRef low_half_set(struct low *l, struct low_args *x,
                          LLVMValueRef (*cmp)(struct low *, struct low_args *, LLVMValueRef,
                                              LLVMValueRef));
/* emit_small.c: cvt of 8-bit floats, to tf32, and cvt.pack; NULL: another one */
LLVMValueRef low_cvt_small(struct low *l, struct low_args *x);
/* emit_video.c */
LLVMValueRef low_video(struct low *l, struct low_args *x);
LLVMValueRef low_is_space(struct low *l, struct low_args *x);

/* nan.c: f32 results that are NaN become 0x7fffffff where their bits are seen */
void low_nan_find(struct low *l);
void low_nan_read(struct low *l, const struct low_inst *i, int32_t reg, struct low_val *v);
void low_nan_write(struct low *l, int32_t reg, struct low_val *v);

/* emit_memory.c */
void low_emit_load(struct low *l, const struct low_inst *i);
void low_emit_store(struct low *l, const struct low_inst *i);
void low_emit_copy(struct low *l, const struct low_inst *i);
/* emit_mbarrier.c; cp.async.mbarrier.arrive included */
void low_emit_mbarrier(struct low *l, const struct low_inst *i);
struct low_address {
    uint8_t space;
    bool spec; /* base valid only where ok */
    struct low_val
        base;        /* i64 addresses (pointers as integers) in natural shape; AFFINE for spec */
    LLVMValueRef ok; /* NULL: always */
    const struct weir_ptx_operand *op;
    const struct low_inst *inst;
    bool is_param, proven;
    uint8_t align; /* log2 of a divisor of all lanes' addresses, as far as it is known */
    LLVMValueRef in_window[LOW_MAX_GROUPS]; /* AFFINE: of the groups, from the window's start; NULL:
                                               not known */
};
/* address_form.c: base + scale * extend(index + more), indices in a register of 32 bits. */
struct low_form {
    int32_t root;      /* register of the indices */
    LLVMValueRef more; /* i32, NULL: 0 */
    LLVMValueRef base; /* i64, NULL: 0; without the operand's constant */
    int64_t scale;
    bool sign;
};
bool low_address_form(struct low *l, const struct low_address *a, struct low_form *f);
/* address_form.c, in the better tier: an address that is base + scale * extend(index) and was
 * guessed: index is a register of 32 bits with sign, base the same for all lanes. */
struct low_sum {
    const struct low_inst *sum; /* that adds base */
    const struct weir_ptx_operand *base;
    int32_t index;
    int64_t scale;
};
bool low_address_sum(struct low *l, const struct low_address *a, struct low_sum *s);
LLVMValueRef low_sum_base(struct low *l, const struct low_sum *s);
/* The scalar of an address that is the sum of one and of what is a multiple of 1 << bits in every
 * lane; NULL: it is no such sum. */
LLVMValueRef low_address_scalar(struct low *l, const struct low_address *a, unsigned bits);
void low_address(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                 uint8_t space, uint32_t bytes, struct low_address *out);
/* Neither guessed nor proven: for accesses lane by lane. */
void low_address_exact(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                       uint8_t space, struct low_address *out);
/* Proves what can be: an address in shared memory whose range says that no check is needed. */
void low_address_prove(struct low *l, struct low_address *a, uint32_t bytes);
/* touch.c: the active lanes are about to access global memory at the address, which must be exact;
 * it becomes the one that engines use (twin.c). Nothing is made when nobody asked. kind: as
 * services->touch. */
bool low_touches(const struct low *l, const struct low_address *a);
#define LOW_TOUCH_READ    0u
#define LOW_TOUCH_WRITE   1u
#define LOW_TOUCH_ORDERED 2u        /* a store or an update that orders */
#define LOW_TOUCH_LOOKED  3u        /* a load that orders */
#define LOW_TOUCH_UPDATE  (2u | 4u) /* reads what is there */
void low_touch(struct low *l, struct low_address *a, uint32_t bytes, uint32_t kind);
void low_to_twin(struct low *l, struct low_address *a);
/* A warp begins to run: accesses and failures are its threads'. */
void low_touch_warp(struct low *l);
/* race.c: with `races`, says that each active lane is about to access bytes of shared or global
 * memory (kind: 0 read, 1 write, 2 update), and what orders a block's threads (device/race.h; arg:
 * i64, NULL is 0). Nothing is made when nobody asked. */
void low_race(struct low *l, struct low_address *a, uint32_t bytes, uint32_t kind);
void low_race_handed(struct low *l, struct low_address *a);
void low_race_copies(struct low *l, const struct weir_ptx_inst *p);
void low_order(struct low *l, uint32_t what, LLVMValueRef arg);
void low_order_block(struct low *l, uint32_t what, LLVMValueRef arg); /* of the block, no lanes */
/* Lanes arrive at the barrier that ends block b; number: i32. */
void low_order_arrive(struct low *l, const struct low_inst *i, LLVMValueRef number, int32_t place);
/* Where blocks lie behind barriers that not all threads need have passed. */
void low_race_prepare(struct low *l);
void low_race_block(struct low *l, uint32_t block);
/* Checked 64-bit addresses of the active lanes, for accesses lane by lane: vectors. */
void low_address_vectors(struct low *l, struct low_address *a, uint32_t bytes, uint32_t kind,
                         LLVMValueRef *out);
LLVMValueRef low_local_base(struct low *l, bool vector,
                            uint32_t g); /* address of the lane's local memory */
/* Flags of the slow path's code: the scratch area holds 32-bit indices, and at LOW_SLOW_FORM a
 * base, a scale and what is added to each index. */
#define LOW_SLOW_INDEXED (1u << 21)
#define LOW_SLOW_SIGNED  (1u << 22)
#define LOW_SLOW_TOUCH   (1u << 23) /* services->touch is told */
#define LOW_SLOW_FORM    2304u
#define LOW_SCRATCH      2432u
#define LOW_SCRATCH_RACE 2432u /* where race.c puts addresses and data, 2304 bytes */
uint32_t low_scratch_bytes(const struct low *l);
/* slow.c: calls the object's slow path for the lanes of `bits`; scratch holds their addresses. op:
 * 0 check, 1 load, 2 store. */
/* Whose line it is when a later access fails: for functions that stand for many. */
void low_note_line(struct low *l, LLVMValueRef block, LLVMValueRef line);
void low_slow_call(struct low *l, LLVMValueRef bits, uint32_t code, int line, uint32_t op);
void low_scope(struct low *l, LLVMValueRef inst, uint8_t space);
/* Loop over the set lanes of `bits`: returns the lane (i32); low_lane_loop_end closes it. */
struct low_lane_loop {
    LLVMBasicBlockRef head, body, end;
    LLVMValueRef lane, bits_phi, start_bits;
    LLVMBasicBlockRef from;
};
void low_lane_loop_begin(struct low *l, struct low_lane_loop *loop, LLVMValueRef bits);
void low_lane_loop_end(struct low *l, struct low_lane_loop *loop);
/* The same with another rest than "all but this lane". */
void low_lane_loop_rest(struct low *l, struct low_lane_loop *loop, LLVMValueRef rest);

/* emit_bulk.c */
void low_emit_bulk(struct low *l, const struct low_inst *i);

/* emit_texture.c */
void low_emit_texture(struct low *l, const struct low_inst *i);

/* matrix.c */
void low_emit_matrix(struct low *l, const struct low_inst *i);

/* emit_cluster.c */
void low_cluster_find(struct low *l);                              /* sets l->clusters */
LLVMValueRef low_cluster_value(struct low *l, struct low_args *x); /* NULL: another instruction */
/* .shared::cluster addresses (integers, scalar or vector) as absolute ones, i64. */
LLVMValueRef low_cluster_absolute(struct low *l, LLVMValueRef v);
LLVMValueRef low_cluster_field(struct low *l, size_t offset, LLVMTypeRef t);
LLVMValueRef low_cluster_base(struct low *l, LLVMValueRef *bytes); /* all blocks' shared memory */
/* %cluster_ctaid and its like; false: another register */
bool low_cluster_sreg(struct low *l, uint16_t sreg, uint8_t element, LLVMValueRef *v);

/* emit_atomic.c, emit_warp.c, emit_call.c */
void low_emit_atomic(struct low *l, const struct low_inst *i);
void low_emit_fence(struct low *l, const struct low_inst *i);
void low_emit_warp(struct low *l, const struct low_inst *i);
void low_emit_call(struct low *l, const struct low_inst *i);
void low_emit_dependents(struct low *l, const struct low_inst *i);
const struct weir_ptx_operand *low_member_mask(const struct weir_ptx_inst *p);
/* Reduction of an integer over the active lanes by the instruction's operation. */
LLVMValueRef low_reduce(struct low *l, const struct weir_ptx_inst *p, const struct low_val *a);
struct low_val low_sreg(struct low *l, uint16_t sreg, uint8_t element, enum weir_ptx_type type);
/* Another value at each read. */
bool low_sreg_is_clock(uint16_t sreg);
/* Does it ask for a clock or the SM's number? And of a kernel whose clocks are modelled? */
bool low_asks(const struct low_inst *i);
bool low_asks_clock(const struct low *l, const struct low_inst *i);
/* Is one of its instructions such? Once, before code is made. */
void low_clocks_find(struct low *l);
/* A block of such a kernel begins (control.c), and ends. */
void low_clocks_start(struct low *l);
void low_clocks_end(struct low *l);
struct low_fact low_sreg_fact(const struct low *l, uint16_t sreg, uint8_t element);

/* Leaves with NOT_SUPPORTED in general mode; in the ordinary one compilation starts again in
 * general mode. */
WEIR_NORETURN void low_need_general(struct low *l, const struct weir_ptx_inst *i, const char *why);

/* polling.c: marks the loops whose end depends on what others do; are there any? */
bool low_polls(struct low *l);

/* control.c */
void low_emit_kernel(struct low *l);

/* general.c */
void low_general_emit(struct low *l);
/* The bits of a mask, when it is that of all lanes of the block being made; else NULL. */
LLVMValueRef low_general_bits(struct low *l, LLVMValueRef *lanes);
void low_general_enter(struct low *l, uint32_t unit); /* its waiting lanes become l->mask */
void low_general_send(struct low *l, uint32_t to, LLVMValueRef *lanes);
void low_general_send_all(struct low *l, uint32_t to); /* l->mask, which is not empty */
/* Both ways of block `from`, where a branch's predicate differs, by the dispatcher; false: to be
 * made as ever. */
bool low_general_branch(struct low *l, uint32_t from, const struct low_val *p);
/* What a jump costs of a warp's turn: nothing when it goes forward, much when it polls. */
uint32_t low_general_retreat(const struct low *l, uint32_t from, uint32_t to);
void low_general_continue(struct low *l, uint32_t from, uint32_t known, uint32_t retreat);
void low_general_barrier(struct low *l, uint32_t at);
void low_general_arrive(struct low *l, const struct low_inst *i);
void low_general_cluster_arrive(struct low *l);
bool low_general_in_state(const struct low *l, size_t reg);
/* Pointers into the state of the warp being run, made where they are used: kept from the warp's
 * start they would be registers to spill. */
LLVMValueRef low_general_slot(struct low *l, const struct low_reg *r, uint32_t g);
void low_general_mask_slots(struct low *l, uint32_t block); /* live_slot, wait_slot of the block */
bool low_general_is_sync(const struct weir_ptx_inst *p);

/* control.c, used by general.c */
void low_control_block(struct low *l, uint32_t at);
void low_control_context(struct low *l);
void low_control_invariants(struct low *l);
void low_control_start_mask(struct low *l, LLVMValueRef *m);

/* ssa.c: the slots of emission become SSA values. */
void low_ssa(struct low *l);
void low_ssa_finish(struct low *l);

/* mask_words.c: masks that meet, where the processor has no registers for them. */
void low_mask_words(struct low *l);
void low_mask_words_finish(struct low *l);

/* narrow.c: behind the passes, stores of a constant number of first lanes are no wider than these;
 * true: there were some, and what they no longer need is left over. */
bool low_narrow(struct low *l);

/* pipeline.c */
void low_target_init(struct low *l);
void low_optimise_and_emit(struct low *l);

#endif
