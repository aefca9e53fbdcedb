/* What nvcc makes of compiled.cu, on both tiers of the compiler library against the reference
 * interpreter: same random inputs, same bits. Skipped (77) without nvcc or without the compiler
 * library. t_ptx_compiled FILE.cu [KERNEL]          also with a PTX file, whose kernels have the
 * same signature
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ptx/answers.h"
#include "ptx/generate.h"
#include "ptx/harness.h"
#include "support/ptx_text.h"

#define IN_WORDS  16
#define OUT_WORDS 8
#define BLOCK     128u
#define GRID      3u
#define THREADS   (BLOCK * GRID)
#define SEEDS     2u

static unsigned failures, runs, refused, known;
static char *known_text;          /* of the file after -k */
static const char *left_out = ""; /* names after -x, apart by blanks */
static enum target targets[TARGET_COUNT] = {TARGET_QUICK, TARGET_BEST};
static int target_count = 2;
static struct dims block_shape = {BLOCK, 1, 1};

/* Edge values among random ones. */
static uint32_t input_word(struct rng *r)
{
    static const uint32_t edges[] = {0,          1,          0xffffffff, 0x80000000,
                                     0x7fffffff, 0x3f800000, 0x7f800000, 0xff800000,
                                     0x7fc00000, 0x00000001, 0x00800000, 0x7bff3c00};
    uint64_t x = rng_next(r);

    if (x % 7 == 0)
        return edges[x / 7 % (sizeof edges / sizeof edges[0])];
    if (x % 7 == 1)
        return (uint32_t)(x >> 8) & 0xff;
    return (uint32_t)(x >> 32);
}

/* p: NULL, with the message why. Its code is kept for the next seed, its variables begin anew. */
static enum outcome run_on(enum target t, struct program *p, const char *kernel, uint64_t seed,
                           char *message, size_t bytes, uint32_t *out)
{
    struct rng r = {seed};
    uint32_t *in = memory_alloc(t, THREADS * IN_WORDS * 4),
             *result = memory_alloc(t, THREADS * OUT_WORDS * 4);
    struct {
        void *out, *in;
        uint32_t n;
    } params = {result, in, THREADS};
    struct launch l = {.kernel = kernel,
                       .grid = {GRID, 1, 1},
                       .block = block_shape,
                       .params = &params,
                       .param_bytes = 20};
    enum outcome o = OUTCOME_ERROR;

    for (size_t i = 0; i < THREADS * IN_WORDS; i++)
        in[i] = input_word(&r);
    if (p && program_restart(p))
        o = program_run(p, &l, message, bytes);
    if (o == OUTCOME_UNSUPPORTED)
        printf("skip %-6s %s: %s\n", target_names[t], kernel, message);
    else if (o != OUTCOME_OK)
        printf("FAIL %-6s %s: %s\n", target_names[t], kernel, message);
    memcpy(out, result, THREADS * OUT_WORDS * 4);
    memory_reset(t);
    return o;
}

static bool close_enough(double a, double b, double tolerance)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= tolerance * fmax(1.0, fmax(fabs(a), fabs(b)));
}

static bool same(const char *kernel, const uint32_t *a, const uint32_t *b)
{
    double x, y;
    float f, g;

    switch (kernel[0]) {
    case 'f':
        memcpy(&f, a, sizeof f);
        memcpy(&g, b, sizeof g);
        return close_enough((double)f, (double)g, 1e-5);
    case 'd':
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return close_enough(x, y, 1e-13);
    default:
        return *a == *b;
    }
}

/* "NAME  reason" lines of the file after -k: kernels that are known to fail. */
static bool is_known(const char *kernel)
{
    size_t n = strlen(kernel);

    for (const char *line = known_text; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, kernel, n) == 0 && line[n] == ' ')
            return true;
    }
    return false;
}

static bool is_left_out(const char *kernel)
{
    size_t n = strlen(kernel);

    for (const char *at = strstr(left_out, kernel); at; at = strstr(at + n, kernel))
        if ((at == left_out || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0))
            return true;
    return false;
}

static bool same_answer(const uint32_t *out, const char *kernel, uint64_t seed)
{
    struct answer answer = {0};
    char row[128];

    snprintf(row, sizeof row, "%.100s, seed %llu", kernel, (unsigned long long)seed);
    answer_add(&answer, out, THREADS * OUT_WORDS * 4);
    return answer_end(&answer, row);
}

static void compare_seed(enum target t, struct program *p, const char *kernel, uint64_t seed,
                         char *message, size_t bytes, const uint32_t *expected)
{
    static uint32_t got[THREADS * OUT_WORDS];
    enum outcome o = run_on(t, p, kernel, seed, message, bytes, got);
    unsigned step = kernel[0] == 'd' ? 2 : 1, wrong = 0;

    runs++;
    if (o != OUTCOME_OK) {
        refused += o == OUTCOME_UNSUPPORTED; /* by name: documented */
        failures += o != OUTCOME_UNSUPPORTED;
        return;
    }
    for (unsigned i = 0; i < THREADS * OUT_WORDS; i += step) {
        if (same(kernel, &expected[i], &got[i]))
            continue;
        if (wrong++ == 0)
            printf("FAIL %-6s %s, seed %llu: thread %u, word %u: %08x, the interpreter has %08x\n",
                   target_names[t], kernel, (unsigned long long)seed, i / OUT_WORDS, i % OUT_WORDS,
                   got[i], expected[i]);
    }
    if (wrong > 1)
        printf("     %u words differ\n", wrong);
    failures += wrong != 0;
    if (step == 1 && kernel[0] != 'f' && !same_answer(got, kernel, seed)) {
        printf("FAIL %-6s %s, seed %llu: an H200 answered otherwise\n", target_names[t], kernel,
               (unsigned long long)seed);
        failures++;
    }
}

