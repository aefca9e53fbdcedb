/* The object's own slow path: one function that goes through lanes one by one, checks each address
 * and, where asked, loads or stores through the scratch area; and the thunk that calls it. The
 * thunk keeps every register, so that a call in a cold block costs the hot code nothing. Scratch:
 * 32 addresses, then the data, component by component.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "codegen/lower/lower.h"

/* ---- loops over lanes ---- */

void low_lane_loop_begin(struct low *l, struct low_lane_loop *loop, LLVMValueRef bits)
{
    loop->from = LLVMGetInsertBlock(l->b);
    loop->head = low_bb(l, "lanes");
    loop->body = low_bb(l, "lane");
    loop->end = low_bb(l, "lanes_end");
    LLVMBuildBr(l->b, loop->head);
    LLVMPositionBuilderAtEnd(l->b, loop->head);
    loop->bits_phi = LLVMBuildPhi(l->b, l->t.i32, "");
    LLVMAddIncoming(loop->bits_phi, &bits, &loop->from, 1);
    LLVMValueRef some =
        LLVMBuildICmp(l->b, LLVMIntNE, loop->bits_phi, LLVMConstInt(l->t.i32, 0, 0), "");
    LLVMBuildCondBr(l->b, some, loop->body, loop->end);
    LLVMPositionBuilderAtEnd(l->b, loop->body);
    loop->lane = low_binary(l, "llvm.cttz", loop->bits_phi, LLVMConstInt(l->t.i1, 1, 0));
}

void low_lane_loop_rest(struct low *l, struct low_lane_loop *loop, LLVMValueRef rest)
{
    LLVMBasicBlockRef last = LLVMGetInsertBlock(l->b);
    LLVMAddIncoming(loop->bits_phi, &rest, &last, 1);
    LLVMBuildBr(l->b, loop->head);
    LLVMPositionBuilderAtEnd(l->b, loop->end);
}

void low_lane_loop_end(struct low *l, struct low_lane_loop *loop)
{
    LLVMValueRef less = LLVMBuildSub(l->b, loop->bits_phi, LLVMConstInt(l->t.i32, 1, 0), "");
    low_lane_loop_rest(l, loop, LLVMBuildAnd(l->b, loop->bits_phi, less, ""));
}

/* ---- the function ---- */

struct slow {
    LLVMValueRef block, scratch, mask, code, line;
    LLVMValueRef addr, size, comps, total;
    struct low_lane_loop loop;
};

static LLVMValueRef field(struct low *l, LLVMValueRef code, unsigned at, unsigned bits)
{
    LLVMValueRef v = LLVMBuildLShr(l->b, code, LLVMConstInt(l->t.i32, at, 0), "");
    return LLVMBuildAnd(l->b, v, LLVMConstInt(l->t.i32, weir_bits_low(bits), 0), "");
}

static LLVMValueRef read_at(struct low *l, LLVMValueRef p, size_t offset, LLVMTypeRef t)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, offset, 0);
    return LLVMBuildLoad2(l->b, t, LLVMBuildGEP2(l->b, l->t.i8, p, &at, 1, ""), "");
}

static void service(struct low *l, LLVMValueRef services, size_t offset, LLVMValueRef *args,
                    unsigned n)
{
    LLVMTypeRef types[8];
    for (unsigned k = 0; k < n; k++)
        types[k] = LLVMTypeOf(args[k]);
    LLVMValueRef f = read_at(l, services, offset, l->t.ptr);
    LLVMBuildCall2(l->b, LLVMFunctionType(l->t.v, types, n, 0), f, args, n, "");
}

