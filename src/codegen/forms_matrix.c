/* Matrix instructions: which forms there are.
 * Source: PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions".
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "codegen/forms_matrix.h"

/* ---- reading the text ---- */

#define MAX_WORDS 16

struct words {
    char text[MAX_WORDS][24];
    unsigned count;
};

static bool split(const char *suffix, struct words *w)
{
    w->count = 0;
    while (*suffix == '.') {
        size_t n = strcspn(suffix + 1, ".");
        if (w->count == MAX_WORDS || n >= sizeof w->text[0])
            return false;
        memcpy(w->text[w->count], suffix + 1, n);
        w->text[w->count++][n] = 0;
        suffix += 1 + n;
    }
    return *suffix == 0;
}

static enum matrix_elem elem_of(const char *s)
{
    static const struct {
        const char *name;
        enum matrix_elem elem;
    } names[] = {{"f16", ELEM_F16},   {"bf16", ELEM_BF16}, {"tf32", ELEM_TF32}, {"f64", ELEM_F64},
                 {"e4m3", ELEM_E4M3}, {"e5m2", ELEM_E5M2}, {"s8", ELEM_S8},     {"u8", ELEM_U8},
                 {"s4", ELEM_S4},     {"u4", ELEM_U4},     {"b1", ELEM_B1},     {"f32", ELEM_F32},
                 {"s32", ELEM_S32}};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        if (strcmp(s, names[k].name) == 0)
            return names[k].elem;
    return ELEM_NONE;
}

unsigned weir_cg_matrix_bits(enum matrix_elem e)
{
    switch (e) {
    case ELEM_F64:
        return 64;
    case ELEM_F16:
    case ELEM_BF16:
        return 16;
    case ELEM_E4M3:
    case ELEM_E5M2:
    case ELEM_S8:
    case ELEM_U8:
        return 8;
    case ELEM_S4:
    case ELEM_U4:
        return 4;
    case ELEM_B1:
        return 1;
    default:
        return 32;
    }
}

unsigned weir_cg_matrix_per(enum matrix_elem e)
{
    return e == ELEM_F64 ? 1 : 32 / weir_cg_matrix_bits(e);
}

unsigned weir_cg_matrix_regs(const struct matrix_form *f, char which)
{
    unsigned rows = f->m / 8, cols = f->n / 8;
    bool memory = f->kind == MATRIX_LOAD || f->kind == MATRIX_STORE;
    enum matrix_elem e = f->elem[memory ? 0 : which - 'a'];
    switch (which) {
    case 'a':
        return rows * (f->k / (f->sparse ? 2 : 1) / (4 * weir_cg_matrix_per(e)));
    case 'b':
        return cols * (f->k / (4 * weir_cg_matrix_per(e)));
    default:
        return rows * cols * (e == ELEM_F16 ? 1 : 2);
    }
}

/* ---- which shapes there are ---- */

static unsigned class_of(enum matrix_elem e)
{
    switch (e) {
    case ELEM_U8:
        return ELEM_S8;
    case ELEM_U4:
        return ELEM_S4;
    case ELEM_E5M2:
        return ELEM_E4M3;
    default:
        return e;
    }
}

struct shape {
    uint8_t m, n;
    uint16_t k;
    uint8_t elem;
    bool wmma;
};

static const struct shape shapes[] = {
    {16, 8, 8, ELEM_F16, false},   {16, 8, 16, ELEM_F16, false},  {8, 8, 4, ELEM_F16, false},
    {16, 8, 8, ELEM_BF16, false},  {16, 8, 16, ELEM_BF16, false}, {16, 8, 4, ELEM_TF32, false},
    {16, 8, 8, ELEM_TF32, false},  {8, 8, 4, ELEM_F64, false},    {16, 8, 4, ELEM_F64, false},
    {16, 8, 8, ELEM_F64, false},   {16, 8, 16, ELEM_F64, false},  {16, 8, 16, ELEM_E4M3, false},
    {16, 8, 32, ELEM_E4M3, false}, {8, 8, 16, ELEM_S8, false},    {16, 8, 16, ELEM_S8, false},
    {16, 8, 32, ELEM_S8, false},   {8, 8, 32, ELEM_S4, false},    {16, 8, 32, ELEM_S4, false},
    {16, 8, 64, ELEM_S4, false},   {8, 8, 128, ELEM_B1, false},   {16, 8, 128, ELEM_B1, false},
    {16, 8, 256, ELEM_B1, false},  {16, 16, 16, ELEM_F16, true},  {32, 8, 16, ELEM_F16, true},
    {8, 32, 16, ELEM_F16, true},   {16, 16, 16, ELEM_BF16, true}, {32, 8, 16, ELEM_BF16, true},
    {8, 32, 16, ELEM_BF16, true},  {16, 16, 8, ELEM_TF32, true},  {8, 8, 4, ELEM_F64, true},
    {16, 16, 16, ELEM_S8, true},   {32, 8, 16, ELEM_S8, true},    {8, 32, 16, ELEM_S8, true},
    {8, 8, 32, ELEM_S4, true},     {8, 8, 128, ELEM_B1, true},
};

