/* Parsed PTX: what the parser makes and the verifier has checked; analyses and codegen read it. One
 * module is one arena: all pointers below live as long as the module, none is shared between
 * modules, so modules compile in parallel.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PTX_PTX_H
#define WEIR_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"

/* Several enumerators a line, where they are of one kind. */
/* clang-format off */
enum weir_ptx_type {
    WEIR_PTX_NONE,
    WEIR_PTX_U8, WEIR_PTX_U16, WEIR_PTX_U32, WEIR_PTX_U64,
    WEIR_PTX_S8, WEIR_PTX_S16, WEIR_PTX_S32, WEIR_PTX_S64,
    WEIR_PTX_B8, WEIR_PTX_B16, WEIR_PTX_B32, WEIR_PTX_B64, WEIR_PTX_B128,
    WEIR_PTX_F16, WEIR_PTX_F16X2, WEIR_PTX_BF16, WEIR_PTX_BF16X2, WEIR_PTX_TF32,
    WEIR_PTX_F32, WEIR_PTX_F32X2, WEIR_PTX_F64,
    WEIR_PTX_E4M3X2, WEIR_PTX_E5M2X2,
    WEIR_PTX_U16X2, WEIR_PTX_S16X2,
    WEIR_PTX_PRED,
    WEIR_PTX_OPAQUE, /* .texref, .samplerref, .surfref: parsed, refused by name where used */
    WEIR_PTX_TYPE_COUNT
};
unsigned weir_ptx_type_bits(enum weir_ptx_type t); /* 1 for predicates */
bool weir_ptx_type_is_float(enum weir_ptx_type t);
bool weir_ptx_type_is_signed(enum weir_ptx_type t);
const char *weir_ptx_type_name(enum weir_ptx_type t); /* "s32" */

/* Space of a variable or of a memory instruction; GENERIC where the instruction names none. */
enum weir_ptx_space {
    WEIR_PTX_GENERIC, /* no space given on ld/st/atom */
    WEIR_PTX_REG, WEIR_PTX_CONST, WEIR_PTX_GLOBAL, WEIR_PTX_LOCAL, WEIR_PTX_PARAM,
    WEIR_PTX_SHARED, WEIR_PTX_TEX, WEIR_PTX_SHARED_CLUSTER,
};

/* Opcodes: the first part of the mnemonic ("add", "mad", "ld", "setp" ...). Rows in ptx_ops.def. */
enum weir_ptx_opcode {
#define WEIR_PTX_OP(name, ...) WEIR_PTX_OP_##name,
#include "ptx/ptx_ops.def"
#undef WEIR_PTX_OP
    WEIR_PTX_OP_COUNT
};
const char *weir_ptx_opcode_name(enum weir_ptx_opcode op);

enum weir_ptx_rounding {
    WEIR_PTX_RND_NONE,
    WEIR_PTX_RN, WEIR_PTX_RZ, WEIR_PTX_RM, WEIR_PTX_RP, WEIR_PTX_RNA, WEIR_PTX_RS,
    WEIR_PTX_RNI, WEIR_PTX_RZI, WEIR_PTX_RMI, WEIR_PTX_RPI
};
/* Comparison of set/setp; the ...U forms are true for NaN operands; LO LS HI HS are unsigned. */
enum weir_ptx_cmp {
    WEIR_PTX_CMP_NONE,
    WEIR_PTX_EQ, WEIR_PTX_NE, WEIR_PTX_LT, WEIR_PTX_LE, WEIR_PTX_GT, WEIR_PTX_GE,
    WEIR_PTX_LO, WEIR_PTX_LS, WEIR_PTX_HI, WEIR_PTX_HS,
    WEIR_PTX_EQU, WEIR_PTX_NEU, WEIR_PTX_LTU, WEIR_PTX_LEU, WEIR_PTX_GTU, WEIR_PTX_GEU,
    WEIR_PTX_NUM, WEIR_PTX_NAN
};
enum weir_ptx_bool { WEIR_PTX_BOOL_NONE, WEIR_PTX_BOOL_AND, WEIR_PTX_BOOL_OR, WEIR_PTX_BOOL_XOR };
/* Second word of mul/mad/sad/..., atom/red operation, shfl/vote/match mode, bar/barrier form ...:
 * one field, `sub`.
 *   bar.red.OP        sub = RED, sub2 = AND, OR or POPC
 *   bar.warp.sync     sub = WARP, async_sync
 *   bar.sync          sub = SYNC (also barrier.sync[.aligned], barrier.cta.sync)
 *   shfl, vote, match, redux, elect with .sync    sub = mode, async_sync
 *   membar.gl         sub = GL, scope = GPU (cta, sys alike)
 *   fence.SEM.SCOPE   sub = NONE, sem, scope
 *   div/rcp/sqrt/... .approx .full   sub and the flag
 *   prefetch*, applypriority, discard: levels are no modifiers (sub NONE)
 *   OTHER wins over everything: barrier.cluster.*, fence.proxy.*, cp.async.*, mbarrier.*, ... */
