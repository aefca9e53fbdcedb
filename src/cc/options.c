/* The command line of weir cc: nvcc's spellings, so that build files need not change
 * (cc_options.def). What Weir can not do is refused by name; what has no meaning without a GPU
 * assembler (-Xptxas, -maxrregcount ...) is accepted and has no effect.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cc/cc_int.h"

static const char help[] =
    "usage: weir cc [options] FILE...\n"
    "Compiles .cu, .c and .cpp files and links them with Weir's libcudart; options are nvcc's.\n"
    "  -o FILE  -odir DIR  -c  -dc  -dlink  -lib  -shared  -ptx (or -S)  -fatbin  -E\n"
    "  -M  -MM  -MD  -MMD  -MP  -MF FILE  -MT NAME   rules for make and ninja\n"
    "  -O0..-O3  -g  -lineinfo  -G             -O is for host code; device code is optimised "
    "unless -G\n"
    "  -I DIR  -isystem DIR  -D NAME[=V]  -U NAME  -include FILE  -std=c++11..20  -x cu|c|c++\n"
    "  -L DIR  -l LIB  -l:FILE  -Xcompiler OPTS  -Xlinker OPTS  and clang's -f, -W, -m options\n"
    "  -arch sm_NN  -gencode arch=compute_NN,code=...   (default sm_89)\n"
    "  -rdc true|false  --default-stream per-thread|legacy  --extended-lambda\n"
    "  --expt-relaxed-constexpr  --use_fast_math  -ftz  -prec-div  -prec-sqrt  -fmad true|false\n"
    "  -cudart static|shared|none  -v  --dryrun  --keep  --keep-dir DIR\n"
    "  --version  @FILE  --options-file FILE   and NVCC_PREPEND_FLAGS, NVCC_APPEND_FLAGS\n";

/* CMake knows an nvcc by the words in the second line, and takes the version from the third. */
static const char version[] = "weir cc " WEIR_VERSION ", CUDA without a GPU; device code by clang\n"
                              "takes the options of nvcc: NVIDIA (R) Cuda compiler driver\n"
                              "Cuda compilation tools, release 13.0, V13.0.0\n";

enum kind { FLAG, VALUE, JOINED };
enum action {
    IGNORED,
    REFUSED,
    STOP_LINK,
    STOP_OBJECTS,
    STOP_DEVICE_LINK,
    STOP_ARCHIVE,
    STOP_PTX,
    STOP_FATBIN,
    STOP_PREPROCESS,
    STOP_DEPENDENCIES,
    STOP_USER_DEPENDENCIES,
    DEVICE_C,
    DEVICE_W,
    SHARED,
    OUTPUT,
    OUTPUT_FOLDER,
    DEPEND,
    DEPEND_MORE,
    DEPEND_FILE,
    DEPEND_TARGET,
    INCLUDE_PATH,
    DEFINE,
    UNDEFINE,
    SYSTEM_INCLUDE,
    PRE_INCLUDE,
    STANDARD,
    LANGUAGE,
    ARCH,
    GENCODE,
    RELOCATABLE,
    FAST_MATH,
    FTZ,
    PRECISE_DIV,
    PRECISE_SQRT,
    FMAD,
    DEVICE_DEBUG,
    LINE_INFO,
    DEBUG,
    DEFAULT_STREAM,
    EXTENDED_LAMBDA,
    RELAXED_CONSTEXPR,
    OPTIMIZE,
    HOST_OPTIONS,
    LINK_OPTIONS,
    LIBRARY_PATH,
    LIBRARY,
    CUDART,
    NO_CUDART,
    WARNINGS_ARE_ERRORS,
    NO_WARNINGS,
    PROFILE,
    NO_EXCEPTIONS,
    FORWARD_UNKNOWN,
    VERBOSE,
    DRY_RUN,
    KEEP,
    KEEP_FOLDER,
};

static const struct option {
    enum kind kind;
    const char *longer, *shorter;
    enum action action;
} options[] = {
#define OPTION(kind, longer, shorter, action) {kind, longer, shorter, action},
#include "cc/cc_options.def"
#undef OPTION
};

struct cursor {
    char **argv;
    size_t argc, i;
};

static const char *const truths[] = {"true", "false"};

