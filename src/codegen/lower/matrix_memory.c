/* Matrices between memory and the registers of a warp: wmma.load and wmma.store, ldmatrix and
 * stmatrix; and movmatrix. A matrix in memory is a number of runs (rows, or columns), each
 * contiguous: they are checked lane by lane, then read and written as short vectors, of which
 * shuffles make registers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/access.h"
#include "codegen/lower/matrix.h"

#define MAX_RUNS 32

struct runs {
    LLVMValueRef addr[MAX_RUNS]; /* i64 */
    uint8_t space;
};

/* ---- addresses ---- */

/* The value of the first active lane. */
static LLVMValueRef first_lane(struct low *l, const struct low_val *v)
{
    if (v->shape == LOW_UNIFORM)
        return v->v[0];
    LLVMValueRef x = low_vector(l, v, 0), zero = LLVMConstInt(l->t.i32, 0, 0);
    if (l->mask_full)
        return LLVMBuildExtractElement(l->b, x, zero, "");
    LLVMTypeRef t = low_scalar_type(LLVMTypeOf(x));
    LLVMValueRef lane =
        low_binary(l, "llvm.cttz", low_mask_bits(l, l->mask), LLVMConstInt(l->t.i1, 1, 0));
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef at = LLVMConstInt(l->t.i32, g * l->width, 0);
        LLVMBuildStore(l->b, low_vector(l, v, g), LLVMBuildGEP2(l->b, t, l->scratch, &at, 1, ""));
    }
    return LLVMBuildLoad2(l->b, t, LLVMBuildGEP2(l->b, t, l->scratch, &lane, 1, ""), "");
}

/* Checks the addresses of lanes 0 to count - 1; absolute ones in out. */
static void checked(struct low *l, struct low_address *a, unsigned count, unsigned bytes,
                    bool store, LLVMValueRef *out)
{
    LLVMValueRef saved[LOW_MAX_GROUPS], c[64];
    bool was_full = l->mask_full;
    memcpy(saved, l->mask, sizeof saved);
    for (unsigned g = 0; g < l->groups; g++) {
        for (unsigned k = 0; k < l->width; k++)
            c[k] = LLVMConstInt(l->t.i1, g * l->width + k < count, 0);
        l->mask[g] = LLVMConstVector(c, l->width);
    }
    l->mask_full = count == LOW_LANES;
    low_address_vectors(l, a, bytes, store, out);
    memcpy(l->mask, saved, sizeof saved);
    l->mask_full = was_full;
}

/* Where the runs begin and how many elements apart they lie: the arguments of the form's function.
 * Returns the space. */
static uint8_t even_address(struct low *l, const struct low_inst *i, const struct matrix_form *f,
                            unsigned length, LLVMValueRef *args)
{
    const struct weir_ptx_inst *p = i->p;
    struct low_address a;
    low_address_exact(l, i, &i->p->operands[f->kind == MATRIX_STORE ? 0 : 1], i->p->space, &a);
    args[0] = first_lane(l, &a.base);
    args[1] = LLVMConstInt(l->t.i32, length, 0);
    if (p->operand_count > 2) {
        struct low_val s = low_read(l, i, &p->operands[2], WEIR_PTX_U32);
        args[1] = first_lane(l, &s);
    }
    return a.space;
}

static void even_runs(struct low *l, const struct low_values *x, const struct matrix_form *f,
                      unsigned count, unsigned length, LLVMValueRef base, LLVMValueRef ld,
                      struct runs *r)
{
    unsigned bits = weir_cg_matrix_bits(f->elem[0]);
    struct low_address a = {.space = (uint8_t)x->kind, .inst = x->i};
    LLVMValueRef v[LOW_MAX_GROUPS];
    LLVMValueRef step = LLVMBuildMul(l->b, LLVMBuildZExt(l->b, ld, l->t.i64, ""),
                                     LLVMConstInt(l->t.i64, bits, 0), "");
    step = LLVMBuildLShr(l->b, step, LLVMConstInt(l->t.i64, 3, 0), "");
    LLVMValueRef narrow = low_resize(l, step, low_bits_of(base), 0);
    a.base.shape = LOW_VARYING;
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef k = low_lanes(l, LLVMTypeOf(base), 1);
        k = LLVMBuildAdd(l->b, k, low_const(l, LLVMTypeOf(k), g * l->width), "");
        k = LLVMBuildMul(l->b, k, low_splat(l, narrow), "");
        a.base.v[g] = LLVMBuildAdd(l->b, k, low_splat(l, base), "");
    }
    checked(l, &a, count, length * bits / 8, f->kind == MATRIX_STORE, v);
    LLVMValueRef at = LLVMBuildExtractElement(l->b, v[0], LLVMConstInt(l->t.i32, 0, 0), "");
    r->space = a.space;
    for (unsigned k = 0; k < count; k++) {
        r->addr[k] = at;
        at = LLVMBuildAdd(l->b, at, step, "");
    }
}

