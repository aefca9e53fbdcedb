/* Functions: parameters, bodies with their nested scopes, labels and the lists that branches and
 * calls use. Instructions are read by inst.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "ptx/ptx_int.h"

static bool layout_params(struct ptx_parser *p, struct weir_ptx_var **list, size_t count,
                          uint64_t *bytes)
{
    *bytes = 0;
    for (size_t i = 0; i < count; i++) {
        list[i]->index = (uint32_t)i;
        if (list[i]->space == WEIR_PTX_PARAM && !ptx_layout(p, list[i], bytes))
            return false;
    }
    return true;
}

/* (.param .b32 a, .reg .u32 b): names stay undeclared until a body is parsed; "_" is no name. */
static bool parse_param_list(struct ptx_parser *p, enum weir_ptx_role role,
                             struct weir_ptx_var ***out, size_t *count)
{
    WEIR_VEC(struct weir_ptx_var *) list = {0};
    bool ok = true;

    ptx_skip(p);
    *count = 0;
    if (!ptx_expect(p, '('))
        return false;
    if (ptx_accept(p, ')'))
        return true;
    do {
        struct ptx_str s;
        struct ptx_decl d = {0};
        struct weir_ptx_var *v;

        ok = ptx_expect_directive(p, &s, ".param or .reg");
        if (!ok)
            break;
        d.space = ptx_is(s, "param") ? WEIR_PTX_PARAM : WEIR_PTX_REG;
        ok = ptx_is(s, "param") || ptx_is(s, "reg") || ptx_fail(p, ".param or .reg expected");
        v = ok && ptx_parse_decl(p, &d) ? ptx_parse_declarator(p, &d) : NULL;
        if (v)
            v->role = (uint8_t)role;
        ok = v &&
             (list.count < PTX_MAX_PARAMS ||
              ptx_fail(p, "more than %u parameters", PTX_MAX_PARAMS)) &&
             PTX_PUSH(p, &list, v);
    } while (ok && ptx_accept(p, ','));
    ok = ok && ptx_expect(p, ')');
    if (ok) {
        *out = PTX_NEW_ARRAY(p, struct weir_ptx_var *, list.count);
        ok = *out != NULL;
    }
    if (ok) {
        memcpy(*out, list.items, list.count * sizeof **out);
        *count = list.count;
    }
    weir_vec_finish(&list);
    return ok;
}

static bool parse_three(struct ptx_parser *p, uint32_t out[3])
{
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        if (!ptx_expr_u32(p, &out[i], UINT32_MAX, "a dimension"))
            return false;
        if (!ptx_accept(p, ','))
            break;
    }
    return true;
}

bool ptx_parse_pragma(struct ptx_parser *p)
{
    struct ptx_str s;

    do {
        if (!ptx_string(p, &s))
            return false;
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';');
}

/* .maxntid 128, 1, 1 and the like, between the parameters and the body */
static bool parse_performance(struct ptx_parser *p, struct weir_ptx_function *f)
{
    struct ptx_str s;
    uint32_t unused;

    while (ptx_directive(p, &s)) {
        bool ok = true;

        if (ptx_is(s, "maxntid"))
            ok = parse_three(p, f->maxntid);
        else if (ptx_is(s, "reqntid"))
            ok = parse_three(p, f->reqntid);
        else if (ptx_is(s, "minnctapersm"))
            ok = ptx_expr_u32(p, &f->minnctapersm, UINT32_MAX, ".minnctapersm");
        else if (ptx_is(s, "maxnctapersm"))
            ok = ptx_expr_u32(p, &unused, UINT32_MAX, ".maxnctapersm");
        else if (ptx_is(s, "maxnreg"))
            ok = ptx_expr_u32(p, &f->maxnreg, UINT32_MAX, ".maxnreg");
        else if (ptx_is(s, "local_maxnreg"))
            ok = ptx_expr_u32(p, &unused, UINT32_MAX, ".local_maxnreg");
        else if (ptx_is(s, "abi_preserve") || ptx_is(s, "abi_preserve_control"))
            ok = ptx_expr_u32(p, &unused, UINT32_MAX, ".abi_preserve");
        else if (ptx_is(s, "reqnctapercluster"))
            ok = parse_three(p, f->reqnctapercluster);
        else if (ptx_is(s, "maxclusterrank"))
            ok = ptx_expr_u32(p, &f->maxclusterrank, UINT32_MAX, ".maxclusterrank");
        else if (ptx_is(s, "explicitcluster"))
            f->explicit_cluster = true;
        else if (ptx_is(s, "blocksareclusters"))
            f->explicit_cluster = true;
        else if (ptx_is(s, "noreturn"))
            f->noreturn = true;
        else if (ptx_is(s, "unique"))
            ok = true;
        else if (ptx_is(s, "pragma"))
            ok = ptx_parse_pragma(p);
        else if (ptx_is(s, "attribute"))
            ok = ptx_parse_attributes(p, NULL);
        else
            ok = ptx_fail(p, "'.%.*s' before a function's body", (int)WEIR_MIN(s.n, (size_t)60),
                          s.s);
        if (!ok)
            return false;
    }
    return true;
}

