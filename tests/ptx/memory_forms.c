/* Loads, stores and atomics in every form of a list, by values: a kernel is made for each form that
 * stands in the list, and plain C says what it must give. The list is forms.ptx: the typed forms of
 * public programs; and every atomic in each space. In one tier all lanes have the form, in the
 * other a third of them left before it.
 *   t_ptx_memory_forms FORMS.ptx [-t quick|best|gpu] [-w FILE | -c FILE] [FILTER]
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/answers.h"
#include "ptx/harness.h"

#define THREADS 64u
#define SLOT    32u /* bytes of a thread's slot: what is loaded, stored, updated */
#define ANSWER  64u /* bytes of a thread's answer */

static unsigned passes, failures, others;

/* ---- reading a form ---- */

enum kind { LOAD, STORE, ATOM, RED };

struct form {
    const char *text;
    enum kind kind;
    char space[8], op[8], type[8]; /* space "": generic */
    unsigned vec, bytes;
    bool is_signed, is_float;
    bool parted; /* every third lane leaves: THREADS of them stay */
};

static bool is_one_of(const char *word, const char *list)
{
    size_t n = strlen(word);

    for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

/* False: not this test's. */
static bool read_form(const char *text, struct form *f)
{
    char copy[96], *word, *rest;

    *f = (struct form){.text = text, .vec = 1};
    snprintf(copy, sizeof copy, "%.95s", text);
    word = strtok_r(copy, ".", &rest);
    if (!is_one_of(word, "ld st atom red"))
        return false;
    f->kind = *word == 'l' ? LOAD : *word == 's' ? STORE : *word == 'a' ? ATOM : RED;
    while ((word = strtok_r(NULL, ".", &rest))) {
        if (is_one_of(word, "global shared local const param"))
            snprintf(f->space, sizeof f->space, "%s", word);
        else if (is_one_of(word, "v2 v4"))
            f->vec = (unsigned)word[1] - '0';
        else if (is_one_of(word, "add min max and or xor exch cas inc dec"))
            snprintf(f->op, sizeof f->op, "%s", word);
        else if (is_one_of(word, "b8 u8 s8 b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64"))
            snprintf(f->type, sizeof f->type, "%s", word);
        else if (!is_one_of(word,
                            "volatile relaxed acquire release acq_rel cta gpu sys ca cg cs nc"))
            return false;
    }
    if (!*f->type || (f->kind == STORE && strcmp(f->space, "param") == 0))
        return false; /* a call's parameter: nvcc's kernels have it (compiled.cu) */
    f->bytes = (unsigned)atoi(f->type + 1) / 8;
    f->is_signed = *f->type == 's';
    f->is_float = *f->type == 'f';
    return f->vec * f->bytes <= SLOT && (f->kind < ATOM) == !*f->op;
}

/* ---- numbers ---- */

static uint64_t get(const unsigned char *p, unsigned bytes)
{
    uint64_t v = 0;

    memcpy(&v, p, bytes);
    return v;
}

static double real_of(const struct form *f, uint64_t v)
{
    float x;
    double y;

    if (f->bytes == 4) {
        memcpy(&x, &v, 4);
        return (double)x;
    }
    memcpy(&y, &v, 8);
    return y;
}

static uint64_t bits_of(const struct form *f, double v)
{
    float x = (float)v;
    uint64_t bits = 0;

    memcpy(&bits, f->bytes == 4 ? (const void *)&x : (const void *)&v, f->bytes);
    return bits;
}

/* What an atomic leaves: old, operand, second operand of cas. */
static uint64_t updated(const struct form *f, uint64_t a, uint64_t b, uint64_t c)
{
    int64_t sa = f->bytes == 4 ? (int32_t)a : (int64_t)a;
    int64_t sb = f->bytes == 4 ? (int32_t)b : (int64_t)b;

    if (strcmp(f->op, "add") == 0)
        return f->is_float ? bits_of(f, real_of(f, a) + real_of(f, b)) : a + b;
    if (strcmp(f->op, "min") == 0)
        return (f->is_signed ? sa < sb : a < b) ? a : b;
    if (strcmp(f->op, "max") == 0)
        return (f->is_signed ? sa > sb : a > b) ? a : b;
    if (strcmp(f->op, "and") == 0)
        return a & b;
    if (strcmp(f->op, "or") == 0)
        return a | b;
    if (strcmp(f->op, "xor") == 0)
        return a ^ b;
    if (strcmp(f->op, "inc") == 0)
        return a >= b ? 0 : a + 1;
    if (strcmp(f->op, "dec") == 0)
        return a == 0 || a > b ? b : a - 1;
    if (strcmp(f->op, "cas") == 0)
        return a == b ? c : a;
    return b; /* exch */
}

/* ---- the kernel ---- */

static const char *class_of(const struct form *f)
{
    return f->is_float ? f->bytes == 8 ? "fd" : "f" : f->bytes == 8 ? "rd" : "r";
}

/* How a register of the class is stored in an answer. */
static const char *whole_type(const struct form *f)
{
    return f->is_float ? f->type : f->bytes == 8 ? "b64" : "b32";
}

static void list(struct text *x, const struct form *f, unsigned first)
{
    text_add(x, f->vec > 1 ? "{" : "");
    for (unsigned k = 0; k < f->vec; k++)
        text_add(x, "%s%%%s%u", k ? ", " : "", class_of(f), first + k);
    text_add(x, f->vec > 1 ? "}" : "");
}

/* Copies the thread's slot, word by word; [to] and [from] with their spaces. */
static void copy_slot(struct text *x, const char *to, const char *to_reg, const char *from,
                      const char *from_reg)
{
    for (unsigned k = 0; k < SLOT; k += 4)
        text_add(x, "  ld.%s.b32 %%r9, [%s+%u]; st.%s.b32 [%s+%u], %%r9;\n", from, from_reg, k, to,
                 to_reg, k);
}

/* %rd5: the address that the form is given. Values: %..20 on; the operands of atomics %..24, 25. */
static void make_kernel(struct text *x, const struct form *f, const unsigned char *constants)
{
    static const char parting[] = "  .reg .pred %p1; rem.u32 %r3, %r1, 3; setp.eq.u32 %p1, %r3, 2; "
                                  "@%p1 bra OUT;\n  div.u32 %r3, %r1, 3; sub.u32 %r1, %r1, %r3;\n";
    bool shared = strcmp(f->space, "shared") == 0, local = strcmp(f->space, "local") == 0;
    bool elsewhere = shared || local;

    text_add(x, ".version 8.7\n.target sm_90\n.address_size 64\n.const .align 16 .b8 cm[%u] = {",
             THREADS * SLOT);
    for (unsigned k = 0; k < THREADS * SLOT; k++)
        text_add(x, "%s%u", k ? "," : "", constants[k]);
    text_add(
        x,
        "};\n.visible .entry k(.param .u64 out, .param .u64 in, .param .align 16 .b8 kp[%u]) {\n"
        "  .reg .b32 %%r<40>; .reg .b64 %%rd<40>; .reg .f32 %%f<40>; .reg .f64 %%fd<40>;\n"
        "  .shared .align 16 .b8 sm[%u]; .local .align 16 .b8 lm[%u];\n"
        "  ld.param.u64 %%rd1, [out]; ld.param.u64 %%rd2, [in]; mov.u32 %%r1, %%tid.x;\n%s"
        "  mul.wide.u32 %%rd3, %%r1, %u; add.u64 %%rd1, %%rd1, %%rd3;\n"
        "  mul.wide.u32 %%rd3, %%r1, %u; add.u64 %%rd2, %%rd2, %%rd3; mov.u64 %%rd4, cm;\n"
        "  mov.u64 %%rd5, %s; %s\n",
        SLOT, THREADS * SLOT, SLOT, f->parted ? parting : "", ANSWER, SLOT,
        shared             ? "sm"
        : local            ? "lm"
        : f->kind == STORE ? "%rd1"
                           : "%rd2",
        shared ? "add.u64 %rd5, %rd5, %rd3;" : "");
    if (strcmp(f->space, "const") == 0)
        text_add(x, "  add.u64 %%rd5, %%rd4, %%rd3;\n");
    if (elsewhere && f->kind != STORE)
        copy_slot(x, f->space, "%rd5", "global", "%rd2");
    if (f->kind == LOAD) {
        text_add(x, "  %s ", f->text);
        list(x, f, 20);
        text_add(x, strcmp(f->space, "param") == 0 ? ", [kp];\n" : ", [%%rd5];\n");
        for (unsigned k = 0; k < f->vec; k++)
            text_add(x, "  st.global.%s [%%rd1+%u], %%%s%u;\n", whole_type(f), 8 * k, class_of(f),
                     20 + k);
    } else if (f->kind == STORE) {
        for (unsigned k = 0; k < f->vec; k++)
            text_add(x, "  ld.global.%s %%%s%u, [%%rd2+%u];\n", f->type, class_of(f), 20 + k,
                     k * f->bytes);
        text_add(x, "  %s [%%rd5], ", f->text);
        list(x, f, 20);
        text_add(x, ";\n");
        if (elsewhere) /* words of which all was written, or the slot's first bytes */
            for (unsigned k = 0; k < f->vec * f->bytes; k++)
                text_add(x, "  ld.%s.u8 %%r9, [%%rd5+%u]; st.global.u8 [%%rd1+%u], %%r9;\n",
                         f->space, k, k);
    } else {
        bool cas = strcmp(f->op, "cas") == 0;

        text_add(x, "  ld.global.%s %%%s24, [%%rd2+8]; ld.global.%s %%%s25, [%%rd2+16];\n",
                 whole_type(f), class_of(f), whole_type(f), class_of(f));
        text_add(x, "  %s ", f->text);
        if (f->kind == ATOM)
            text_add(x, "%%%s20, ", class_of(f));
        text_add(x, "[%%rd5], %%%s24", class_of(f));
        text_add(x, cas ? ", %%%s25;\n" : ";\n", class_of(f));
        if (f->kind == ATOM)
            text_add(x, "  st.global.%s [%%rd1], %%%s20;\n", whole_type(f), class_of(f));
        text_add(x, "  ld%s%s.%s %%%s21, [%%rd5]; st.global.%s [%%rd1+8], %%%s21;\n",
                 *f->space ? "." : "", f->space, whole_type(f), class_of(f), whole_type(f),
                 class_of(f));
    }
    text_add(x, "OUT:\n  ret;\n}\n");
}

/* ---- what must come out ---- */

static uint64_t extended(const struct form *f, const unsigned char *p)
{
    uint64_t v = get(p, f->bytes);

    if (f->is_signed && f->bytes < 4 && v >> (8 * f->bytes - 1))
        v |= 0xffffffffu & ~((1u << 8 * f->bytes) - 1);
    return v;
}

static void expect(const struct form *f, const unsigned char *slot, unsigned char *answer)
{
    unsigned width = f->bytes == 8 ? 8 : 4;

    if (f->kind == LOAD) {
        for (unsigned k = 0; k < f->vec; k++) {
            uint64_t v = extended(f, slot + k * f->bytes);

            memcpy(answer + 8 * (size_t)k, &v, width);
        }
    } else if (f->kind == STORE) {
        memcpy(answer, slot, f->vec * f->bytes);
    } else {
        uint64_t a = get(slot, width);
        uint64_t after = updated(f, a, get(slot + 8, width), get(slot + 16, width));

        if (f->kind == ATOM)
            memcpy(answer, &a, width);
        memcpy(answer + 8, &after, width);
    }
}

/* Atomics of floats: whole numbers; of others sometimes what is compared with is there. */
static void fill(const struct form *f, unsigned char *slot, unsigned thread, struct rng *r)
{
    for (unsigned k = 0; k < SLOT; k++)
        slot[k] = (unsigned char)(rng_next(r) >> 24);
    if (f->kind < ATOM)
        return;
    for (unsigned k = 0; k < 3 && f->is_float; k++) {
        uint64_t v = bits_of(f, (double)((int)(slot[8 * k] % 64) - 32));

        memcpy(slot + 8 * (size_t)k, &v, f->bytes);
    }
    if (thread % 3 == 0)
        memcpy(slot + 8, slot, 8);
    if (thread % 7 == 0 && !f->is_float)
        memset(slot, 0, 8);
}

static void test(const char *text, enum target t)
{
    static unsigned char slots[THREADS * SLOT];
    unsigned char want[ANSWER];
    struct text ptx = {0};
    struct program *p;
    struct answer answer = {0};
    struct form f;
    struct rng r;
    char message[400] = "";
    bool same;

    if (!read_form(text, &f)) {
        others++;
        return;
    }
    f.parted = (passes + failures) % 2 == (t != TARGET_BEST);
    rng_seed_name(&r, text);
    for (unsigned k = 0; k < THREADS; k++)
        fill(&f, slots + (size_t)k * SLOT, k, &r);
    make_kernel(&ptx, &f, slots);
    p = program_create(t, ptx.s, message, sizeof message);
    unsigned char *in = memory_alloc(t, sizeof slots), *out = memory_alloc(t, THREADS * ANSWER);
    struct {
        void *out, *in;
        unsigned char kp[SLOT];
    } params = {out, in, {0}};
    struct launch l = {.kernel = "k",
                       .grid = {1, 1, 1},
                       .block = {f.parted ? THREADS * 3 / 2 : THREADS, 1, 1},
                       .params = &params,
                       .param_bytes = sizeof params};
    memcpy(in, slots, sizeof slots);
    memcpy(params.kp, slots, SLOT);
    same = p && program_run(p, &l, message, sizeof message) == OUTCOME_OK;
    if (same)
        answer_add(&answer, out, (size_t)THREADS * ANSWER);
    for (unsigned k = 0; k < THREADS && same; k++) {
        bool parameter = strcmp(f.space, "param") == 0;

        memset(want, 0, sizeof want);
        expect(&f, slots + (parameter ? 0 : (size_t)k * SLOT), want);
        same = memcmp(want, out + (size_t)k * ANSWER, ANSWER) == 0;
        if (!same)
            snprintf(message, sizeof message, "thread %u: %016llx %016llx, not %016llx %016llx", k,
                     (unsigned long long)get(out + (size_t)k * ANSWER, 8),
                     (unsigned long long)get(out + (size_t)k * ANSWER + 8, 8),
                     (unsigned long long)get(want, 8), (unsigned long long)get(want + 8, 8));
    }
    if (!answer_end(&answer, text) && same) {
        snprintf(message, sizeof message, "an H200 answered otherwise");
        same = false;
    }
    if (!same)
        printf("FAIL %s %s: %s\n", target_names[t], text, message);
    *(same ? &passes : &failures) += 1;
    if (p)
        program_destroy(p);
    memory_reset(t);
    text_free(&ptx);
}

/* Of programs' forms few are atomics of shared memory, and some operations are in one space alone.
 */
static void test_atomics(enum target t, const char *filter, const char *tested)
{
    static const char *const spaces[] = {".global", ".shared", ""};
    static const char *const operations[] = {
        "add.u32",  "add.s32",  "add.u64", "add.f32", "add.f64", "min.u32", "min.s32",
        "min.u64",  "min.s64",  "max.u32", "max.s32", "max.u64", "max.s64", "and.b32",
        "and.b64",  "or.b32",   "or.b64",  "xor.b32", "xor.b64", "inc.u32", "dec.u32",
        "exch.b32", "exch.b64", "cas.b32", "cas.b64"};
    char text[96];

    for (size_t n = 0; n < 2 * sizeof operations / sizeof *operations; n++)
        for (size_t k = 0; k < sizeof spaces / sizeof *spaces; k++) {
            const char *op = operations[n / 2];

            snprintf(text, sizeof text, "%s%s.%s", n % 2 ? "red" : "atom", spaces[k], op);
            if (is_one_of(text, tested) ||
                (n % 2 && is_one_of(op, "exch.b32 exch.b64 cas.b32 cas.b64")) ||
                (filter && !strstr(text, filter)))
                continue;
            test(text, t);
        }
}

int main(int argc, char **argv)
{
    enum target t = TARGET_BEST;
    const char *filter = NULL;
    char line[512], message[200];
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    struct text tested = {0};

    for (int k = 2; k < argc; k++) {
        if (strcmp(argv[k], "-t") == 0 && k + 1 < argc)
            t = target_named(argv[++k]);
        else if ((strcmp(argv[k], "-w") == 0 || strcmp(argv[k], "-c") == 0) && k + 1 < argc) {
            if (!answers_open(argv[k + 1], argv[k][1] == 'w'))
                return 2;
            k++;
        } else if (strcmp(argv[k], "-f") == 0 && k + 1 < argc && program_forms_to(argv[k + 1]))
            k++;
        else
            filter = argv[k];
    }
    if (!f || t == TARGET_COUNT)
        return 2;
    if (!target_open(t, message, sizeof message)) {
        printf("skipped: %s\n", message);
        fclose(f);
        return 77;
    }
    while (fgets(line, sizeof line, f)) {
        char *end = line + strcspn(line, " ;\n");

        if (*end != ' ' || line[0] == '.' || line[0] == '/')
            continue;
        *end = 0;
        if (is_one_of((char[]){line[0], line[1], 0}, "ld st at re") &&
            (!filter || strstr(line, filter))) {
            text_add(&tested, "%s ", line);
            test(line, t);
        }
    }
    fclose(f);
    test_atomics(t, filter, tested.s ? tested.s : "");
    text_free(&tested);
    answers_report();
    printf("memory forms: %u right, %u wrong, %u of other kinds\n", passes, failures, others);
    return failures || (!filter && passes < 150);
}