static const struct shape sparse_shapes[] = {
    {16, 8, 16, ELEM_F16, false},  {16, 8, 32, ELEM_F16, false}, {16, 8, 16, ELEM_BF16, false},
    {16, 8, 32, ELEM_BF16, false}, {16, 8, 8, ELEM_TF32, false}, {16, 8, 16, ELEM_TF32, false},
    {16, 8, 32, ELEM_S8, false},   {16, 8, 64, ELEM_S8, false},  {16, 8, 64, ELEM_S4, false},
    {16, 8, 128, ELEM_S4, false},  {16, 8, 64, ELEM_E4M3, false}};

static bool sparse_shape_ok(const struct matrix_form *f)
{
    for (size_t k = 0; k < sizeof sparse_shapes / sizeof sparse_shapes[0]; k++) {
        const struct shape *s = &sparse_shapes[k];
        if (s->m == f->m && s->n == f->n && s->k == f->k && s->elem == class_of(f->elem[0]))
            return true;
    }
    return false;
}

/* 4 bits for each 4 places along k (2 of tf32, 8 of 4 bits), of 16 rows in 8 fours of lanes. */
unsigned weir_cg_matrix_selected(const struct matrix_form *f)
{
    unsigned places = f->elem[0] == ELEM_TF32 ? 2 : weir_cg_matrix_bits(f->elem[0]) == 4 ? 8 : 4;
    return f->k / places / 4;
}

static bool accumulates(enum matrix_elem in, enum matrix_elem acc)
{
    switch (class_of(in)) {
    case ELEM_F16:
    case ELEM_E4M3:
        return acc == ELEM_F16 || acc == ELEM_F32;
    case ELEM_BF16:
    case ELEM_TF32:
        return acc == ELEM_F32;
    case ELEM_F64:
        return acc == ELEM_F64;
    default:
        return acc == ELEM_S32;
    }
}

/* For an accumulator: some input of the shape goes with it. */
static bool shape_ok(const struct matrix_form *f, enum matrix_elem e, bool accumulator)
{
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        const struct shape *s = &shapes[k];
        if (s->wmma == f->wmma && s->m == f->m && s->n == f->n && s->k == f->k &&
            (accumulator ? accumulates(s->elem, e) : s->elem == class_of(e)))
            return true;
    }
    return false;
}

/* m16n8k16 */
static bool read_shape(const char *s, struct matrix_form *f)
{
    unsigned m, n, k;
    char rest;
    if (sscanf(s, "m%2un%2uk%3u%c", &m, &n, &k, &rest) != 3)
        return false;
    f->m = (uint8_t)m;
    f->n = (uint8_t)n;
    f->k = (uint16_t)k;
    return true;
}

static unsigned operand_regs(const struct weir_ptx_operand *o)
{
    return o->kind == WEIR_PTX_OPERAND_VECTOR ? o->count : o->kind == WEIR_PTX_OPERAND_REG ? 1 : 0;
}

/* ---- mma and wmma.mma ---- */

