/* Initial values of variables: nested braces, numbers, addresses (sym, sym+8, generic(sym),
 * 0xFF00(sym)). Symbols are looked up when the module is complete, because a table may name what
 * is declared later.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "ptx/ptx_int.h"

/* One variable's initialiser while it is read. */
struct init {
    struct weir_ptx_var *v;
    const uint64_t *dims; /* the outermost may be 0: as many as there are */
    unsigned dim_count;
    unsigned element; /* bytes */
    uint64_t limit;   /* elements, UINT64_MAX when open */
    uint64_t last;    /* elements seen: the highest position + 1 */
    int line, column; /* of the element being read */
    WEIR_VEC(unsigned char) data;
    WEIR_VEC(struct weir_ptx_reloc) relocs;
    WEIR_VEC(struct ptx_init_ref) places;
};

static bool reserve_data(struct ptx_parser *p, struct init *n, uint64_t bytes)
{
    if (bytes > p->init_budget)
        return ptx_fail(p, "an initial value larger than %zu bytes", p->init_budget);
    if (bytes <= n->data.count)
        return true;
    if (!weir_vec_reserve(&n->data, (size_t)bytes))
        return ptx_fail_memory(p);
    memset(n->data.items + n->data.count, 0, (size_t)bytes - n->data.count);
    n->data.count = (size_t)bytes;
    return true;
}

/* The bits of a literal as this type stores them. */
static bool convert_literal(struct ptx_parser *p, enum weir_ptx_type t, uint8_t kind, int64_t imm,
                            uint64_t *bits)
{
    double d;
    float f;
    uint32_t w = (uint32_t)imm;

    memcpy(&f, &w, sizeof f);
    memcpy(&d, &imm, sizeof d);
    *bits = (uint64_t)imm;
    if (t == WEIR_PTX_F32 || t == WEIR_PTX_F64) {
        if (kind == WEIR_PTX_OPERAND_F32)
            d = (double)f;
        else if (kind == WEIR_PTX_OPERAND_INT)
            d = (double)imm;
        f = (float)d;
        memcpy(&w, &f, sizeof w);
        if (t == WEIR_PTX_F64)
            memcpy(bits, &d, sizeof d);
        else
            *bits =
                kind == WEIR_PTX_OPERAND_F32 ? (uint32_t)imm : w; /* keeps the payload of NaNs */
        return true;
    }
    if (kind == WEIR_PTX_OPERAND_F32 ? weir_ptx_type_bits(t) != 32
                                     : kind == WEIR_PTX_OPERAND_F64 && weir_ptx_type_bits(t) != 64)
        return ptx_fail(p, "a floating-point value for a variable of type .%s",
                        weir_ptx_type_name(t));
    return true;
}

static bool store_literal(struct ptx_parser *p, struct init *n, uint64_t at, uint8_t kind,
                          int64_t imm)
{
    uint64_t bits;

    if (!convert_literal(p, n->v->type, kind, imm, &bits) ||
        !reserve_data(p, n, (at + 1) * n->element))
        return false;
    memcpy(n->data.items + at * n->element, &bits,
           WEIR_MIN(n->element, 8u)); /* little endian, as PTX is */
    return true;
}

/* sym or generic(sym), then + or - a constant. */
static bool parse_symbol(struct ptx_parser *p, struct weir_ptx_reloc *r)
{
    struct ptx_str name;
    int64_t inner = 0, outer = 0;

    if (!ptx_ident(p, &name, "a symbol"))
        return false;
    if (ptx_is(name, "generic") && ptx_accept(p, '(')) {
        r->generic = true;
        if (!ptx_ident(p, &name, "a symbol"))
            return false;
        if (ptx_accept(p, '+') && !ptx_expr_int(p, &inner, "an offset"))
            return false;
        if (!ptx_expect(p, ')'))
            return false;
    }
    ptx_skip(p);
    if (*p->pos == '+' || *p->pos == '-') {
        bool minus = *p->pos++ == '-';

        if (!ptx_expr_int(p, &outer, "an offset"))
            return false;
        if (minus)
            outer = (int64_t)(0 - (uint64_t)outer);
    }
    r->addend = (int64_t)((uint64_t)inner + (uint64_t)outer);
    r->symbol = ptx_copy_str(p, name);
    return r->symbol != NULL;
}

