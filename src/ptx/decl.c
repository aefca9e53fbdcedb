/* Declarations of variables and registers: sizes, places, names.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ptx/ptx_int.h"

#define MAX_DIMS 8

static bool parse_align(struct ptx_parser *p, uint32_t *out)
{
    if (!ptx_expr_u32(p, out, 1u << 16, "an alignment"))
        return false;
    if (*out == 0 || (*out & (*out - 1)) != 0)
        return ptx_fail(p, "an alignment must be a power of two");
    return true;
}

/* (.managed), (.unified(a, b)) ... after .attribute; is_managed may be NULL */
bool ptx_parse_attributes(struct ptx_parser *p, bool *is_managed)
{
    struct ptx_str s;

    if (!ptx_expect(p, '('))
        return false;
    do {
        if (!ptx_expect_directive(p, &s, "an attribute"))
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
static bool parse_ptr(struct ptx_parser *p, struct ptx_decl *d, struct ptx_str *s, bool *have)
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
bool ptx_parse_decl(struct ptx_parser *p, struct ptx_decl *d)
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
            if (!ptx_parse_attributes(p, &d->is_managed))
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
            if (!ptx_expr_u64(p, &dims[*count], PTX_MAX_VAR_BYTES, "an array's size"))
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

static bool compute_size(struct ptx_parser *p, struct weir_ptx_var *v, const uint64_t *dims,
                         unsigned dim_count)
{
    uint64_t element = WEIR_MAX(weir_ptx_type_bits(v->type) / 8, 1u) * (v->vector ? v->vector : 1u),
             n = 1;

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
        v->align =
            (uint32_t)element; /* natural alignment: a power of two for every type and vector */
    return true;
}

/* One name of a declaration, with its array part and initial value. */
struct weir_ptx_var *ptx_parse_declarator(struct ptx_parser *p, const struct ptx_decl *d)
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

bool ptx_layout(struct ptx_parser *p, struct weir_ptx_var *v, uint64_t *total)
{
    uint64_t at = WEIR_ALIGN_UP(*total, (uint64_t)v->align);

    if (v->bytes > PTX_MAX_LOCAL || at + v->bytes > PTX_MAX_LOCAL)
        return ptx_fail(p, "more than %llu bytes of .%s memory", (unsigned long long)PTX_MAX_LOCAL,
                        ptx_space_name(v->space));
    v->offset = at;
    *total = at + v->bytes;
    return true;
}

static void take_linkage(struct weir_ptx_var *v, const struct ptx_linkage *l)
{
    v->is_extern = l->is_extern;
    v->is_visible = l->is_visible;
    v->is_weak = l->is_weak;
    v->is_common = l->is_common;
}

/* `.extern .global x;` and the definition later are one variable: true when v was merged into an
 * older one. */
static bool merge_module_var(struct ptx_parser *p, struct weir_ptx_var *v, bool *merged)
{
    const struct ptx_sym *y = ptx_sym_find(p, (struct ptx_str){v->name, strlen(v->name)});
    struct weir_ptx_var *old = y && y->kind == PTX_SYM_VAR && y->depth == 0 ? y->ptr : NULL;
    uint32_t index;

    *merged = false;
    if (!old || (!old->is_extern && !v->is_extern))
        return true; /* new, or a redefinition that ptx_sym_add refuses */
    if (old->space != v->space || old->type != v->type ||
        (old->bytes && v->bytes && old->bytes != v->bytes))
        return ptx_fail(p, "'%.100s' was declared differently before", v->name);
    *merged = true;
    if (v->is_extern)
        return true;
    index = old->index;
    *old = *v;
    old->index = index;
    return true;
}

bool ptx_add_symbol(struct ptx_parser *p, const char *name, struct weir_ptx_var *v,
                    struct weir_ptx_function *f)
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
    if (!ptx_sym_add(p, v->name, strlen(v->name), PTX_SYM_VAR, v) ||
        !PTX_PUSH(p, &p->module_vars, v))
        return false;
    return p->f || ptx_add_symbol(p, v->name, v, NULL);
}

/* Declared inside a body. .global and .const there belong to the module under a name that only this
 * scope sees. */
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
    if (!ptx_layout(p, v, total))
        return false;
    p->f->call_param_bytes = WEIR_MAX(p->f->call_param_bytes, p->call_frame);
    return ptx_sym_add(p, v->name, strlen(v->name), PTX_SYM_VAR, v) && PTX_PUSH(p, &p->vars, v);
}

bool ptx_parse_variables(struct ptx_parser *p, enum weir_ptx_space space,
                         const struct ptx_linkage *l)
{
    struct ptx_decl d = {.space = space};

    if (!ptx_parse_decl(p, &d))
        return false;
    do {
        struct weir_ptx_var *v = ptx_parse_declarator(p, &d);

        if (!v)
            return false;
        take_linkage(v, l);
        if (v->bytes == 0 && !v->is_extern && v->space != WEIR_PTX_PARAM)
            return ptx_fail(p, "'%.100s' has no size", v->name);
        if (p->f ? !add_body_var(p, v) : !add_module_var(p, v))
            return false;
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';');
}

/* ---- registers ---- */

int32_t ptx_add_reg(struct ptx_parser *p, const char *name, const struct ptx_decl *d)
{
    struct weir_ptx_reg r = {name, d->type, d->vector};

    if (p->regs.count >= PTX_MAX_REGS) {
        ptx_fail(p, "more than %u registers in a function", PTX_MAX_REGS);
        return -1;
    }
    return PTX_PUSH(p, &p->regs, r) ? (int32_t)p->regs.count - 1 : -1;
}

/* Writes prefix and number, returns the end of the zero-terminated text. */
char *ptx_write_name(char *s, struct ptx_str prefix, uint32_t number)
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
static bool add_reg_range(struct ptx_parser *p, struct ptx_str prefix, uint32_t count,
                          const struct ptx_decl *d)
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
        names = ptx_write_name(names, prefix, i);
    }
    return true;
}

bool ptx_parse_reg(struct ptx_parser *p)
{
    struct ptx_decl d = {.space = WEIR_PTX_REG};

    if (!ptx_parse_decl(p, &d))
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
        if (!y || (y->reg = ptx_add_reg(p, copy, &d)) < 0)
            return false;
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';');
}