static void emit_check(struct low *l, struct slow *s)
{
    LLVMValueRef launch = read_at(l, s->block, offsetof(struct weir_block, launch), l->t.ptr);
    LLVMValueRef services = read_at(l, launch, offsetof(struct weir_launch, services), l->t.ptr);
    LLVMValueRef shared = field(l, s->code, 20, 1);
    shared = LLVMBuildICmp(l->b, LLVMIntNE, shared, LLVMConstInt(l->t.i32, 0, 0), "");
    LLVMValueRef base = LLVMBuildSelect(
        l->b, shared, read_at(l, s->block, offsetof(struct weir_block, shared), l->t.i64),
        read_at(l, launch, offsetof(struct weir_launch, window_base), l->t.i64), "");
    LLVMValueRef sb = read_at(l, s->block, offsetof(struct weir_block, shared_bytes), l->t.i32);
    LLVMValueRef bytes = LLVMBuildSelect(
        l->b, shared, LLVMBuildZExt(l->b, sb, l->t.i64, ""),
        read_at(l, launch, offsetof(struct weir_launch, window_bytes), l->t.i64), "");
    LLVMValueRef off = LLVMBuildSub(l->b, s->addr, base, ""),
                 total = LLVMBuildZExt(l->b, s->total, l->t.i64, "");
    LLVMValueRef in = LLVMBuildICmp(l->b, LLVMIntULT, off, bytes, "");
    LLVMValueRef fits =
        LLVMBuildICmp(l->b, LLVMIntUGE, LLVMBuildSub(l->b, bytes, off, ""), total, "");
    LLVMBasicBlockRef out = low_bb(l, "out"), fail = low_bb(l, "fail"), ask = low_bb(l, "ask"),
                      next = low_bb(l, "next");
    /* As in emit_memory.c: what is not aligned is asked for, and refused there. */
    LLVMValueRef low_bits = LLVMBuildAnd(l->b, total, LLVMBuildNeg(l->b, total, ""), "");
    low_bits = LLVMBuildSub(l->b, low_bits, LLVMConstInt(l->t.i64, 1, 0), "");
    low_bits = LLVMBuildAnd(l->b, low_bits, LLVMConstInt(l->t.i64, 15, 0), "");
    low_bits = LLVMBuildAnd(l->b, low_bits, off, "");
    LLVMValueRef aligned =
        LLVMBuildICmp(l->b, LLVMIntEQ, low_bits, LLVMConstInt(l->t.i64, 0, 0), "");
    fits = LLVMBuildAnd(l->b, fits, aligned, "");
    LLVMBuildCondBr(l->b, LLVMBuildAnd(l->b, in, fits, ""), next, out);
    LLVMPositionBuilderAtEnd(l->b, out);
    LLVMBuildCondBr(l->b, shared, fail, ask);
    LLVMPositionBuilderAtEnd(l->b, fail);
    LLVMValueRef at = LLVMConstInt(l->t.i64, offsetof(struct weir_block, error_address), 0);
    LLVMBuildStore(l->b, s->addr, LLVMBuildGEP2(l->b, l->t.i8, s->block, &at, 1, ""));
    LLVMValueRef why =
        LLVMBuildSelect(l->b, aligned, LLVMConstInt(l->t.i32, WEIR_ERR_ILLEGAL_ADDRESS, 0),
                        LLVMConstInt(l->t.i32, WEIR_ERR_MISALIGNED_ADDRESS, 0), "");
    LLVMValueRef f[3] = {s->block, why, s->line};
    service(l, services, offsetof(struct weir_kernel_services, fail), f, 3);
    LLVMBuildUnreachable(l->b);
    LLVMPositionBuilderAtEnd(l->b, ask);
    LLVMValueRef args[4] = {s->block, s->addr, s->total, field(l, s->code, 18, 2)};
    service(l, services, offsetof(struct weir_kernel_services, check_address), args, 4);
    LLVMBuildBr(l->b, next);
    LLVMPositionBuilderAtEnd(l->b, next);
}

static void note(struct low *l, LLVMValueRef block, size_t offset, LLVMValueRef v)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, offset, 0);
    LLVMSetVolatile(LLVMBuildStore(l->b, v, LLVMBuildGEP2(l->b, l->t.i8, block, &at, 1, "")), 1);
}

/* Whose access is made, should it fail; lane NULL: nobody's. */
static void note_lane(struct low *l, struct slow *s, LLVMValueRef lane)
{
    LLVMValueRef zero = LLVMConstInt(l->t.i32, 0, 0);
    if (lane)
        lane = LLVMBuildAdd(l->b, lane, LLVMConstInt(l->t.i32, 1, 0), "");
    note(l, s->block, offsetof(struct weir_block, error_lane), lane ? lane : zero);
}

void low_note_line(struct low *l, LLVMValueRef block, LLVMValueRef line)
{
    note(l, block, offsetof(struct weir_block, error_line), line);
}

