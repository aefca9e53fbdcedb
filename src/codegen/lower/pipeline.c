/* From IR to an object: the target, the passes of each tier, the emission.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "codegen/lower/lower.h"

static const char triple[] = "x86_64-unknown-linux-gnu";

/* Starts a kernel soon: what emission computes twice goes away, and that is all. */
static const char quick[] = "function(early-cse,simplifycfg)";

/* Control flow and registers are already as the program's compiler optimised them: what is left to
 * gain is in what was made of it: values common to all warps, checks made twice, masks known by the
 * way one came. */
static const char best[] =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,jump-threading,"
    "simplifycfg,"
    "loop-mssa(loop-rotate,licm<allowspeculation>),gvn,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(licm<allowspeculation>),loop(indvars,loop-deletion),dse,adce,"
    "instcombine<no-verify-fixpoint>,sink,simplifycfg)";

/* For kernels of which there is so much that the others take many seconds: those that reason about
 * memory and loops look at all pairs, and what they keep in registers for long is then spilled by
 * an allocator that looks for the best places. */
static const char best_large[] =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,jump-threading,"
    "simplifycfg,early-cse,adce,simplifycfg)";
#define LARGE 40000u /* LLVM instructions as they are made */

static void fail(struct low *l, const char *what, char *detail)
{
    snprintf(l->result->message, sizeof l->result->message, "compiler: %s: %.150s", what,
             detail ? detail : "");
    l->error = WEIR_ERR_UNKNOWN;
    longjmp(l->refuse, 1);
}

static void string_attribute(struct low *l, LLVMValueRef fn, const char *key, const char *value)
{
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(l->ctx, key, (unsigned)strlen(key), value,
                                                      (unsigned)strlen(value)));
}

static void flag_attribute(struct low *l, LLVMValueRef fn, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(l->ctx, kind, 0));
}

static LLVMMetadataRef node(struct low *l, LLVMMetadataRef *ops, size_t n)
{
    return LLVMMDNodeInContext2(l->ctx, ops, n);
}

static LLVMMetadataRef text(struct low *l, const char *s)
{
    return LLVMMDStringInContext2(l->ctx, s, strlen(s));
}

static LLVMValueRef list(struct low *l, LLVMMetadataRef *scopes, unsigned mask)
{
    LLVMMetadataRef ops[4];
    size_t n = 0;
    for (unsigned k = 0; k < 4; k++)
        if (mask >> k & 1)
            ops[n++] = scopes[k];
    return LLVMMetadataAsValue(l->ctx, node(l, ops, n));
}

/* Saved state, shared, global and local memory cannot be the same bytes; generic accesses may be
 * any but the first. */
static void make_metadata(struct low *l)
{
    static const char *const names[4] = {"state", "shared", "global", "local"};
    LLVMMetadataRef scopes[4], ops[2];
    ops[0] = text(l, "weir");
    LLVMMetadataRef domain = node(l, ops, 1);
    for (int k = 0; k < 4; k++) {
        ops[0] = text(l, names[k]);
        ops[1] = domain;
        scopes[k] = node(l, ops, 2);
    }
    l->md_scope = LLVMGetMDKindIDInContext(l->ctx, "alias.scope", 11);
    l->md_noalias = LLVMGetMDKindIDInContext(l->ctx, "noalias", 7);
    l->md_invariant = LLVMGetMDKindIDInContext(l->ctx, "invariant.load", 14);
    l->md_prof = LLVMGetMDKindIDInContext(l->ctx, "prof", 4);
    l->md_state = list(l, scopes, 1);
    l->md_not_state = list(l, scopes, 2 | 4 | 8);
    l->md_shared = list(l, scopes, 2);
    l->md_not_shared = list(l, scopes, 1 | 4 | 8);
    l->md_global = list(l, scopes, 4);
    l->md_not_global = list(l, scopes, 1 | 2 | 8);
    l->md_local = list(l, scopes, 8);
    l->md_not_local = list(l, scopes, 1 | 2 | 4);
    l->md_not_any = list(l, scopes, 1);
    l->md_empty = LLVMMetadataAsValue(l->ctx, node(l, NULL, 0));
    LLVMMetadataRef w[3] = {text(l, "branch_weights"),
                            LLVMValueAsMetadata(LLVMConstInt(l->t.i32, 2000, 0)),
                            LLVMValueAsMetadata(LLVMConstInt(l->t.i32, 1, 0))};
    l->md_unlikely = LLVMMetadataAsValue(l->ctx, node(l, w, 3));
}

static void make_types(struct low *l)
{
    LLVMContextRef c = l->ctx;
    l->t = (struct low_types){.i1 = LLVMInt1TypeInContext(c),
                              .i8 = LLVMInt8TypeInContext(c),
                              .i16 = LLVMInt16TypeInContext(c),
                              .i32 = LLVMInt32TypeInContext(c),
                              .i64 = LLVMInt64TypeInContext(c),
                              .i128 = LLVMInt128TypeInContext(c),
                              .f16 = LLVMHalfTypeInContext(c),
                              .bf16 = LLVMBFloatTypeInContext(c),
                              .f32 = LLVMFloatTypeInContext(c),
                              .f64 = LLVMDoubleTypeInContext(c),
                              .ptr = LLVMPointerTypeInContext(c, 0),
                              .v = LLVMVoidTypeInContext(c)};
    l->t.mask = LLVMVectorType(l->t.i1, l->width);
}

static bool has(const char *features, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strstr(features, name); at; at = strstr(at + n, name))
        if (at[n] == 0 || at[n] == ',')
            return true;
    return false;
}

/* LLVM's registry of targets is a list without a lock: two threads would enter the same target
 * twice. */
