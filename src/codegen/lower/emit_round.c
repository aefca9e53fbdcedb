/* Arithmetic that rounds toward zero, down or up: embedded rounding of AVX-512, or the mode in
 * MXCSR.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "codegen/lower/lower.h"

bool low_directed(const struct weir_ptx_inst *p)
{
    return p->rounding == WEIR_PTX_RZ || p->rounding == WEIR_PTX_RM || p->rounding == WEIR_PTX_RP;
}

static LLVMValueRef widen16(struct low *l, LLVMValueRef v, unsigned lanes)
{
    LLVMTypeRef t = low_scalar_type(LLVMTypeOf(v)), vt = LLVMVectorType(t, lanes);
    LLVMValueRef r = LLVMGetPoison(vt);
    return LLVMBuildInsertElement(l->b, r, v, LLVMConstInt(l->t.i32, 0, 0), "");
}

static LLVMValueRef part(struct low *l, LLVMValueRef v, unsigned first, unsigned n)
{
    LLVMValueRef idx[16];
    for (unsigned k = 0; k < n; k++)
        idx[k] = LLVMConstInt(l->t.i32, first + k, 0);
    return LLVMBuildShuffleVector(l->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(idx, n),
                                  "");
}

static LLVMValueRef join_halves(struct low *l, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef idx[32];
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(a));
    for (unsigned k = 0; k < 2 * n; k++)
        idx[k] = LLVMConstInt(l->t.i32, k, 0);
    return LLVMBuildShuffleVector(l->b, a, b, LLVMConstVector(idx, 2 * n), "");
}

/* The intrinsic on as many operands as given; op: "add", "mul", "div", "sqrt", "vfmadd". */
static LLVMValueRef rounded_native(struct low *l, const char *op, LLVMValueRef *a, unsigned n,
                                   unsigned mode)
{
    char name[64];
    bool dbl = low_bits_of(a[0]) == 64;
    LLVMValueRef args[4];
    memcpy(args, a, n * sizeof *a);
    args[n] = LLVMConstInt(l->t.i32, mode, 0);
    const char *suffix = dbl ? "pd.512" : "ps.512";
    strcpy(name, "llvm.x86.avx512.");
    strcat(name, op);
    strcat(name, ".");
    strcat(name, suffix);
    return low_intrinsic(l, name, NULL, 0, args, n + 1);
}

/* ---- without AVX-512: the rounding mode of MXCSR, around one instruction ---- */

static LLVMValueRef mode_slot(struct low *l, unsigned bits)
{
    LLVMValueRef slot = low_alloca(l, l->t.i32, "mxcsr");
    unsigned base = l->all_ftz ? 0x9fc0 : 0x1f80;
    LLVMBuildStore(l->b, LLVMConstInt(l->t.i32, base | bits, 0), slot);
    return slot;
}

/* One instruction of text `op` on operands $3 and so on, its result in $0. */
static LLVMValueRef under_mode(struct low *l, const struct weir_ptx_inst *p, const char *op,
                               const char *constraints, LLVMTypeRef result, LLVMValueRef *a,
                               unsigned n)
{
    char text[160];
    LLVMValueRef args[5];
    LLVMTypeRef types[5];
    args[0] = mode_slot(l, p->rounding == WEIR_PTX_RZ   ? 0x6000
                           : p->rounding == WEIR_PTX_RM ? 0x2000
                                                        : 0x4000);
    args[1] = mode_slot(l, 0);
    for (unsigned k = 0; k < n; k++)
        args[k + 2] = a[k];
    for (unsigned k = 0; k < n + 2; k++)
        types[k] = LLVMTypeOf(args[k]);
    int len = snprintf(text, sizeof text, "vldmxcsr ($1)\n\t%s\n\tvldmxcsr ($2)", op);
    LLVMTypeRef ft = LLVMFunctionType(result, types, n + 2, 0);
    LLVMValueRef f = LLVMGetInlineAsm(ft, text, (size_t)len, constraints, strlen(constraints), 1, 0,
                                      LLVMInlineAsmDialectATT, 0);
    return LLVMBuildCall2(l->b, ft, f, args, n + 2, "");
}

static LLVMValueRef native_by_mxcsr(struct low *l, const struct weir_ptx_inst *p, const char *op,
                                    LLVMValueRef *a, unsigned n)
{
    char text[64];
    const char *suffix = low_bits_of(a[0]) == 64 ? "pd" : "ps";
    if (n == 3)
        snprintf(text, sizeof text, "vfmadd213%s $5, $4, $0", suffix);
    else if (n == 2)
        snprintf(text, sizeof text, "v%s%s $4, $3, $0", op, suffix);
    else
        snprintf(text, sizeof text, "v%s%s $3, $0", op, suffix);
    static const char *const constraints[] = {"=x,r,r,x,~{memory}", "=x,r,r,x,x,~{memory}",
                                              "=x,r,r,0,x,x,~{memory}"};
    return under_mode(l, p, text, constraints[n - 1], LLVMTypeOf(a[0]), a, n);
}