/* Says what this lane accesses, where the code asks for it. */
static void emit_touch(struct low *l, struct slow *s)
{
    LLVMValueRef launch = read_at(l, s->block, offsetof(struct weir_block, launch), l->t.ptr);
    LLVMValueRef services = read_at(l, launch, offsetof(struct weir_launch, services), l->t.ptr);
    LLVMBasicBlockRef tell = low_bb(l, "touch"), next = low_bb(l, "touched");
    LLVMValueRef asked = field(l, s->code, 23, 1), zero = LLVMConstInt(l->t.i64, 0, 0);
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, asked, LLVMConstInt(l->t.i32, 1, 0), ""),
                    tell, next);
    LLVMPositionBuilderAtEnd(l->b, tell);
    LLVMValueRef kind =
        LLVMBuildShl(l->b, field(l, s->code, 18, 2), LLVMConstInt(l->t.i32, 16, 0), "");
    LLVMValueRef code = LLVMBuildZExt(l->b, LLVMBuildOr(l->b, s->total, kind, ""), l->t.i64, "");
    LLVMValueRef line = LLVMBuildShl(l->b, LLVMBuildZExt(l->b, s->line, l->t.i64, ""),
                                     LLVMConstInt(l->t.i64, 32, 0), "");
    LLVMValueRef one = LLVMBuildShl(l->b, LLVMConstInt(l->t.i64, 1, 0),
                                    LLVMBuildZExt(l->b, s->loop.lane, l->t.i64, ""), "");
    LLVMValueRef args[5] = {s->block, one, LLVMBuildOr(l->b, code, line, ""), s->addr, zero};
    service(l, services, offsetof(struct weir_kernel_services, touch), args, 5);
    LLVMBuildBr(l->b, next);
    LLVMPositionBuilderAtEnd(l->b, next);
}

/* As low_to_twin. */
static void to_twin(struct low *l, struct slow *s)
{
    LLVMValueRef launch = read_at(l, s->block, offsetof(struct weir_block, launch), l->t.ptr);
    LLVMValueRef base = read_at(l, launch, offsetof(struct weir_launch, twin_base), l->t.i64);
    LLVMValueRef bytes = read_at(l, launch, offsetof(struct weir_launch, twin_bytes), l->t.i64);
    LLVMValueRef shift = read_at(l, launch, offsetof(struct weir_launch, twin_shift), l->t.i64);
    LLVMValueRef has =
        LLVMBuildICmp(l->b, LLVMIntULT, LLVMBuildSub(l->b, s->addr, base, ""), bytes, "");

    s->addr = LLVMBuildAdd(l->b, s->addr,
                           LLVMBuildSelect(l->b, has, shift, LLVMConstInt(l->t.i64, 0, 0), ""), "");
}

static void copy_one(struct low *l, LLVMValueRef from, LLVMValueRef to, unsigned bytes,
                     LLVMBasicBlockRef next)
{
    LLVMTypeRef t = low_int(l, bytes * 8);
    LLVMValueRef v = LLVMBuildLoad2(l->b, t, from, "");
    LLVMSetAlignment(v, 1);
    LLVMSetAlignment(LLVMBuildStore(l->b, v, to), 1);
    LLVMBuildBr(l->b, next);
}

/* Copies the lane's components between memory and scratch. */
static void emit_data(struct low *l, struct slow *s)
{
    LLVMValueRef op = field(l, s->code, 16, 2), zero = LLVMConstInt(l->t.i32, 0, 0),
                 one = LLVMConstInt(l->t.i32, 1, 0);
    LLVMBasicBlockRef head = low_bb(l, "comp"), body = low_bb(l, "copy"),
                      again = low_bb(l, "again"), next = low_bb(l, "next");
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b);
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, op, zero, ""), next, head);
    LLVMPositionBuilderAtEnd(l->b, head);
    LLVMValueRef c = LLVMBuildPhi(l->b, l->t.i32, "");
    LLVMAddIncoming(c, &zero, &from, 1);
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntULT, c, s->comps, ""), body, next);
    LLVMPositionBuilderAtEnd(l->b, body);
    LLVMValueRef off = LLVMBuildZExt(l->b, LLVMBuildMul(l->b, c, s->size, ""), l->t.i64, "");
    LLVMValueRef mem = LLVMBuildIntToPtr(l->b, LLVMBuildAdd(l->b, s->addr, off, ""), l->t.ptr, "");
    LLVMValueRef at = LLVMBuildAdd(
        l->b, LLVMBuildMul(l->b, c, LLVMConstInt(l->t.i32, LOW_LANES, 0), ""), s->loop.lane, "");
    at =
        LLVMBuildAdd(l->b, LLVMBuildMul(l->b, at, s->size, ""), LLVMConstInt(l->t.i32, 256, 0), "");
    LLVMValueRef data = LLVMBuildGEP2(l->b, l->t.i8, s->scratch, &at, 1, "");
    LLVMValueRef load = LLVMBuildICmp(l->b, LLVMIntEQ, op, one, "");
    LLVMValueRef src = LLVMBuildSelect(l->b, load, mem, data, ""),
                 dst = LLVMBuildSelect(l->b, load, data, mem, "");
    LLVMBasicBlockRef bad = low_bb(l, "size");
    LLVMValueRef sw = LLVMBuildSwitch(l->b, s->size, bad, 4);
    for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
        LLVMBasicBlockRef bb = low_bb(l, "bytes");
        LLVMAddCase(sw, LLVMConstInt(l->t.i32, bytes, 0), bb);
        LLVMPositionBuilderAtEnd(l->b, bb);
        copy_one(l, src, dst, bytes, again);
    }
    LLVMPositionBuilderAtEnd(l->b, bad);
    LLVMBuildBr(l->b, again);
    LLVMPositionBuilderAtEnd(l->b, again);
    LLVMValueRef c1 = LLVMBuildAdd(l->b, c, one, "");
    LLVMAddIncoming(c, &c1, &again, 1);
    LLVMBuildBr(l->b, head);
    LLVMPositionBuilderAtEnd(l->b, next);
}

