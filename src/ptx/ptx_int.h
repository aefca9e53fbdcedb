/* Inside src/ptx only: the state of one parse. Everything hangs off struct ptx_parser, so modules
 * parse in parallel. lex.c -> parse.c (module) -> decl.c, func.c -> inst.c (instructions) ->
 * verify.c (types) ; symbols.c, expr.c, init.c help. All functions here return false after the
 * first error, which ptx_fail has noted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PTX_PTX_INT_H
#define WEIR_PTX_PTX_INT_H

#include "base/vec.h"
#include "ptx/ptx.h"

/* Bounds on hostile input. nvcc stays far below all of them. */
#define PTX_MAX_DEPTH      64u        /* nested scopes, braces, parentheses */
#define PTX_MAX_REGS       (1u << 20) /* a function */
#define PTX_MAX_OPERANDS   32u        /* an instruction */
#define PTX_MAX_ELEMENTS   255u       /* a vector operand */
#define PTX_MAX_PARAMS     4096u      /* a function; call operands: 255 */
#define PTX_MAX_VAR_BYTES  ((uint64_t)1 << 40)
#define PTX_MAX_LOCAL      ((uint64_t)1 << 30)  /* .local, .shared and .param frames */
#define PTX_MAX_INIT_BYTES ((uint64_t)64 << 20) /* plus the text's own size */
#define PTX_MAX_FILES      65536
#define PTX_MAX_TABLE      65536u

struct ptx_str {
    const char *s;
    size_t n;
};

enum ptx_sym_kind {
    PTX_SYM_REG,
    PTX_SYM_REG_RANGE,
    PTX_SYM_VAR,
    PTX_SYM_FUNCTION,
    PTX_SYM_LABEL,
    PTX_SYM_PROTO,
    PTX_SYM_TABLE,
    PTX_SYM_TARGETS,
};

struct ptx_sym {
    const char *name;
    uint32_t len, hash;
    uint8_t kind;
    uint8_t depth;         /* scope it belongs to: 0 = module */
    int32_t reg;           /* REG; first of REG_RANGE */
    uint32_t range;        /* REG_RANGE: count */
    void *ptr;             /* var, function, label, proto, table, targets */
    struct ptx_sym *next;  /* in its bucket */
    struct ptx_sym *older; /* declared before: scopes close by going back */
};

struct ptx_symtab {
    struct ptx_sym **buckets;
    size_t bucket_count, count;
    struct ptx_sym *newest;
    unsigned depth;
};

struct ptx_targets { /* .calltargets */
    const char *name;
    struct weir_ptx_function **functions;
    size_t count;
};

/* One way to write an instruction, decoded once per module. */
struct ptx_mnemonic {
    struct weir_ptx_inst inst;
};

/* A branch to a label that has not been seen. */
struct ptx_fixup {
    struct weir_ptx_label **slot;
    struct ptx_str name;
    int line, column;
};

/* A symbol in an initialiser: looked up when the module is complete. */
struct ptx_init_ref {
    struct weir_ptx_reloc *reloc;
    int line, column;
};

struct ptx_parser {
    const char *text, *end; /* end points to a zero byte */
    const char *pos;
    const char *line_start;
    int line;
    const char *tok; /* where the last token began, for messages */
    struct weir_ptx_module *m;
    struct weir_ptx_error *error;
    enum weir_err code; /* WEIR_OK until ptx_fail */
    struct weir_arena scratch;
    struct ptx_symtab syms;
    struct weir_strmap mnemonics;
    void *locale;
    size_t init_budget;
    unsigned depth; /* recursion of expressions and braces */
    int loc_file, loc_line;
    bool saw_version, saw_target, any_alias;

    WEIR_VEC(struct weir_ptx_var *) module_vars;
    WEIR_VEC(struct weir_ptx_function *) functions;
    WEIR_VEC(const char *) files;
    WEIR_VEC(struct ptx_init_ref) init_refs;

    /* of the function being parsed */
    struct weir_ptx_function *f;
    uint64_t call_frame; /* bytes of .param frame in use in the open scopes */
    WEIR_VEC(struct weir_ptx_reg) regs;
    WEIR_VEC(struct weir_ptx_var *) vars;
    WEIR_VEC(struct weir_ptx_inst) insts;
    WEIR_VEC(struct weir_ptx_label *) labels;
    WEIR_VEC(struct weir_ptx_table *) tables;
    WEIR_VEC(struct ptx_fixup) fixups;
    WEIR_VEC(struct weir_ptx_operand) stack; /* elements of vectors being parsed */
};

/* .extern .visible .weak .common, before a declaration */
struct ptx_linkage {
    bool is_extern, is_visible, is_weak, is_common;
};

/* Everything between the state space and the names of a declaration. */
struct ptx_decl {
    enum weir_ptx_space space;
    enum weir_ptx_type type;
    uint32_t align;
    uint8_t vector;
    bool is_managed, is_ptr;
    uint8_t ptr_space;
    uint32_t ptr_align;
};

/* wide.c: of the function being parsed. */
bool ptx_split_wide(struct ptx_parser *p);

/* lex.c. Errors note the place of the last token (p->tok). */
bool ptx_fail(struct ptx_parser *p, const char *fmt, ...) WEIR_PRINTF(2, 3);
bool ptx_fail_code(struct ptx_parser *p, enum weir_err code, const char *fmt, ...)
    WEIR_PRINTF(3, 4);