static bool add_reloc(struct ptx_parser *p, struct init *n, struct weir_ptx_reloc *r, uint64_t at)
{
    struct ptx_init_ref place = {.line = n->line, .column = n->column};

    r->offset = at * n->element;
    return reserve_data(p, n, (at + 1) * n->element) && PTX_PUSH(p, &n->relocs, *r) &&
           PTX_PUSH(p, &n->places, place);
}

/* 0xFF00(sym): one byte of an address. */
static bool parse_mask(struct ptx_parser *p, struct init *n, uint64_t at, uint64_t mask)
{
    struct weir_ptx_reloc r = {.bytes = 1};

    while (r.shift < 64 && mask != (uint64_t)0xff << r.shift)
        r.shift = (uint8_t)(r.shift + 8);
    if (r.shift >= 64 || n->element != 1)
        return ptx_fail(p, "a mask must take one byte of an address, for a variable of bytes");
    return parse_symbol(p, &r) && ptx_expect(p, ')') && add_reloc(p, n, &r, at);
}

static bool parse_scalar(struct ptx_parser *p, struct init *n, uint64_t at)
{
    uint8_t kind;
    int64_t imm;

    if (at >= n->limit)
        return ptx_fail(p, "more initial values than elements");
    n->last = WEIR_MAX(n->last, at + 1);
    ptx_skip(p);
    n->line = p->line;
    n->column = ptx_column(p, p->tok);
    if (ptx_peek_ident(p) &&
        !(strncmp(p->pos, "WARP_SZ", 7) == 0 && !ptx_is_ident_char(p->pos[7]))) {
        struct weir_ptx_reloc r = {.bytes = (uint8_t)n->element};

        if (n->element != 8 && n->element != 4)
            return ptx_fail(p, "an address needs 4 or 8 bytes, the elements have %u", n->element);
        return parse_symbol(p, &r) && add_reloc(p, n, &r, at);
    }
    if (!ptx_expr(p, &kind, &imm))
        return false;
    if (kind == WEIR_PTX_OPERAND_INT && ptx_accept(p, '('))
        return parse_mask(p, n, at, (uint64_t)imm);
    return store_literal(p, n, at, kind, imm);
}

/* Elements below one index of dimension `level`. */
static uint64_t span_of(const struct init *n, unsigned level)
{
    uint64_t span = 1;

    for (unsigned d = level + 1; d < n->dim_count; d++)
        span *= n->dims[d];
    return span;
}

/* { ... } of dimension `level`, whose first element is `base`. Braces inside may be left out, as in
 * C. */
static bool parse_braces(struct ptx_parser *p, struct init *n, unsigned level, uint64_t base)
{
    uint64_t span, at = base, end;

    if (level >= n->dim_count)
        return ptx_fail(p, "more braces than dimensions");
    span = span_of(n, level);
    end = n->dims[level] ? base + n->dims[level] * span : UINT64_MAX;
    p->pos++;
    if (ptx_accept(p, '}'))
        return true;
    do {
        ptx_skip(p);
        if (*p->pos == '}')
            break; /* after a trailing comma */
        if (at >= end)
            return ptx_fail(p, "more initial values than elements");
        if (*p->pos == '{') {
            if ((at - base) % span != 0)
                return ptx_fail(p, "braces in the middle of a row");
            if (!parse_braces(p, n, level + 1, at))
                return false;
            at += span;
            n->last = WEIR_MAX(n->last, at);
        } else {
            if (!parse_scalar(p, n, at))
                return false;
            at++;
        }
    } while (ptx_accept(p, ','));
    return ptx_expect(p, '}');
}

