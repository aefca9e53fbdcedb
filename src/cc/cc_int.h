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

enum cc_stop {
    CC_LINK,
    CC_OBJECTS,
    CC_PTX,
    CC_FATBIN,
    CC_PREPROCESS,
    CC_DEPENDENCIES, /* -M, -MM: a rule for make, nothing compiled */
    CC_DEVICE_LINK,  /* -dlink: the object that registers separately compiled units */
    CC_ARCHIVE,
};

/* Where our own files are, all found from the place of the running binary. */
struct cc_paths {
    char clang[PATH_MAX];
    char clangxx[PATH_MAX]; /* the same compiler as it links C++ */
    char ar[PATH_MAX];
    char toolkit[PATH_MAX];      /* a folder in the form of CUDA's: bin/nvcc, include, lib64 */
    char cuda_include[PATH_MAX]; /* the public CUDA headers */
    char cc_include[PATH_MAX];   /* weir_cuda.h and what it brings */
    char devlib[PATH_MAX];
    char libdir[PATH_MAX]; /* libcudart.so.13 */
};

struct cc {
    /* from the command line */
    struct cc_args words; /* the command line itself; other fields point into it */
    WEIR_VEC(struct cc_input) inputs;
    WEIR_VEC(unsigned) sms;
    struct cc_args all;    /* for every compilation: -I -D ... */
    struct cc_args host;   /* host compilations only: -O -g -W -f -Xcompiler ... */
    struct cc_args depend; /* -MD and the like: the pass that reads the source for the host */
    struct cc_args link;   /* -L -l -Wl ... and objects, in order */
    const char *output, *output_folder, *keep_folder, *depend_file;
    const char *std_c, *std_cxx; /* whole arguments, NULL: the compiler's default */
    enum cc_stop stop;
    bool per_thread, verbose, dry_run, keep, shared, fast_math, device_debug, line_info;
    bool no_fmad, ftz, approximate_div, approximate_sqrt;
    bool relocatable;     /* -rdc=true: device code is linked by symbol, across files */
    bool extended_lambda; /* both only say so in a macro: clang needs no option for them */
    bool relaxed_constexpr;
    bool managed;                                       /* the file at hand has managed variables */
    bool no_cudart, forward_unknown, user_headers_only; /* the last: -MM */
    bool depend_made;                                   /* -MD or -MMD was given */
    int forced_language;                                /* -x: enum cc_language, -1 by extension */

    /* set up by weir_cc_main */
    struct cc_paths paths;
    char temp[PATH_MAX]; /* our temporary folder, "" before it exists */
};

/* args.c. Appends the words of argv[1..] and of the environment, response files unpacked; false
 * after a message. */
bool cc_args_expand(struct cc_args *to, int argc, char **argv);
/* options.c. false after a message; *done when there is nothing to compile (--help, --version). */
bool cc_parse(struct cc *cc, int argc, char **argv, bool *done);
/* paths.c. false after a message that names what is missing. */
bool cc_find_paths(struct cc_paths *p);
/* compile.c: one input to `output`: an object, or what cc->stop asks for. */
bool cc_compile(struct cc *cc, const struct cc_input *in, size_t number, const char *output);
/* link.c: the last step of CC_LINK, CC_DEVICE_LINK and CC_ARCHIVE. */
bool cc_link(struct cc *cc, char *const *objects, size_t count);
/* units.c: the identifiers of the separately compiled units in an object or archive, appended to
 * `to`; a file that is none of these has none. */
struct cc_units {
    struct cc_args wanted, defined; /* the registering function is called, is there */
};
void cc_find_units(struct cc_units *to, const char *path);
void cc_units_finish(struct cc_units *units);
/* The unit of `object` gets an identifier made of `seed`, instead of clang's, which two folders'
 * files of the same name share. */
bool cc_rename_unit(const char *object, const char *seed);
/* managed.c: rewrites the host's LLVM text so that managed variables are reached through a pointer
 * that the runtime sets; their names are appended to `names`. NULL after a message, else from
 * weir_alloc. And marks those variables in the PTX text. */
char *cc_managed_host(const char *text, struct cc_args *names);
char *cc_managed_ptx(const char *text, const struct cc_args *names);
/* ptx_text.c: the PTX of a separately compiled unit as a device linker can use it. Takes text from
 * weir_alloc and gives such; NULL after a message. */
char *cc_ptx_mend(char *text);
/* run.c. Runs a[0] with these arguments, prints it when verbose; false unless it exits with 0.
 * cc_run_compiler leaves out of the compiler's messages what speaks of Weir's and clang's own
 * headers (messages.c). */
bool cc_run(const struct cc *cc, struct cc_args *a);
bool cc_run_compiler(const struct cc *cc, struct cc_args *a);
void cc_print_messages(const struct cc *cc, char *text);
/* compile.c */
bool cc_write_file(const char *path, const void *data, size_t bytes);

/* asm.c. Quick: may `path`, or what it includes, hold a special register with one percent sign in
 * an asm template? May it hold `word`? Exact: the preprocessed text with those signs doubled, from
 * weir_alloc; NULL when out of memory. */
bool cc_file_mentions(const struct cc *cc, const char *path, const char *word);
bool cc_asm_may_need_fix(const struct cc *cc, const char *path);
char *cc_asm_fix(const char *text, size_t bytes, size_t *out_bytes);
/* compile.c. The whole file, zero-terminated, from weir_alloc; NULL after a message. */
char *cc_read_file(const char *path, size_t *bytes);

void cc_error(const char *fmt, ...) WEIR_PRINTF(1, 2);

#endif