/* Runs of 16 bytes that the lanes name: their addresses are the arguments of the form's function.
 */
static uint8_t named_addresses(struct low *l, const struct low_inst *i, unsigned operand,
                               LLVMValueRef *args)
{
    struct low_address a;
    low_address_exact(l, i, &i->p->operands[operand], i->p->space, &a);
    for (unsigned g = 0; g < l->groups; g++)
        args[g] = low_vector(l, &a.base, g);
    return a.space;
}

static void named_runs(struct low *l, const struct low_values *x, unsigned count, bool store,
                       LLVMValueRef *base, struct runs *r)
{
    struct low_address a = {.space = (uint8_t)x->kind, .inst = x->i};
    LLVMValueRef v[LOW_MAX_GROUPS];
    a.base.shape = LOW_VARYING;
    memcpy(a.base.v, base, l->groups * sizeof *base);
    checked(l, &a, count, 16, store, v);
    r->space = a.space;
    for (unsigned g = 0; g * l->width < count; g++) {
        LLVMValueRef at = LLVMConstInt(l->t.i32, g * l->width, 0);
        LLVMValueRef s =
            LLVMBuildStore(l->b, v[g], LLVMBuildGEP2(l->b, l->t.i64, l->scratch, &at, 1, ""));
        LLVMSetAlignment(s, 8);
    }
    for (unsigned k = 0; k < count; k++) {
        LLVMValueRef at = LLVMConstInt(l->t.i32, k, 0);
        r->addr[k] = LLVMBuildLoad2(l->b, l->t.i64,
                                    LLVMBuildGEP2(l->b, l->t.i64, l->scratch, &at, 1, ""), "");
    }
}

static LLVMValueRef run_pointer(struct low *l, const struct runs *r, unsigned run, unsigned bytes)
{
    LLVMValueRef p = LLVMBuildIntToPtr(l->b, r->addr[run], l->t.ptr, ""),
                 at = LLVMConstInt(l->t.i64, bytes, 0);
    return bytes ? LLVMBuildGEP2(l->b, l->t.i8, p, &at, 1, "") : p;
}

static LLVMValueRef load_piece(struct low *l, const struct runs *r, unsigned run, unsigned at,
                               LLVMTypeRef unit, unsigned count)
{
    unsigned bytes = LLVMGetIntTypeWidth(unit) / 8;
    LLVMValueRef v =
        LLVMBuildLoad2(l->b, LLVMVectorType(unit, count), run_pointer(l, r, run, at * bytes), "");
    LLVMSetAlignment(v, bytes);
    low_scope(l, v, r->space);
    return v;
}

static void store_piece(struct low *l, const struct runs *r, unsigned run, unsigned at,
                        LLVMValueRef v)
{
    unsigned bytes = low_bits_of(v) / 8;
    LLVMValueRef s = LLVMBuildStore(l->b, v, run_pointer(l, r, run, at * bytes));
    LLVMSetAlignment(s, bytes);
    low_scope(l, s, r->space);
}

/* Joins neighbours until the vectors have `size` elements; returns how many there are. */
static unsigned join(struct low *l, LLVMValueRef *v, unsigned count, unsigned size)
{
    LLVMValueRef idx[128];
    while (LLVMGetVectorSize(LLVMTypeOf(v[0])) < size && count > 1) {
        unsigned n = 2 * LLVMGetVectorSize(LLVMTypeOf(v[0]));
        for (unsigned k = 0; k < n; k++)
            idx[k] = LLVMConstInt(l->t.i32, k, 0);
        for (unsigned k = 0; k < count / 2; k++)
            v[k] =
                LLVMBuildShuffleVector(l->b, v[2 * k], v[2 * k + 1], LLVMConstVector(idx, n), "");
        count /= 2;
    }
    return count;
}