enum weir_ptx_sub {
    WEIR_PTX_SUB_NONE,
    /* mul mad */
    WEIR_PTX_LO_, WEIR_PTX_HI_, WEIR_PTX_WIDE,
    /* atom red bar.red redux */
    WEIR_PTX_SUB_AND, WEIR_PTX_SUB_OR, WEIR_PTX_SUB_XOR, WEIR_PTX_SUB_POPC,
    WEIR_PTX_SUB_ADD, WEIR_PTX_SUB_INC, WEIR_PTX_SUB_DEC, WEIR_PTX_SUB_MIN, WEIR_PTX_SUB_MAX,
    WEIR_PTX_SUB_EXCH, WEIR_PTX_SUB_CAS,
    /* shfl */
    WEIR_PTX_SUB_UP, WEIR_PTX_SUB_DOWN, WEIR_PTX_SUB_BFLY, WEIR_PTX_SUB_IDX,
    /* vote match */
    WEIR_PTX_SUB_ALL, WEIR_PTX_SUB_ANY, WEIR_PTX_SUB_UNI, WEIR_PTX_SUB_BALLOT,
    /* bar barrier */
    WEIR_PTX_SUB_SYNC, WEIR_PTX_SUB_ARRIVE, WEIR_PTX_SUB_RED, WEIR_PTX_SUB_WARP,
    /* shf */
    WEIR_PTX_SUB_L, WEIR_PTX_SUB_R,
    /* cvta.to */
    WEIR_PTX_SUB_TO,
    /* div sqrt rcp */
    WEIR_PTX_SUB_FULL, WEIR_PTX_SUB_APPROX,
    /* prmt */
    WEIR_PTX_SUB_F4E, WEIR_PTX_SUB_B4E, WEIR_PTX_SUB_RC8, WEIR_PTX_SUB_ECL, WEIR_PTX_SUB_ECR,
    WEIR_PTX_SUB_RC16,
    /* testp */
    WEIR_PTX_SUB_FINITE, WEIR_PTX_SUB_INFINITE, WEIR_PTX_SUB_NUMBER, WEIR_PTX_SUB_NOTANUMBER,
    WEIR_PTX_SUB_NORMAL, WEIR_PTX_SUB_SUBNORMAL,
    /* membar */
    WEIR_PTX_SUB_GL, WEIR_PTX_SUB_CTA, WEIR_PTX_SUB_SYS,
    WEIR_PTX_SUB_OTHER, /* anything else: `suffix` has the text, codegen looks at it or refuses */
};
/* atom and red without a word are RELAXED, fence without one ACQ_REL, ld and st WEAK. */
enum weir_ptx_sem {
    WEIR_PTX_WEAK, WEIR_PTX_VOLATILE, WEIR_PTX_RELAXED, WEIR_PTX_ACQUIRE, WEIR_PTX_RELEASE,
    WEIR_PTX_ACQ_REL, WEIR_PTX_SC, WEIR_PTX_MMIO
};
enum weir_ptx_scope {
    WEIR_PTX_SCOPE_NONE, WEIR_PTX_SCOPE_CTA, WEIR_PTX_SCOPE_CLUSTER, WEIR_PTX_SCOPE_GPU,
    WEIR_PTX_SCOPE_SYS
};
/* clang-format on */

