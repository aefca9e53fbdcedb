/* Module, directives, declarations and function bodies. Entry: weir_ptx_parse.
 * SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ptx/ptx_int.h"

#define MAX_DIMS 8

/* .extern .visible .weak .common, before a declaration */
struct linkage {
    bool is_extern, is_visible, is_weak, is_common;
};

/* Everything between the state space and the names of a declaration. */
struct decl {
    enum weir_ptx_space space;
    enum weir_ptx_type type;
    uint32_t align;
    uint8_t vector;
    bool is_managed, is_ptr;
    uint8_t ptr_space;
    uint32_t ptr_align;
};

static bool expect_directive(struct ptx_parser *p, struct ptx_str *s, const char *what)
{
    return ptx_directive(p, s) || ptx_fail(p, "%s expected", what);
}

static bool expect_semicolon(struct ptx_parser *p)
{
    return ptx_expect(p, ';');
}

static bool parse_uint(struct ptx_parser *p, uint64_t *out, uint64_t limit, const char *what)
{
    int64_t v = 0;

    if (!ptx_expr_int(p, &v, what))
        return false;
    if ((uint64_t)v > limit)
        return ptx_fail(p, "%s is out of range", what);
    *out = (uint64_t)v;
    return true;
}

static bool parse_uint32(struct ptx_parser *p, uint32_t *out, uint64_t limit, const char *what)
{
    uint64_t v = 0;

    if (!parse_uint(p, &v, limit, what))
        return false;
    *out = (uint32_t)v;
    return true;
}

/* ---- declarations of variables ---- */

static bool parse_align(struct ptx_parser *p, uint32_t *out)
{
    if (!parse_uint32(p, out, 1u << 16, "an alignment"))
        return false;
    if (*out == 0 || (*out & (*out - 1)) != 0)
        return ptx_fail(p, "an alignment must be a power of two");
    return true;
}

/* (.managed), (.unified(a, b)) ... after .attribute; is_managed may be NULL */
static bool parse_attributes(struct ptx_parser *p, bool *is_managed)
{
    struct ptx_str s;

    if (!ptx_expect(p, '('))
        return false;
    do {
        if (!expect_directive(p, &s, "an attribute"))
            return false;
        if (ptx_is(s, "managed") && is_managed)
            *is_managed = true;
        if (ptx_accept(p, '(')) {
            int64_t unused;

            do {
                if (!ptx_expr_int(p, &unused, "an attribute's value"))
                    return false;
            } while (ptx_accept(p, ','));
            if (!ptx_expect(p, ')'))
                return false;
        }
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ')');
}

/* .ptr .global .align 8 of a kernel's parameter */
static bool parse_ptr(struct ptx_parser *p, struct decl *d, struct ptx_str *s, bool *have)
{
    d->is_ptr = true;
    d->ptr_space = WEIR_PTX_GENERIC;
    while ((*have = ptx_directive(p, s))) {
        if (ptx_is(*s, "global"))
            d->ptr_space = WEIR_PTX_GLOBAL;
        else if (ptx_is(*s, "const"))
            d->ptr_space = WEIR_PTX_CONST;
        else if (ptx_is(*s, "shared"))
            d->ptr_space = WEIR_PTX_SHARED;
        else if (ptx_is(*s, "local"))
            d->ptr_space = WEIR_PTX_LOCAL;
        else if (!ptx_is(*s, "align"))
            break;
        else if (!parse_align(p, &d->ptr_align))
            return false;
    }
    return true;
}

/* .align 8 .attribute(...) .v4 .b32 ... up to the name */
static bool parse_decl(struct ptx_parser *p, struct decl *d)
{
    struct ptx_str s;
    bool have = ptx_directive(p, &s);

    for (; have; have = ptx_directive(p, &s)) {
        enum weir_ptx_type t;

    again:
        if (ptx_is(s, "align")) {
            if (!parse_align(p, &d->align))
                return false;
        } else if (ptx_is(s, "attribute")) {
            if (!parse_attributes(p, &d->is_managed))
                return false;
        } else if (ptx_is(s, "ptr") && d->space == WEIR_PTX_PARAM) {
            if (!parse_ptr(p, d, &s, &have))
                return false;
            if (have)
                goto again;
            break;
        } else if (s.n == 2 && s.s[0] == 'v' && (s.s[1] == '2' || s.s[1] == '4' || s.s[1] == '8')) {
            d->vector = (uint8_t)(s.s[1] - '0');
        } else if ((t = ptx_type_by_name(s)) != WEIR_PTX_NONE && d->type == WEIR_PTX_NONE) {
            d->type = t;
        } else {
            return ptx_fail(p, "'.%.*s' in a declaration", (int)WEIR_MIN(s.n, (size_t)60), s.s);
        }
    }
    if (d->type == WEIR_PTX_NONE)
        return ptx_fail(p, "a type expected");
    if (d->type == WEIR_PTX_PRED && d->space != WEIR_PTX_REG)
        return ptx_fail(p, "predicates live in registers only");
    return true;
}

