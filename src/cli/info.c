/* weir info: what this Weir is and can do on this machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "cli/cli.h"
#include "codegen/jit.h"
#if WEIR_HAVE_CORE
#include "core/profile.h"
#endif

static const char help[] =
    "usage: weir info\n"
    "\n"
    "Prints Weir's version, the device profiles, this processor's features, how much of the CUDA\n"
    "runtime's interface is there, and whether the compiler library can be loaded. With a word, "
    "only\n"
    "the device profiles, the functions of the runtime, or PTX's instructions, one a line.\n";

const char *weir_cli_profile_problem(const char *name)
{
#if WEIR_HAVE_CORE
    struct weir_profile p;

    if (weir_profile_load(name, &p) != WEIR_OK)
        return weir_err_message();
    weir_profile_finish(&p);
    return NULL;
#else
    return strcmp(name, "cpu") == 0 ? NULL : "this build has the profile cpu only";
#endif
}

static void print_profiles(void)
{
#if WEIR_HAVE_CORE
    struct weir_profile profile, *p = &profile;
    const char *name;

    for (size_t i = 0; (name = weir_profile_name(i)) != NULL; i++) {
        char sms[32] = "one SM per CPU", memory[32] = "half of the machine's memory";

        if (weir_profile_load(name, p) != WEIR_OK)
            continue;
        if (p->sm_count)
            snprintf(sms, sizeof sms, "%d SMs", p->sm_count);
        if (p->memory_bytes)
            snprintf(memory, sizeof memory, "%zu MiB", p->memory_bytes >> 20);
        printf("%-12s%-9s %s, capability %d.%d, %s, %s\n", i ? "" : "profiles", p->name,
               p->device_name, p->major, p->minor, sms, memory);
        weir_profile_finish(p);
    }
#else
    printf("%-12s%s\n", "profiles", "cpu");
#endif
}

static void print_cpu(void)
{
#if defined(__x86_64__)
    static const char *const names[] = {"sse4.2", "avx",     "avx2",     "fma",
                                        "f16c",   "avx512f", "avx512bw", "avx512vl"};
    const int have[] = {
        __builtin_cpu_supports("sse4.2"),   __builtin_cpu_supports("avx"),
        __builtin_cpu_supports("avx2"),     __builtin_cpu_supports("fma"),
        __builtin_cpu_supports("f16c"),     __builtin_cpu_supports("avx512f"),
        __builtin_cpu_supports("avx512bw"), __builtin_cpu_supports("avx512vl"),
    };

    printf("%-12s%d usable;", "cpu", weir_cpu_count());
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (have[i])
            printf(" %s", names[i]);
    }
    puts(have[2] && have[3] ? "" : "; AVX2 and FMA are needed to run kernels");
#else
    printf("%-12s%d usable\n", "cpu", weir_cpu_count());
#endif
}

#if WEIR_HAVE_CORE
enum { TODO, DONE };
enum { NONE = 1, PTSZ = 2, PTDS = 2 }; /* symbols of a row */

static const struct {
    const char *chapter, *name;
    char status, symbols;
} rows[] = {
#define WEIR_API(chapter, status, guard, variant, host, name, ...)                                 \
    {#chapter, "cuda" #name, status, variant},
#define WEIR_API_VALUE(chapter, status, variant, ret, name, ...)                                   \
    {#chapter, "cuda" #name, status, variant},
#define WEIR_API_INTERNAL(status, guard, variant, name, ...)                                       \
    {"compilers", "__cuda" #name, status, variant},
#define WEIR_API_REGISTER(status, ret, name, ...) {"compilers", "__cuda" #name, status, 1},
#include "runtime.def"
#undef WEIR_API
#undef WEIR_API_VALUE
#undef WEIR_API_INTERNAL
#undef WEIR_API_REGISTER
};

static int list_api(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        printf("%-4s %-52s %s\n", rows[i].status == DONE ? "yes" : "-", rows[i].name,
               rows[i].chapter);
    return 0;
}

/* Symbols of the driver API: those carried out, or all. */
static int driver_count(bool only_done)
{
    static const struct {
        char status, symbols;
    } driver_rows[] = {
#define WEIR_DRV(chapter, guard, variant, ...) {DONE, variant},
#define WEIR_DRV_TODO(chapter, variant, ...)   {TODO, variant},
#include "driver.def"
#undef WEIR_DRV
#undef WEIR_DRV_TODO
    };
    int n = 0;

    for (size_t i = 0; i < sizeof driver_rows / sizeof driver_rows[0]; i++)
        n += !only_done || driver_rows[i].status == DONE ? driver_rows[i].symbols : 0;
    return n;
}

static void print_coverage(void)
{
    int done = 0, all = 0;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        all += rows[i].symbols;
        done += rows[i].status == DONE ? rows[i].symbols : 0;
    }
    printf("%-12s%d of the %d symbols of CUDA 13's runtime, %d of the %d of its driver;\n%-12sthe "
           "others say that they are not supported\n",
           "api", done, all, driver_count(true), driver_count(false), "");
}
#else
static int list_api(void)
{
    puts("none: this weir was built without the runtime");
    return 0;
}

static void print_coverage(void)
{
    printf("%-12s%s\n", "api", "none: this weir was built without the runtime");
}
#endif

static int list_ptx(void)
{
    static const struct {
        const char *name, *what;
    } ops[] = {
#define WEIR_PTX_OP(name, dests, what) {#name, what},
#include "ptx/ptx_ops.def"
#undef WEIR_PTX_OP
    };

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        printf("%-20s %s\n", ops[i].name, ops[i].what);
    puts("All of these are read. A kernel with a form that cannot be run yet is refused at its "
         "launch, by name.");
    return 0;
}

static void print_compiler(const char *dir)
{
    char path[PATH_MAX + sizeof "/libweir-jit.so"];
    union {
        void *object;
        const struct weir_jit_api *(*entry)(void);
    } symbol = {NULL};
    void *library;

    snprintf(path, sizeof path, "%s/libweir-jit.so", dir);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library)
        symbol.object = dlsym(library, "weir_jit_entry");
    if (symbol.object && symbol.entry()->abi == WEIR_JIT_ABI)
        printf("%-12sLLVM %s\n", "compiler", symbol.entry()->llvm_version);
    else
        printf("%-12snone (%s): only kernels that are in the cache run\n", "compiler",
               symbol.object ? "of another version" : dlerror());
}

int weir_cli_info(int argc, char **argv)
{
    char dir[PATH_MAX];

    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "api") == 0)
        return list_api();
    if (argc == 2 && strcmp(argv[1], "ptx") == 0)
        return list_ptx();
    if (argc == 2 && strcmp(argv[1], "devices") == 0) {
        print_profiles();
        return 0;
    }
    if (argc > 1)
        return weir_cli_usage_error("info", "unknown argument %s", argv[1]);
    printf("%-12s%s\n", "weir", WEIR_VERSION);
    print_profiles();
    print_cpu();
    print_coverage();
    if (!weir_cli_libdir(dir))
        return WEIR_EXIT_REFUSED;
    print_compiler(dir);
    return 0;
}