bool ptx_fail_memory(struct ptx_parser *p);
void ptx_skip(struct ptx_parser *p);           /* white space and comments; sets p->tok */
bool ptx_accept(struct ptx_parser *p, char c); /* takes the character if it is next */
bool ptx_expect(struct ptx_parser *p, char c);
bool ptx_peek_ident(struct ptx_parser *p); /* is a name next? */
bool ptx_ident(struct ptx_parser *p, struct ptx_str *out, const char *what);
bool ptx_directive(
    struct ptx_parser *p,
    struct ptx_str *out); /* ".name", without the dot; false and no error if none is next */
bool ptx_expect_directive(struct ptx_parser *p, struct ptx_str *s, const char *what);
bool ptx_string(struct ptx_parser *p, struct ptx_str *out);
/* A number at p->pos: kind is WEIR_PTX_OPERAND_INT, F32 or F64. */
bool ptx_number(struct ptx_parser *p, uint8_t *kind, int64_t *imm);
bool ptx_is_ident_char(char c);
bool ptx_is(struct ptx_str s, const char *name);
int ptx_column(const struct ptx_parser *p, const char *at);
const char *ptx_copy_str(struct ptx_parser *p,
                         struct ptx_str s);        /* into the module; NULL after an error */
void *ptx_new(struct ptx_parser *p, size_t bytes); /* zeroed, in the module; NULL after an error */
#define PTX_NEW(p, type)          ((type *)ptx_new((p), sizeof(type)))
#define PTX_NEW_ARRAY(p, type, n) ((type *)ptx_new((p), sizeof(type) * (size_t)(n)))
#define PTX_PUSH(p, vec, value)   (weir_vec_push((vec), (value)) ? true : ptx_fail_memory(p))

/* symbols.c */
void ptx_symtab_finish(struct ptx_symtab *t);
struct ptx_sym *ptx_sym_find(const struct ptx_parser *p,
                             struct ptx_str name); /* innermost; NULL when there is none */
/* A register by its name, also one of a range; -1 when there is none. */
int32_t ptx_sym_reg(const struct ptx_parser *p, struct ptx_str name);
/* Declares in the innermost scope. The name must outlive the module. Error when it is declared
 * there already. */
struct ptx_sym *ptx_sym_add(struct ptx_parser *p, const char *name, size_t len,
                            enum ptx_sym_kind kind, void *ptr);
bool ptx_scope_open(struct ptx_parser *p);
void ptx_scope_close(struct ptx_parser *p);

/* expr.c: constant expressions. kind as ptx_number's. */
bool ptx_expr(struct ptx_parser *p, uint8_t *kind, int64_t *imm);
bool ptx_expr_int(struct ptx_parser *p, int64_t *out, const char *what);

bool ptx_expr_u64(struct ptx_parser *p, uint64_t *out, uint64_t limit, const char *what);
bool ptx_expr_u32(struct ptx_parser *p, uint32_t *out, uint64_t limit, const char *what);

/* decl.c. parse_decl reads up to the names, parse_declarator one name; parse_variables a whole
 * statement. */
bool ptx_parse_attributes(struct ptx_parser *p, bool *is_managed); /* is_managed may be NULL */
bool ptx_parse_decl(struct ptx_parser *p, struct ptx_decl *d);
struct weir_ptx_var *ptx_parse_declarator(struct ptx_parser *p, const struct ptx_decl *d);
bool ptx_parse_variables(struct ptx_parser *p, enum weir_ptx_space space,
                         const struct ptx_linkage *l);
bool ptx_parse_reg(struct ptx_parser *p);
int32_t ptx_add_reg(struct ptx_parser *p, const char *name,
                    const struct ptx_decl *d); /* -1: error */
bool ptx_layout(struct ptx_parser *p, struct weir_ptx_var *v, uint64_t *total);
bool ptx_add_symbol(struct ptx_parser *p, const char *name, struct weir_ptx_var *v,
                    struct weir_ptx_function *f);
/* Writes prefix and number, returns the end of the zero-terminated text. */
char *ptx_write_name(char *s, struct ptx_str prefix, uint32_t number);

/* func.c */
bool ptx_parse_function(struct ptx_parser *p, bool is_entry, const struct ptx_linkage *l);
bool ptx_parse_file(struct ptx_parser *p);
bool ptx_parse_loc(struct ptx_parser *p);
bool ptx_parse_section(struct ptx_parser *p);
bool ptx_parse_pragma(struct ptx_parser *p);

/* mnemonic.c: the decoded form of "ld.global.nc.v4.f32"; NULL after an error. */
const struct weir_ptx_inst *ptx_mnemonic(struct ptx_parser *p, struct ptx_str text);

/* inst.c: the instruction whose mnemonic is `text`, operands to the ';'. */
bool ptx_parse_inst(struct ptx_parser *p, struct ptx_str text, int32_t guard, bool guard_negated,
                    int line);

/* init.c: `= ...` of a variable. */
bool ptx_parse_init(struct ptx_parser *p, struct weir_ptx_var *v, const uint64_t *dims,
                    unsigned dim_count);
bool ptx_resolve_inits(struct ptx_parser *p);

/* types.c */
enum weir_ptx_type ptx_type_by_name(struct ptx_str s); /* NONE when it is none */
bool ptx_sreg_by_name(struct ptx_str s, struct weir_ptx_operand *out);
size_t ptx_sreg_name(const struct weir_ptx_operand *o, char *buf, size_t bytes);
const char *ptx_space_name(enum weir_ptx_space s);

/* verify.c: operand counts and types of one instruction. Converts floating-point literals to the
 * instruction's type. */
bool ptx_verify_inst(struct ptx_parser *p, struct weir_ptx_inst *i);
/* version.c: the module's .version and .target have this instruction. */
bool ptx_check_version(struct ptx_parser *p, const struct weir_ptx_inst *i);
bool ptx_verify_call(struct ptx_parser *p, const struct weir_ptx_inst *i);

#endif