/* ---- wmma: where elements are ---- */

/* How a matrix is taken apart: in whole registers where a register's elements are neighbours in
 * memory, else element by element. */
struct cut {
    unsigned regs, reg_bits, per, unit_bits, units; /* units: of a register */
    unsigned runs, length;                          /* length: of a run, in elements */
};

static void cut_matrix(const struct matrix_form *f, struct cut *c)
{
    enum matrix_elem e = f->elem[0];
    unsigned rows = f->which == 'b' ? f->k : f->m, cols = f->which == 'a' ? f->k : f->n;
    bool along = f->which == 'b' ? !f->row[0] : f->row[0];
    c->regs = weir_cg_matrix_regs(f, f->which);
    c->per = weir_cg_matrix_per(e);
    c->reg_bits = e == ELEM_F64 ? 64 : 32;
    c->unit_bits = along ? c->reg_bits : weir_cg_matrix_bits(e);
    c->units = c->reg_bits / c->unit_bits;
    c->runs = f->row[0] ? rows : cols;
    c->length = f->row[0] ? cols : rows;
}

/* Run and place in it, in units, of unit u of register x in a lane. */
static void place_of(const struct matrix_form *f, const struct cut *c, unsigned x, unsigned lane,
                     unsigned u, unsigned *run, unsigned *at)
{
    unsigned outer = lane / 4, q = lane % 4, row, col;
    unsigned e = u * c->unit_bits / weir_cg_matrix_bits(f->elem[0]);
    if (f->which == 'a') {
        row = outer + 8 * (x % (f->m / 8u));
        col = (q + 4 * (x / (f->m / 8u))) * c->per + e;
    } else if (f->which == 'b') {
        unsigned along = f->k / (4 * c->per);
        row = (q + 4 * (x % along)) * c->per + e;
        col = outer + 8 * (x / along);
    } else {
        unsigned second = c->per == 2 ? e : x & 1, tile = c->per == 2 ? x : x / 2;
        row = outer + 8 * (tile % (f->m / 8u));
        col = 2 * q + second + 8 * (tile / (f->m / 8u));
    }
    *run = f->row[0] ? row : col;
    *at = (f->row[0] ? col : row) * weir_cg_matrix_bits(f->elem[0]) / c->unit_bits;
}

static unsigned power_of_two(unsigned n)
{
    unsigned p = 1;
    while (p < n)
        p *= 2;
    return p;
}

/* Pieces that were loaded: other registers have other elements of them. */
struct cache {
    struct {
        unsigned run, at, count;
        LLVMValueRef v;
    } item[64];
    unsigned used;
};

static LLVMValueRef cached_piece(struct low *l, const struct runs *r, struct cache *h, unsigned run,
                                 unsigned at, LLVMTypeRef unit, unsigned count)
{
    for (unsigned k = 0; k < h->used; k++)
        if (h->item[k].run == run && h->item[k].at == at && h->item[k].count == count)
            return h->item[k].v;
    LLVMValueRef v = load_piece(l, r, run, at, unit, count);
    if (h->used < 64) {
        h->item[h->used].run = run;
        h->item[h->used].at = at;
        h->item[h->used].count = count;
        h->item[h->used++].v = v;
    }
    return v;
}

/* Register x of group g. */
static LLVMValueRef load_register(struct low *l, const struct matrix_form *f, const struct cut *c,
                                  const struct runs *r, struct cache *h, unsigned x, unsigned g)
{
    LLVMTypeRef unit = low_int(l, c->unit_bits);
    unsigned n = l->width * c->units, run[128], at[128], low = ~0u, high = 0;
    unsigned slot[MAX_RUNS], used[MAX_RUNS], count = 0, index[128];
    LLVMValueRef v[MAX_RUNS];
    memset(slot, 0xff, sizeof slot);
    for (unsigned k = 0; k < n; k++) {
        place_of(f, c, x, g * l->width + k / c->units, k % c->units, &run[k], &at[k]);
        low = WEIR_MIN(low, at[k]);
        high = WEIR_MAX(high, at[k]);
        if (slot[run[k]] == ~0u) {
            used[count] = run[k];
            slot[run[k]] = count++;
        }
    }
    unsigned length = power_of_two(high - low + 1);
    low &= ~(length - 1);
    for (unsigned k = 0; k < count; k++)
        v[k] = cached_piece(l, r, h, used[k], low, unit, length);
    for (unsigned k = 0; k < n; k++)
        index[k] = slot[run[k]] * length + at[k] - low;
    unsigned parts = join(l, v, count, n);
    LLVMValueRef all = matrix_pick(l, v, parts, index, n);
    return LLVMBuildBitCast(l->b, all, low_vec_type(l, low_int(l, c->reg_bits)), "");
}