static bool declare_param(struct ptx_parser *p, struct weir_ptx_var *v)
{
    struct ptx_decl d = {.type = v->type, .vector = v->vector};

    v->function = p->f;
    if (strcmp(v->name, "_") == 0)
        return true;
    if (v->space == WEIR_PTX_REG) {
        struct ptx_sym *y = ptx_sym_add(p, v->name, strlen(v->name), PTX_SYM_REG, NULL);

        v->reg_index = y ? ptx_add_reg(p, v->name, &d) : -1;
        if (v->reg_index < 0)
            return false;
        y->reg = v->reg_index;
        return true;
    }
    return ptx_sym_add(p, v->name, strlen(v->name), PTX_SYM_VAR, v) != NULL;
}

/* Labels and branches of the scope that is about to close. */
static bool resolve_fixups(struct ptx_parser *p, size_t first)
{
    size_t out = first;

    for (size_t i = first; i < p->fixups.count; i++) {
        struct ptx_fixup *x = &p->fixups.items[i];
        struct ptx_sym *y = ptx_sym_find(p, x->name);

        if (y && y->kind == PTX_SYM_LABEL && y->depth == p->syms.depth) {
            *x->slot = y->ptr;
            (*x->slot)->used = true;
        } else if (p->syms.depth == 1) {
            ptx_fail(p, "label '%.*s' is not defined", (int)WEIR_MIN(x->name.n, (size_t)120),
                     x->name.s);
            if (p->error) {
                p->error->line = x->line;
                p->error->column = x->column;
            }
            return false;
        } else {
            p->fixups.items[out++] = *x;
        }
    }
    p->fixups.count = out;
    return true;
}

/* L1, L2 or L<4>: label names of a .branchtargets list */
static bool parse_label_names(struct ptx_parser *p, struct weir_ptx_table *t)
{
    size_t first = p->fixups.count, n;

    do {
        struct ptx_fixup x = {.line = p->line};
        uint64_t count = 0;

        if (!ptx_ident(p, &x.name, "a label"))
            return false;
        x.column = ptx_column(p, p->tok);
        if (ptx_accept(p, '<')) {
            uint8_t kind;
            int64_t v;

            ptx_skip(p);
            if (!ptx_number(p, &kind, &v) || !ptx_expect(p, '>'))
                return false;
            if (kind != WEIR_PTX_OPERAND_INT || v < 1 || v > (int64_t)PTX_MAX_TABLE)
                return ptx_fail(p, "a number of labels from 1 to %u expected", PTX_MAX_TABLE);
            count = (uint64_t)v;
        }
        if (p->fixups.count - first + count > PTX_MAX_TABLE)
            return ptx_fail(p, "more than %u branch targets", PTX_MAX_TABLE);
        if (!count && !PTX_PUSH(p, &p->fixups, x))
            return false;
        for (uint64_t i = 0; i < count; i++) {
            struct ptx_fixup numbered = x;
            char *name = ptx_new(p, x.name.n + 12);

            if (!name)
                return false;
            numbered.name.n = (size_t)(ptx_write_name(name, x.name, (uint32_t)i) - name) - 1;
            numbered.name.s = name;
            if (!PTX_PUSH(p, &p->fixups, numbered))
                return false;
        }
    } while (ptx_accept(p, ','));
    n = p->fixups.count - first;
    t->labels = PTX_NEW_ARRAY(p, struct weir_ptx_label *, n);
    if (!t->labels)
        return false;
    t->count = n;
    for (size_t i = 0; i < n; i++)
        p->fixups.items[first + i].slot = &t->labels[i];
    return true;
}

