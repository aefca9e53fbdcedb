/* Modules and kernels of the front half, with a compiler library that only pretends: placing of
 * variables, what is known of a kernel, one compilation for equal requests, tiers, the disk cache,
 * refusals, the end of a module.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "codegen/compile.h"
#include "unit/codegen_fakejit.h"

static struct fakejit *fake;
static char cache_dir[64];

#define HEAD ".version 7.8\n.target sm_80\n.address_size 64\n"
static const char text[] =
    HEAD ".global .align 4 .u32 counter = 7;\n"
         ".global .align 8 .u64 link = generic(counter);\n"
         ".const .align 4 .b8 table[12] = {1, 2, 3};\n"
         ".global .align 16 .b8 zero[64];\n"
         ".shared .align 16 .b8 sh[256];\n"
         ".visible .entry first(.param .u64 p, .param .u32 n, .param .align 8 .b8 s[24])\n"
         ".maxntid 128, 2, 1\n"
         "{ .reg .b32 r<8>; .reg .b64 a<4>;\n"
         "ld.param.u32 r0, [n]; add.u32 r1, r0, 1; add.u32 r2, r0, r1; add.u32 r3, r1, r2; mov.u32 "
         "r4, 5;\n"
         "add.u32 r5, r1, r2; add.u32 r5, r5, r3; add.u32 r5, r5, r4; ld.param.u64 a0, [p]; "
         "st.global.u32 [a0], r5; st.shared.u32 [sh], r5; ret; }\n"
         ".visible .entry second() { ret; }\n"
         ".visible .entry bad_kernel() { ret; }\n";

static struct weir_cg_module *load(const char *ptx)
{
    struct weir_cg_module *m;
    enum weir_err err = weir_cg_module_create(ptx, strlen(ptx), &m);

    if (err)
        print_message("%s\n", weir_err_message());
    assert_int_equal(err, WEIR_OK);
    return m;
}

static int total(void)
{
    return atomic_load(&fake->compiles[0]) + atomic_load(&fake->compiles[1]);
}

struct placed {
    char memory[8][256];
    int count;
    bool keep;
};

static enum weir_err place(void *ctx, const struct weir_cg_variable *v, void **address, bool *keep)
{
    struct placed *p = ctx;

    assert_in_range(v->bytes, 1, 256);
    assert_true(v->constant == (strcmp(v->name, "table") == 0));
    *address = p->memory[p->count++];
    *keep = p->keep;
    return WEIR_OK;
}

static enum weir_err place_nowhere(void *ctx, const struct weir_cg_variable *v, void **address,
                                   bool *keep)
{
    (void)ctx, (void)v, (void)address, (void)keep;
    return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "full");
}

static void test_variables(void **state)
{
    struct weir_cg_module *m = load(text);
    struct placed p = {0};
    void *address, *counter;
    size_t bytes;

    (void)state;
    assert_int_equal(weir_cg_module_variable(m, "counter", &address, &bytes),
                     WEIR_ERR_INVALID_SYMBOL);
    assert_int_equal(weir_cg_module_place(m, place_nowhere, NULL), WEIR_ERR_MEMORY_ALLOCATION);
    assert_int_equal(weir_cg_module_place(m, place, &p), WEIR_OK);
    assert_int_equal(p.count, 4);
    assert_int_equal(weir_cg_module_variable(m, "counter", &counter, &bytes), WEIR_OK);
    assert_int_equal(bytes, 4);
    assert_int_equal(*(uint32_t *)counter, 7);
    assert_int_equal(weir_cg_module_variable(m, "link", &address, &bytes), WEIR_OK);
    assert_ptr_equal(*(void **)address, counter);
    assert_int_equal(weir_cg_module_variable(m, "table", &address, &bytes), WEIR_OK);
    assert_int_equal(bytes, 12);
    assert_memory_equal(address, "\1\2\3\0\0\0\0\0\0\0\0\0", 12);
    assert_int_equal(weir_cg_module_variable(m, "sh", &address, &bytes), WEIR_ERR_INVALID_SYMBOL);
    assert_int_equal(weir_cg_module_variable(m, "none", &address, &bytes), WEIR_ERR_INVALID_SYMBOL);
    weir_cg_module_destroy(m);
    weir_cg_module_destroy(NULL);

    /* in use already: contents stay */
    m = load(text);
    p = (struct placed){.keep = true};
    memset(p.memory, 9, sizeof p.memory);
    assert_int_equal(weir_cg_module_place(m, place, &p), WEIR_OK);
    assert_int_equal(weir_cg_module_variable(m, "counter", &counter, &bytes), WEIR_OK);
    assert_int_equal(*(uint32_t *)counter, 0x09090909);
    weir_cg_module_destroy(m);
}