static bool parse_dims(struct ptx_parser *p, uint64_t dims[MAX_DIMS], unsigned *count)
{
    *count = 0;
    while (ptx_accept(p, '[')) {
        if (*count == MAX_DIMS)
            return ptx_fail(p, "more than %d dimensions", MAX_DIMS);
        dims[*count] = 0;
        ptx_skip(p);
        if (*p->pos == ']') {
            if (*count != 0)
                return ptx_fail(p, "only the first dimension may be left open");
        } else {
            if (!parse_uint(p, &dims[*count], PTX_MAX_VAR_BYTES, "an array's size"))
                return false;
            if (dims[*count] == 0)
                return ptx_fail(p, "an array of no elements");
        }
        (*count)++;
        if (!ptx_expect(p, ']'))
            return false;
    }
    return true;
}

static bool compute_size(struct ptx_parser *p, struct weir_ptx_var *v, const uint64_t *dims, unsigned dim_count)
{
    uint64_t element = weir_ptx_type_bits(v->type) / 8 * (v->vector ? v->vector : 1u), n = 1;

    for (unsigned i = 0; i < dim_count; i++) {
        if (dims[i] && n > PTX_MAX_VAR_BYTES / dims[i])
            return ptx_fail(p, "'%.100s' is too large", v->name);
        n *= dims[i];
    }
    if (n > PTX_MAX_VAR_BYTES / element)
        return ptx_fail(p, "'%.100s' is too large", v->name);
    v->count = n;
    v->bytes = n * element;
    if (v->align == 0)
        v->align = (uint32_t)element; /* natural alignment: a power of two for every type and vector */
    return true;
}

/* One name of a declaration, with its array part and initial value. */
static struct weir_ptx_var *parse_declarator(struct ptx_parser *p, const struct decl *d)
{
    struct weir_ptx_var *v = PTX_NEW(p, struct weir_ptx_var);
    struct ptx_str name;
    uint64_t dims[MAX_DIMS + 1];
    unsigned dim_count;

    if (!v || !ptx_ident(p, &name, "a name"))
        return NULL;
    v->name = ptx_copy_str(p, name);
    v->line = p->line;
    v->space = d->space;
    v->type = d->type;
    v->align = d->align;
    v->vector = d->vector;
    v->is_managed = d->is_managed;
    v->is_ptr = d->is_ptr;
    v->ptr_space = d->ptr_space;
    v->ptr_align = d->ptr_align;
    v->reg_index = -1;
    if (!v->name || !parse_dims(p, dims, &dim_count) || !compute_size(p, v, dims, dim_count))
        return NULL;
    if (ptx_accept(p, '=')) {
        if (d->space != WEIR_PTX_GLOBAL && d->space != WEIR_PTX_CONST) {
            ptx_fail(p, "only .global and .const variables have initial values");
            return NULL;
        }
        if (v->vector)
            dims[dim_count++] = v->vector;
        if (!ptx_parse_init(p, v, dims, dim_count))
            return NULL;
    }
    return v;
}

static bool layout(struct ptx_parser *p, struct weir_ptx_var *v, uint64_t *total)
{
    uint64_t at = WEIR_ALIGN_UP(*total, (uint64_t)v->align);

    if (v->bytes > PTX_MAX_LOCAL || at + v->bytes > PTX_MAX_LOCAL)
        return ptx_fail(p, "more than %llu bytes of .%s memory", (unsigned long long)PTX_MAX_LOCAL,
                        ptx_space_name(v->space));
    v->offset = at;
    *total = at + v->bytes;
    return true;
}

static void take_linkage(struct weir_ptx_var *v, const struct linkage *l)
{
    v->is_extern = l->is_extern;
    v->is_visible = l->is_visible;
    v->is_weak = l->is_weak;
    v->is_common = l->is_common;
}

/* `.extern .global x;` and the definition later are one variable: true when v was merged into an older one. */
static bool merge_module_var(struct ptx_parser *p, struct weir_ptx_var *v, bool *merged)
{
    const struct ptx_sym *y = ptx_sym_find(p, (struct ptx_str){v->name, strlen(v->name)});
    struct weir_ptx_var *old = y && y->kind == PTX_SYM_VAR && y->depth == 0 ? y->ptr : NULL;
    uint32_t index;

    *merged = false;
    if (!old || (!old->is_extern && !v->is_extern))
        return true; /* new, or a redefinition that ptx_sym_add refuses */
    if (old->space != v->space || old->type != v->type || (old->bytes && v->bytes && old->bytes != v->bytes))
        return ptx_fail(p, "'%.100s' was declared differently before", v->name);
    *merged = true;
    if (v->is_extern)
        return true;
    index = old->index;
    *old = *v;
    old->index = index;
    return true;
}

