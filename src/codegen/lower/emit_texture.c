/* Textures and surfaces: a service is asked with rows of words, one a lane (device/texture.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/forms_texture.h"
#include "codegen/lower/lower.h"

#define ROWS_AT   256u /* behind the handles */
#define ROW_BYTES 128u

static LLVMValueRef area(struct low *l, uint64_t offset)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, offset, 0);
    return LLVMBuildGEP2(l->b, l->t.i8, l->scratch, &at, 1, "");
}

static LLVMValueRef row(struct low *l, unsigned k, unsigned g)
{
    return area(l, ROWS_AT + (uint64_t)k * ROW_BYTES + 4u * g * l->width);
}

static void put_words(struct low *l, unsigned k, unsigned g, LLVMValueRef v)
{
    LLVMSetAlignment(LLVMBuildStore(l->b, v, row(l, k, g)), 4);
}

/* One operand's values in the next row, or rows; the number of the row behind. */
static unsigned put(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                    enum weir_ptx_type type, unsigned k)
{
    struct low_val v = low_read(l, i, o, type);
    unsigned bits = weir_ptx_type_bits(type);
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef x = low_bitcast(l, low_vector(l, &v, g), low_int(l, bits));
        put_words(l, k, g, low_resize(l, x, 32, false));
        if (bits == 64) {
            x = LLVMBuildLShr(l->b, x, low_const(l, LLVMTypeOf(x), 32), "");
            put_words(l, k + 1, g, low_resize(l, x, 32, false));
        }
    }
    return k + (bits == 64 ? 2 : 1);
}

static const struct weir_ptx_operand *part_of(const struct weir_ptx_operand *o, unsigned k)
{
    return o->kind == WEIR_PTX_OPERAND_VECTOR ? &o->elements[k] : o;
}

/* True when all lanes name one object. */
static bool put_handles(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o)
{
    struct weir_ptx_operand reg = {.kind = WEIR_PTX_OPERAND_REG, .reg = o->reg, .pred_reg = -1};
    struct low_val v = low_read(l, i, &reg, WEIR_PTX_U64);
    if (v.shape == LOW_UNIFORM) {
        LLVMSetAlignment(LLVMBuildStore(l->b, v.v[0], l->scratch), 8);
        return true;
    }
    for (unsigned g = 0; g < l->groups; g++)
        LLVMSetAlignment(LLVMBuildStore(l->b, low_vector(l, &v, g), area(l, 8u * g * l->width)), 8);
    return false;
}

static LLVMValueRef take_words(struct low *l, unsigned k, unsigned g)
{
    LLVMValueRef v = LLVMBuildLoad2(l->b, low_vec_type(l, l->t.i32), row(l, k, g), "");
    LLVMSetAlignment(v, 4);
    return v;
}

static void give(struct low *l, const struct low_inst *i, const struct texture_form *f, unsigned k)
{
    const struct weir_ptx_operand *d = &i->p->operands[0];
    unsigned bits = weir_ptx_type_bits(f->type);
    for (unsigned n = 0; n < f->results; n++, k += bits == 64 ? 2 : 1) {
        const struct weir_ptx_operand *o = part_of(d, n);
        struct low_val v = {.shape = LOW_VARYING};
        if (o->kind != WEIR_PTX_OPERAND_REG)
            continue;
        for (unsigned g = 0; g < l->groups; g++) {
            LLVMValueRef x = take_words(l, k, g);
            if (bits == 1) {
                x = LLVMBuildICmp(l->b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
            } else if (bits == 64) {
                LLVMValueRef high = low_resize(l, take_words(l, k + 1, g), 64, false);
                high = LLVMBuildShl(l->b, high, low_const(l, LLVMTypeOf(high), 32), "");
                x = LLVMBuildOr(l->b, low_resize(l, x, 64, false), high, "");
            } else {
                /* an element of 8 bits may stand in a register of 16 or 32 */
                unsigned wide = l->regs.items[low_reg_of(l, i, o->reg)].bits;
                x = low_resize(l, x, wide, false);
            }
            v.v[g] = x;
        }
        low_write(l, low_reg_of(l, i, o->reg), &v);
    }
    if (d->kind == WEIR_PTX_OPERAND_VECTOR && d->pred_reg >= 0) { /* |p: is it resident? */
        struct low_val yes = {.shape = LOW_UNIFORM, .v = {LLVMConstInt(l->t.i1, 1, 0)}};
        low_write(l, low_reg_of(l, i, d->pred_reg), &yes);
    }
}

void low_emit_texture(struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_inst *p = i->p;
    const struct weir_ptx_operand *o;
    struct texture_form f;
    const char *why;
    unsigned k = 0;
    if (!weir_cg_texture_form(p, &f, &why))
        low_refuse(l, p, why);
    o = &p->operands[f.handle];
    uint32_t code = f.code | (put_handles(l, i, o) ? WEIR_TEX_UNIFORM : 0);
    for (unsigned c = 0; c < f.coordinates; c++)
        k = put(l, i, &f.place->elements[c], c == 0 && f.layered ? WEIR_PTX_U32 : f.coordinate, k);
    for (unsigned m = 0; m < f.more_count; m++)
        for (unsigned c = 0; c < f.more_rows; c++)
            k = put(l, i, part_of(&p->operands[f.more[m]], c), f.more_type, k);
    LLVMValueRef bits =
        l->mask_full ? LLVMConstInt(l->t.i32, UINT32_MAX, 0) : low_mask_bits(l, l->mask);
    LLVMValueRef at = LLVMConstInt(l->t.i64, offsetof(struct weir_kernel_services, texture), 0);
    LLVMValueRef a[6] = {l->block_ptr, bits,         LLVMConstInt(l->t.i32, code, 0),
                         l->scratch,   row(l, 0, 0), row(l, k, 0)};
    LLVMTypeRef types[6];
    for (unsigned n = 0; n < 6; n++)
        types[n] = LLVMTypeOf(a[n]);
    LLVMValueRef fn =
        LLVMBuildLoad2(l->b, l->t.ptr, LLVMBuildGEP2(l->b, l->t.i8, l->services, &at, 1, ""), "");
    LLVMBuildCall2(l->b, LLVMFunctionType(l->t.v, types, 6, 0), fn, a, 6, "");
    if (f.results)
        give(l, i, &f, k);
}
