/* Inside weir cc: the command line as understood, and the steps.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CC_CC_INT_H
#define WEIR_CC_CC_INT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "cc/cc.h"

/* The device profile `cpu` is 8.9 (src/core/profile.c). The PTX versions are the oldest that have
 * every instruction of the architecture. */
#define CC_DEFAULT_SM      89
#define CC_PTX_FEATURE     "+ptx78"
#define CC_PTX_FEATURE_NEW "+ptx84" /* for sm_90 and above */

/* A command line under construction. Out of memory is noted and reported when it is run. */
struct cc_args {
    WEIR_VEC(char *) v;
    bool failed;
};
void cc_args_add(struct cc_args *a, const char *fmt, ...) WEIR_PRINTF(2, 3);
void cc_args_copy(struct cc_args *a, const struct cc_args *from);
void cc_args_finish(struct cc_args *a);

enum cc_language { CC_CUDA, CC_C, CC_CXX, CC_OBJECT };

struct cc_input {
    const char *path;
    enum cc_language language;
};

enum cc_stop { CC_LINK, CC_OBJECTS, CC_PTX };

/* Where our own files are, all found from the place of the running binary. */
struct cc_paths {
    char clang[PATH_MAX];
    char cuda_include[PATH_MAX]; /* the public CUDA headers */
    char cc_include[PATH_MAX];   /* weir_cuda.h and what it brings */
    char devlib[PATH_MAX];
    char libdir[PATH_MAX]; /* libcudart.so.13 */
};

struct cc {
    /* from the command line */
    WEIR_VEC(struct cc_input) inputs;
    WEIR_VEC(unsigned) sms;
    struct cc_args all;    /* for every compilation: -I -D ... */
    struct cc_args host;   /* host compilations only: -O -g -W -f -Xcompiler ... */
    struct cc_args depend; /* -MD and the like: the pass that reads the source for the host */
    struct cc_args link;   /* -L -l -Wl ... in order */
    const char *output;
    const char *std_c, *std_cxx; /* whole arguments, NULL: the compiler's default */
    enum cc_stop stop;
    bool per_thread, verbose, dry_run, keep, shared, fast_math, no_fmad, device_debug, line_info;
    bool optimised, no_cudart;
    int forced_language; /* -x: enum cc_language, -1 by extension */

    /* set up by weir_cc_main */
    struct cc_paths paths;
    char temp[PATH_MAX]; /* our temporary folder, "" before it exists */
};

/* options.c. false after a message; *done when there is nothing to compile (--help, --version). */
bool cc_parse(struct cc *cc, int argc, char **argv, bool *done);
/* paths.c. false after a message that names what is missing. */
bool cc_find_paths(struct cc_paths *p);
/* compile.c: one input to `object` (or, for CC_PTX, to a PTX text); then the link. */
bool cc_compile(struct cc *cc, const struct cc_input *in, size_t number, const char *object);
bool cc_link(struct cc *cc, char *const *objects, size_t count);
/* run.c. Runs a[0] with these arguments, prints it when verbose; false unless it exits with 0. */
bool cc_run(const struct cc *cc, struct cc_args *a);

/* asm.c. Quick: may `path`, or what it includes, hold a special register with one percent sign in
 * an asm template? Exact: the preprocessed text with those signs doubled, from weir_alloc; NULL
 * when out of memory. */
bool cc_asm_may_need_fix(const struct cc *cc, const char *path);
char *cc_asm_fix(const char *text, size_t bytes, size_t *out_bytes);
/* compile.c. The whole file, zero-terminated, from weir_alloc; NULL after a message. */
char *cc_read_file(const char *path, size_t *bytes);

void cc_error(const char *fmt, ...) WEIR_PRINTF(1, 2);

#endif
