/* Code that says what it accesses (weir_jit_request.touch). Where the address is one for all lanes,
 * or lanes lie beside each other, the notes are read in place, and only for bytes that are not
 * noted yet a service is called; else always. The calls keep all vector registers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/bits.h"
#include "codegen/lower/lower.h"

#define KIND_SHIFT 16
#define LANE_SHIFT 24 /* of the first one of a group */
#define LINE_SHIFT 32
#define MAX_BYTES  256 /* that are looked at in place */

static bool may_be_global(const struct low_address *a)
{
    return !a->is_param && (a->space == WEIR_PTX_GLOBAL || a->space == WEIR_PTX_GENERIC);
}

bool low_touches(const struct low *l, const struct low_address *a)
{
    return l->request->touch && may_be_global(a);
}

static LLVMValueRef number(struct low *l, uint64_t v)
{
    return LLVMConstInt(l->t.i64, v, 0);
}

static LLVMValueRef load(struct low *l, LLVMTypeRef t, LLVMValueRef p, unsigned align)
{
    LLVMValueRef v = LLVMBuildLoad2(l->b, t, p, "");

    LLVMSetAlignment(v, align);
    return v;
}

static LLVMValueRef offset(struct low *l, LLVMValueRef p, LLVMValueRef by)
{
    return LLVMBuildGEP2(l->b, l->t.i8, p, &by, 1, "");
}

/* services->touch or touch_lanes, which use general registers alone. */
static void call(struct low *l, size_t service, LLVMValueRef bits, LLVMValueRef code,
                 LLVMValueRef base, LLVMValueRef stride)
{
    static const char text[] = "call *%rax";
    static const char constraints[] = "={rax},={rcx},={rdx},={rsi},={rdi},={r8},={r9},={r10},={r11}"
                                      ",{rax},{rdi},{rsi},{rdx},{rcx},"
                                      "{r8},~{memory},~{dirflag},~{fpsr},~{flags}";
    LLVMTypeRef in[6] = {l->t.ptr, l->t.ptr, l->t.i64, l->t.i64, l->t.i64, l->t.i64}, out[9];
    LLVMValueRef f = load(l, l->t.ptr, offset(l, l->services, number(l, service)), 8);
    LLVMValueRef args[6] = {f,    l->block_ptr, LLVMBuildZExt(l->b, bits, l->t.i64, ""),
                            code, base,         stride};

    for (unsigned k = 0; k < 9; k++)
        out[k] = l->t.i64;
    LLVMTypeRef ft = LLVMFunctionType(LLVMStructTypeInContext(l->ctx, out, 9, 0), in, 6, 0);
    LLVMValueRef as = LLVMGetInlineAsm(ft, text, sizeof text - 1, constraints,
                                       sizeof constraints - 1, 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMBuildCall2(l->b, ft, as, args, 6, "");
}

static LLVMValueRef code_of(struct low *l, uint32_t bytes, uint32_t kind)
{
    LLVMValueRef code = number(l, bytes | kind << KIND_SHIFT);

    if (!l->slow_line)
        return number(l, bytes | kind << KIND_SHIFT | (uint64_t)l->inst->p->line << LINE_SHIFT);
    LLVMValueRef line = LLVMBuildZExt(l->b, l->slow_line, l->t.i64, "");
    return LLVMBuildOr(l->b, code, LLVMBuildShl(l->b, line, number(l, LINE_SHIFT), ""), "");
}

static LLVMValueRef active(struct low *l)
{
    return l->mask_full ? LLVMConstInt(l->t.i32, UINT32_MAX, 0) : low_mask_bits(l, l->mask);
}

/* Volatile: a fault may come with any access. */
void low_touch_warp(struct low *l)
{
    LLVMValueRef p = offset(l, l->block_ptr, number(l, offsetof(struct weir_block, warp)));
    LLVMValueRef s = LLVMBuildStore(l->b, l->warp, p);
    LLVMSetAlignment(s, 4);
    LLVMSetVolatile(s, 1);
}

static void touch_lanes(struct low *l, const struct low_address *a, LLVMValueRef code)
{
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef p = offset(l, l->scratch, number(l, 8 * g * l->width));

        LLVMSetAlignment(LLVMBuildStore(l->b, low_vector(l, &a->base, g), p), 8);
    }
    call(l, offsetof(struct weir_kernel_services, touch_lanes), active(l), code,
         LLVMBuildPtrToInt(l->b, l->scratch, l->t.i64, ""), number(l, 0));
}