static void test_info(void **state)
{
    struct weir_cg_module *m = load(text);
    struct weir_cg_kernel_info info;
    struct weir_cg_kernel *k = weir_cg_kernel_find(m, "first");
    size_t offset, bytes;

    (void)state;
    assert_string_equal(weir_cg_kernel_at(m, 0), "first");
    assert_string_equal(weir_cg_kernel_at(m, 2), "bad_kernel");
    assert_null(weir_cg_kernel_at(m, 3));
    assert_null(weir_cg_kernel_find(m, "third"));
    assert_non_null(k);
    weir_cg_kernel_info(k, &info);
    assert_int_equal(info.param_count, 3);
    assert_int_equal(info.param_bytes, 40);
    assert_int_equal(info.static_shared_bytes, 256);
    assert_int_equal(info.const_bytes, 12);
    assert_int_equal(info.max_threads, 256);
    assert_int_equal(info.ptx_version, 78);
    assert_int_equal(info.sm, 80);
    assert_in_range(info.registers, 8, 10); /* few values live: the least */
    assert_true(weir_cg_kernel_param(k, 1, &offset, &bytes));
    assert_int_equal(offset, 8);
    assert_int_equal(bytes, 4);
    assert_true(weir_cg_kernel_param(k, 2, &offset, &bytes));
    assert_int_equal(offset, 16);
    assert_int_equal(bytes, 24);
    assert_false(weir_cg_kernel_param(k, 3, &offset, &bytes));
    weir_cg_module_destroy(m);
}

static void test_bad_text(void **state)
{
    struct weir_cg_module *m;
    static const char broken[] = HEAD ".visible .entry k() { frobnicate; \n";

    (void)state;
    assert_int_equal(weir_cg_module_create(broken, strlen(broken), &m), WEIR_ERR_INVALID_PTX);
    assert_null(m);
    assert_non_null(strstr(weir_err_message(), "line"));
}

static void test_shapes(void **state)
{
    struct weir_cg_module *m = load(text);
    struct weir_cg_kernel *k = weir_cg_kernel_find(m, "first");
    const struct weir_kernel_code *a, *b, *c;
    unsigned char memory[64];
    int before = total();

    (void)state;
    assert_int_equal(weir_cg_kernel_code(k, (uint32_t[]){32, 1, 1}, &a), WEIR_OK);
    assert_int_equal(weir_cg_kernel_code(k, (uint32_t[]){64, 1, 1}, &b), WEIR_OK);
    assert_int_equal(weir_cg_kernel_code(k, (uint32_t[]){32, 1, 1}, &c), WEIR_OK);
    assert_ptr_equal(a, c);
    assert_ptr_not_equal(a, b);
    assert_int_equal(total(), before + 2);
    assert_int_equal(a->local_bytes_per_thread, 32);
    assert_int_equal(b->local_bytes_per_thread, 64);
    assert_string_equal(a->name, "first");
    assert_int_equal(a->run((struct weir_block *)memory), 42);
    assert_int_equal(weir_cg_kernel_code(k, (uint32_t[]){0, 1, 1}, &c),
                     WEIR_ERR_INVALID_CONFIGURATION);
    assert_int_equal(weir_cg_kernel_code(k, (uint32_t[]){1024, 2, 1}, &c),
                     WEIR_ERR_INVALID_CONFIGURATION);
    weir_cg_module_destroy(m);
}

static void *ask(void *arg)
{
    const struct weir_kernel_code *code;

    return weir_cg_kernel_code(arg, (uint32_t[]){96, 1, 1}, &code) == WEIR_OK
               ? (void *)(uintptr_t)code
               : NULL;
}

static void test_equal_requests_wait(void **state)
{
    struct weir_cg_module *m = load(HEAD ".visible .entry waited() { ret; }\n");
    struct weir_cg_kernel *k = weir_cg_kernel_find(m, "waited");
    int before = total();
    pthread_t threads[8];
    void *results[8];

    (void)state;
    atomic_store(&fake->delay_us, 30000);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, k), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], &results[i]);
    atomic_store(&fake->delay_us, 0);
    assert_non_null(results[0]);
    for (int i = 1; i < 8; i++)
        assert_ptr_equal(results[i], results[0]);
    assert_int_equal(total(), before + 1);
    weir_cg_module_destroy(m);
}