static bool add_symbol(struct ptx_parser *p, const char *name, struct weir_ptx_var *v, struct weir_ptx_function *f)
{
    struct weir_ptx_symbol *y = PTX_NEW(p, struct weir_ptx_symbol);

    if (!y)
        return false;
    y->var = v;
    y->function = f;
    return weir_strmap_put(&p->m->symbols, name, strlen(name), y) || ptx_fail_memory(p);
}

static bool add_module_var(struct ptx_parser *p, struct weir_ptx_var *v)
{
    bool merged;

    v->role = WEIR_PTX_VAR_MODULE;
    if (!p->f && !merge_module_var(p, v, &merged))
        return false;
    if (!p->f && merged)
        return true;
    v->index = (uint32_t)p->module_vars.count;
    if (!ptx_sym_add(p, v->name, strlen(v->name), PTX_SYM_VAR, v) || !PTX_PUSH(p, &p->module_vars, v))
        return false;
    return p->f || add_symbol(p, v->name, v, NULL);
}

/* Declared inside a body. .global and .const there belong to the module under a name that only this scope sees. */
static bool add_body_var(struct ptx_parser *p, struct weir_ptx_var *v)
{
    uint64_t *total = v->space == WEIR_PTX_LOCAL    ? &p->f->local_bytes
                      : v->space == WEIR_PTX_SHARED ? &p->f->shared_bytes
                                                    : &p->call_frame;

    if (v->space == WEIR_PTX_GLOBAL || v->space == WEIR_PTX_CONST)
        return add_module_var(p, v);
    v->role = WEIR_PTX_VAR_BODY;
    v->function = p->f;
    v->index = (uint32_t)p->vars.count;
    if (!layout(p, v, total))
        return false;
    p->f->call_param_bytes = WEIR_MAX(p->f->call_param_bytes, p->call_frame);
    return ptx_sym_add(p, v->name, strlen(v->name), PTX_SYM_VAR, v) && PTX_PUSH(p, &p->vars, v);
}

static bool parse_variables(struct ptx_parser *p, enum weir_ptx_space space, const struct linkage *l)
{
    struct decl d = {.space = space};

    if (!parse_decl(p, &d))
        return false;
    do {
        struct weir_ptx_var *v = parse_declarator(p, &d);

        if (!v)
            return false;
        take_linkage(v, l);
        if (v->bytes == 0 && !v->is_extern && v->space != WEIR_PTX_PARAM)
            return ptx_fail(p, "'%.100s' has no size", v->name);
        if (p->f ? !add_body_var(p, v) : !add_module_var(p, v))
            return false;
    } while (ptx_accept(p, ','));
    return expect_semicolon(p);
}

/* ---- registers ---- */

static int32_t add_reg(struct ptx_parser *p, const char *name, const struct decl *d)
{
    struct weir_ptx_reg r = {name, d->type, d->vector};

    if (p->regs.count >= PTX_MAX_REGS) {
        ptx_fail(p, "more than %u registers in a function", PTX_MAX_REGS);
        return -1;
    }
    return PTX_PUSH(p, &p->regs, r) ? (int32_t)p->regs.count - 1 : -1;
}

/* Writes prefix and number, returns the end of the zero-terminated text. */
static char *write_name(char *s, struct ptx_str prefix, uint32_t number)
{
    char digits[10];
    unsigned n = 0;

    memcpy(s, prefix.s, prefix.n);
    s += prefix.n;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    while (n)
        *s++ = digits[--n];
    *s++ = 0;
    return s;
}

/* %r<100>: all names in one block */
static bool add_reg_range(struct ptx_parser *p, struct ptx_str prefix, uint32_t count, const struct decl *d)
{
    const char *copy = ptx_copy_str(p, prefix);
    struct ptx_sym *y;
    char *names;

    if (!copy || prefix.n > 4096 || count > PTX_MAX_REGS - p->regs.count)
        return copy ? ptx_fail(p, "more than %u registers in a function", PTX_MAX_REGS) : false;
    y = ptx_sym_add(p, copy, prefix.n, PTX_SYM_REG_RANGE, NULL);
    if (!y)
        return false;
    y->reg = (int32_t)p->regs.count;
    y->range = count;
    if (!weir_vec_reserve(&p->regs, p->regs.count + count))
        return ptx_fail_memory(p);
    names = ptx_new(p, (size_t)count * (prefix.n + 8));
    if (!names)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        p->regs.items[p->regs.count++] = (struct weir_ptx_reg){names, d->type, d->vector};
        names = write_name(names, prefix, i);
    }
    return true;
}