/* Are the bits of `count` bytes from bit `shift` (0 to 7) of p on all set? */
static LLVMValueRef all_set(struct low *l, LLVMValueRef p, LLVMValueRef shift, unsigned count)
{
    LLVMValueRef ok = NULL;

    for (unsigned at = 0; at < count; at += 64) {
        unsigned n = count - at < 64 ? count - at : 64;
        LLVMValueRef q = offset(l, p, number(l, at / 8)), w = load(l, l->t.i64, q, 1);
        LLVMValueRef want = number(l, weir_bits_low(n));

        if (shift && n > 56) {
            LLVMValueRef args[3] = {load(l, l->t.i64, offset(l, q, number(l, 8)), 1), w, shift};

            w = low_intrinsic(l, "llvm.fshr", &l->t.i64, 1, args, 3);
        } else if (shift) {
            w = LLVMBuildLShr(l->b, w, shift, "");
        }
        w = LLVMBuildAnd(l->b, w, want, "");
        ok = low_and_ok(l, ok, LLVMBuildICmp(l->b, LLVMIntEQ, w, want, ""));
    }
    return ok;
}

/* i1: all of [address, address + bytes) is noted. Bits behind the page's end are 0. */
static LLVMValueRef noted(struct low *l, LLVMValueRef address, uint32_t bytes, uint32_t each,
                          uint32_t kind)
{
    LLVMValueRef off = LLVMBuildSub(l->b, address, l->window_base, "");
    LLVMValueRef in = LLVMBuildICmp(l->b, LLVMIntULT, off, l->window_bytes, "");
    LLVMValueRef a = LLVMBuildSelect(l->b, in, address, l->window_base, "");
    LLVMValueRef at =
        LLVMBuildShl(l->b, LLVMBuildLShr(l->b, a, number(l, 12), ""), number(l, 5), "");
    LLVMValueRef entry = load(
        l, l->t.i64, offset(l, l->touched, LLVMBuildAdd(l->b, at, number(l, 8 * kind), "")), 8);
    LLVMValueRef byte =
        LLVMBuildLShr(l->b, LLVMBuildAnd(l->b, a, number(l, 4095), ""), number(l, 3), "");
    LLVMValueRef p = offset(l, offset(l, l->untouched, entry), byte);
    LLVMValueRef shift = each % 8 ? LLVMBuildAnd(l->b, a, number(l, 7), "") : NULL;

    return LLVMBuildAnd(l->b, in, all_set(l, p, shift, bytes), "");
}

/* Groups are affine one by one: a warp's rows need not lie behind each other. noted: those that are
 * noted already, NULL: not known. */
static void touch_groups(struct low *l, const struct low_address *a, LLVMValueRef code,
                         const LLVMValueRef *noted)
{
    uint64_t all = weir_bits_low(l->width);
    LLVMValueRef bits = active(l);

    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef mine = LLVMBuildLShr(l->b, bits, LLVMConstInt(l->t.i32, g * l->width, 0), "");

        mine = LLVMBuildAnd(l->b, mine, LLVMConstInt(l->t.i32, all, 0), "");
        if (noted && l->groups > 1)
            mine = LLVMBuildSelect(l->b, noted[g], LLVMConstInt(l->t.i32, 0, 0), mine, "");
        LLVMValueRef mark = number(l, (uint64_t)g * l->width << LANE_SHIFT);
        call(l, offsetof(struct weir_kernel_services, touch), mine,
             LLVMBuildOr(l->b, code, mark, ""), a->base.v[g], number(l, (uint64_t)a->base.stride));
    }
}

static void say(struct low *l, const struct low_address *a, uint32_t bytes, uint32_t kind)
{
    const struct low_val *base = &a->base;
    bool uniform = base->shape == LOW_UNIFORM, same = uniform || base->stride == 0;
    LLVMValueRef code, ok = NULL, each[LOW_MAX_GROUPS];

    code = code_of(l, bytes, kind);
    if (base->shape == LOW_VARYING) {
        touch_lanes(l, a, code);
        return;
    }
    if (!same && (base->stride != (int64_t)bytes || bytes * l->width > MAX_BYTES)) {
        touch_groups(l, a, code, NULL);
        return;
    }
    for (unsigned g = 0; g < (uniform ? 1 : l->groups); g++) {
        each[g] = noted(l, base->v[g], same ? bytes : bytes * l->width, bytes, kind & 3);
        ok = low_and_ok(l, ok, each[g]);
    }
    LLVMBasicBlockRef note = low_bb(l, "note"), next = low_bb(l, "noted");
    low_cond_unlikely(l, ok, next, note);
    LLVMPositionBuilderAtEnd(l->b, note);
    if (uniform)
        call(l, offsetof(struct weir_kernel_services, touch), active(l), code, base->v[0],
             number(l, 0));
    else
        touch_groups(l, a, code, each);
    LLVMBuildBr(l->b, next);
    LLVMPositionBuilderAtEnd(l->b, next);
}

void low_touch(struct low *l, struct low_address *a, uint32_t bytes, uint32_t kind)
{
    if (!l->request->twin || !may_be_global(a))
        return;
    if (bytes && l->request->touch) /* of a bulk copy the service tells how many there are */
        say(l, a, bytes, kind);
    low_to_twin(l, a);
}