/* A kernel of `n` additions, so that its size chooses the tier. */
static char *big_text(int n)
{
    char *s = malloc(200 + (size_t)n * 32), *p = s;

    p += sprintf(p, HEAD ".visible .entry big() { .reg .b32 r<2>; mov.u32 r0, 1;\n");
    for (int i = 0; i < n; i++)
        p += sprintf(p, "add.u32 r0, r0, %d;\n", i);
    sprintf(p, "ret; }\n");
    return s;
}

static void test_tiers(void **state)
{
    char *big = big_text(1000);
    struct weir_cg_module *m = load(big);
    struct weir_cg_kernel *k = weir_cg_kernel_find(m, "big");
    const struct weir_kernel_code *quick, *best, *later;
    int quicks = atomic_load(&fake->compiles[0]), bests = atomic_load(&fake->compiles[1]);

    (void)state;
    atomic_store(&fake->delay_us, 20000);
    assert_int_equal(weir_cg_kernel_code(k, (uint32_t[]){32, 1, 1}, &quick), WEIR_OK);
    assert_int_equal(quick->state_bytes, 64 + WEIR_JIT_QUICK);
    weir_cg_jobs_drain();
    atomic_store(&fake->delay_us, 0);
    assert_int_equal(weir_cg_kernel_code(k, (uint32_t[]){32, 1, 1}, &best), WEIR_OK);
    assert_int_equal(best->state_bytes, 64 + WEIR_JIT_BEST);
    assert_int_equal(atomic_load(&fake->compiles[0]), quicks + 1);
    assert_int_equal(atomic_load(&fake->compiles[1]), bests + 1);
    assert_int_equal(quick->run((struct weir_block *)(unsigned char[64]){0}),
                     42); /* may still be running */
    weir_cg_module_destroy(m);

    /* The better one is in the cache now: no compilation at all. */
    m = load(big);
    assert_int_equal(
        weir_cg_kernel_code(weir_cg_kernel_find(m, "big"), (uint32_t[]){32, 1, 1}, &later),
        WEIR_OK);
    assert_int_equal(later->state_bytes, 64 + WEIR_JIT_BEST);
    assert_int_equal(total(), quicks + bests + 2);
    weir_cg_module_destroy(m);
    free(big);
}

/* A compilation that runs is not waited for; what it reads of the module lives until it ends. */
static void test_destroy_while_compiling(void **state)
{
    char *big = big_text(700);
    struct weir_cg_module *m = load(big);
    const struct weir_kernel_code *code;

    (void)state;
    atomic_store(&fake->hold_best, 1);
    for (uint32_t n = 1; n < 4; n++)
        assert_int_equal(
            weir_cg_kernel_code(weir_cg_kernel_find(m, "big"), (uint32_t[]){n, 1, 1}, &code),
            WEIR_OK);
    while (atomic_load(&fake->running) == 0)
        usleep(1000);
    weir_cg_module_destroy(m); /* some of the background jobs are queued, one runs */
    assert_true(atomic_load(&fake->running) > 0);
    atomic_store(&fake->hold_best, 0);
    weir_cg_jobs_drain();
    assert_int_equal(atomic_load(&fake->running), 0);
    free(big);
}

static void test_many_shapes(void **state)
{
    struct weir_cg_module *m = load(HEAD ".visible .entry shapes() { ret; }\n");
    struct weir_cg_kernel *k = weir_cg_kernel_find(m, "shapes");
    const struct weir_kernel_code *code;

    (void)state;
    for (uint32_t n = 1; n <= 80; n++)
        assert_int_equal(weir_cg_kernel_code(k, (uint32_t[]){n, 1, 1}, &code), WEIR_OK);
    assert_int_equal(code->state_bytes,
                     64 + WEIR_JIT_QUICK); /* past the limit: not worth the better tier */
    weir_cg_module_destroy(m);
}

static void damage_all(void)
{
    DIR *d = opendir(cache_dir);
    struct dirent *e;

    while ((e = readdir(d)) != NULL) {
        char path[400];

        snprintf(path, sizeof path, "%s/%s", cache_dir, e->d_name);
        if (e->d_name[0] != '.')
            assert_int_equal(truncate(path, 100), 0);
    }
    closedir(d);
}