/* Special registers. Rows: name without %, and whether it is a vector (.x .y .z .w). */
enum weir_ptx_sreg {
#define WEIR_PTX_SREG(name, type) WEIR_PTX_SREG_##name,
#include "ptx/ptx_sregs.def"
#undef WEIR_PTX_SREG
    WEIR_PTX_SREG_COUNT
};

/* A register of a function (or %p predicate). Index into function->regs is its identity. */
struct weir_ptx_reg {
    const char *name; /* "%r12" */
    enum weir_ptx_type type;
    uint8_t vector; /* 0, 2 or 4: .v2/.v4 registers; elements are addressed by .x .. .w (rare) */
};

enum weir_ptx_role {
    WEIR_PTX_VAR_MODULE,
    WEIR_PTX_VAR_BODY,
    WEIR_PTX_VAR_PARAM,
    WEIR_PTX_VAR_RET,
    WEIR_PTX_VAR_PROTO
};

/* A variable in some space: module scope, or local to a function (.local, .shared, .param of
 * calls). */
struct weir_ptx_var {
    const char *name;
    enum weir_ptx_space space;
    enum weir_ptx_type type;
    uint32_t align; /* bytes */
    uint64_t bytes; /* whole size; 0 for `extern .shared x[]` (dynamic shared memory) */
    uint64_t count; /* elements, 1 for scalars; 0 for [] */
    uint8_t vector; /* 0, 2, 4 */
    bool is_extern, is_visible, is_weak, is_common, is_managed;
    const unsigned char *init;     /* bytes long, or NULL = zero */
    struct weir_ptx_reloc *relocs; /* places in init that hold addresses of other symbols */
    size_t reloc_count;
    struct weir_ptx_function *function; /* NULL: module scope */
    uint8_t role;                       /* enum weir_ptx_role: which array `index` counts in */
    uint32_t index; /* in module->vars, or in vars, params or rets of the function (or prototype) */
    /* Assigned by the verifier. .shared: from 0 in the function's own part, or in the module's part
     * (analysis.h has the layout of one kernel with all that it calls). .local: in the function's
     * frame. .param: of PARAM and RET the place in the parameter list, of BODY vars the place in a
     * frame of function->call_param_bytes, reused by scopes that end. */
    uint64_t offset;
    int32_t reg_index;  /* space REG (.func parameters in registers): in function->regs; else -1 */
    bool is_ptr;        /* .param with .ptr; then what it points to: */
    uint8_t ptr_space;  /* GENERIC when not given */
    uint32_t ptr_align; /* 0 when not given */
    int line;
};
struct weir_ptx_reloc {
    uint64_t offset;          /* in init */
    uint8_t bytes;            /* 8 (or 4; 1 when a mask() takes a single byte) */
    uint8_t shift;            /* (address + addend) >> shift, cut to `bytes`; 0 unless bytes is 1 */
    bool generic;             /* generic(sym) */
    const char *symbol;       /* variable or function name */
    struct weir_ptx_var *var; /* resolved, or NULL when it is `function` */
    struct weir_ptx_function *function;
    int64_t addend;
};