static bool parse_branchtargets(struct ptx_parser *p, struct ptx_str name)
{
    struct weir_ptx_table *t = PTX_NEW(p, struct weir_ptx_table);

    if (!t || !(t->name = ptx_copy_str(p, name)))
        return false;
    t->line = p->line;
    return ptx_sym_add(p, t->name, name.n, PTX_SYM_TABLE, t) && parse_label_names(p, t) &&
           ptx_expect(p, ';') && PTX_PUSH(p, &p->tables, t);
}

static bool push_target(struct ptx_parser *p, struct ptx_targets *t, struct ptx_str name,
                        size_t cap)
{
    const struct ptx_sym *y = ptx_sym_find(p, name);

    if (!y || y->kind != PTX_SYM_FUNCTION)
        return ptx_fail(p, "'%.*s' is no function", (int)WEIR_MIN(name.n, (size_t)120), name.s);
    if (t->count == cap)
        return ptx_fail(p, "more than %zu call targets", cap);
    t->functions[t->count++] = y->ptr;
    return true;
}

static bool parse_calltargets(struct ptx_parser *p, struct ptx_str name)
{
    struct ptx_targets *t = PTX_NEW(p, struct ptx_targets);
    const char *copy = ptx_copy_str(p, name);
    size_t cap = p->functions.count; /* each at most once */

    if (t)
        t->name = copy;
    if (!t || !copy || !(t->functions = PTX_NEW_ARRAY(p, struct weir_ptx_function *, cap)))
        return false;
    do {
        struct ptx_str target;

        if (!ptx_ident(p, &target, "a function") || !push_target(p, t, target, cap))
            return false;
    } while (ptx_accept(p, ','));
    return ptx_sym_add(p, copy, name.n, PTX_SYM_TARGETS, t) && ptx_expect(p, ';');
}

/* (.param .b32 _) _ (.param .b64 _) after .callprototype */
static bool parse_callprototype(struct ptx_parser *p, struct ptx_str name)
{
    struct weir_ptx_proto *o = PTX_NEW(p, struct weir_ptx_proto);
    struct weir_ptx_function ignored = {0};
    struct ptx_str word;
    uint64_t bytes;

    if (!o || !(o->name = ptx_copy_str(p, name)))
        return false;
    ptx_skip(p);
    if (*p->pos == '(' && !parse_param_list(p, WEIR_PTX_VAR_PROTO, &o->rets, &o->ret_count))
        return false;
    if (!ptx_ident(p, &word, "'_'"))
        return false;
    ptx_skip(p);
    if (*p->pos == '(' && !parse_param_list(p, WEIR_PTX_VAR_PROTO, &o->params, &o->param_count))
        return false;
    return parse_performance(p, &ignored) && layout_params(p, o->params, o->param_count, &bytes) &&
           layout_params(p, o->rets, o->ret_count, &bytes) &&
           ptx_sym_add(p, o->name, name.n, PTX_SYM_PROTO, o) && ptx_expect(p, ';');
}

static bool add_label(struct ptx_parser *p, struct ptx_str name)
{
    struct weir_ptx_label *l = PTX_NEW(p, struct weir_ptx_label);

    if (!l || !(l->name = ptx_copy_str(p, name)))
        return false;
    l->inst = (uint32_t)p->insts.count;
    return ptx_sym_add(p, l->name, name.n, PTX_SYM_LABEL, l) && PTX_PUSH(p, &p->labels, l);
}

/* After "name:": a list or prototype, or a plain label. */
static bool parse_labelled(struct ptx_parser *p, struct ptx_str name)
{
    struct ptx_str s;
    const char *before;

    ptx_skip(p);
    before = p->pos;
    if (ptx_directive(p, &s)) {
        if (ptx_is(s, "branchtargets"))
            return parse_branchtargets(p, name);
        if (ptx_is(s, "calltargets"))
            return parse_calltargets(p, name);
        if (ptx_is(s, "callprototype"))
            return parse_callprototype(p, name);
        p->pos = before;
    }
    return add_label(p, name);
}