static bool parse_reg(struct ptx_parser *p)
{
    struct decl d = {.space = WEIR_PTX_REG};

    if (!parse_decl(p, &d))
        return false;
    if (d.type == WEIR_PTX_OPAQUE)
        return ptx_fail(p, "a register cannot have this type");
    do {
        struct ptx_str name;
        uint32_t count;
        const char *copy;
        struct ptx_sym *y;

        if (!ptx_ident(p, &name, "a register's name"))
            return false;
        if (ptx_accept(p, '<')) {
            /* Not an expression: '>' ends it. */
            uint8_t kind;
            int64_t v;

            ptx_skip(p);
            if (!ptx_number(p, &kind, &v))
                return false;
            if (kind != WEIR_PTX_OPERAND_INT || v < 1 || v > PTX_MAX_REGS)
                return ptx_fail(p, "a number of registers from 1 to %u expected", PTX_MAX_REGS);
            count = (uint32_t)v;
            if (!ptx_expect(p, '>') || !add_reg_range(p, name, count, &d))
                return false;
            continue;
        }
        copy = ptx_copy_str(p, name);
        y = copy ? ptx_sym_add(p, copy, name.n, PTX_SYM_REG, NULL) : NULL;
        if (!y || (y->reg = add_reg(p, copy, &d)) < 0)
            return false;
    } while (ptx_accept(p, ','));
    return expect_semicolon(p);
}

/* ---- functions ---- */

static bool layout_params(struct ptx_parser *p, struct weir_ptx_var **list, size_t count, uint64_t *bytes)
{
    *bytes = 0;
    for (size_t i = 0; i < count; i++) {
        list[i]->index = (uint32_t)i;
        if (list[i]->space == WEIR_PTX_PARAM && !layout(p, list[i], bytes))
            return false;
    }
    return true;
}

/* (.param .b32 a, .reg .u32 b): names stay undeclared until a body is parsed; "_" is no name. */
static bool parse_param_list(struct ptx_parser *p, enum weir_ptx_role role, struct weir_ptx_var ***out, size_t *count)
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
        struct decl d = {0};
        struct weir_ptx_var *v;

        ok = expect_directive(p, &s, ".param or .reg");
        if (!ok)
            break;
        d.space = ptx_is(s, "param") ? WEIR_PTX_PARAM : WEIR_PTX_REG;
        ok = ptx_is(s, "param") || ptx_is(s, "reg") || ptx_fail(p, ".param or .reg expected");
        v = ok && parse_decl(p, &d) ? parse_declarator(p, &d) : NULL;
        if (v)
            v->role = (uint8_t)role;
        ok = v && (list.count < PTX_MAX_PARAMS || ptx_fail(p, "more than %u parameters", PTX_MAX_PARAMS)) &&
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
        if (!parse_uint32(p, &out[i], UINT32_MAX, "a dimension"))
            return false;
        if (!ptx_accept(p, ','))
            break;
    }
    return true;
}

static bool parse_pragma(struct ptx_parser *p)
{
    struct ptx_str s;

    do {
        if (!ptx_string(p, &s))
            return false;
    } while (ptx_accept(p, ','));
    return expect_semicolon(p);
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
            ok = parse_uint32(p, &f->minnctapersm, UINT32_MAX, ".minnctapersm");
        else if (ptx_is(s, "maxnctapersm"))
            ok = parse_uint32(p, &unused, UINT32_MAX, ".maxnctapersm");
        else if (ptx_is(s, "maxnreg"))
            ok = parse_uint32(p, &f->maxnreg, UINT32_MAX, ".maxnreg");
        else if (ptx_is(s, "local_maxnreg"))
            ok = parse_uint32(p, &unused, UINT32_MAX, ".local_maxnreg");
        else if (ptx_is(s, "abi_preserve") || ptx_is(s, "abi_preserve_control"))
            ok = parse_uint32(p, &unused, UINT32_MAX, ".abi_preserve");
        else if (ptx_is(s, "reqnctapercluster"))
            ok = parse_three(p, f->reqnctapercluster);
        else if (ptx_is(s, "maxclusterrank"))
            ok = parse_uint32(p, &f->maxclusterrank, UINT32_MAX, ".maxclusterrank");
        else if (ptx_is(s, "explicitcluster"))
            f->explicit_cluster = true;
        else if (ptx_is(s, "blocksareclusters"))
            f->explicit_cluster = true;
        else if (ptx_is(s, "noreturn"))
            f->noreturn = true;
        else if (ptx_is(s, "unique"))
            ok = true;
        else if (ptx_is(s, "pragma"))
            ok = parse_pragma(p);
        else if (ptx_is(s, "attribute"))
            ok = parse_attributes(p, NULL);
        else
            ok = ptx_fail(p, "'.%.*s' before a function's body", (int)WEIR_MIN(s.n, (size_t)60), s.s);
        if (!ok)
            return false;
    }
    return true;
}

