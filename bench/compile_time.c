/* How long a program waits for its first kernel: parsing, opening the compiler library, compiling,
 * loading; and with a warm cache. Each measurement is a process of its own, because the library is
 * opened once. bench_compile_time [FILE.ptx KERNEL BLOCK_THREADS] Without a file: made-up kernels
 * of 100, 1000 and 4000 instructions. Prints `name value unit`.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "codegen/codegen.h"
#include "codegen/compile.h"

#define RUNS 5

struct sample {
    double parse_ms, code_ms, cpu_ms;
};

/* A kernel of about n instructions, of the kinds that compilers emit for a loop over arrays:
 * addresses, loads, fused multiply-adds, conversions, comparisons with branches, stores. */
static char *make_text(int n)
{
    size_t cap = 2000 + (size_t)n * 80;
    char *s = malloc(cap), *p = s;
    int label = 0;

    if (!s)
        exit(1);
    p += sprintf(p, ".version 7.8\n.target sm_80\n.address_size 64\n"
                    ".visible .entry kernel(.param .u64 pa, .param .u64 pb, .param .u32 pn)\n{\n"
                    ".reg .pred p<4>; .reg .b32 r<16>; .reg .f32 f<16>; .reg .b64 a<8>;\n"
                    "ld.param.u64 a0, [pa]; ld.param.u64 a1, [pb]; ld.param.u32 r0, [pn]; mov.u32 "
                    "r1, %%ctaid.x;\n"
                    "mov.u32 r2, %%ntid.x; mov.u32 r3, %%tid.x; mad.lo.s32 r4, r1, r2, r3; "
                    "setp.ge.u32 p0, r4, r0;\n"
                    "@p0 bra END; mul.wide.u32 a2, r4, 4; add.s64 a3, a0, a2; add.s64 a4, a1, a2; "
                    "mov.f32 f0, 0f3F800000;\n"
                    "mov.u32 r5, 0;\nLOOP:\n");
    for (int i = 22; i < n; i += 10) {
        p += sprintf(p,
                     "ld.global.f32 f1, [a3 + %d]; fma.rn.f32 f0, f1, f0, f1; mul.f32 f2, f1, f0; "
                     "add.u32 r6, r5, %d;\n"
                     "and.b32 r7, r6, 255; cvt.rn.f32.u32 f3, r7; add.f32 f0, f0, f3; setp.gt.f32 "
                     "p1, f2, f3;\n"
                     "@!p1 bra L%d; sub.f32 f0, f0, f2;\nL%d:\n",
                     i % 32 * 4, i, label, label);
        label++;
    }
    sprintf(p, "add.u32 r5, r5, 1; setp.lt.u32 p2, r5, 4; @p2 bra LOOP; st.global.f32 [a4], "
               "f0;\nEND: ret;\n}\n");
    return s;
}

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *s = malloc(64 << 20);
    size_t n;

    if (!f || !s) {
        perror(path);
        exit(1);
    }
    n = fread(s, 1, (64 << 20) - 1, f);
    s[n] = 0;
    fclose(f);
    return s;
}

/* Of all threads: what a busy machine does not stretch. */
static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* In the child: one module, one kernel. */
static void measure(int fd, const char *text, const char *kernel, uint32_t threads)
{
    uint32_t block[3] = {threads, 1, 1};
    const struct weir_kernel_code *code;
    struct weir_cg_module *m;
    struct weir_cg_kernel *k;
    struct sample s;
    uint64_t start = weir_clock_ns(), parsed;

    if (weir_cg_module_create(text, strlen(text), &m) != WEIR_OK ||
        !(k = weir_cg_kernel_find(m, kernel))) {
        fprintf(stderr, "%s: %s\n", kernel, weir_err_message());
        _exit(1);
    }
    parsed = weir_clock_ns();
    if (weir_cg_kernel_code(k, block, &code) != WEIR_OK) {
        fprintf(stderr, "%s: %s\n", kernel, weir_err_message());
        _exit(1);
    }
    s.cpu_ms = cpu_ms();
    s.parse_ms = (double)(parsed - start) / 1e6;
    s.code_ms = (double)(weir_clock_ns() - parsed) / 1e6;
    weir_cg_jobs_drain(); /* what goes to the cache */
    if (write(fd, &s, sizeof s) != sizeof s)
        _exit(1);
    _exit(0);
}

static struct sample run_once(const char *text, const char *kernel, uint32_t threads)
{
    struct sample s = {0};
    int fds[2], status = 1;
    pid_t pid;

    if (pipe(fds) != 0 || (pid = fork()) < 0)
        exit(1);
    if (pid == 0)
        measure(fds[1], text, kernel, threads);
    close(fds[1]);
    if (read(fds[0], &s, sizeof s) != sizeof s || waitpid(pid, &status, 0) != pid || status != 0)
        exit(1);
    close(fds[0]);
    return s;
}

static int compare(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    return x->code_ms < y->code_ms ? -1 : x->code_ms > y->code_ms;
}

/* Median of some runs. */
static struct sample median(const char *text, const char *kernel, uint32_t threads)
{
    struct sample s[RUNS];

    for (int i = 0; i < RUNS; i++)
        s[i] = run_once(text, kernel, threads);
    qsort(s, RUNS, sizeof s[0], compare);
    return s[RUNS / 2];
}

static void remove_cache(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        char path[400];

        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    rmdir(dir);
}

static size_t count_instructions(const char *text, const char *kernel)
{
    struct weir_ptx_error error;
    struct weir_ptx_module *m;
    const struct weir_ptx_function *f;
    size_t n = 0;

    if (weir_ptx_parse(text, strlen(text), &m, &error) != WEIR_OK) {
        fprintf(stderr, "line %d: %s\n", error.line, error.message);
        exit(1);
    }
    f = weir_ptx_find_function(m, kernel);
    if (f)
        n = f->inst_count;
    weir_ptx_module_destroy(m);
    return n;
}

static void report(const char *what, size_t n, struct sample s, double goal)
{
    double total = s.parse_ms + s.code_ms;

    printf("compile_%s_%zu %.2f ms (parse %.2f, processor %.2f, %.3f an instruction; goal %.0f ms: "
           "%s)\n",
           what, n, total, s.parse_ms, s.cpu_ms, s.cpu_ms / (double)n, goal,
           total <= goal ? "met" : "missed");
    fflush(stdout);
}

static void bench(const char *text, const char *kernel, uint32_t threads)
{
    static const char *const tiers[] = {"quick", "best"};
    size_t n = count_instructions(text, kernel);
    char dir[] = "/tmp/weir-bench-cache-XXXXXX";

    setenv("WEIR_CACHE", "off", 1);
    for (int i = 0; i < 2; i++) {
        setenv("WEIR_JIT_TIER", tiers[i], 1);
        report(tiers[i], n, median(text, kernel, threads), 60 + 0.1 * (double)n);
    }
    unsetenv("WEIR_JIT_TIER");
    report("first", n, median(text, kernel, threads), 60 + 0.1 * (double)n);
    unsetenv("WEIR_CACHE");
    if (!mkdtemp(dir))
        exit(1);
    setenv("WEIR_CACHE_DIR", dir, 1);
    (void)run_once(text, kernel, threads);
    report("warm", n, median(text, kernel, threads), 20);
    remove_cache(dir);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {100, 1000, 4000};

    if (argc >= 3) {
        char *text = read_text(argv[1]);

        bench(text, argv[2], argc > 3 ? (uint32_t)atoi(argv[3]) : 256);
        free(text);
        return 0;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *text = make_text(sizes[i]);

        bench(text, "kernel", 256);
        free(text);
    }
    return 0;
}