static bool product_types(const struct words *w, struct matrix_form *f)
{
    uint8_t t[4];
    unsigned types = 0, layouts = 0;
    for (unsigned k = 0; k < w->count; k++) {
        const char *s = w->text[k];
        enum matrix_elem e = elem_of(s);
        if (e != ELEM_NONE) {
            if (types == 4)
                return false;
            t[types++] = (uint8_t)e;
        } else if (strcmp(s, "row") == 0 || strcmp(s, "col") == 0) {
            if (layouts == 2)
                return false;
            f->row[layouts++] = s[0] == 'r';
        } else if (strcmp(s, "satfinite") == 0) {
            f->satfinite = true;
        } else if (strcmp(s, "and") == 0) {
            f->bit_and = true;
        } else if (strcmp(s, "xor") != 0 && strcmp(s, "popc") != 0 && strcmp(s, "sync") != 0 &&
                   strcmp(s, "aligned") != 0 && strcmp(s, "mma") != 0 && strcmp(s, "rn") != 0 &&
                   strcmp(s, "rz") != 0 && strcmp(s, "rm") != 0 && strcmp(s, "rp") != 0 &&
                   !(f->sparse && k == 0) && !read_shape(s, f)) {
            return false;
        }
    }
    if (types == 2 && f->wmma) { /* of D and C; A and B are f16 */
        f->elem[0] = f->elem[1] = ELEM_F16;
        f->elem[2] = t[1];
        f->elem[3] = t[0];
    } else if (types == 4) {
        f->elem[0] = t[1];
        f->elem[1] = t[2];
        f->elem[2] = t[3];
        f->elem[3] = t[0];
    } else {
        return false;
    }
    return layouts == 2;
}

/* The metadata's register and the constant that selects lanes. */
static bool read_selector(const struct weir_ptx_inst *p, struct matrix_form *f)
{
    const struct weir_ptx_operand *s = &p->operands[5];
    if (s->kind != WEIR_PTX_OPERAND_INT || s->imm < 0 ||
        s->imm >= (int64_t)(4 / weir_cg_matrix_selected(f)))
        return false;
    f->selector = (uint8_t)s->imm;
    return operand_regs(&p->operands[4]) == 1;
}

static bool product_form(const struct weir_ptx_inst *p, const struct words *w,
                         struct matrix_form *f)
{
    if (!product_types(w, f) || p->operand_count != (f->sparse ? 6 : 4) || p->dest_count != 1)
        return false;
    bool integer = f->elem[3] == ELEM_S32, mixed = f->elem[0] != f->elem[1];
    if (!(f->sparse ? sparse_shape_ok(f) && read_selector(p, f) : shape_ok(f, f->elem[0], false)) ||
        class_of(f->elem[0]) != class_of(f->elem[1]) || !accumulates(f->elem[0], f->elem[2]) ||
        !accumulates(f->elem[0], f->elem[3]) ||
        (mixed && class_of(f->elem[0]) == f->elem[0] && class_of(f->elem[1]) == f->elem[1]))
        return false;
    if (f->satfinite && !integer && !f->wmma)
        return false;
    f->kind = MATRIX_MMA;
    bool quads = !f->wmma && f->m == 8 && f->elem[0] == ELEM_F16;
    if (!f->wmma && !quads && (!f->row[0] || f->row[1]))
        return false;
    if (quads) {
        f->kind = MATRIX_QUADS;
        return operand_regs(&p->operands[1]) == 2 && operand_regs(&p->operands[2]) == 2 &&
               operand_regs(&p->operands[3]) == (f->elem[2] == ELEM_F16 ? 4 : 8) &&
               operand_regs(&p->operands[0]) == (f->elem[3] == ELEM_F16 ? 4 : 8);
    }
    static const char names[] = "dabc";
    for (unsigned k = 0; k < 4; k++) {
        unsigned want = weir_cg_matrix_regs(f, names[k]);
        if (f->wmma && f->elem[0] == ELEM_F16 && (k == 1 || k == 2))
            want = 8;
        if (operand_regs(&p->operands[k]) != want)
            return false;
    }
    return true;
}

/* ---- wmma.load and wmma.store ---- */