/* .file 1 "a.cu"[, time, size] */
bool ptx_parse_file(struct ptx_parser *p)
{
    uint64_t index = 0, unused;
    struct ptx_str s;
    const char *copy;

    if (!ptx_expr_u64(p, &index, PTX_MAX_FILES, "a file's number") || !ptx_string(p, &s))
        return false;
    copy = ptx_copy_str(p, s);
    if (!copy)
        return false;
    while (p->files.count <= index) {
        if (!PTX_PUSH(p, &p->files, NULL))
            return false;
    }
    p->files.items[index] = copy;
    while (ptx_accept(p, ',')) {
        if (!ptx_expr_u64(p, &unused, UINT64_MAX, "a number"))
            return false;
    }
    return true;
}

/* .loc FILE LINE COLUMN[, function_name LABEL [+ N]][, inlined_at FILE LINE COLUMN] */
bool ptx_parse_loc(struct ptx_parser *p)
{
    uint64_t n[3];

    for (int i = 0; i < 3; i++) {
        uint8_t kind;

        ptx_skip(p);
        if (!ptx_number(p, &kind, (int64_t *)&n[i]))
            return false;
        if (kind != WEIR_PTX_OPERAND_INT || n[i] > INT32_MAX)
            return ptx_fail(p, "a number of .loc is out of range");
    }
    p->loc_file = (int)n[0];
    p->loc_line = (int)n[1];
    while (ptx_accept(p, ',')) {
        struct ptx_str s;

        if (!ptx_ident(p, &s, "function_name or inlined_at"))
            return false;
        if (ptx_is(s, "inlined_at")) {
            for (int i = 0; i < 3; i++) {
                uint8_t kind;

                ptx_skip(p);
                if (!ptx_number(p, &kind, (int64_t *)&n[i]))
                    return false;
            }
            /* A function of another file, a header most often: the caller's line says more. */
            if (n[0] <= INT32_MAX && n[1] <= INT32_MAX && p->loc_file != (int)n[0]) {
                p->loc_file = (int)n[0];
                p->loc_line = (int)n[1];
            }
        } else if (ptx_is(s, "function_name")) {
            if (!ptx_ident(p, &s, "a label"))
                return false;
            if (ptx_accept(p, '+') && !ptx_expr_u64(p, &n[0], UINT64_MAX, "an offset"))
                return false;
        } else {
            return ptx_fail(p, "'%.*s' in .loc", (int)WEIR_MIN(s.n, (size_t)60), s.s);
        }
    }
    return true;
}

/* .section .debug_info { ... }: debug data is not used; sections hold no braces. */
bool ptx_parse_section(struct ptx_parser *p)
{
    struct ptx_str s;

    if (!ptx_expect_directive(p, &s, "a section's name") || !ptx_expect(p, '{'))
        return false;
    for (;;) {
        ptx_skip(p);
        if (*p->pos == '}')
            break;
        if (p->pos >= p->end)
            return ptx_fail(p, "a section without its end");
        p->pos++;
    }
    p->pos++;
    return true;
}

static const struct ptx_linkage no_linkage;

static bool parse_body_directive(struct ptx_parser *p, struct ptx_str s)
{
    if (ptx_is(s, "reg"))
        return ptx_parse_reg(p);
    if (ptx_is(s, "loc"))
        return ptx_parse_loc(p);
    if (ptx_is(s, "param"))
        return ptx_parse_variables(p, WEIR_PTX_PARAM, &no_linkage);
    if (ptx_is(s, "local"))
        return ptx_parse_variables(p, WEIR_PTX_LOCAL, &no_linkage);
    if (ptx_is(s, "shared"))
        return ptx_parse_variables(p, WEIR_PTX_SHARED, &no_linkage);
    if (ptx_is(s, "global"))
        return ptx_parse_variables(p, WEIR_PTX_GLOBAL, &no_linkage);
    if (ptx_is(s, "const"))
        return ptx_parse_variables(p, WEIR_PTX_CONST, &no_linkage);
    if (ptx_is(s, "pragma"))
        return ptx_parse_pragma(p);
    if (ptx_is(s, "file"))
        return ptx_parse_file(p);
    if (ptx_is(s, "section"))
        return ptx_parse_section(p);
    return ptx_fail(p, "'.%.*s' inside a function", (int)WEIR_MIN(s.n, (size_t)60), s.s);
}

/* @%p or @!%p */
static bool parse_guard(struct ptx_parser *p, int32_t *guard, bool *negated)
{
    struct ptx_str name;

    *negated = ptx_accept(p, '!');
    if (!ptx_ident(p, &name, "a predicate"))
        return false;
    *guard = ptx_sym_reg(p, name);
    if (*guard < 0)
        return ptx_fail(p, "'%.*s' is not a register", (int)WEIR_MIN(name.n, (size_t)120), name.s);
    if (p->regs.items[*guard].type != WEIR_PTX_PRED)
        return ptx_fail(p, "the guard '%.*s' is no predicate", (int)WEIR_MIN(name.n, (size_t)120),
                        name.s);
    return true;
}