static bool is_in(const char *arg, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(arg, list[i]))
            return true;
    return false;
}
#define IS_IN(arg, list) is_in((arg), (list), sizeof(list) / sizeof *(list))

/* ---- Architectures ---- */

/* "sm_86", "compute_86", "lto_86", "86", "sm_90a"; 0 when it is none of these. */
static unsigned sm_number(const char *text, size_t length)
{
    static const char *const prefixes[] = {"sm_", "compute_", "lto_"};
    unsigned sm = 0;
    for (size_t i = 0; i < 3; i++) {
        const size_t n = strlen(prefixes[i]);
        if (length > n && !memcmp(text, prefixes[i], n))
            text += n, length -= n;
    }
    if (length > 1 && (text[length - 1] == 'a' || text[length - 1] == 'f'))
        length--;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)text[i]) || sm > 999)
            return 0;
        sm = sm * 10 + (unsigned)(text[i] - '0');
    }
    return sm;
}

/* What is asked for and what clang makes of it: the highest architecture that it knows and that is
 * not above. PTX runs on every later GPU, so that less is safe, and a note says so. */
static bool add_sm(struct cc *cc, const char *text, size_t length)
{
    static const unsigned known[] = {60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90};
    const unsigned sm = sm_number(text, length);
    unsigned made = known[0];
    if (sm < 50 || sm > 129) {
        cc_error("architecture %.*s: there are sm_50 to sm_121", (int)length, text);
        return false;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] <= sm)
            made = known[i];
    const bool suffix = isalpha((unsigned char)text[length - 1]);
    for (size_t i = 0; i < cc->sms.count; i++)
        if (cc->sms.items[i] == made)
            return true;
    if (made != sm || suffix)
        fprintf(stderr, "weir cc: note: %.*s is compiled as compute_%u\n", (int)length, text, made);
    return weir_vec_push(&cc->sms, made);
}

/* -arch=sm_86, native, all, all-major: the last three mean the default here. */
static bool add_arch(struct cc *cc, const char *v)
{
    if (!strcmp(v, "native") || !strcmp(v, "all") || !strcmp(v, "all-major"))
        return true;
    return add_sm(cc, v, strlen(v));
}

/* arch=compute_80,code=[sm_80,compute_80]: Weir runs PTX, so the virtual architecture is what
 * counts. */
static bool add_gencode(struct cc *cc, const char *v)
{
    while (*v == '"' || *v == '\'')
        v++;
    if (!strncmp(v, "arch=", 5))
        v += 5;
    return add_sm(cc, v, strcspn(v, ",\"'"));
}

/* ---- Values ---- */

/* "a,b,c" from -Xcompiler and the like: each part is an argument, \, is a comma. Also to `more`,
 * when that is not NULL. */
static void add_list(struct cc_args *to, struct cc_args *more, const char *list)
{
    char *part = weir_alloc(strlen(list) + 1);
    if (!part) {
        to->failed = true;
        return;
    }
    while (*list) {
        char *end = part;
        for (; *list && *list != ','; list++) {
            if (*list == '\\' && list[1] == ',')
                list++;
            *end++ = *list;
        }
        list += *list == ',';
        *end = 0;
        cc_args_add(to, "%s", part);
        if (more)
            cc_args_add(more, "%s", part);
    }
    weir_free(part);
}

static bool set_bool(const char *name, const char *v, bool when, bool *to)
{
    if (!IS_IN(v, truths)) {
        cc_error("-%s %s: it is true or false", name, v);
        return false;
    }
    *to = !strcmp(v, "true") == when;
    return true;
}

static enum cc_language language_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    static const char *const cxx[] = {".cpp", ".cc", ".cxx", ".C", ".c++"};
    if (dot && !strcmp(dot, ".cu"))
        return CC_CUDA;
    if (dot && !strcmp(dot, ".c"))
        return CC_C;
    if (dot && IS_IN(dot, cxx))
        return CC_CXX;
    return CC_OBJECT;
}

static bool add_input(struct cc *cc, const char *path)
{
    static const char *const objects[] = {".o", ".obj", ".a", ".so", ".lo"};
    struct cc_input in = {path, language_of(path)};
    const char *base = strrchr(path, '/'), *dot = strrchr(path, '.');
    const bool object = (dot && IS_IN(dot, objects)) || strstr(base ? base : path, ".so.");
    if (cc->forced_language >= 0 && !object)
        in.language = (enum cc_language)cc->forced_language;
    if (!object && access(path, R_OK)) { /* the linker tells of objects */
        cc_error("%s: there is no such file", path);
        return false;
    }
    if (in.language == CC_OBJECT)
        cc_args_add(&cc->link, "%s", path);
    return weir_vec_push(&cc->inputs, in);
}