static bool memory_words(const struct words *w, struct matrix_form *f)
{
    bool shape = false, layout = false;
    for (unsigned k = 2; k < w->count; k++) {
        const char *s = w->text[k];
        enum matrix_elem e = elem_of(s);
        if (e != ELEM_NONE) {
            f->elem[0] = (uint8_t)e;
        } else if (strcmp(s, "row") == 0 || strcmp(s, "col") == 0) {
            f->row[0] = s[0] == 'r';
            layout = true;
        } else if (read_shape(s, f)) {
            shape = true;
        } else if (strcmp(s, "sync") != 0 && strcmp(s, "aligned") != 0 &&
                   strcmp(s, "global") != 0 && strncmp(s, "shared", 6) != 0) {
            return false;
        }
    }
    return shape && layout && f->elem[0] != ELEM_NONE;
}

static bool memory_form(const struct weir_ptx_inst *p, const struct words *w, struct matrix_form *f)
{
    bool store = strcmp(w->text[0], "store") == 0;
    unsigned at = store ? 0 : 1;
    if (w->count < 3 || w->text[1][1] || !memory_words(w, f))
        return false;
    f->kind = store ? MATRIX_STORE : MATRIX_LOAD;
    f->which = w->text[1][0];
    bool accumulator = f->which == 'c' || f->which == 'd';
    if (store ? f->which != 'd' : f->which != 'a' && f->which != 'b' && f->which != 'c')
        return false;
    if (!shape_ok(f, f->elem[0], accumulator) || p->operand_count < 2 || p->operand_count > 3 ||
        p->operands[at].kind != WEIR_PTX_OPERAND_ADDRESS)
        return false;
    /* elements smaller than a byte lie along k */
    if (!accumulator && weir_cg_matrix_bits(f->elem[0]) < 8 && f->row[0] != (f->which == 'a'))
        return false;
    unsigned want = weir_cg_matrix_regs(f, f->which);
    if (!accumulator && f->elem[0] == ELEM_F16)
        want = 8;
    return operand_regs(&p->operands[1 - at]) == want;
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */

static bool rows_form(const struct weir_ptx_inst *p, const struct words *w, struct matrix_form *f)
{
    bool store = p->opcode == WEIR_PTX_OP_stmatrix, tile = false, type = false;
    for (unsigned k = 0; k < w->count; k++) {
        const char *s = w->text[k];
        if (strcmp(s, "m8n8") == 0)
            tile = true;
        else if (strcmp(s, "b16") == 0)
            type = true;
        else if (strcmp(s, "trans") == 0)
            f->trans = true;
        else if (s[0] == 'x' && (s[1] == '1' || s[1] == '2' || s[1] == '4') && !s[2])
            f->count = (uint8_t)(s[1] - '0');
        else if (strcmp(s, "sync") != 0 && strcmp(s, "aligned") != 0 &&
                 strncmp(s, "shared", 6) != 0)
            return false;
    }
    f->kind = store ? MATRIX_STROWS : MATRIX_LDROWS;
    return tile && type && f->count && p->operand_count == 2 &&
           p->operands[store ? 0 : 1].kind == WEIR_PTX_OPERAND_ADDRESS &&
           operand_regs(&p->operands[store ? 1 : 0]) == f->count;
}

enum matrix_kind weir_cg_matrix_form(const struct weir_ptx_inst *p, struct matrix_form *f)
{
    struct words w;
    bool ok = false;
    memset(f, 0, sizeof *f);
    if (!p->suffix || !split(p->suffix, &w) || w.count < 2)
        return MATRIX_OTHER;
    switch (p->opcode) {
    case WEIR_PTX_OP_mma:
        f->sparse = strcmp(w.text[0], "sp") == 0 || strcmp(w.text[0], "sp::ordered_metadata") == 0;
        ok = strcmp(w.text[f->sparse], "sync") == 0 && product_form(p, &w, f);
        break;
    case WEIR_PTX_OP_wmma:
        f->wmma = true;
        ok = strcmp(w.text[0], "mma") == 0 ? product_form(p, &w, f) : memory_form(p, &w, f);
        break;
    case WEIR_PTX_OP_ldmatrix:
    case WEIR_PTX_OP_stmatrix:
        ok = rows_form(p, &w, f);
        break;
    case WEIR_PTX_OP_movmatrix:
        f->kind = MATRIX_TURN;
        ok = strcmp(p->suffix, ".sync.aligned.m8n8.trans.b16") == 0 && p->operand_count == 2;
        break;
    default:
        break;
    }
    return ok ? (enum matrix_kind)f->kind : MATRIX_OTHER;
}