/* A label or an instruction. */
static bool parse_named_statement(struct ptx_parser *p)
{
    int32_t guard = -1;
    bool negated = false, guarded = *p->pos == '@';
    struct ptx_str s;
    int line = p->line;

    if (guarded) {
        p->pos++;
        if (!parse_guard(p, &guard, &negated))
            return false;
    }
    if (!ptx_ident(p, &s, "an instruction"))
        return false;
    if (!guarded) {
        const char *after = p->pos;

        while (*after == ' ' || *after == '\t')
            after++;
        if (*after == ':') {
            p->pos = after + 1;
            return parse_labelled(p, s);
        }
    }
    line = p->line;
    while (*p->pos == '.' || *p->pos == ':' || ptx_is_ident_char(*p->pos))
        p->pos++;
    s.n = (size_t)(p->pos - s.s);
    return ptx_parse_inst(p, s, guard, negated, line);
}

/* Where an open scope's branches and parameters begin. */
struct scope {
    size_t fixups;
    uint64_t call_frame;
};

static bool open_scope(struct ptx_parser *p, struct scope *scopes)
{
    if (!ptx_scope_open(p))
        return false;
    scopes[p->syms.depth] = (struct scope){p->fixups.count, p->call_frame};
    return true;
}

static bool parse_body(struct ptx_parser *p, struct scope *scopes)
{
    struct ptx_str s;

    for (;;) {
        bool ok = true;

        ptx_skip(p);
        if (*p->pos == '}') {
            const struct scope *c = &scopes[p->syms.depth];

            p->pos++;
            if (!resolve_fixups(p, c->fixups))
                return false;
            if (p->syms.depth == 1)
                return true;
            p->call_frame = c->call_frame;
            ptx_scope_close(p);
        } else if (*p->pos == '{') {
            p->pos++;
            ok = open_scope(p, scopes);
        } else if (*p->pos == ';') {
            p->pos++; /* an empty statement */
        } else if (*p->pos == '@' || ptx_peek_ident(p)) {
            ok = parse_named_statement(p);
        } else if (ptx_directive(p, &s)) {
            ok = parse_body_directive(p, s);
        } else {
            ok = p->pos >= p->end ? ptx_fail(p, "a function without its end")
                                  : ptx_fail(p, "unexpected '%c'", *p->pos >= ' ' ? *p->pos : '?');
        }
        if (!ok)
            return false;
    }
}

/* Moves what was collected for the function into the module. */
static bool store_function(struct ptx_parser *p)
{
    struct weir_ptx_function *f = p->f;

#define STORE(field, count_field, vec)                                                             \
    do {                                                                                           \
        f->field = ptx_new(p, (vec).count * sizeof *(vec).items);                                  \
        if (!f->field)                                                                             \
            return false;                                                                          \
        if ((vec).count)                                                                           \
            memcpy(f->field, (vec).items, (vec).count * sizeof *(vec).items);                      \
        f->count_field = (vec).count;                                                              \
    } while (0)
    STORE(regs, reg_count, p->regs);
    STORE(vars, var_count, p->vars);
    STORE(insts, inst_count, p->insts);
    STORE(labels, label_count, p->labels);
    STORE(tables, table_count, p->tables);
#undef STORE
    return true;
}

static bool parse_definition(struct ptx_parser *p, struct weir_ptx_function *f)
{
    struct scope scopes[PTX_MAX_DEPTH + 1];
    bool ok;

    p->f = f;
    p->regs.count = p->vars.count = p->insts.count = p->labels.count = p->tables.count =
        p->fixups.count = 0;
    p->call_frame = 0;
    p->loc_file = p->loc_line = 0;
    p->pos++; /* the '{' */
    ok = open_scope(p, scopes);
    for (size_t i = 0; ok && i < f->ret_count; i++)
        ok = declare_param(p, f->rets[i]);
    for (size_t i = 0; ok && i < f->param_count; i++)
        ok = declare_param(p, f->params[i]);
    ok = ok && parse_body(p, scopes) && ptx_split_wide(p) && store_function(p);
    while (ok && p->syms.depth > 0)
        ptx_scope_close(p);
    p->f = NULL;
    return ok;
}