static void test_cache(void **state)
{
    static const char cached[] = HEAD ".visible .entry cached() { ret; }\n";
    const struct weir_kernel_code *code;
    struct weir_cg_module *m;
    int before;

    (void)state;
    for (int round = 0; round < 3; round++) {
        before = total();
        m = load(cached);
        assert_int_equal(
            weir_cg_kernel_code(weir_cg_kernel_find(m, "cached"), (uint32_t[]){8, 1, 1}, &code),
            WEIR_OK);
        assert_int_equal(code->run((struct weir_block *)(unsigned char[64]){0}), 42);
        assert_int_equal(code->local_bytes_per_thread, 8);
        weir_cg_jobs_drain(); /* stored after it was handed out */
        weir_cg_module_destroy(m);
        assert_int_equal(total(), before + (round == 0 || round == 2));
        if (round == 1)
            damage_all();
    }
    /* Another text, the same kernel: another key. */
    before = total();
    m = load(HEAD "// changed\n.visible .entry cached() { ret; }\n");
    assert_int_equal(
        weir_cg_kernel_code(weir_cg_kernel_find(m, "cached"), (uint32_t[]){8, 1, 1}, &code),
        WEIR_OK);
    weir_cg_module_destroy(m);
    assert_int_equal(total(), before + 1);
}

static void test_refused(void **state)
{
    struct weir_cg_module *m = load(text);
    struct weir_cg_kernel *k = weir_cg_kernel_find(m, "bad_kernel");
    struct weir_cg_kernel_info info;
    const struct weir_kernel_code *code;

    (void)state;
    assert_int_equal(weir_cg_kernel_code(k, (uint32_t[]){32, 1, 1}, &code), WEIR_ERR_NOT_SUPPORTED);
    assert_null(code);
    assert_non_null(strstr(weir_err_message(), "wmma.load"));
    assert_int_equal(weir_cg_kernel_code(k, (uint32_t[]){32, 1, 1}, &code), WEIR_ERR_NOT_SUPPORTED);
    assert_non_null(strstr(weir_cg_kernel_unsupported(k), "wmma.load"));
    k = weir_cg_kernel_find(m, "first");
    weir_cg_kernel_info(k, &info);
    assert_null(weir_cg_kernel_unsupported(k));
    weir_cg_module_destroy(m);

    /* what the text shows is known before anything is compiled, in a callee too */
    m = load(HEAD ".func inner(.param .b32 a) { .reg .b32 r<8>; .reg .b64 d;\n"
                  "tensormap.replace.tile.rank.global.b1024.b32 [d], 4; ret; }\n"
                  ".visible .entry outer() { { .param .b32 p; call inner, (p); } ret; }\n");
    k = weir_cg_kernel_find(m, "outer");
    assert_null(weir_cg_kernel_unsupported(k));
    weir_cg_kernel_info(k, &info);
    assert_non_null(weir_cg_kernel_unsupported(k));
    assert_non_null(strstr(weir_cg_kernel_unsupported(k), "tensormap.replace"));
    assert_non_null(strstr(weir_cg_kernel_unsupported(k), "line 5"));
    weir_cg_module_destroy(m);

    m = load(HEAD ".extern .global .align 4 .u32 elsewhere;\n.visible .entry user() { .reg .b32 r; "
                  "ld.global.u32 r, "
                  "[elsewhere]; st.global.u32 [elsewhere], r; ret; }\n");
    assert_int_equal(
        weir_cg_kernel_code(weir_cg_kernel_find(m, "user"), (uint32_t[]){32, 1, 1}, &code),
        WEIR_ERR_INVALID_PTX);
    assert_non_null(strstr(weir_err_message(), "elsewhere"));
    weir_cg_module_destroy(m);
}

/* Only what a kernel reaches counts. */
static void test_shared(void **state)
{
    struct weir_cg_module *m = load(
        HEAD
        ".shared .align 4 .b8 large[40000];\n.shared .align 16 .b8 small[20];\n"
        ".func reader() { .shared .b8 own[100]; .reg .b32 r; ld.shared.u32 r, [small]; ret; }\n"
        ".visible .entry none() { ret; }\n"
        ".visible .entry one() { .shared .b8 own[8]; .reg .b32 r; call.uni reader; ret; }\n"
        ".visible .entry both() { .reg .b64 d; mov.u64 d, large; call.uni reader; ret; }\n");
    static const struct {
        const char *name;
        size_t bytes;
    } kernels[] = {{"none", 0}, {"one", 32 + 8 + 8 + 100}, {"both", 40000 + 20 + 12 + 100}};
    struct weir_cg_kernel_info info;

    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        weir_cg_kernel_info(weir_cg_kernel_find(m, kernels[i].name), &info);
        assert_int_equal(info.static_shared_bytes, kernels[i].bytes);
    }
    weir_cg_module_destroy(m);
}

