/* The compiler library's only exported symbol, and one compilation from request to result.
 * SPDX-License-Identifier: Apache-2.0 */
#include <llvm-c/Core.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "codegen/lower/lower.h"

#define ARENA_LIMIT (1u << 30)

void low_refuse(struct low *l, const struct weir_ptx_inst *i, const char *why)
{
    char name[128] = "";
    if (i && i->suffix)
        weir_ptx_inst_name(i, name, sizeof name);
    snprintf(l->result->message, sizeof l->result->message, "%s%s%.100s", name,
             *name && why ? ": " : "", why ? why : "");
    l->error = WEIR_ERR_NOT_SUPPORTED;
    longjmp(l->refuse, 1);
}

void low_need_general(struct low *l, const struct weir_ptx_inst *i, const char *why)
{
    l->needs_general = !l->general;
    low_refuse(l, i, why);
}

void low_no_memory(struct low *l)
{
    snprintf(l->result->message, sizeof l->result->message, "out of memory");
    l->error = WEIR_ERR_MEMORY_ALLOCATION;
    longjmp(l->refuse, 1);
}

/* FTZ and DAZ for the whole kernel when every f32 instruction asks for it and no f64 one would
 * notice. */
static void float_mode(struct low *l)
{
    for (size_t k = 0; k < l->insts.count; k++) {
        const struct weir_ptx_inst *p = l->insts.items[k].p;
        if (!p || l->insts.items[k].kind != LOW_PTX)
            continue;
        bool f32 = p->type[0] == WEIR_PTX_F32 || p->type[1] == WEIR_PTX_F32, moves = false;
        switch (p->opcode) {
        case WEIR_PTX_OP_mov:
        case WEIR_PTX_OP_ld:
        case WEIR_PTX_OP_st:
        case WEIR_PTX_OP_selp:
        case WEIR_PTX_OP_testp:
        case WEIR_PTX_OP_copysign:
        case WEIR_PTX_OP_neg:
        case WEIR_PTX_OP_abs:
        case WEIR_PTX_OP_tex:
        case WEIR_PTX_OP_tld4:
            moves = true;
            break;
        default:
            break;
        }
        if (moves)
            continue;
        bool half = p->type[0] == WEIR_PTX_F16 || p->type[0] == WEIR_PTX_F16X2 ||
                    p->type[1] == WEIR_PTX_F16 || p->type[0] == WEIR_PTX_BF16 ||
                    p->type[0] == WEIR_PTX_BF16X2 || p->type[1] == WEIR_PTX_BF16;
        if (p->type[0] == WEIR_PTX_F64 || p->type[1] == WEIR_PTX_F64 || half)
            l->uses_f64 = true;
        bool converts = p->opcode == WEIR_PTX_OP_cvt && !weir_ptx_type_is_float(p->type[1]);
        if (f32 && p->ftz)
            l->uses_ftz = true;
        else if (f32 && !converts)
            l->uses_f32_no_ftz = true;
    }
    l->all_ftz = l->uses_ftz && !l->uses_f32_no_ftz && !l->uses_f64;
}

static void fill_meta(struct low *l)
{
    struct weir_jit_meta *m = &l->result->meta;
    m->kernel_abi = WEIR_KERNEL_ABI;
    m->local_bytes_per_thread = (uint32_t)l->local_bytes;
    m->static_shared_bytes = low_static_shared(l);
    m->mxcsr = l->all_ftz ? 0x1f80u | 0x8040u : 0;
}

/* ---- where the time goes: WEIR_JIT_TIMES=1 writes a line to stderr for each compilation ---- */

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void low_stage(struct low *l, enum low_stage stage)
{
    if (!l->times)
        return;
    double now = cpu_ms();
    l->times->ms[stage] += now - l->times->last;
    l->times->last = now;
}

