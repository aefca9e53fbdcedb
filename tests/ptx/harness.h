/* Runs PTX texts for the opcode and kernel tests: on the compiler library with a small engine of
 * the tests' own (one block after another, parked blocks in turn), or, to check the expectations
 * themselves, on a real GPU through its driver.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_PTX_HARNESS_H
#define WEIR_TESTS_PTX_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum target {
    TARGET_QUICK,
    TARGET_BEST,
    TARGET_GPU,
    TARGET_PARSE /* no code is made */,
    TARGET_INTERP /* tests/support/ptx_interp.h: the oracle */,
    TARGET_COUNT
};
extern const char *const target_names[TARGET_COUNT];

struct program; /* one PTX module on one target */

struct dims {
    uint32_t x, y, z;
};

struct launch {
    const char *kernel;
    struct dims grid, block;
    uint32_t dynamic_shared;
    const void *params;
    size_t param_bytes;
};

/* Compiles for a processor with AVX2 only, whatever this one has; or no longer. */
void target_narrow(bool narrow);

/* What a launch ended with. */
enum outcome {
    OUTCOME_OK,
    OUTCOME_UNSUPPORTED,
    OUTCOME_FAULT,
    OUTCOME_TRAP,
    OUTCOME_HANG,
    OUTCOME_ERROR
};

enum target target_named(const char *name); /* TARGET_COUNT: none */
/* False: message (with the reason) is set. */
bool target_open(enum target t, char *message, size_t bytes);

/* Memory that kernels and the test both see; zeroed. All of it goes with memory_reset. */
void *memory_alloc(enum target t, size_t bytes);
void memory_reset(enum target t);

/* Writes the form of each instruction of every program that is made from now on, a line each.
 * False: the file cannot be opened. */
bool program_forms_to(const char *path);
/* ptx stays the caller's until program_destroy. NULL when it does not parse: message. */
struct program *program_create(enum target t, const char *ptx, char *message, size_t bytes);
void program_destroy(struct program *p);
/* After memory_reset: variables in their places again, with their initial values. */
bool program_restart(struct program *p);
enum outcome program_run(struct program *p, const struct launch *l, char *message, size_t bytes);
/* Nanoseconds that compilation took so far, and PTX instructions compiled. */
void program_costs(uint64_t *ns, uint64_t *instructions);

/* Growing text. */
struct text {
    char *s;
    size_t n, cap;
};
void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_free(struct text *t);

/* Deterministic random numbers. */
struct rng {
    uint64_t state;
};
uint64_t rng_next(struct rng *r);
void rng_seed_name(struct rng *r, const char *name);

/* The whole run's options and counts (main.c). */
struct run {
    enum target targets[TARGET_COUNT];
    int target_count;
    const char *filter;
    const char *suite; /* ops, kernels, random; NULL = all */
    bool all;          /* every block shape, every random program */
    bool verbose, list, dump;
    bool narrow;                 /* code for AVX2 only */
    unsigned part, parts, batch; /* of every `parts` batches of rows the one; 0: all */
    bool again; /* rows run once more, in other company: their answers have names of their own */
    unsigned passed, failed, skipped;
};
bool run_wants(const struct run *r, const char *name);
void run_pass(struct run *r, enum target t, const char *name);
void run_fail(struct run *r, enum target t, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A documented refusal: counted, listed with -v. */
void run_skip(struct run *r, enum target t, const char *name, const char *why);

/* The suites. */
void ops_run(struct run *r);
void kernels_run(struct run *r);
void random_run(struct run *r);

#endif
