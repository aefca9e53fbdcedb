/* The command line of weir cc: nvcc's spellings, so that build files need not change. What Weir
 * can not do is refused by name; what has no meaning without a GPU assembler (-Xptxas,
 * -maxrregcount ...) is accepted and has no effect.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cc/cc_int.h"

static const char help[] =
    "usage: weir cc [options] FILE...\n"
    "Compiles .cu, .c and .cpp files and links them with Weir's libcudart; options are nvcc's.\n"
    "  -o FILE  -c  -ptx (or -S)  -shared     what to make: a program, objects, PTX, a library\n"
    "  -O0..-O3  -g  -lineinfo  -G            -O is for host code; device code is optimised unless "
    "-G\n"
    "  -I DIR  -D NAME[=V]  -U NAME  -include FILE  -std=c++17  -x cu|c|c++\n"
    "  -L DIR  -l LIB  -Xcompiler OPTS  -Xlinker OPTS  -fPIC and other -f, -W, -m options of "
    "clang\n"
    "  -arch sm_NN  -gencode arch=compute_NN,code=...   (default sm_89)\n"
    "  --default-stream per-thread|legacy  --use_fast_math  -fmad=false\n"
    "  -v  --dryrun  --keep\n";

/* Options that exist to steer ptxas, nvlink or nvcc's own stages. With a value in the next
 * argument: */
static const char *const ignored_with_value[] = {
    "-Xptxas",
    "--ptxas-options",
    "-Xnvlink",
    "--nvlink-options",
    "-Xfatbin",
    "--fatbin-options",
    "-maxrregcount",
    "--maxrregcount",
    "-ccbin",
    "--compiler-bindir",
    "-t",
    "--threads",
    "-cudart",
    "--cudart",
    "-compress-mode",
    "--compress-mode",
    "-diag-suppress",
    "--diag-suppress",
};
static const char *const ignored[] = {
    "-m64",
    "--extended-lambda",
    "-extended-lambda",
    "--expt-extended-lambda",
    "-expt-extended-lambda",
    "--expt-relaxed-constexpr",
    "-expt-relaxed-constexpr",
    "-rdc=false",
    "--relocatable-device-code=false",
    "-forward-unknown-to-host-compiler",
    "--forward-unknown-to-host-compiler",
    "-ftz=false",
    "-prec-div=true",
    "-prec-sqrt=true",
    "-fmad=true",
    "--fmad=true",
    "--restrict",
    "-restrict",
};
static const char *const refused[] = {
    "-rdc=true",
    "--relocatable-device-code=true",
    "-dc",
    "--device-c",
    "-dlink",
    "--device-link",
    "-cubin",
    "--cubin",
    "-fatbin",
    "--fatbin",
    "-dlto",
    "-ftz=true",
    "-prec-div=false",
    "-prec-sqrt=false",
    "-static",
};

struct cursor {
    char **argv;
    int argc, i;
};

/* The value of an option that is `name`, `name=value`, or (joined) `namevalue`. NULL: it is another
 * option, or its value is missing (*bad is set). */
static const char *value_of(struct cursor *c, const char *name, bool joined, bool *bad)
{
    const char *arg = c->argv[c->i];
    const size_t n = strlen(name);
    if (strncmp(arg, name, n))
        return NULL;
    if (arg[n] == '=' && !joined)
        return arg + n + 1;
    if (arg[n])
        return joined ? arg + n : NULL;
    if (c->i + 1 >= c->argc) {
        cc_error("option %s needs a value", name);
        *bad = true;
        return NULL;
    }
    return c->argv[++c->i];
}

static const char *value_of_any(struct cursor *c, const char *const *names, bool *bad)
{
    for (; *names && !*bad; names++) {
        const char *v = value_of(c, *names, false, bad);
        if (v)
            return v;
    }
    return NULL;
}

static bool is_in(const char *arg, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(arg, list[i]))
            return true;
    return false;
}
#define IS_IN(arg, list) is_in((arg), (list), sizeof(list) / sizeof *(list))

/* "sm_86", "compute_86", "86"; 0 when it is none of these or has a suffix (sm_90a): such code runs
 * on one GPU only. */
static unsigned sm_number(const char *text, size_t length)
{
    static const char *const prefixes[] = {"sm_", "compute_", "lto_"};
    for (size_t i = 0; i < 3; i++) {
        const size_t n = strlen(prefixes[i]);
        if (length > n && !memcmp(text, prefixes[i], n))
            text += n, length -= n;
    }
    unsigned sm = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)text[i]) || sm > 999)
            return 0;
        sm = sm * 10 + (unsigned)(text[i] - '0');
    }
    return sm;
}