static size_t count_ir(struct low *l)
{
    size_t n = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(l->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                n++;
    return n;
}

bool low_is_above(struct low *l, size_t limit)
{
    return count_ir(l) > limit;
}

void low_count_ir(struct low *l, bool after)
{
    if (l->times)
        l->times->ir[after] = count_ir(l);
}

static void print_times(struct low *l)
{
    const struct low_times *t = l->times;
    fprintf(stderr,
            "weir-jit: %.60s: %zu PTX, IR %zu -> %zu, object %zu; CPU ms: target %.1f, analysis "
            "%.1f, IR %.1f, SSA %.1f, passes "
            "%.1f, code %.1f\n",
            l->kernel->name, l->insts.count, t->ir[0], t->ir[1], l->result->object_bytes,
            t->ms[LOW_STAGE_TARGET], t->ms[LOW_STAGE_ANALYSIS], t->ms[LOW_STAGE_IR],
            t->ms[LOW_STAGE_SSA], t->ms[LOW_STAGE_PASSES], t->ms[LOW_STAGE_CODE]);
}

static void compile_guarded(struct low *l)
{
    const uint32_t *b = l->request->block;
    l->threads = b[0] * b[1] * b[2];
    if (l->threads == 0 || l->threads > 1024)
        low_refuse(l, NULL, "block of this size");
    l->warps = (l->threads + LOW_LANES - 1) / LOW_LANES;
    l->tail_lanes = l->threads % LOW_LANES;
    low_target_init(l);
    low_stage(l, LOW_STAGE_TARGET);
    low_program_build(l);
    low_clocks_find(l);
    l->local_bytes = WEIR_ALIGN_UP(l->local_bytes, WEIR_MAX(l->local_align, (uint64_t)16));
    float_mode(l);
    low_cfg_order(l);
    l->reg_words = l->regs.count / 64 + 1;
    if (l->irreducible && !l->general)
        low_need_general(l, NULL, "irreducible control flow");
    bool polls = low_polls(l);
    if (polls && !l->general)
        low_need_general(l, NULL, "polling loop");
    low_liveness(l);
    low_shapes(l);
    low_nan_find(l);
    low_race_prepare(l);
    low_stage(l, LOW_STAGE_ANALYSIS);
    if (l->general)
        low_general_emit(l);
    else
        low_emit_kernel(l);
    fill_meta(l);
    low_stage(l, LOW_STAGE_IR);
    low_optimise_and_emit(l);
    low_stage(l, LOW_STAGE_CODE);
    if (l->times)
        print_times(l);
}

static void finish(struct low *l)
{
    low_ssa_finish(l);
    low_mask_words_finish(l);
    low_instances_finish(l);
    low_debug_dispose(l);
    if (l->b)
        LLVMDisposeBuilder(l->b);
    if (l->module)
        LLVMDisposeModule(l->module);
    if (l->machine)
        LLVMDisposeTargetMachine(l->machine);
    if (l->ctx)
        LLVMContextDispose(l->ctx);
    weir_vec_finish(&l->insts);
    weir_vec_finish(&l->frames);
    weir_vec_finish(&l->regs);
    weir_vec_finish(&l->blocks);
    weir_vec_finish(&l->loops);
    weir_arena_finish(&l->arena);
    weir_free(l);
}

static enum weir_err attempt(const struct weir_jit_request *request, struct weir_jit_result *result,
                             bool general, bool *again)
{
    struct low *l = weir_calloc(1, sizeof *l);
    memset(result, 0, sizeof *result);
    if (!l)
        return WEIR_ERR_MEMORY_ALLOCATION;
    l->request = request;
    l->result = result;
    l->kernel = request->kernel;
    l->general = general;
    struct low_times times = {.last = cpu_ms()};
    if (getenv("WEIR_JIT_TIMES"))
        l->times = &times;
    weir_arena_init(&l->arena, ARENA_LIMIT);
    if (setjmp(l->refuse) == 0)
        compile_guarded(l);
    enum weir_err err = l->error;
    *again = l->needs_general;
    finish(l);
    return err;
}

/* The ordinary way first; kernels that need lanes, warps and blocks to wait for each other in any
 * order start again. */
static enum weir_err compile(const struct weir_jit_request *request, struct weir_jit_result *result)
{
    bool again = false;
    enum weir_err err = attempt(request, result, false, &again);
    return again ? attempt(request, result, true, &again) : err;
}

static void release(struct weir_jit_result *result)
{
    weir_free(result->object);
    result->object = NULL;
    result->object_bytes = 0;
}

static const struct weir_jit_api api = {
    .abi = WEIR_JIT_ABI,
    .llvm_version = LLVM_VERSION_STRING,
    .compile = compile,
    .release = release,
};

const WEIR_EXPORT struct weir_jit_api *weir_jit_entry(void)
{
    return &api;
}