static bool set_language(struct cc *cc, const char *v)
{
    if (!strcmp(v, "cu"))
        cc->forced_language = CC_CUDA;
    else if (!strcmp(v, "c"))
        cc->forced_language = CC_C;
    else if (!strcmp(v, "c++"))
        cc->forced_language = CC_CXX;
    else if (!strcmp(v, "none"))
        cc->forced_language = -1;
    else {
        cc_error("-x %s: the languages are cu, c, c++ and none", v);
        return false;
    }
    return true;
}

static bool set_default_stream(struct cc *cc, const char *v)
{
    cc->per_thread = !strcmp(v, "per-thread");
    if (!cc->per_thread && strcmp(v, "legacy") && strcmp(v, "null")) {
        cc_error("--default-stream %s: it is per-thread or legacy", v);
        return false;
    }
    return true;
}

static bool set_std(struct cc *cc, const char *v)
{
    if (!strcmp(v, "c++03") || !strcmp(v, "c++98")) {
        cc_error("-std=%s: the headers of CUDA need C++11 or later", v);
        return false;
    }
    if (strstr(v, "++"))
        cc->std_cxx = v;
    else if (!strncmp(v, "c", 1) || !strncmp(v, "gnu", 3) || !strncmp(v, "iso", 3))
        cc->std_c = v;
    else {
        cc_error("-std=%s: not a language standard", v);
        return false;
    }
    return true;
}

static bool set_cudart(struct cc *cc, const char *v)
{
    cc->no_cudart = !strcmp(v, "none");
    if (!cc->no_cudart && strcmp(v, "static") && strcmp(v, "shared")) {
        cc_error("-cudart %s: it is static, shared or none", v);
        return false;
    }
    return true;
}

/* The runtime is ours, whatever form was asked for. */
static void add_library(struct cc *cc, const char *v)
{
    static const char *const ours[] = {"cudart", "cudart_static", "cudadevrt", ":libcudart.so",
                                       ":libcudart_static.a"};
    if (!IS_IN(v, ours))
        cc_args_add(&cc->link, "-l%s", v);
}

/* nvcc's kinds of -Werror, of which all but the first speak of its own warnings. */
static bool is_warning_kind(const char *list)
{
    static const char *const kinds[] = {
        "all-warnings",           "cross-execution-space-call", "reorder",
        "default-stream-launch",  "missing-launch-bounds",      "ext-lambda-captures-this",
        "deprecated-declarations"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strncmp(list, kinds[i], strcspn(list, ",")))
            return *list != 0;
    return false;
}

static void warnings_are_errors(struct cc *cc, const char *v)
{
    if (!is_warning_kind(v))
        cc_args_add(&cc->host, "-Werror=%s", v); /* clang's form */
    else if (strstr(v, "all-warnings"))
        cc_args_add(&cc->host, "-Werror");
}

/* ---- Actions ---- */

static bool act_on_value(struct cc *cc, const struct option *o, const char *v);