static void build_load(struct low *l, const struct low_values *x, LLVMValueRef *in,
                       LLVMValueRef *out)
{
    struct matrix_form f;
    struct cut c;
    struct runs r;
    struct cache h = {.used = 0};
    weir_cg_matrix_form(x->i->p, &f);
    cut_matrix(&f, &c);
    even_runs(l, x, &f, c.runs, c.length, in[0], in[1], &r);
    for (unsigned k = 0; k < c.regs; k++)
        for (unsigned g = 0; g < l->groups; g++)
            out[k * l->groups + g] = load_register(l, &f, &c, &r, &h, k, g);
}

void matrix_load(struct low *l, const struct low_inst *i, const struct matrix_form *f)
{
    struct cut c;
    LLVMValueRef args[2], v[MATRIX_MAX_REGS * LOW_MAX_GROUPS];
    cut_matrix(f, &c);
    struct low_values x = {.i = i,
                           .accesses = true,
                           .build = build_load,
                           .in = args,
                           .out = v,
                           .count = 2,
                           .results = c.regs * l->groups,
                           .type = low_vec_type(l, low_int(l, c.reg_bits))};
    x.kind = even_address(l, i, f, c.length, args);
    low_outline_values(l, &x);
    matrix_write(l, i, &i->p->operands[0], c.regs, v);
}

/* ---- wmma.store ---- */

/* Where each unit of the matrix comes from: [run][place], as matrix_pick counts. */
static void sources(struct low *l, const struct matrix_form *f, const struct cut *c,
                    unsigned from[MAX_RUNS][MAX_RUNS])
{
    unsigned run, at;
    for (unsigned x = 0; x < c->regs; x++)
        for (unsigned lane = 0; lane < LOW_LANES; lane++)
            for (unsigned u = 0; u < c->units; u++) {
                unsigned part = x * l->groups + lane / l->width;
                place_of(f, c, x, lane, u, &run, &at);
                from[run][at] = (part * l->width + lane % l->width) * c->units + u;
            }
}

/* in: address, distance, registers. */
static void build_store(struct low *l, const struct low_values *x, LLVMValueRef *in,
                        LLVMValueRef *out)
{
    struct matrix_form f;
    struct cut c;
    struct runs r;
    unsigned from[MAX_RUNS][MAX_RUNS];
    LLVMValueRef *v = in + 2;
    (void)out;
    weir_cg_matrix_form(x->i->p, &f);
    cut_matrix(&f, &c);
    even_runs(l, x, &f, c.runs, c.length, in[0], in[1], &r);
    sources(l, &f, &c, from);
    for (unsigned k = 0; k < c.regs * l->groups; k++)
        v[k] = LLVMBuildBitCast(l->b, v[k],
                                LLVMVectorType(low_int(l, c.unit_bits), l->width * c.units), "");
    unsigned length = c.length * weir_cg_matrix_bits(f.elem[0]) / c.unit_bits;
    unsigned tile = 8 * weir_cg_matrix_bits(f.elem[0]) / c.unit_bits;
    for (unsigned run = 0; run < c.runs; run++)
        for (unsigned at = 0; at < length; at += tile)
            store_piece(l, &r, run, at,
                        matrix_pick(l, v, c.regs * l->groups, &from[run][at], tile));
}