enum weir_ptx_operand_kind {
    WEIR_PTX_OPERAND_NONE,
    WEIR_PTX_OPERAND_REG, /* reg (element when a vector register's .x is named: `element`), negated
                           * for predicates; count: 0 = the whole register. imm: the selector of a
                           * video instruction (.b0, .h1, .b3210), its characters from the lowest
                           * byte up, else 0 */
    WEIR_PTX_OPERAND_INT, /* imm */
    WEIR_PTX_OPERAND_F32, /* imm = bits of 0f... */
    WEIR_PTX_OPERAND_F64, /* imm = bits of 0d... or a decimal literal. The verifier has converted: a
                           * literal of an f32 instruction is F32, of an f64 instruction F64 */
    WEIR_PTX_OPERAND_SREG, /* sreg; element 0..3 of vectors (count 4: all, `mov.v4.u32 v, %tid`);
                            * number of %envregN, %pmN; reserved_smem_offset: 0 begin, 1 end, 2 cap,
                            * 3 _0, 4 _1 */
    WEIR_PTX_OPERAND_VAR,  /* address of var + imm (mov, cvta) */
    WEIR_PTX_OPERAND_FUNCTION, /* function (mov of its address, call target) */
    WEIR_PTX_OPERAND_ADDRESS,  /* [reg + imm], [var + imm] or [imm]; [tex, {..}]: what follows the
                                  comma in elements[] */
    WEIR_PTX_OPERAND_VECTOR,   /* {a, b, c, d}: elements[] */
    WEIR_PTX_OPERAND_LABEL,    /* bra target: label */
    WEIR_PTX_OPERAND_SINK,     /* _ */
    WEIR_PTX_OPERAND_TABLE,    /* brx.idx targets: table */
};

struct weir_ptx_operand {
    uint8_t kind;    /* enum weir_ptx_operand_kind */
    uint8_t element; /* of vector registers and special registers: 0..3 */
    bool negated;    /* !%p */
    uint8_t count;   /* VECTOR: 1, 2, 4, 8 (matrix instructions: up to 128) */
    uint16_t sreg;   /* enum weir_ptx_sreg */
    int32_t reg;     /* REG; ADDRESS base register or -1 */
    int64_t imm;
    struct weir_ptx_var *var;
    struct weir_ptx_function *function;
    union {
        struct weir_ptx_label *label;
        struct weir_ptx_table *table;
    };
    struct weir_ptx_operand *elements; /* VECTOR */
    int32_t pred_reg; /* second destination d|p (setp, shfl, match): -1 absent, -2 sink */
};

struct weir_ptx_label {
    const char *name;
    uint32_t inst; /* index of the instruction that follows */
    bool used;
};

/* `NAME: .branchtargets L1, L2;` */
struct weir_ptx_table {
    const char *name;
    struct weir_ptx_label **labels;
    size_t count;
    int line;
};

/* One instruction. Destinations stand first in operands[], in the order of the text. */
struct weir_ptx_inst {
    uint16_t opcode; /* enum weir_ptx_opcode */
    uint8_t type[3]; /* type suffixes in order: cvt.f32.s32 -> F32, S32; NONE when absent */
    uint8_t rounding, cmp, boolop, sub, sub2, sem, scope, space;
    uint8_t vec; /* 0, 2, 4, 8 */
    bool ftz, sat, uni, approx, full, relu, nan, xorsign, abs, nc, aligned, noftz;
    bool cc;         /* .cc */
    bool async_sync; /* .sync */
    bool clamp, wrap /* shf, bmsk, szext */, shiftamt /* bfind */, satfinite /* cvt */;
    bool cache_hint; /* .L2::cache_hint: the last operand is a 64-bit policy */
    int32_t guard;   /* predicate register of @p, or -1 */
    bool guard_negated;
    uint8_t operand_count, dest_count;
    struct weir_ptx_operand *operands;
    struct weir_ptx_call *call; /* call only */
    const char *suffix;    /* text after the opcode (".rn.ftz.f32"); for messages and rare forms */
    int line;              /* in the PTX text */
    int file, source_line; /* from .loc; 0 = unknown */
};

struct weir_ptx_call {
    struct weir_ptx_function *callee; /* NULL: indirect, through operand 'target' */
    struct weir_ptx_operand target;
    struct weir_ptx_operand *rets, *args; /* REG, VAR (param space) or immediates */
    uint8_t ret_count, arg_count;
    struct weir_ptx_proto *proto;       /* .callprototype of indirect calls */
    struct weir_ptx_function **targets; /* .calltargets, or NULL */
    const char *targets_name;
    size_t target_count;
};
struct weir_ptx_proto {
    const char *name;
    struct weir_ptx_var **rets, **params;
    size_t ret_count, param_count;
};