/* Eight mask bytes of one symbol in a row are one address. */
static void merge_masks(struct init *n)
{
    size_t out = 0;

    for (size_t i = 0; i < n->relocs.count; i++, out++) {
        struct weir_ptx_reloc *r = &n->relocs.items[i];
        size_t k = 0;

        while (r->bytes == 1 && k < 8 && i + k < n->relocs.count && r[k].bytes == 1 &&
               r[k].shift == 8 * k && r[k].offset == r->offset + k && r[k].addend == r->addend &&
               r[k].generic == r->generic && strcmp(r[k].symbol, r->symbol) == 0)
            k++;
        n->relocs.items[out] = *r;
        n->places.items[out] = n->places.items[i];
        if (k == 8) {
            n->relocs.items[out].bytes = 8;
            i += 7;
        }
    }
    n->relocs.count = n->places.count = out;
}

static bool store_init(struct ptx_parser *p, struct init *n)
{
    struct weir_ptx_var *v = n->v;
    unsigned char *copy;
    bool zero = n->relocs.count == 0;

    for (size_t i = 0; zero && i < n->data.count; i++)
        zero = n->data.items[i] == 0;
    if (zero)
        return true; /* NULL is zero */
    if (v->bytes > p->init_budget)
        return ptx_fail(p, "an initial value larger than %zu bytes", p->init_budget);
    p->init_budget -= (size_t)v->bytes;
    copy = ptx_new(p, (size_t)v->bytes);
    if (!copy)
        return false;
    memcpy(copy, n->data.items, WEIR_MIN(n->data.count, (size_t)v->bytes));
    v->init = copy;
    merge_masks(n);
    v->reloc_count = n->relocs.count;
    if (!n->relocs.count)
        return true;
    v->relocs = PTX_NEW_ARRAY(p, struct weir_ptx_reloc, n->relocs.count);
    if (!v->relocs)
        return false;
    memcpy(v->relocs, n->relocs.items, n->relocs.count * sizeof *v->relocs);
    for (size_t i = 0; i < n->relocs.count; i++) {
        n->places.items[i].reloc = &v->relocs[i];
        if (!PTX_PUSH(p, &p->init_refs, n->places.items[i]))
            return false;
    }
    return true;
}

static bool parse_opaque_init(struct ptx_parser *p)
{
    while (p->pos < p->end && *p->pos != '}') {
        p->pos++;
        ptx_skip(p);
    }
    return ptx_expect(p, '}');
}

bool ptx_parse_init(struct ptx_parser *p, struct weir_ptx_var *v, const uint64_t *dims,
                    unsigned dim_count)
{
    struct init n = {.v = v, .dims = dims, .dim_count = dim_count};
    bool ok;

    ptx_skip(p);
    if (v->type == WEIR_PTX_OPAQUE)
        return parse_opaque_init(p);
    n.element = weir_ptx_type_bits(v->type) / 8;
    n.limit = UINT64_MAX;
    if (dim_count == 0 || dims[0] != 0)
        n.limit = v->bytes / n.element;
    if (*p->pos == '{')
        ok = parse_braces(p, &n, 0, 0);
    else
        ok = dim_count == 0 ? parse_scalar(p, &n, 0) : ptx_fail(p, "'{' expected");
    if (ok && v->bytes == 0) { /* x[] = {...} */
        uint64_t row = span_of(&n, 0);

        v->bytes = (n.last + row - 1) / row * row * n.element;
        v->count = v->bytes / n.element / (v->vector ? v->vector : 1);
        if (v->bytes == 0)
            ok = ptx_fail(p, "an array without a size and without values");
    }
    ok = ok && store_init(p, &n);
    weir_vec_finish(&n.data);
    weir_vec_finish(&n.relocs);
    weir_vec_finish(&n.places);
    return ok;
}

bool ptx_resolve_inits(struct ptx_parser *p)
{
    for (size_t i = 0; i < p->init_refs.count; i++) {
        struct weir_ptx_reloc *r = p->init_refs.items[i].reloc;
        struct weir_ptx_symbol *y = weir_strmap_get(&p->m->symbols, r->symbol, strlen(r->symbol));

        if (!y) {
            ptx_fail(p, "'%.120s' in an initial value is not defined", r->symbol);
            if (p->error) {
                p->error->line = p->init_refs.items[i].line;
                p->error->column = p->init_refs.items[i].column;
            }
            return false;
        }
        r->var = y->var;
        r->function = y->function;
    }
    return true;
}