static void test_linked(void **state)
{
    const char *texts[] = {
        HEAD ".extern .func missing();\n.extern .func there();\n"
             ".visible .entry bad() { call.uni there; ret; }\n"
             ".visible .entry good() { ret; }\n",
        HEAD ".extern .func missing();\n.visible .func there() { call.uni missing; ret; }\n"};
    struct weir_cg_unit units[2] = {{texts[0], strlen(texts[0]), "a.cu"},
                                    {texts[1], strlen(texts[1]), "b.cu"}};
    struct weir_cg_kernel_info info;
    struct weir_cg_module *m;

    (void)state;
    assert_int_equal(weir_cg_module_link(units, 2, &m), WEIR_OK);
    weir_cg_kernel_info(weir_cg_kernel_find(m, "good"), &info);
    assert_null(info.unresolved);
    weir_cg_kernel_info(weir_cg_kernel_find(m, "bad"), &info); /* two calls away */
    assert_string_equal(info.unresolved, "missing");
    weir_cg_module_destroy(m);

    units[1].ptx = HEAD "nonsense";
    units[1].bytes = strlen(units[1].ptx);
    assert_int_equal(weir_cg_module_link(units, 2, &m), WEIR_ERR_INVALID_PTX);
    assert_non_null(strstr(weir_err_message(), "b.cu"));
}

static void test_memory_error_is_not_kept(void **state)
{
    struct weir_cg_module *m = load(HEAD ".visible .entry scarce() { ret; }\n");
    struct weir_cg_kernel *k = weir_cg_kernel_find(m, "scarce");
    const struct weir_kernel_code *code;

    (void)state;
    atomic_store(&fake->fail_memory, 1);
    assert_int_equal(weir_cg_kernel_code(k, (uint32_t[]){32, 1, 1}, &code),
                     WEIR_ERR_MEMORY_ALLOCATION);
    assert_int_equal(weir_cg_kernel_code(k, (uint32_t[]){32, 1, 1}, &code), WEIR_OK);
    weir_cg_module_destroy(m);
}

/* In a process of its own, because the library is looked for once. */
static int without_library(void)
{
    struct weir_cg_module *m;
    const struct weir_kernel_code *code;

    if (weir_cg_module_create(text, strlen(text), &m) != WEIR_OK)
        return 1;
    if (weir_cg_kernel_code(weir_cg_kernel_find(m, "first"), (uint32_t[]){32, 1, 1}, &code) !=
        WEIR_ERR_JIT_COMPILER_NOT_FOUND)
        return 2;
    weir_cg_module_destroy(m);
    return strstr(weir_err_message(), "libweir-jit.so") ? 0 : 3;
}

static void test_no_library(void **state)
{
    char self[400];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    int status;
    pid_t pid;

    (void)state;
    assert_true(n > 0);
    self[n] = 0;
    pid = fork();
    if (pid == 0) {
        setenv("WEIR_JIT_LIBRARY", "/nonexistent/libweir-jit.so", 1);
        setenv("WEIR_CACHE", "off", 1);
        execl(self, self, "without", (char *)NULL);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void remove_cache(void)
{
    DIR *d = opendir(cache_dir);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        char path[400];

        snprintf(path, sizeof path, "%s/%s", cache_dir, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    rmdir(cache_dir);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_bad_text),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_equal_requests_wait),
        cmocka_unit_test(test_tiers),
        cmocka_unit_test(test_destroy_while_compiling),
        cmocka_unit_test(test_many_shapes),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_linked),
        cmocka_unit_test(test_memory_error_is_not_kept),
        cmocka_unit_test(test_no_library),
    };
    int failed;

    if (argc == 2 && strcmp(argv[1], "without") == 0)
        return without_library();
    if (argc < 3)
        return 1;
    snprintf(cache_dir, sizeof cache_dir, "/tmp/weir-test-kernel-XXXXXX");
    if (!mkdtemp(cache_dir))
        return 1;
    setenv("WEIR_JIT_LIBRARY", argv[1], 1);
    setenv("FAKEJIT_OBJECT", argv[2], 1);
    setenv("WEIR_CACHE_DIR", cache_dir, 1);
    unsetenv("WEIR_CACHE");
    unsetenv("WEIR_JIT_TIER");
    fake = dlsym(dlopen(argv[1], RTLD_NOW), "fakejit");
    if (!fake)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    weir_cg_jobs_drain();
    remove_cache();
    return failed;
}