void matrix_store(struct low *l, const struct low_inst *i, const struct matrix_form *f)
{
    struct cut c;
    LLVMValueRef args[2 + MATRIX_MAX_REGS * LOW_MAX_GROUPS];
    cut_matrix(f, &c);
    struct low_values x = {.i = i,
                           .accesses = true,
                           .build = build_store,
                           .in = args,
                           .count = 2 + c.regs * l->groups};
    matrix_read(l, i, &i->p->operands[1], c.regs, low_int(l, c.reg_bits), args + 2);
    x.kind = even_address(l, i, f, c.length, args);
    low_outline_values(l, &x);
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */

/* The 8 x 8 halves of a register, transposed. */
static void turn(struct low *l, LLVMValueRef *v)
{
    LLVMValueRef half[LOW_MAX_GROUPS];
    unsigned index[128];
    for (unsigned g = 0; g < l->groups; g++)
        half[g] = LLVMBuildBitCast(l->b, v[g], LLVMVectorType(l->t.i16, 2 * l->width), "");
    for (unsigned g = 0; g < l->groups; g++) {
        for (unsigned k = 0; k < 2 * l->width; k++) {
            unsigned lane = g * l->width + k / 2, row = lane % 4 * 2 + k % 2, col = lane / 4;
            index[k] = (row * 4 + col / 2) * 2 + col % 2;
        }
        v[g] = LLVMBuildBitCast(l->b, matrix_pick(l, half, l->groups, index, 2 * l->width),
                                low_vec_type(l, l->t.i32), "");
    }
}

static void build_load_rows(struct low *l, const struct low_values *x, LLVMValueRef *in,
                            LLVMValueRef *out)
{
    struct matrix_form f;
    struct runs r;
    LLVMValueRef piece[8];
    unsigned rows = l->width / 4;
    weir_cg_matrix_form(x->i->p, &f);
    named_runs(l, x, 8u * f.count, false, in, &r);
    for (unsigned n = 0; n < f.count; n++) {
        for (unsigned g = 0; g < l->groups; g++) {
            for (unsigned k = 0; k < rows; k++)
                piece[k] = load_piece(l, &r, 8 * n + g * rows + k, 0, l->t.i32, 4);
            join(l, piece, rows, l->width);
            out[n * l->groups + g] = piece[0];
        }
        if (f.trans)
            turn(l, &out[n * l->groups]);
    }
}

/* in: addresses, registers. */
static void build_store_rows(struct low *l, const struct low_values *x, LLVMValueRef *in,
                             LLVMValueRef *out)
{
    struct matrix_form f;
    struct runs r;
    (void)out;
    weir_cg_matrix_form(x->i->p, &f);
    named_runs(l, x, 8u * f.count, true, in, &r);
    for (unsigned n = 0; n < f.count; n++) {
        LLVMValueRef *v = in + (n + 1) * l->groups;
        if (f.trans)
            turn(l, v);
        for (unsigned row = 0; row < 8; row++) {
            unsigned index[4];
            for (unsigned k = 0; k < 4; k++)
                index[k] = 4 * row + k;
            store_piece(l, &r, 8 * n + row, 0, matrix_pick(l, v, l->groups, index, 4));
        }
    }
}

void matrix_rows(struct low *l, const struct low_inst *i, const struct matrix_form *f)
{
    LLVMValueRef args[5 * LOW_MAX_GROUPS], v[4 * LOW_MAX_GROUPS];
    struct low_values x = {.i = i,
                           .accesses = true,
                           .build = f->kind == MATRIX_LDROWS ? build_load_rows : build_store_rows,
                           .in = args,
                           .out = v,
                           .count = l->groups};
    if (f->kind == MATRIX_TURN) {
        matrix_read(l, i, &i->p->operands[1], 1, l->t.i32, v);
        turn(l, v);
        matrix_write(l, i, &i->p->operands[0], 1, v);
        return;
    }
    if (f->kind == MATRIX_STROWS) {
        matrix_read(l, i, &i->p->operands[1], f->count, l->t.i32, args + l->groups);
        x.count += f->count * l->groups;
    } else {
        x.results = f->count * l->groups;
        x.type = low_vec_type(l, l->t.i32);
    }
    x.kind = named_addresses(l, i, f->kind == MATRIX_STROWS ? 0 : 1, args);
    low_outline_values(l, &x);
    if (f->kind == MATRIX_LDROWS)
        matrix_write(l, i, &i->p->operands[0], f->count, v);
}
