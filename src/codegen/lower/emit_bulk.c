/* Bulk copies and stores with a barrier object: a service makes them at once (device/bulk.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/forms_bulk.h"
#include "codegen/lower/lower.h"

static LLVMValueRef area(struct low *l, unsigned row, unsigned g)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, 256 * (uint64_t)row + 8 * (uint64_t)g * l->width, 0);
    return LLVMBuildGEP2(l->b, l->t.i8, l->scratch, &at, 1, "");
}

static void put(struct low *l, unsigned row, unsigned g, LLVMValueRef v)
{
    LLVMSetAlignment(LLVMBuildStore(l->b, v, area(l, row, g)), 8);
}

static void put_value(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                      enum weir_ptx_type type, unsigned row)
{
    struct low_val v = low_read(l, i, o, type);
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef x = low_vector(l, &v, g);
        put(l, row, g, low_resize(l, low_bitcast(l, x, low_int(l, low_bits_of(x))), 64, false));
    }
}

/* Only the first bytes are looked at here: the service knows how many there are. */
static void put_address(struct low *l, const struct low_inst *i, unsigned operand, uint8_t space,
                        uint32_t bytes, uint32_t kind, unsigned row)
{
    struct low_address a;
    LLVMValueRef v[LOW_MAX_GROUPS];
    low_address_exact(l, i, &i->p->operands[operand], space, &a);
    low_address_vectors(l, &a, bytes, kind, v);
    for (unsigned g = 0; g < l->groups; g++)
        put(l, row, g, v[g]);
}

void low_emit_bulk(struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_inst *p = i->p;
    struct bulk_form f;
    if (!weir_cg_bulk_form(p, &f))
        low_refuse(l, p, "form");
    if (f.nothing)
        return;
    uint32_t code = f.code | (l->clusters ? WEIR_BULK_CLUSTER : 0);
    unsigned data = WEIR_BULK_DATA(code);
    if (data) {
        const struct weir_ptx_operand *o = &p->operands[1];
        for (unsigned k = 0; k < data; k++)
            put_value(l, i, o->kind == WEIR_PTX_OPERAND_VECTOR ? &o->elements[k] : o, f.element,
                      WEIR_BULK_FROM + k);
    } else {
        put_address(l, i, 1, f.from_space, 0, 0, WEIR_BULK_FROM);
        put_value(l, i, &p->operands[2], WEIR_PTX_U32, WEIR_BULK_BYTES);
    }
    if (f.mask >= 0)
        put_value(l, i, &p->operands[f.mask], WEIR_PTX_U16, WEIR_BULK_MASK);
    put_address(l, i, 0, f.to_space, 0, 1, WEIR_BULK_TO);
    if (f.barrier >= 0) /* it stands where the destination does */
        put_address(l, i, (unsigned)f.barrier, f.to_space, 8, 2, WEIR_BULK_BARRIER);
    LLVMValueRef at = LLVMConstInt(l->t.i64, offsetof(struct weir_kernel_services, bulk), 0);
    LLVMValueRef a[4] = {l->block_ptr,
                         l->mask_full ? LLVMConstInt(l->t.i32, UINT32_MAX, 0)
                                      : low_mask_bits(l, l->mask),
                         LLVMConstInt(l->t.i32, code, 0), l->scratch};
    LLVMTypeRef types[4];
    for (unsigned n = 0; n < 4; n++)
        types[n] = LLVMTypeOf(a[n]);
    LLVMValueRef fn =
        LLVMBuildLoad2(l->b, l->t.ptr, LLVMBuildGEP2(l->b, l->t.i8, l->services, &at, 1, ""), "");
    LLVMBuildFence(l->b, LLVMAtomicOrderingSequentiallyConsistent, 1, "");
    LLVMBuildCall2(l->b, LLVMFunctionType(l->t.v, types, 4, 0), fn, a, 4, "");
    LLVMBuildFence(l->b, LLVMAtomicOrderingSequentiallyConsistent, 1, "");
}