static LLVMValueRef lane_address(struct low *l, struct slow *s)
{
    LLVMBasicBlockRef whole = low_bb(l, "whole"), indexed = low_bb(l, "indexed"),
                      next = low_bb(l, "addressed");
    LLVMValueRef zero = LLVMConstInt(l->t.i32, 0, 0), a[2];
    LLVMBasicBlockRef from[2] = {whole, indexed};
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, field(l, s->code, 21, 1), zero, ""), whole,
                    indexed);
    LLVMPositionBuilderAtEnd(l->b, whole);
    a[0] = LLVMBuildLoad2(l->b, l->t.i64,
                          LLVMBuildGEP2(l->b, l->t.i64, s->scratch, &s->loop.lane, 1, ""), "");
    LLVMBuildBr(l->b, next);
    LLVMPositionBuilderAtEnd(l->b, indexed);
    LLVMValueRef i = LLVMBuildLoad2(
        l->b, l->t.i32, LLVMBuildGEP2(l->b, l->t.i32, s->scratch, &s->loop.lane, 1, ""), "");
    i = LLVMBuildAdd(l->b, i, read_at(l, s->scratch, LOW_SLOW_FORM + 16, l->t.i32), "");
    LLVMValueRef sign = LLVMBuildICmp(l->b, LLVMIntNE, field(l, s->code, 22, 1), zero, "");
    i = LLVMBuildSelect(l->b, sign, LLVMBuildSExt(l->b, i, l->t.i64, ""),
                        LLVMBuildZExt(l->b, i, l->t.i64, ""), "");
    i = LLVMBuildMul(l->b, i, read_at(l, s->scratch, LOW_SLOW_FORM + 8, l->t.i64), "");
    a[1] = LLVMBuildAdd(l->b, i, read_at(l, s->scratch, LOW_SLOW_FORM, l->t.i64), "");
    LLVMBuildBr(l->b, next);
    LLVMPositionBuilderAtEnd(l->b, next);
    LLVMValueRef phi = LLVMBuildPhi(l->b, l->t.i64, "");
    LLVMAddIncoming(phi, a, from, 2);
    return phi;
}

static void attribute(struct low *l, LLVMValueRef fn, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(l->ctx, kind, 0));
}

static void make_function(struct low *l)
{
    LLVMTypeRef params[5] = {l->t.ptr, l->t.ptr, l->t.i32, l->t.i32, l->t.i32};
    LLVMTypeRef ft = LLVMFunctionType(l->t.v, params, 5, 0);
    LLVMBasicBlockRef back = LLVMGetInsertBlock(l->b);
    LLVMValueRef caller = l->fn;
    low_debug_leave(l);
    l->slow_fn = LLVMAddFunction(l->module, "weir_slow", ft);
    LLVMSetVisibility(l->slow_fn, LLVMHiddenVisibility);
    attribute(l, l->slow_fn, "noinline");
    attribute(l, l->slow_fn, "cold");
    attribute(l, l->slow_fn, "optsize");
    l->fn = l->slow_fn;
    LLVMPositionBuilderAtEnd(l->b, low_bb(l, "entry"));
    struct slow s = {.block = LLVMGetParam(l->fn, 0),
                     .scratch = LLVMGetParam(l->fn, 1),
                     .mask = LLVMGetParam(l->fn, 2),
                     .code = LLVMGetParam(l->fn, 3),
                     .line = LLVMGetParam(l->fn, 4)};
    s.size = field(l, s.code, 0, 8);
    s.comps = field(l, s.code, 8, 8);
    s.total = LLVMBuildMul(l->b, s.size, s.comps, "");
    low_note_line(l, s.block, s.line);
    low_lane_loop_begin(l, &s.loop, s.mask);
    note_lane(l, &s, s.loop.lane);
    s.addr = lane_address(l, &s);
    if (l->request->touch) /* first: what is refused has been told */
        emit_touch(l, &s);
    emit_check(l, &s);
    if (l->request->twin)
        to_twin(l, &s);
    emit_data(l, &s);
    low_lane_loop_end(l, &s.loop);
    note_lane(l, &s, NULL);
    LLVMBuildRetVoid(l->b);
    l->fn = caller;
    LLVMPositionBuilderAtEnd(l->b, back);
    low_debug_return(l);
}