static bool add_sm(struct cc *cc, const char *text, size_t length)
{
    const unsigned sm = sm_number(text, length);
    if (sm < 60 || sm > 120) {
        cc_error("architecture %.*s: weir cc compiles for sm_60 to sm_120, without suffix",
                 (int)length, text);
        return false;
    }
    for (size_t i = 0; i < cc->sms.count; i++)
        if (cc->sms.items[i] == sm)
            return true;
    return weir_vec_push(&cc->sms, sm);
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
    if (!strncmp(v, "arch=", 5))
        v += 5;
    return add_sm(cc, v, strcspn(v, ","));
}

/* "a,b,c" from -Xcompiler and the like: each part is an argument. */
static void add_list(struct cc_args *to, const char *list)
{
    while (*list) {
        const size_t n = strcspn(list, ",");
        cc_args_add(to, "%.*s", (int)n, list);
        list += n + (list[n] == ',');
    }
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
    struct cc_input in = {path, language_of(path)};
    if (cc->forced_language >= 0)
        in.language = (enum cc_language)cc->forced_language;
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

/* Options that are one word. True when `arg` was one. */
static bool parse_word(struct cc *cc, const char *arg)
{
    static const struct {
        const char *name;
        size_t offset;
    } flags[] = {
        {"-v", offsetof(struct cc, verbose)},
        {"--verbose", offsetof(struct cc, verbose)},
        {"--dryrun", offsetof(struct cc, dry_run)},
        {"-dryrun", offsetof(struct cc, dry_run)},
        {"--keep", offsetof(struct cc, keep)},
        {"-keep", offsetof(struct cc, keep)},
        {"-shared", offsetof(struct cc, shared)},
        {"--shared", offsetof(struct cc, shared)},
        {"-use_fast_math", offsetof(struct cc, fast_math)},
        {"--use_fast_math", offsetof(struct cc, fast_math)},
        {"-fmad=false", offsetof(struct cc, no_fmad)},
        {"--fmad=false", offsetof(struct cc, no_fmad)},
        {"-G", offsetof(struct cc, device_debug)},
        {"--device-debug", offsetof(struct cc, device_debug)},
        {"-lineinfo", offsetof(struct cc, line_info)},
        {"--generate-line-info", offsetof(struct cc, line_info)},
        {"-nocudart", offsetof(struct cc, no_cudart)},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcmp(arg, flags[i].name)) {
            *(bool *)((char *)cc + flags[i].offset) = true;
            return true;
        }
    if (!strcmp(arg, "-c") || !strcmp(arg, "--compile"))
        cc->stop = CC_OBJECTS;
    else if (!strcmp(arg, "-ptx") || !strcmp(arg, "--ptx") || !strcmp(arg, "-S"))
        cc->stop = CC_PTX;
    else if (!strcmp(arg, "-g") || !strcmp(arg, "--debug")) {
        cc->line_info = true;
        cc_args_add(&cc->host, "-g");
    } else
        return false;
    return true;
}

/* Options with a value that belong to every compilation. */
static bool parse_common(struct cc *cc, struct cursor *c, bool *bad)
{
    static const struct {
        const char *name, *longer, *passed;
    } table[] = {
        {"-I", "--include-path", "-I"},
        {"-D", "--define-macro", "-D"},
        {"-U", "--undefine-macro", "-U"},
    };
    const char *v;
    for (size_t i = 0; i < 3 && !*bad; i++)
        if ((v = value_of(c, table[i].longer, false, bad)) ||
            (v = value_of(c, table[i].name, true, bad))) {
            cc_args_add(&cc->all, "%s%s", table[i].passed, v);
            return true;
        }
    if ((v = value_of(c, "-isystem", false, bad))) {
        cc_args_add(&cc->all, "-isystem%s", v);
        return true;
    }
    static const char *const include[] = {"-include", "--pre-include", NULL};
    if ((v = value_of_any(c, include, bad))) {
        cc_args_add(&cc->all, "-include");
        cc_args_add(&cc->all, "%s", v);
        return true;
    }
    return false;
}

static bool set_std(struct cc *cc, const char *arg, const char *v)
{
    if (strstr(v, "++"))
        cc->std_cxx = v;
    else if (!strncmp(v, "c", 1) || !strncmp(v, "gnu", 3) || !strncmp(v, "iso", 3))
        cc->std_c = v;
    else {
        cc_error("%s: not a language standard", arg);
        return false;
    }
    return true;
}

/* Options with a value that weir cc itself looks at. Returns true when the argument was one; *bad
 * when it was wrong. */
static bool parse_valued(struct cc *cc, struct cursor *c, bool *bad)
{
    static const char *const o[] = {"-o", "--output-file", NULL};
    static const char *const arch[] = {"-arch", "--gpu-architecture", NULL};
    static const char *const gencode[] = {"-gencode", "--generate-code", NULL};
    static const char *const code[] = {"-code", "--gpu-code", NULL};
    static const char *const stream[] = {"--default-stream", "-default-stream", NULL};
    static const char *const standard[] = {"-std", "--std", NULL};
    static const char *const compiler[] = {"-Xcompiler", "--compiler-options", NULL};
    static const char *const linker[] = {"-Xlinker", "--linker-options", NULL};
    static const char *const language[] = {"-x", "--x", NULL};
    const char *arg = c->argv[c->i], *v;

    if ((v = value_of_any(c, o, bad)))
        cc->output = v;
    else if ((v = value_of_any(c, arch, bad)))
        *bad = !add_arch(cc, v);
    else if ((v = value_of_any(c, gencode, bad)))
        *bad = !add_gencode(cc, v);
    else if ((v = value_of_any(c, code, bad)))
        ; /* PTX of -arch runs on every later architecture */
    else if ((v = value_of_any(c, stream, bad)))
        *bad = !set_default_stream(cc, v);
    else if ((v = value_of_any(c, standard, bad)))
        *bad = !set_std(cc, arg, v);
    else if ((v = value_of_any(c, compiler, bad)))
        add_list(&cc->host, v);
    else if ((v = value_of_any(c, language, bad)))
        *bad = !set_language(cc, v);
    else if ((v = value_of_any(c, linker, bad))) {
        cc_args_add(&cc->link, "-Xlinker");
        cc_args_add(&cc->link, "%s", v);
    } else if ((v = value_of(c, "-L", true, bad)))
        cc_args_add(&cc->link, "-L%s", v);
    else if ((v = value_of(c, "-l", true, bad))) {
        /* The runtime is ours, whatever form was asked for. */
        if (strcmp(v, "cudart") && strcmp(v, "cudart_static") && strcmp(v, "cudadevrt"))
            cc_args_add(&cc->link, "-l%s", v);
    } else if (!*bad)
        return false;
    return true;
}

/* Dependency files (-MD -MF x ...) come from the host pass: CMake and make ask for them. */
static bool parse_dependencies(struct cc *cc, struct cursor *c, bool *bad)
{
    static const char *const names[] = {"-MF", "-MT", "-MQ"};
    const char *arg = c->argv[c->i];
    if (!strcmp(arg, "-MD") || !strcmp(arg, "-MMD") || !strcmp(arg, "-MP")) {
        cc_args_add(&cc->depend, "%s", arg);
        return true;
    }
    for (size_t i = 0; i < 3 && !*bad; i++) {
        const char *v = value_of(c, names[i], false, bad);
        if (v) {
            cc_args_add(&cc->depend, "%s", names[i]);
            cc_args_add(&cc->depend, "%s", v);
            return true;
        }
    }
    return false;
}

static bool parse_ignored(struct cursor *c, bool *bad)
{
    if (IS_IN(c->argv[c->i], ignored))
        return true;
    for (size_t i = 0; i < sizeof ignored_with_value / sizeof *ignored_with_value && !*bad; i++)
        if (value_of(c, ignored_with_value[i], false, bad))
            return true;
    return false;
}

/* What is left: clang's own options by their first letters. */
static bool parse_compiler(struct cc *cc, const char *arg)
{
    if (arg[0] != '-' || !arg[1])
        return false;
    if (arg[1] == 'O')
        cc->optimised = strcmp(arg, "-O0") != 0;
    if (!strncmp(arg, "-Wl,", 4) || !strcmp(arg, "-rdynamic"))
        cc_args_add(&cc->link, "%s", arg);
    else if (!strcmp(arg, "-pthread") || !strncmp(arg, "-fsanitize", 10)) {
        cc_args_add(&cc->host, "%s", arg);
        cc_args_add(&cc->link, "%s", arg);
    } else if (arg[1] && strchr("OWfmgpw", arg[1]))
        cc_args_add(&cc->host, "%s", arg);
    else
        return false;
    return true;
}

static bool parse_one(struct cc *cc, struct cursor *c)
{
    const char *arg = c->argv[c->i];
    bool bad = false;
    if (arg[0] != '-')
        return add_input(cc, arg);
    if (IS_IN(arg, refused)) {
        cc_error("option %s is not supported", arg);
        return false;
    }
    if (parse_word(cc, arg) || parse_ignored(c, &bad) || bad || parse_dependencies(cc, c, &bad) ||
        bad || parse_common(cc, c, &bad) || bad || parse_valued(cc, c, &bad) || bad ||
        parse_compiler(cc, arg))
        return !bad;
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
    if (cc->stop != CC_LINK && cc->output && sources > 1) {
        cc_error("-o with %s and several files", cc->stop == CC_PTX ? "-ptx" : "-c");
        return false;
    }
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
    struct cursor c = {argv, argc, 1};
    cc->forced_language = -1;
    *done = false;
    for (; c.i < argc; c.i++) {
        if (!strcmp(argv[c.i], "--help") || !strcmp(argv[c.i], "-h")) {
            fputs(help, stdout);
            return *done = true;
        }
        if (!strcmp(argv[c.i], "--version") || !strcmp(argv[c.i], "-V")) {
            printf("weir cc %s (CUDA 13.0 interface, device code by clang)\n", WEIR_VERSION);
            return *done = true;
        }
        if (!parse_one(cc, &c))
            return false;
    }
    return check(cc);
}