static LLVMValueRef by_mxcsr(struct low *l, const struct weir_ptx_inst *p, const char *op,
                             LLVMValueRef *a, unsigned n)
{
    unsigned native = low_bits_of(a[0]) == 64 ? 4 : 8;
    LLVMValueRef w[3], w2[3];
    if (!low_is_vec(a[0])) {
        for (unsigned k = 0; k < n; k++)
            w[k] = widen16(l, a[k], native);
        return LLVMBuildExtractElement(l->b, native_by_mxcsr(l, p, op, w, n),
                                       LLVMConstInt(l->t.i32, 0, 0), "");
    }
    const unsigned half = LLVMGetVectorSize(LLVMTypeOf(a[0])) / 2;
    if (2 * half == native)
        return native_by_mxcsr(l, p, op, a, n);
    for (unsigned k = 0; k < n; k++) {
        w[k] = part(l, a[k], 0, half);
        w2[k] = part(l, a[k], half, half);
    }
    LLVMValueRef lo = by_mxcsr(l, p, op, w, n);
    return join_halves(l, lo, by_mxcsr(l, p, op, w2, n));
}

/* Lane by lane; unsigned numbers with the top bit by half, with a sticky last bit. */
static LLVMValueRef int_by_mxcsr(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v,
                                 bool sign)
{
    bool dbl = p->type[0] == WEIR_PTX_F64, vec = low_is_vec(v);
    LLVMTypeRef t = dbl ? l->t.f64 : l->t.f32;
    LLVMValueRef zero = low_const(l, LLVMTypeOf(v), 0), one = low_const(l, LLVMTypeOf(v), 1),
                 big = NULL, r;
    if (!sign) {
        big = LLVMBuildICmp(l->b, LLVMIntSLT, v, zero, "");
        LLVMValueRef half =
            LLVMBuildOr(l->b, LLVMBuildLShr(l->b, v, one, ""), LLVMBuildAnd(l->b, v, one, ""), "");
        v = LLVMBuildSelect(l->b, big, half, v, "");
    }
    const char *op = dbl ? "vxorps $0, $0, $0\n\tvcvtsi2sdq $3, $0, $0"
                         : "vxorps $0, $0, $0\n\tvcvtsi2ssq $3, $0, $0";
    r = vec ? LLVMGetPoison(low_like(l, t, v)) : NULL;
    for (unsigned k = 0; k < (vec ? LLVMGetVectorSize(LLVMTypeOf(v)) : 1u); k++) {
        LLVMValueRef at = LLVMConstInt(l->t.i32, k, 0),
                     x = vec ? LLVMBuildExtractElement(l->b, v, at, "") : v;
        LLVMValueRef y = under_mode(l, p, op, "=&x,r,r,r,~{memory}", t, &x, 1);
        r = vec ? LLVMBuildInsertElement(l->b, r, y, at, "") : y;
    }
    if (big)
        r = LLVMBuildSelect(l->b, big, LLVMBuildFAdd(l->b, r, r, ""), r, "");
    return r;
}

LLVMValueRef low_rounded(struct low *l, const struct weir_ptx_inst *p, const char *op,
                         LLVMValueRef *a, unsigned n)
{
    unsigned mode = p->rounding == WEIR_PTX_RZ ? 11 : p->rounding == WEIR_PTX_RM ? 9 : 10;
    unsigned native = low_bits_of(a[0]) == 64 ? 8 : 16;
    LLVMValueRef w[3], w2[3];
    if (!l->avx512)
        return by_mxcsr(l, p, op, a, n);
    if (!low_is_vec(a[0])) {
        for (unsigned k = 0; k < n; k++)
            w[k] = widen16(l, a[k], native);
        return LLVMBuildExtractElement(l->b, rounded_native(l, op, w, n, mode),
                                       LLVMConstInt(l->t.i32, 0, 0), "");
    }
    if (LLVMGetVectorSize(LLVMTypeOf(a[0])) == native)
        return rounded_native(l, op, a, n, mode);
    for (unsigned k = 0; k < n; k++) {
        w[k] = part(l, a[k], 0, native);
        w2[k] = part(l, a[k], native, native);
    }
    return join_halves(l, rounded_native(l, op, w, n, mode), rounded_native(l, op, w2, n, mode));
}

LLVMValueRef low_rounded_int(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v,
                             bool sign)
{
    unsigned mode = p->rounding == WEIR_PTX_RZ ? 11 : p->rounding == WEIR_PTX_RM ? 9 : 10;
    LLVMTypeRef over[2] = {LLVMVectorType(p->type[0] == WEIR_PTX_F64 ? l->t.f64 : l->t.f32, 8),
                           LLVMVectorType(l->t.i64, 8)};
    const char *name = sign ? "llvm.x86.avx512.sitofp.round" : "llvm.x86.avx512.uitofp.round";
    LLVMValueRef args[2] = {v, LLVMConstInt(l->t.i32, mode, 0)}, r[2];
    if (!l->avx512)
        return int_by_mxcsr(l, p, v, sign);
    if (!low_is_vec(v)) {
        args[0] = widen16(l, v, 8);
        r[0] = low_intrinsic(l, name, over, 2, args, 2);
        return LLVMBuildExtractElement(l->b, r[0], LLVMConstInt(l->t.i32, 0, 0), "");
    }
    for (unsigned k = 0; k < 2; k++) {
        args[0] = part(l, v, 8 * k, 8);
        r[k] = low_intrinsic(l, name, over, 2, args, 2);
    }
    return join_halves(l, r[0], r[1]);
}