/* rdi, rsi, edx, ecx as the function's, the fifth argument in eax; every register and the flags
 * come back as they were. */
static void make_thunk(struct low *l)
{
    static const char *const gpr[] = {"rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"};
    char text[8192];
    size_t n = 0;
    const unsigned vectors = l->avx512 ? 32 : 16, bytes = l->avx512 ? 64 : 32;
    const unsigned area = (vectors * bytes + (l->avx512 ? 64 : 0) + 63) & ~63u;
#define OUT(...) (n += (size_t)snprintf(text + n, sizeof text - n, __VA_ARGS__))
    OUT(".text\n.p2align 4\n.type weir_slow_thunk,@function\nweir_slow_thunk:\n push %%rbp\n mov "
        "%%rsp, %%rbp\n pushfq\n");
    for (int k = 0; k < 9; k++)
        OUT(" push %%%s\n", gpr[k]);
    OUT(" and $-64, %%rsp\n sub $%u, %%rsp\n", area);
    for (unsigned k = 0; k < vectors; k++)
        OUT(" vmovaps %%%cmm%u, %u(%%rsp)\n", l->avx512 ? 'z' : 'y', k, k * bytes);
    for (unsigned k = 0; k < 8 && l->avx512; k++)
        OUT(" kmovq %%k%u, %u(%%rsp)\n", k, vectors * bytes + 8 * k);
    OUT(" cld\n mov %%eax, %%r8d\n call weir_slow\n");
    for (unsigned k = 0; k < vectors; k++)
        OUT(" vmovaps %u(%%rsp), %%%cmm%u\n", k * bytes, l->avx512 ? 'z' : 'y', k);
    for (unsigned k = 0; k < 8 && l->avx512; k++)
        OUT(" kmovq %u(%%rsp), %%k%u\n", vectors * bytes + 8 * k, k);
    OUT(" lea -80(%%rbp), %%rsp\n");
    for (int k = 8; k >= 0; k--)
        OUT(" pop %%%s\n", gpr[k]);
    OUT(" popfq\n pop %%rbp\n ret\n.size weir_slow_thunk, .-weir_slow_thunk\n");
#undef OUT
    LLVMSetModuleInlineAsm2(l->module, text, n);
}

void low_slow_call(struct low *l, LLVMValueRef bits, uint32_t code, int line, uint32_t op)
{
    if (!l->slow_fn) {
        make_function(l);
        make_thunk(l);
    }
    static const char call[] = "call weir_slow_thunk";
    /* names of the operands' widths: for others LLVM compares with the names of all registers, and
     * there are many such calls */
    static const char constraints[] = "{rdi},{rsi},{edx},{ecx},{eax},~{memory}";
    LLVMTypeRef types[5] = {l->t.ptr, l->t.ptr, l->t.i32, l->t.i32, l->t.i32};
    LLVMTypeRef ft = LLVMFunctionType(l->t.v, types, 5, 0);
    LLVMValueRef as = LLVMGetInlineAsm(ft, call, sizeof call - 1, constraints,
                                       sizeof constraints - 1, 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMValueRef args[5] = {l->block_ptr, l->scratch, bits, LLVMConstInt(l->t.i32, code, 0),
                            l->slow_line ? l->slow_line
                                         : LLVMConstInt(l->t.i32, (unsigned)line, 0)};
    LLVMValueRef c = LLVMBuildCall2(l->b, ft, as, args, 5, "");
    /* memory(argmem: readwrite, inaccessiblemem: readwrite), and "other" read by loads, written by
     * stores */
    uint64_t effects = op == 0 ? 0x0f : op == 1 ? 0x1f : 0x3f;
    unsigned kind = LLVMGetEnumAttributeKindForName("memory", 6);
    LLVMAddCallSiteAttribute(c, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(l->ctx, kind, effects));
}