/* With the seeds first, first + 1 ...; each target compiles once. */
static void compare(const char *ptx, const char *kernel, uint64_t first, unsigned seeds)
{
    static uint32_t expected[SEEDS][THREADS * OUT_WORDS];
    char message[400] = "";
    struct program *p = program_create(TARGET_INTERP, ptx, message, sizeof message);
    bool interpreted = true;

    for (unsigned s = 0; s < seeds && interpreted; s++)
        interpreted = run_on(TARGET_INTERP, p, kernel, first + s, message, sizeof message,
                             expected[s]) == OUTCOME_OK;
    program_destroy(p);
    if (!interpreted) {
        failures++;
        return;
    }
    for (int k = 0; k < target_count; k++) {
        enum target t = targets[k];

        p = program_create(t, ptx, message, sizeof message);
        for (unsigned s = 0; s < seeds; s++)
            compare_seed(t, p, kernel, first + s, message, sizeof message, expected[s]);
        program_destroy(p);
    }
}

static void compare_all(const char *ptx, const char *filter)
{
    struct weir_ptx_module *m;
    struct weir_ptx_error e;

    if (weir_ptx_parse(ptx, strlen(ptx), &m, &e) != WEIR_OK) {
        printf("FAIL parse %d:%d: %s\n", e.line, e.column, e.message);
        failures++;
        return;
    }
    for (size_t i = 0; i < m->function_count; i++) {
        const char *name = m->functions[i]->name;

        if (m->functions[i]->is_entry && (!filter || strstr(name, filter)) && !is_left_out(name)) {
            unsigned before = failures;

            compare(ptx, name, 1, SEEDS);
            if (is_known(name) && failures == before)
                printf("note: %s passes now: take it off the list\n", name);
            if (is_known(name)) {
                known += failures - before;
                failures = before;
            }
        }
    }
    weir_ptx_module_destroy(m);
}

/* Random kernels FIRST-LAST; a single one is printed. */
static void compare_generated(const char *range)
{
    char *end;
    unsigned long first = strtoul(range, &end, 10),
                  last = *end == '-' ? strtoul(end + 1, NULL, 10) : first;

    for (unsigned long n = first; n <= last; n++) {
        struct text t = {0};
        unsigned before = failures;

        generate_kernel(n, BLOCK, THREADS * IN_WORDS, &t, &block_shape);
        if (*end != '-')
            printf("%s// block %u x %u x %u\n", t.s, block_shape.x, block_shape.y, block_shape.z);
        compare(t.s, "g", n, 1);
        if (failures != before)
            printf("     in random kernel %lu\n", n);
        text_free(&t);
    }
    block_shape = (struct dims){BLOCK, 1, 1};
}

/* The PTX text of a .cu or .ptx file; NULL: skipped or failed (*rc). */
static char *load(const char *path, int *rc)
{
    char dir[] = "/tmp/weir-ptx-XXXXXX", command[2048], ptx[64];
    char *text = NULL;
    size_t bytes;

    *rc = 1;
    if (strstr(path, ".ptx"))
        return ptx_text_read_file(path, &bytes);
    if (system("command -v nvcc >/dev/null 2>&1") != 0) {
        printf("skipped: no nvcc on PATH\n");
        *rc = 77;
        return NULL;
    }
    if (!mkdtemp(dir))
        return NULL;
    snprintf(ptx, sizeof ptx, "%s/a.ptx", dir);
    snprintf(command, sizeof command, "nvcc -std=c++17 -O3 -ptx -arch=compute_80 '%s' -o '%s' >&2",
             path, ptx);
    if (system(command) == 0)
        text = ptx_text_read_file(ptx, &bytes);
    unlink(ptx);
    rmdir(dir);
    return text;
}

int main(int argc, char **argv)
{
    char message[400], *text;
    const char *generated = NULL;
    int rc, arg = 1;

    for (; argc > arg + 1 && argv[arg][0] == '-'; arg += 2) {
        size_t bytes;

        if (argv[arg][1] == 'k') {
            known_text = ptx_text_read_file(argv[arg + 1], &bytes);
            continue;
        }
        if (argv[arg][1] == 'x') {
            left_out = argv[arg + 1];
            continue;
        }
        if (argv[arg][1] == 'r') {
            generated = argv[arg + 1];
            continue;
        }
        if (argv[arg][1] == 'w' || argv[arg][1] == 'c') {
            if (!answers_open(argv[arg + 1], argv[arg][1] == 'w'))
                return 2;
            continue;
        }
        if (argv[arg][1] == 'f') {
            if (!program_forms_to(argv[arg + 1]))
                return 2;
            continue;
        }
        target_count = 1;
        targets[0] = target_named(argv[arg + 1]);
        if (targets[0] == TARGET_COUNT)
            return 2;
    }
    if (argc <= arg && !generated)
        return 2;
    for (int k = 0; k <= target_count; k++) {
        if (!target_open(k < target_count ? targets[k] : TARGET_INTERP, message, sizeof message)) {
            printf("skipped: %s\n", message);
            return 77;
        }
    }
    if (generated) {
        compare_generated(generated);
    } else {
        text = load(argv[arg], &rc);
        if (!text)
            return rc;
        compare_all(text, argc > arg + 1 ? argv[arg + 1] : NULL);
        free(text);
    }
    free(known_text);
    answers_report();
    printf("%u runs compared, %u refused by name, %u known to fail, %u failed\n", runs, refused,
           known, failures);
    return failures || runs == refused;
}