/* dispatch */
static bool act(struct cc *cc, const struct option *o, const char *arg, const char *v)
{
    switch (o->action) {
    case IGNORED:
        return true;
    case REFUSED:
        cc_error("option %s is not supported", arg);
        return false;
    case STOP_LINK:
        cc->stop = CC_LINK;
        return true;
    case STOP_OBJECTS:
        cc->stop = CC_OBJECTS;
        return true;
    case STOP_DEVICE_LINK:
        cc->stop = CC_DEVICE_LINK;
        return true;
    case STOP_ARCHIVE:
        cc->stop = CC_ARCHIVE;
        return true;
    case STOP_PTX:
        cc->stop = CC_PTX;
        return true;
    case STOP_FATBIN:
        cc->stop = CC_FATBIN;
        return true;
    case STOP_PREPROCESS:
        cc->stop = CC_PREPROCESS;
        return true;
    case STOP_USER_DEPENDENCIES:
    case STOP_DEPENDENCIES:
        cc->user_headers_only = o->action == STOP_USER_DEPENDENCIES;
        cc->stop = CC_DEPENDENCIES;
        return true;
    case DEVICE_C:
    case DEVICE_W:
        cc->relocatable = o->action == DEVICE_C;
        cc->stop = CC_OBJECTS;
        return true;
    case SHARED:
        return cc->shared = true;
    case FAST_MATH:
        return cc->fast_math = cc->ftz = cc->approximate_div = cc->approximate_sqrt = true;
    case DEVICE_DEBUG:
        return cc->device_debug = true;
    case DEBUG:
        cc_args_add(&cc->host, "-g");
        return cc->line_info = true;
    case LINE_INFO:
        return cc->line_info = true;
    case EXTENDED_LAMBDA:
        return cc->extended_lambda = true;
    case RELAXED_CONSTEXPR:
        return cc->relaxed_constexpr = true;
    case NO_CUDART:
        return cc->no_cudart = true;
    case NO_WARNINGS:
        cc_args_add(&cc->host, "-w");
        return true;
    case PROFILE:
        cc_args_add(&cc->host, "-pg");
        cc_args_add(&cc->link, "-pg");
        return true;
    case NO_EXCEPTIONS:
        cc_args_add(&cc->host, "-fno-exceptions");
        return true;
    case FORWARD_UNKNOWN:
        return cc->forward_unknown = true;
    case VERBOSE:
        return cc->verbose = true;
    case DRY_RUN:
        return cc->dry_run = true;
    case KEEP:
        return cc->keep = true;
    case DEPEND:
        cc->depend_made = true;
        cc_args_add(&cc->depend, strstr(arg, "MMD") || strstr(arg, "non") ? "-MMD" : "-MD");
        return true;
    case DEPEND_MORE:
        cc_args_add(&cc->depend, "-MP");
        return true;
    default:
        return act_on_value(cc, o, v);
    }
}

static bool act_on_value(struct cc *cc, const struct option *o, const char *v)
{
    switch (o->action) {
    case OUTPUT:
        cc->output = v;
        return true;
    case OUTPUT_FOLDER:
        cc->output_folder = v;
        return true;
    case DEPEND_FILE:
        cc->depend_file = v;
        return true;
    case DEPEND_TARGET:
        cc_args_add(&cc->depend, "-%s", o->shorter);
        cc_args_add(&cc->depend, "%s", v);
        return true;
    case INCLUDE_PATH:
    case DEFINE:
    case UNDEFINE:
        cc_args_add(&cc->all, "-%s%s", o->shorter, v);
        return true;
    case SYSTEM_INCLUDE:
    case PRE_INCLUDE:
        cc_args_add(&cc->all, "-%s", o->shorter);
        cc_args_add(&cc->all, "%s", v);
        return true;
    case STANDARD:
        return set_std(cc, v);
    case LANGUAGE:
        return set_language(cc, v);
    case ARCH:
        return add_arch(cc, v);
    case GENCODE:
        return add_gencode(cc, v);
    case RELOCATABLE:
        return set_bool(o->shorter, v, true, &cc->relocatable);
    case FTZ:
        return set_bool(o->shorter, v, true, &cc->ftz);
    case PRECISE_DIV:
        return set_bool(o->shorter, v, false, &cc->approximate_div);
    case PRECISE_SQRT:
        return set_bool(o->shorter, v, false, &cc->approximate_sqrt);
    case FMAD:
        return set_bool(o->shorter, v, false, &cc->no_fmad);
    case DEFAULT_STREAM:
        return set_default_stream(cc, v);
    case OPTIMIZE:
        cc_args_add(&cc->host, "-O%s", v);
        return true;
    case HOST_OPTIONS:
        add_list(&cc->host, &cc->link, v);
        return true;
    case LINK_OPTIONS:
        cc_args_add(&cc->link, "-Wl,%s", v);
        return true;
    case LIBRARY_PATH:
        cc_args_add(&cc->link, "-L%s", v);
        return true;
    case LIBRARY:
        add_library(cc, v);
        return true;
    case CUDART:
        return set_cudart(cc, v);
    case WARNINGS_ARE_ERRORS:
        warnings_are_errors(cc, v);
        return true;
    case KEEP_FOLDER:
        cc->keep_folder = v;
        return true;
    default:
        return true;
    }
}