static bool same_params(struct weir_ptx_var **a, size_t an, struct weir_ptx_var **b, size_t bn)
{
    if (an != bn)
        return false;
    for (size_t i = 0; i < an; i++) {
        if (a[i]->space != b[i]->space || a[i]->bytes != b[i]->bytes)
            return false;
    }
    return true;
}

/* The function of this name: new, or the one that was declared before. */
static struct weir_ptx_function *find_or_add_function(struct ptx_parser *p,
                                                      struct weir_ptx_function *seen)
{
    struct ptx_str name = {seen->name, strlen(seen->name)};
    const struct ptx_sym *y = ptx_sym_find(p, name);

    if (!y || y->kind != PTX_SYM_FUNCTION) {
        seen->index = (uint32_t)p->functions.count;
        seen->module = p->m;
        if (!ptx_sym_add(p, seen->name, name.n, PTX_SYM_FUNCTION, seen) ||
            !PTX_PUSH(p, &p->functions, seen) || !ptx_add_symbol(p, seen->name, NULL, seen))
            return NULL;
        return seen;
    }
    return y->ptr;
}

/* `seen` is a second declaration or the definition of f: same signature? Then f takes what the
 * newer one says. */
static bool redeclare(struct ptx_parser *p, struct weir_ptx_function *f,
                      struct weir_ptx_function *seen, bool defines)
{
    if (f == seen)
        return true;
    if (defines && !f->is_extern)
        return ptx_fail(p, "function '%.100s' is defined twice", f->name);
    if (f->is_entry != seen->is_entry ||
        !same_params(f->params, f->param_count, seen->params, seen->param_count) ||
        !same_params(f->rets, f->ret_count, seen->rets, seen->ret_count))
        return ptx_fail(p, "function '%.100s' was declared differently before", f->name);
    f->is_visible |= seen->is_visible;
    f->is_weak |= seen->is_weak;
    f->noreturn |= seen->noreturn;
    if (!defines)
        return true;
    seen->index = f->index;
    seen->module = f->module;
    seen->is_visible = f->is_visible;
    seen->is_weak = f->is_weak;
    seen->noreturn = f->noreturn;
    *f = *seen;
    return true;
}

bool ptx_parse_function(struct ptx_parser *p, bool is_entry, const struct ptx_linkage *l)
{
    struct weir_ptx_function *seen = PTX_NEW(p, struct weir_ptx_function), *f;
    struct ptx_str name, s;
    uint64_t bytes;
    bool defines;

    if (!seen)
        return false;
    while (ptx_directive(p, &s)) { /* .func .attribute(...) */
        if (!ptx_is(s, "attribute"))
            return ptx_fail(p, "'.%.*s' after .func", (int)WEIR_MIN(s.n, (size_t)60), s.s);
        if (!ptx_parse_attributes(p, NULL))
            return false;
    }
    if (!is_entry && *p->pos == '(' &&
        !parse_param_list(p, WEIR_PTX_VAR_RET, &seen->rets, &seen->ret_count))
        return false;
    if (!ptx_ident(p, &name, "a function's name"))
        return false;
    seen->line = p->line;
    seen->name = ptx_copy_str(p, name);
    seen->is_entry = is_entry;
    seen->is_visible = l->is_visible;
    seen->is_weak = l->is_weak;
    seen->is_extern = true;
    ptx_skip(p);
    if (!seen->name ||
        (*p->pos == '(' &&
         !parse_param_list(p, WEIR_PTX_VAR_PARAM, &seen->params, &seen->param_count)) ||
        !layout_params(p, seen->rets, seen->ret_count, &bytes) ||
        !layout_params(p, seen->params, seen->param_count, &bytes) || !parse_performance(p, seen))
        return false;
    seen->param_bytes = (uint32_t)bytes;
    ptx_skip(p);
    defines = *p->pos == '{';
    f = find_or_add_function(p, seen);
    if (!f || !redeclare(p, f, seen, defines))
        return false;
    for (size_t i = 0; i < f->param_count; i++)
        f->params[i]->function = f;
    for (size_t i = 0; i < f->ret_count; i++)
        f->rets[i]->function = f;
    if (!defines)
        return ptx_expect(p, ';');
    f->is_extern = false;
    return parse_definition(p, f);
}
