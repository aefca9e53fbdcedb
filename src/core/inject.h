/* Faults on demand (docs/faults.md): rules of `weir run --inject`, by which calls, kernels and
 * devices fail as if by themselves. The rules' text is read by inject_rules.c, which the command
 * line uses as well; this process's own rules are in inject.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_INJECT_H
#define WEIR_CORE_INJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/err.h"

#define WEIR_INJECT_RULES 32
#define WEIR_INJECT_NAME  128
#define WEIR_INJECT_TEXT  192

enum weir_inject_kind { WEIR_INJECT_CALL, WEIR_INJECT_KERNEL, WEIR_INJECT_DEVICE };

struct weir_inject_rule {
    enum weir_inject_kind kind;
    char name[WEIR_INJECT_NAME]; /* CALL: the function; KERNEL: a name, or its beginning and '*' */
    int device;                  /* DEVICE */
    uint64_t at_ns;              /* DEVICE: since the first call */
    enum weir_err err;
    uint64_t first, last;        /* the calls or launches that fail, from 1 */
    bool has_rate;               /* of those only some */
    double rate;                 /* 0 .. 1 */
    uint64_t seed;               /* which, by their number alone */
    char text[WEIR_INJECT_TEXT]; /* the rule as it was written */
    /* atomic, relaxed */
    _Atomic uint64_t seen, failed;
};

struct weir_inject_rules {
    struct weir_inject_rule items[WEIR_INJECT_RULES];
    int count;
};

/* Reads rules separated by ';' into *out. Errors: INVALID_VALUE; the message names the rule and
 * what is wrong with it. Pure. */
enum weir_err weir_inject_parse(const char *spec, struct weir_inject_rules *out) WEIR_MUST_CHECK;
/* Counts one more call or launch; does the rule make it fail? */
bool weir_inject_fires(struct weir_inject_rule *rule);
/* Is `call`, an exported function's name, the one that the rule names? The runtime's internal
 * launch and the driver API's _v2 forms go by the name that programs use. */
bool weir_inject_names_call(const struct weir_inject_rule *rule, const char *call);
bool weir_inject_names_kernel(const struct weir_inject_rule *rule, const char *mangled);

/* ---- this process ---- */

extern _Atomic bool weir_inject_on, weir_inject_kernels;

static inline bool weir_inject_enabled(void)
{
    return WEIR_UNLIKELY(atomic_load_explicit(&weir_inject_on, memory_order_relaxed));
}

/* Takes the rules of WEIR_INJECT into use. Once, at the start. Errors: INVALID_VALUE. */
enum weir_err weir_inject_start(const char *spec) WEIR_MUST_CHECK;
/* What this call is to return instead of doing anything; WEIR_OK: it is to be done. An error that
 * stays fails the current device as well. Asked by the wrappers, once a call. */
enum weir_err weir_inject_call(const char *call);
/* What this launch of a kernel is to fail with when it runs; WEIR_OK: with nothing. */
enum weir_err weir_inject_kernel(const char *mangled);
/* Fails the devices whose time has come. Nanoseconds until the next, UINT64_MAX: there is none.
 * Thread: any, no lock held. */
uint64_t weir_inject_devices(uint64_t now_ns);
/* At the process's end: names the rules by which nothing failed, since a test that counts on
 * them has tested nothing. */
void weir_inject_end(void);
/* A line for each rule. */
void weir_inject_print(FILE *f);

#endif