/* ---- Words ---- */

/* Does `arg` name this option? *v: its value as far as it stands in the same word, or NULL. */
static bool is_option(const struct option *o, const char *arg, const char **v)
{
    const bool two = arg[1] == '-';
    const char *const names[] = {o->longer, o->shorter};
    *v = NULL;
    for (size_t i = 0; i < 2; i++) {
        const char *name = names[i], *body = arg + 1 + two;
        const size_t n = strlen(name);
        if (strncmp(body, name, n) || (two && n < 2))
            continue;
        if (!body[n])
            return true;
        if (o->kind == FLAG)
            continue;
        *v = body + n + (body[n] == '=');
        if (body[n] == '=' || (o->kind == JOINED && !two && i == 1))
            return true;
    }
    return false;
}

/* Options of clang by their first letters. */
static bool pass_on(struct cc *cc, const char *arg)
{
    if (!strncmp(arg, "-Wl,", 4) || !strcmp(arg, "-rdynamic"))
        cc_args_add(&cc->link, "%s", arg);
    else if (!strcmp(arg, "-pthread") || !strncmp(arg, "-fsanitize", 10) ||
             !strncmp(arg, "-fopenmp", 8)) {
        cc_args_add(&cc->host, "%s", arg);
        cc_args_add(&cc->link, "%s", arg);
    } else if (strchr("OWfmgp", arg[1]) || cc->forward_unknown)
        cc_args_add(&cc->host, "%s", arg);
    else
        return false;
    return true;
}

static bool parse_one(struct cc *cc, struct cursor *c)
{
    const char *arg = c->argv[c->i], *v;
    if (arg[0] != '-' || !arg[1])
        return add_input(cc, arg);
    for (enum kind kind = FLAG; kind <= JOINED; kind++)
        for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
            const struct option *o = &options[i];
            if (o->kind != kind || !is_option(o, arg, &v))
                continue;
            if (kind != FLAG && !v) {
                if (o->action == WARNINGS_ARE_ERRORS &&
                    (c->i + 1 >= c->argc || !is_warning_kind(c->argv[c->i + 1])))
                    break; /* clang's form: all of them */
                if (c->i + 1 >= c->argc) {
                    cc_error("option %s needs a value", arg);
                    return false;
                }
                v = c->argv[++c->i];
            }
            return act(cc, o, arg, v);
        }
    if (pass_on(cc, arg))
        return true;
    cc_error("unknown option %s", arg);
    return false;
}

static bool check(struct cc *cc)
{
    size_t sources = 0;
    for (size_t i = 0; i < cc->inputs.count; i++)
        sources += cc->inputs.items[i].language != CC_OBJECT;
    if (!cc->inputs.count) {
        cc_error("no input files (weir cc --help lists the options)");
        return false;
    }
    const char *each = cc->stop == CC_OBJECTS  ? "-c"
                       : cc->stop == CC_PTX    ? "-ptx"
                       : cc->stop == CC_FATBIN ? "-fatbin"
                                               : NULL;
    if (each && cc->output && sources > 1) {
        cc_error("-o with %s and several files", each);
        return false;
    }
    if (cc->device_debug)
        cc->line_info = true;
    if (!cc->sms.count && !weir_vec_push(&cc->sms, CC_DEFAULT_SM))
        return false;
    if (cc->stop == CC_PTX && cc->sms.count > 1) {
        cc_error("-ptx makes the text of one architecture");
        return false;
    }
    return true;
}

bool cc_parse(struct cc *cc, int argc, char **argv, bool *done)
{
    static const char *const helps[] = {"--help", "-help", "-h"};
    static const char *const versions[] = {"--version", "-version", "-V"};
    cc->forced_language = -1;
    *done = false;
    if (!cc_args_expand(&cc->words, argc, argv))
        return false;
    struct cursor c = {cc->words.v.items, cc->words.v.count, 0};
    for (; c.i < c.argc; c.i++) {
        if (IS_IN(c.argv[c.i], helps) || IS_IN(c.argv[c.i], versions)) {
            fputs(IS_IN(c.argv[c.i], helps) ? help : version, stdout);
            return *done = true;
        }
        if (!parse_one(cc, &c))
            return false;
    }
    return check(cc);
}