static pthread_once_t targets_once = PTHREAD_ONCE_INIT;

static void targets_register(void)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
}

static LLVMTargetRef x86_target(struct low *l)
{
    LLVMTargetRef t;
    char *message = NULL;
    pthread_once(&targets_once, targets_register);
    if (LLVMGetTargetFromTriple(triple, &t, &message))
        fail(l, "target", message);
    return t;
}

void low_target_init(struct low *l)
{
    LLVMTargetRef target = x86_target(l);
    const struct weir_jit_request *q = l->request;
    char *host_cpu = NULL, *host_features = NULL;
    if (!q->cpu || !q->features) {
        host_cpu = LLVMGetHostCPUName();
        host_features = LLVMGetHostCPUFeatures();
    }
    const char *cpu = q->cpu ? q->cpu : host_cpu,
               *features = q->features ? q->features : host_features;
    l->avx512 = has(features, "+avx512f") && has(features, "+avx512bw") &&
                has(features, "+avx512vl") && has(features, "+avx512dq");
    bool avx2 = has(features, "+avx2") && has(features, "+fma");
    l->width = 16; /* where vectors are half as long, LLVM makes two of each */
    l->groups = LOW_LANES / l->width;
    l->machine = LLVMCreateTargetMachine(target, triple, cpu, features,
                                         q->tier == WEIR_JIT_QUICK ? LLVMCodeGenLevelNone
                                                                   : LLVMCodeGenLevelDefault,
                                         LLVMRelocPIC, LLVMCodeModelSmall);
    l->ctx = LLVMContextCreate();
    LLVMContextSetDiscardValueNames(l->ctx, getenv("WEIR_DUMP_IR") == NULL);
    l->module = LLVMModuleCreateWithNameInContext("kernel", l->ctx);
    LLVMSetTarget(l->module, triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(l->machine);
    LLVMSetModuleDataLayout(l->module, layout);
    LLVMDisposeTargetData(layout);
    l->b = LLVMCreateBuilderInContext(l->ctx);
    snprintf(l->cpu, sizeof l->cpu, "%s", cpu);
    l->features = low_alloc(l, strlen(features) + 1);
    strcpy(l->features, features);
    LLVMDisposeMessage(host_cpu);
    LLVMDisposeMessage(host_features);
    if (!avx2)
        low_refuse(l, NULL, "this processor: AVX2 and FMA are needed");
    make_types(l);
    make_metadata(l);
}

static void set_attributes(struct low *l)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(l->module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        string_attribute(l, f, "target-cpu", l->cpu);
        string_attribute(l, f, "target-features", l->features);
        string_attribute(l, f, "prefer-vector-width", l->avx512 ? "512" : "256");
        string_attribute(l, f, "min-legal-vector-width", l->avx512 ? "512" : "256");
        flag_attribute(l, f, "noredzone");
        flag_attribute(l, f, "nounwind");
        if (l->all_ftz)
            string_attribute(l, f, "denormal-fp-math", "preserve-sign,preserve-sign");
    }
}

static void dump(struct low *l, const char *when)
{
    const char *dir = getenv("WEIR_DUMP_IR");
    char path[512];
    char *message = NULL;
    if (!dir || !*dir)
        return;
    snprintf(path, sizeof path, "%s/%.200s.%s.ll", dir, l->kernel->name, when);
    if (LLVMPrintModuleToFile(l->module, path, &message))
        LLVMDisposeMessage(message);
}

static void run_passes(struct low *l, const char *passes)
{
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e = LLVMRunPasses(l->module, passes, l->machine, o);
    LLVMDisposePassBuilderOptions(o);
    if (e) {
        char *m = LLVMGetErrorMessage(e);
        snprintf(l->result->message, sizeof l->result->message, "compiler: passes: %.150s", m);
        LLVMDisposeErrorMessage(m);
        l->error = WEIR_ERR_UNKNOWN;
        longjmp(l->refuse, 1);
    }
}

static bool verify_wanted(void)
{
#if defined(WEIR_CHECKS)
    return true;
#else
    return getenv("WEIR_DUMP_IR") != NULL;
#endif
}

static void verify(struct low *l, const char *what)
{
    char *message = NULL;
    if (!verify_wanted())
        return;
    if (LLVMVerifyModule(l->module, LLVMReturnStatusAction, &message))
        fail(l, what, message);
    LLVMDisposeMessage(message);
}

void low_optimise_and_emit(struct low *l)
{
    char *message = NULL;
    LLVMMemoryBufferRef buffer = NULL;
    low_debug_finish(l);
    set_attributes(l);
    dump(l, "0");
    verify(l, "invalid IR");
    low_count_ir(l, false);
    low_ssa(l);
    low_stage(l, LOW_STAGE_SSA);
    verify(l, "invalid SSA form");
    bool is_best = l->request->tier == WEIR_JIT_BEST;
    run_passes(l, !is_best ? quick : low_is_above(l, LARGE) ? best_large : best);
    if (is_best && low_narrow(l))
        run_passes(l, "function(adce)");
    low_mask_words(l);
    verify(l, "invalid masks");
    low_stage(l, LOW_STAGE_PASSES);
    low_count_ir(l, true);
    dump(l, "1");
    if (LLVMTargetMachineEmitToMemoryBuffer(l->machine, l->module, LLVMObjectFile, &message,
                                            &buffer))
        fail(l, "emission", message);
    size_t n = LLVMGetBufferSize(buffer);
    l->result->object = weir_alloc(n);
    if (l->result->object) {
        memcpy(l->result->object, LLVMGetBufferStart(buffer), n);
        l->result->object_bytes = n;
    }
    LLVMDisposeMemoryBuffer(buffer);
    if (!l->result->object)
        low_no_memory(l);
}
