/* Inside src/codegen: what modules and kernels look like.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_CODEGEN_INT_H
#define WEIR_CODEGEN_CODEGEN_INT_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/vec.h"
#include "codegen/cache.h"
#include "codegen/codegen.h"
#include "codegen/compile.h"
#include "codegen/forms.h"
#include "codegen/gdb.h"
#include "codegen/image.h"
#include "ptx/reach.h"

/* WEIR_JIT_TIER for tests: one tier only. */
enum weir_cg_tiers { WEIR_CG_TIERS_AUTO, WEIR_CG_TIERS_QUICK, WEIR_CG_TIERS_BEST };

/* Process-wide settings, read once from the environment; immutable afterwards (the cache locks
 * nothing). */
struct weir_cg_settings {
    enum weir_cg_tiers tiers;
    struct weir_cache cache;
    uint64_t platform[2]; /* hash of Weir, ABIs, LLVM, compiler library, processor */
    const char *missing;  /* processor feature, or NULL */
    bool checks;          /* somebody wants to know what kernels access (WEIR_CHECK) */
    bool touch;           /* code says what it accesses (WEIR_CHECK=1) */
    bool races;           /* ... and which thread (WEIR_CHECK_KERNEL_RACES=1) */
    bool counts;          /* WEIR_COUNT: code adds up what it does */
    bool perf;            /* names of code for perf */
    bool gdb;             /* names and lines for debuggers */
    bool v3;              /* WEIR_JIT_CPU=x86-64-v3: no AVX-512, for measurements */
    bool modelled;        /* WEIR_CLOCK=model: counts, and clocks tell modelled time */
    bool fidelity;        /* report each kernel's instructions when its code is asked for first */
};
struct weir_cg_settings *weir_cg_settings(void);

enum weir_cg_state { WEIR_CG_EMPTY, WEIR_CG_BUSY, WEIR_CG_READY, WEIR_CG_FAILED };

/* Code of one tier. */
struct weir_cg_tier_code {
    struct weir_kernel_code code;
    struct weir_image *image;
    struct weir_gdb_entry *gdb; /* or NULL */
};

/* A kernel for one block shape. Lives as long as the module. */
struct weir_cg_variant {
    /* immutable */
    struct weir_cg_kernel *kernel;
    uint32_t block[3];
    bool last_quick; /* one shape too many: no better tier in the background */
    /* atomic: release by who compiled, acquire by callers; also the futex that equal requests sleep
     * on */
    _Atomic uint32_t state;
    const struct weir_kernel_code *_Atomic code; /* the best so far */
    /* owned by who set state to BUSY; valid for others after READY or FAILED */
    enum weir_err status;
    char message[256];
    struct weir_cg_tier_code tiers[2];
    struct weir_cg_job first, better;
};

struct weir_cg_kernel {
    /* immutable */
    struct weir_cg_module *module;
    const struct weir_ptx_function *function;
    size_t inst_count;      /* with all functions that it may call */
    const char *unresolved; /* a symbol that it reaches and that nothing defines, or NULL */
    struct weir_cg_variant *_Atomic recent; /* launched last: found without the lock */
    _Atomic bool reported;                  /* by weir_cg_fidelity_report */
    void *_Atomic kept;                     /* weir_cg_kernel_keep */
    struct weir_lock lock;                  /* COMPILE */
    /* guarded by lock */
    struct weir_map variants; /* packed shape -> variant */
    bool info_done;
    struct weir_cg_kernel_info info;
    char refusal[256]; /* written once, before `unsupported` */
    /* atomic: release with the text, acquire by launches */
    const char *_Atomic unsupported;
};

struct weir_cg_module {
    _Atomic uint32_t
        refs; /* its owner's and one for each job: a compilation that runs ends first */
    struct weir_ptx_module *ptx;
    uint64_t text_hash[2];
    struct weir_cg_kernel *kernels;
    size_t kernel_count;
    struct weir_strmap names;
    void **data; /* module->vars[i]'s address; NULL before it is placed */
    bool placed;
};

/* module.c */
void weir_cg_module_ref(struct weir_cg_module *m);
void weir_cg_module_unref(struct weir_cg_module *m, uint32_t n);

/* kernel.c */
void weir_cg_kernel_init(struct weir_cg_kernel *k, struct weir_cg_module *m,
                         const struct weir_ptx_function *f);
void weir_cg_kernel_finish(struct weir_cg_kernel *k);
/* NULL: it was never asked for. */
struct weir_cg_variant *weir_cg_kernel_variant(struct weir_cg_kernel *k, const uint32_t block[3]);

#define WEIR_CG_ENTRY "weir_kernel" /* the symbol of a compiled object that is called */

/* fidelity.c: writes the report of `weir run --fidelity` for k, one line on stderr. Thread: any. */
void weir_cg_fidelity_report(const struct weir_cg_kernel *k);

/* perf.c: writes the names of an image's functions where perf looks. Thread: any. */
void weir_cg_perf_add(const struct weir_image *image, const char *kernel, enum weir_jit_tier tier);

/* pressure.c: most 32-bit registers that live at one place of the function. */
int weir_cg_pressure(const struct weir_ptx_function *f);

#endif