struct weir_ptx_function {
    const char *name;
    bool is_entry, is_extern /* only declared */, is_visible, is_weak, noreturn;
    struct weir_ptx_module *module;
    /* Spaces PARAM (offsets assigned) or REG (.func with .reg parameters: reg_index). */
    struct weir_ptx_var **params, **rets;
    size_t param_count, ret_count;
    uint32_t param_bytes;
    struct weir_ptx_reg *regs;
    size_t reg_count;
    struct weir_ptx_var **vars; /* function-scope .local, .shared, .param, in declaration order */
    size_t var_count;
    uint64_t local_bytes;      /* of .local vars, after layout */
    uint64_t shared_bytes;     /* of function-scope static .shared vars, after layout */
    uint64_t call_param_bytes; /* of function-scope .param vars, after layout */
    struct weir_ptx_inst *insts;
    size_t inst_count;
    struct weir_ptx_label **labels;
    size_t label_count;
    struct weir_ptx_table **tables; /* .branchtargets of brx.idx */
    size_t table_count;
    uint32_t maxntid[3], reqntid[3], minnctapersm, maxnreg; /* 0 = not given */
    uint32_t reqnctapercluster[3], maxclusterrank;          /* 0 = not given */
    bool explicit_cluster;
    /* `.alias this, other;`: uses of this name already point to the other function. */
    struct weir_ptx_function *alias_of;
    int line;
    uint32_t index; /* in module->functions */
};

struct weir_ptx_module {
    struct weir_arena arena;
    int version;        /* 10 * major + minor: 88 */
    int target_sm;      /* 52 ... 90, 121 */
    char target_suffix; /* 'a', 'f' or 0 */
    bool debug;
    int address_bits;           /* 64 */
    struct weir_ptx_var **vars; /* module scope */
    size_t var_count;
    struct weir_ptx_function **functions; /* definitions and declarations */
    size_t function_count;
    struct weir_strmap symbols; /* name -> struct weir_ptx_symbol */
    const char **files;
    size_t file_count;
    /* Module-scope static .shared, after layout (kernels use all of it; nvcc emits function or
     * module scope). */
    uint64_t shared_bytes;
    struct weir_ptx_module *
        *units; /* of a linked module (ptx/link.h): their arenas hold its parts */
    size_t unit_count;
};

/* Value of module->symbols: one of the two is set. */
struct weir_ptx_symbol {
    struct weir_ptx_var *var;
    struct weir_ptx_function *function;
};

/* What went wrong in a text, with its place. */
struct weir_ptx_error {
    int line, column;
    char message[200];
};

/* Parses and verifies. On error nothing is returned and *error says where. An instruction that is
 * grammatical but unknown to codegen is no error here. Recursion, sizes and counts are bounded:
 * hostile input gives an error. Errors: INVALID_PTX, UNSUPPORTED_PTX_VERSION, MEMORY_ALLOCATION.
 * Thread: any. */
enum weir_err weir_ptx_parse(const char *text, size_t bytes, struct weir_ptx_module **out,
                             struct weir_ptx_error *error) WEIR_MUST_CHECK;
void weir_ptx_module_destroy(struct weir_ptx_module *m);

/* A declared function that Weir itself provides (vprintf, malloc, ...): no definition is looked
 * for. */
bool weir_ptx_is_builtin(const struct weir_ptx_function *f);

struct weir_ptx_function *weir_ptx_find_function(const struct weir_ptx_module *m, const char *name);
struct weir_ptx_var *weir_ptx_find_var(const struct weir_ptx_module *m, const char *name);

/* Writes the instruction as PTX text (messages, --fidelity, tests: parse(print(parse(x))) ==
 * parse(x)). Returns the length as snprintf does. */
size_t weir_ptx_print_inst(const struct weir_ptx_function *f, const struct weir_ptx_inst *i,
                           char *buf, size_t bytes);

/* "mma.sync.aligned.m16n8k16 (line 12)" style name for refusals. */
size_t weir_ptx_inst_name(const struct weir_ptx_inst *i, char *buf, size_t bytes);

#endif