static bool declare_param(struct ptx_parser *p, struct weir_ptx_var *v)
{
    struct decl d = {.type = v->type, .vector = v->vector};

    v->function = p->f;
    if (strcmp(v->name, "_") == 0)
        return true;
    if (v->space == WEIR_PTX_REG) {
        struct ptx_sym *y = ptx_sym_add(p, v->name, strlen(v->name), PTX_SYM_REG, NULL);

        v->reg_index = y ? add_reg(p, v->name, &d) : -1;
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
            ptx_fail(p, "label '%.*s' is not defined", (int)WEIR_MIN(x->name.n, (size_t)120), x->name.s);
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
            numbered.name.n = (size_t)(write_name(name, x.name, (uint32_t)i) - name) - 1;
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
    return ptx_sym_add(p, t->name, name.n, PTX_SYM_TABLE, t) && parse_label_names(p, t) && expect_semicolon(p) &&
           PTX_PUSH(p, &p->tables, t);
}

static bool push_target(struct ptx_parser *p, struct ptx_targets *t, struct ptx_str name, size_t cap)
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
    return ptx_sym_add(p, copy, name.n, PTX_SYM_TARGETS, t) && expect_semicolon(p);
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
           ptx_sym_add(p, o->name, name.n, PTX_SYM_PROTO, o) && expect_semicolon(p);
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
static bool parse_file(struct ptx_parser *p)
{
    uint64_t index = 0, unused;
    struct ptx_str s;
    const char *copy;

    if (!parse_uint(p, &index, PTX_MAX_FILES, "a file's number") || !ptx_string(p, &s))
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
        if (!parse_uint(p, &unused, UINT64_MAX, "a number"))
            return false;
    }
    return true;
}

/* .loc FILE LINE COLUMN[, function_name LABEL [+ N]][, inlined_at FILE LINE COLUMN] */
static bool parse_loc(struct ptx_parser *p)
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
        } else if (ptx_is(s, "function_name")) {
            if (!ptx_ident(p, &s, "a label"))
                return false;
            if (ptx_accept(p, '+') && !parse_uint(p, &n[0], UINT64_MAX, "an offset"))
                return false;
        } else {
            return ptx_fail(p, "'%.*s' in .loc", (int)WEIR_MIN(s.n, (size_t)60), s.s);
        }
    }
    return true;
}

/* .section .debug_info { ... }: debug data is not used; sections hold no braces. */
static bool parse_section(struct ptx_parser *p)
{
    struct ptx_str s;

    if (!expect_directive(p, &s, "a section's name") || !ptx_expect(p, '{'))
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

static const struct linkage no_linkage;

static bool parse_body_directive(struct ptx_parser *p, struct ptx_str s)
{
    if (ptx_is(s, "reg"))
        return parse_reg(p);
    if (ptx_is(s, "loc"))
        return parse_loc(p);
    if (ptx_is(s, "param"))
        return parse_variables(p, WEIR_PTX_PARAM, &no_linkage);
    if (ptx_is(s, "local"))
        return parse_variables(p, WEIR_PTX_LOCAL, &no_linkage);
    if (ptx_is(s, "shared"))
        return parse_variables(p, WEIR_PTX_SHARED, &no_linkage);
    if (ptx_is(s, "global"))
        return parse_variables(p, WEIR_PTX_GLOBAL, &no_linkage);
    if (ptx_is(s, "const"))
        return parse_variables(p, WEIR_PTX_CONST, &no_linkage);
    if (ptx_is(s, "pragma"))
        return parse_pragma(p);
    if (ptx_is(s, "file"))
        return parse_file(p);
    if (ptx_is(s, "section"))
        return parse_section(p);
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
        return ptx_fail(p, "the guard '%.*s' is no predicate", (int)WEIR_MIN(name.n, (size_t)120), name.s);
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

#define STORE(field, count_field, vec)                                                              \
    do {                                                                                            \
        f->field = ptx_new(p, (vec).count * sizeof *(vec).items);                                   \
        if (!f->field)                                                                              \
            return false;                                                                           \
        if ((vec).count)                                                                            \
            memcpy(f->field, (vec).items, (vec).count * sizeof *(vec).items);                       \
        f->count_field = (vec).count;                                                               \
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
    p->regs.count = p->vars.count = p->insts.count = p->labels.count = p->tables.count = p->fixups.count = 0;
    p->call_frame = 0;
    p->loc_file = p->loc_line = 0;
    p->pos++; /* the '{' */
    ok = open_scope(p, scopes);
    for (size_t i = 0; ok && i < f->ret_count; i++)
        ok = declare_param(p, f->rets[i]);
    for (size_t i = 0; ok && i < f->param_count; i++)
        ok = declare_param(p, f->params[i]);
    ok = ok && parse_body(p, scopes) && store_function(p);
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
static struct weir_ptx_function *find_or_add_function(struct ptx_parser *p, struct weir_ptx_function *seen)
{
    struct ptx_str name = {seen->name, strlen(seen->name)};
    const struct ptx_sym *y = ptx_sym_find(p, name);

    if (!y || y->kind != PTX_SYM_FUNCTION) {
        seen->index = (uint32_t)p->functions.count;
        seen->module = p->m;
        if (!ptx_sym_add(p, seen->name, name.n, PTX_SYM_FUNCTION, seen) || !PTX_PUSH(p, &p->functions, seen) ||
            !add_symbol(p, seen->name, NULL, seen))
            return NULL;
        return seen;
    }
    return y->ptr;
}

/* `seen` is a second declaration or the definition of f: same signature? Then f takes what the newer one says. */
static bool redeclare(struct ptx_parser *p, struct weir_ptx_function *f, struct weir_ptx_function *seen, bool defines)
{
    if (f == seen)
        return true;
    if (defines && !f->is_extern)
        return ptx_fail(p, "function '%.100s' is defined twice", f->name);
    if (f->is_entry != seen->is_entry || !same_params(f->params, f->param_count, seen->params, seen->param_count) ||
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

static bool parse_function(struct ptx_parser *p, bool is_entry, const struct linkage *l)
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
        if (!parse_attributes(p, NULL))
            return false;
    }
    if (!is_entry && *p->pos == '(' && !parse_param_list(p, WEIR_PTX_VAR_RET, &seen->rets, &seen->ret_count))
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
        (*p->pos == '(' && !parse_param_list(p, WEIR_PTX_VAR_PARAM, &seen->params, &seen->param_count)) ||
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
        return expect_semicolon(p);
    f->is_extern = false;
    return parse_definition(p, f);
}

/* ---- module ---- */

static bool parse_version(struct ptx_parser *p)
{
    unsigned major = 0, minor = 0;

    ptx_skip(p);
    while (*p->pos >= '0' && *p->pos <= '9' && major < 1000)
        major = major * 10 + (unsigned)(*p->pos++ - '0');
    if (*p->pos != '.')
        return ptx_fail(p, "a version such as 8.0 expected");
    for (p->pos++; *p->pos >= '0' && *p->pos <= '9' && minor < 1000; p->pos++)
        minor = minor * 10 + (unsigned)(*p->pos - '0');
    if (major < 1 || minor > 9 || ptx_is_ident_char(*p->pos))
        return ptx_fail(p, "a version such as 8.0 expected");
    if (major > 9)
        return ptx_fail_code(p, WEIR_ERR_UNSUPPORTED_PTX_VERSION, "PTX version %u.%u is newer than 9.x", major, minor);
    p->m->version = (int)(10 * major + minor);
    p->saw_version = true;
    return true;
}

static bool parse_target(struct ptx_parser *p)
{
    struct ptx_str s;

    do {
        if (!ptx_ident(p, &s, "a target"))
            return false;
        if (s.n > 3 && strncmp(s.s, "sm_", 3) == 0) {
            size_t i = 3;
            int sm = 0;

            for (; i < s.n && s.s[i] >= '0' && s.s[i] <= '9' && sm < 10000; i++)
                sm = sm * 10 + (s.s[i] - '0');
            if (i == 3 || i + 1 < s.n || (i < s.n && s.s[i] != 'a' && s.s[i] != 'f'))
                return ptx_fail(p, "unknown target '%.*s'", (int)WEIR_MIN(s.n, (size_t)60), s.s);
            p->m->target_sm = sm;
            p->m->target_suffix = i < s.n ? s.s[i] : 0;
            p->saw_target = true;
        } else if (ptx_is(s, "debug")) {
            p->m->debug = true;
        } else if (!ptx_is(s, "texmode_unified") && !ptx_is(s, "texmode_independent") &&
                   !ptx_is(s, "map_f64_to_f32")) {
            return ptx_fail(p, "unknown target '%.*s'", (int)WEIR_MIN(s.n, (size_t)60), s.s);
        }
    } while (ptx_accept(p, ','));
    return true;
}

static bool parse_address_size(struct ptx_parser *p)
{
    uint64_t bits = 0;

    if (!parse_uint(p, &bits, 64, ".address_size"))
        return false;
    if (bits == 32)
        return ptx_fail(p, "32-bit addresses are not supported");
    if (bits != 64)
        return ptx_fail(p, ".address_size must be 64");
    return true;
}

/* .alias a, b;  every use of a becomes one of b when the module is complete. */
static bool parse_alias(struct ptx_parser *p)
{
    struct weir_ptx_function *f[2];

    for (int i = 0; i < 2; i++) {
        struct ptx_str name;
        const struct ptx_sym *y;

        if (i && !ptx_expect(p, ','))
            return false;
        if (!ptx_ident(p, &name, "a function"))
            return false;
        y = ptx_sym_find(p, name);
        if (!y || y->kind != PTX_SYM_FUNCTION)
            return ptx_fail(p, "'%.*s' is no function", (int)WEIR_MIN(name.n, (size_t)120), name.s);
        f[i] = y->ptr;
    }
    if (!f[0]->is_extern || f[1]->is_extern || f[0]->is_entry || f[1]->is_entry)
        return ptx_fail(p, ".alias needs a declared and a defined .func");
    f[0]->alias_of = f[1];
    p->any_alias = true;
    return expect_semicolon(p);
}

static bool space_by_name(struct ptx_str s, enum weir_ptx_space *out)
{
    static const struct {
        const char *name;
        enum weir_ptx_space space;
    } spaces[] = {{"global", WEIR_PTX_GLOBAL}, {"const", WEIR_PTX_CONST}, {"shared", WEIR_PTX_SHARED},
                  {"local", WEIR_PTX_LOCAL}, {"tex", WEIR_PTX_TEX}};

    for (size_t i = 0; i < WEIR_ARRAY_SIZE(spaces); i++) {
        if (ptx_is(s, spaces[i].name)) {
            *out = spaces[i].space;
            return true;
        }
    }
    return false;
}

/* A declaration with its linkage words. */
static bool parse_linked(struct ptx_parser *p, struct ptx_str s)
{
    struct linkage l = {0};
    enum weir_ptx_space space;

    for (;;) {
        if (ptx_is(s, "extern"))
            l.is_extern = true;
        else if (ptx_is(s, "visible"))
            l.is_visible = true;
        else if (ptx_is(s, "weak"))
            l.is_weak = true;
        else if (ptx_is(s, "common"))
            l.is_common = true;
        else
            break;
        if (!expect_directive(p, &s, "a declaration"))
            return false;
    }
    if (ptx_is(s, "entry") || ptx_is(s, "func"))
        return parse_function(p, s.s[0] == 'e', &l);
    if (space_by_name(s, &space))
        return parse_variables(p, space, &l);
    return ptx_fail(p, "unknown directive '.%.*s'", (int)WEIR_MIN(s.n, (size_t)60), s.s);
}

static bool parse_module_directive(struct ptx_parser *p, struct ptx_str s)
{
    if (ptx_is(s, "version"))
        return parse_version(p);
    if (!p->saw_version)
        return ptx_fail(p, "a module begins with .version");
    if (ptx_is(s, "target"))
        return parse_target(p);
    if (ptx_is(s, "address_size"))
        return parse_address_size(p);
    if (ptx_is(s, "file"))
        return parse_file(p);
    if (ptx_is(s, "loc"))
        return parse_loc(p);
    if (ptx_is(s, "section"))
        return parse_section(p);
    if (ptx_is(s, "pragma"))
        return parse_pragma(p);
    if (ptx_is(s, "alias"))
        return parse_alias(p);
    if (!p->saw_target)
        return ptx_fail(p, ".target must stand before declarations");
    return parse_linked(p, s);
}

static struct weir_ptx_function *unalias(struct weir_ptx_function *f)
{
    return f && f->alias_of ? f->alias_of : f;
}

static void unalias_operand(struct weir_ptx_operand *o)
{
    o->function = unalias(o->function);
}

static void apply_aliases(struct ptx_parser *p)
{
    for (size_t k = 0; k < p->functions.count; k++) {
        struct weir_ptx_function *f = p->functions.items[k];

        for (size_t i = 0; i < f->inst_count; i++) {
            struct weir_ptx_inst *x = &f->insts[i];

            for (unsigned n = 0; n < x->operand_count; n++)
                unalias_operand(&x->operands[n]);
            if (!x->call)
                continue;
            x->call->callee = unalias(x->call->callee);
            unalias_operand(&x->call->target);
            for (size_t n = 0; n < x->call->target_count; n++)
                x->call->targets[n] = unalias(x->call->targets[n]);
        }
    }
    for (size_t i = 0; i < p->init_refs.count; i++)
        p->init_refs.items[i].reloc->function = unalias(p->init_refs.items[i].reloc->function);
}

static bool store_module(struct ptx_parser *p)
{
    struct weir_ptx_module *m = p->m;

    m->vars = PTX_NEW_ARRAY(p, struct weir_ptx_var *, p->module_vars.count);
    m->functions = PTX_NEW_ARRAY(p, struct weir_ptx_function *, p->functions.count);
    m->files = PTX_NEW_ARRAY(p, const char *, p->files.count);
    if (!m->vars || !m->functions || !m->files)
        return false;
    m->var_count = p->module_vars.count;
    m->function_count = p->functions.count;
    m->file_count = p->files.count;
    for (size_t i = 0; i < m->var_count; i++) {
        struct weir_ptx_var *v = m->vars[i] = p->module_vars.items[i];

        if (v->space == WEIR_PTX_SHARED && !layout(p, v, &m->shared_bytes))
            return false;
    }
    for (size_t i = 0; i < m->function_count; i++)
        m->functions[i] = p->functions.items[i];
    for (size_t i = 0; i < m->file_count; i++)
        m->files[i] = p->files.items[i] ? p->files.items[i] : "";
    if (!ptx_resolve_inits(p))
        return false;
    if (p->any_alias)
        apply_aliases(p);
    return true;
}

static bool parse_module(struct ptx_parser *p)
{
    struct ptx_str s;

    for (;;) {
        ptx_skip(p);
        if (p->pos >= p->end)
            break;
        if (*p->pos == ';') {
            p->pos++;
            continue;
        }
        if (p->pos[0] == '@' && p->pos[1] == '@') { /* @@DWARF lines of old compilers */
            while (p->pos < p->end && *p->pos != '\n')
                p->pos++;
            continue;
        }
        if (!ptx_directive(p, &s))
            return ptx_fail(p, "a directive expected");
        if (!parse_module_directive(p, s))
            return false;
    }
    if (!p->saw_version)
        return ptx_fail(p, "a module begins with .version");
    return store_module(p);
}

static void parser_finish(struct ptx_parser *p, char *text)
{
    weir_vec_finish(&p->module_vars);
    weir_vec_finish(&p->functions);
    weir_vec_finish(&p->files);
    weir_vec_finish(&p->init_refs);
    weir_vec_finish(&p->regs);
    weir_vec_finish(&p->vars);
    weir_vec_finish(&p->insts);
    weir_vec_finish(&p->labels);
    weir_vec_finish(&p->tables);
    weir_vec_finish(&p->fixups);
    weir_vec_finish(&p->stack);
    weir_strmap_finish(&p->mnemonics);
    ptx_symtab_finish(&p->syms);
    weir_arena_finish(&p->scratch);
    if (p->locale)
        freelocale((locale_t)p->locale);
    weir_free(text);
}

/* The text may end with zero bytes (fat binaries pad it), but may not hold one. */
static char *copy_text(const char *text, size_t *bytes)
{
    size_t n = *bytes;
    char *copy;

    while (n && text[n - 1] == 0)
        n--;
    copy = weir_alloc(n + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = 0;
    *bytes = n;
    return copy;
}

static bool module_init(struct ptx_parser *p, size_t bytes)
{
    p->m = weir_calloc(1, sizeof *p->m);
    if (!p->m)
        return ptx_fail_memory(p);
    /* An instruction of 12 characters takes some 200 bytes; declarations of registers take more per character. */
    weir_arena_init(&p->m->arena, ((size_t)256 << 20) + 64 * bytes);
    weir_arena_init(&p->scratch, ((size_t)64 << 20) + 32 * bytes);
    p->init_budget = (size_t)PTX_MAX_INIT_BYTES + bytes;
    p->m->address_bits = 64;
    p->line = 1;
    return true;
}

enum weir_err weir_ptx_parse(const char *text, size_t bytes, struct weir_ptx_module **out, struct weir_ptx_error *error)
{
    struct weir_ptx_error local;
    struct ptx_parser p = {.error = error ? error : &local, .code = WEIR_OK};
    char *copy = copy_text(text, &bytes);
    bool ok;

    memset(p.error, 0, sizeof *p.error);
    *out = NULL;
    p.text = p.pos = p.line_start = copy;
    ok = copy ? module_init(&p, bytes) : ptx_fail_memory(&p);
    if (ok) {
        p.end = copy + bytes;
        ok = parse_module(&p);
    }
    parser_finish(&p, copy);
    if (ok) {
        *out = p.m;
        return WEIR_OK;
    }
    weir_ptx_module_destroy(p.m);
    return WEIR_FAIL(p.code, "PTX line %d, column %d: %s", p.error->line, p.error->column, p.error->message);
}

void weir_ptx_module_destroy(struct weir_ptx_module *m)
{
    if (!m)
        return;
    weir_strmap_finish(&m->symbols);
    weir_arena_finish(&m->arena);
    weir_free(m);
}

static const struct weir_ptx_symbol *find_symbol(const struct weir_ptx_module *m, const char *name)
{
    return weir_strmap_get(&m->symbols, name, strlen(name));
}

struct weir_ptx_function *weir_ptx_find_function(const struct weir_ptx_module *m, const char *name)
{
    const struct weir_ptx_symbol *y = find_symbol(m, name);

    return y ? unalias(y->function) : NULL;
}

struct weir_ptx_var *weir_ptx_find_var(const struct weir_ptx_module *m, const char *name)
{
    const struct weir_ptx_symbol *y = find_symbol(m, name);

    return y ? y->var : NULL;
}
