/* The passes: device code of each architecture to PTX, PTX to a fat binary, host code to an
 * object (link.c goes on). Host objects register their fat binary as nvcc's do, so that
 * nothing later can tell which compiler made them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "cc/cc_int.h"
#include "fatbin/fatbin.h"

/* One pass over a .cu file: where it reads, and what belongs to it alone. */
struct pass {
    unsigned sm; /* of the device code; for the host any one of them */
    bool device;
    uint64_t id;        /* of this unit among those that it is linked with */
    const char *source; /* the file itself, or its preprocessed and mended text */
    char mended[PATH_MAX + 64];
};

/* Both passes must see the same text: same macros, same order of folders. Ours come before the
 * program's own -I, which may name a toolkit's. */
static void add_text(struct cc *cc, struct cc_args *a)
{
    cc_args_add(a, "-I%s", cc->paths.cc_include);
    cc_args_add(a, "-I%s", cc->paths.cuda_include);
    cc_args_add(a, "-idirafter"); /* what is not there says so, unless somebody else has it */
    cc_args_add(a, "%s/after", cc->paths.cc_include);
    cc_args_add(a, "-include");
    cc_args_add(a, "%s/weir_cuda.h", cc->paths.cc_include);
    if (cc->per_thread)
        cc_args_add(a, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1");
    if (cc->relocatable)
        cc_args_add(a, "-D__CUDACC_RDC__=1");
    if (cc->extended_lambda)
        cc_args_add(a, "-D__CUDACC_EXTENDED_LAMBDA__=1");
    if (cc->relaxed_constexpr)
        cc_args_add(a, "-D__CUDACC_RELAXED_CONSTEXPR__=1");
    if (cc->device_debug)
        cc_args_add(a, "-D__CUDACC_DEBUG__=1");
    if (cc->managed)
        cc_args_add(a, "-DWEIR_CC_MANAGED=1");
    char list[256] = "";
    for (size_t i = 0; i < cc->sms.count && strlen(list) < sizeof list - 8; i++)
        snprintf(list + strlen(list), 8, i ? ",%u0" : "%u0", cc->sms.items[i]);
    cc_args_add(a, "-D__CUDA_ARCH_LIST__=%s", list);
    cc_args_copy(a, &cc->all);
}

/* What -MD and its kind ask of the step that reads the source; `output` depends. */
static void add_depend(struct cc *cc, struct cc_args *a, const char *output)
{
    if (!cc->depend_made)
        return;
    /* What depends is the object; an -MT of the user's adds to it, as with nvcc it stands alone. */
    bool target = false;
    for (size_t i = 0; i < cc->depend.v.count; i++)
        target |= !strcmp(cc->depend.v.items[i], "-MT") || !strcmp(cc->depend.v.items[i], "-MQ");
    if (!target) {
        cc_args_add(a, "-MT");
        cc_args_add(a, "%s", output);
    }
    const char *dot = strrchr(output, '.');
    const int stem = (int)(dot && !strchr(dot, '/') ? (size_t)(dot - output) : strlen(output));
    cc_args_add(a, "-MF");
    if (cc->depend_file)
        cc_args_add(a, "%s", cc->depend_file);
    else
        cc_args_add(a, "%.*s.d", stem, output);
    cc_args_copy(a, &cc->depend);
}

static void add_pass(struct cc *cc, const struct pass *p, struct cc_args *a)
{
    cc_args_add(a, "%s", cc->paths.clang);
    cc_args_add(a, "-x");
    cc_args_add(a, "cuda"); /* for preprocessed text too: the driver takes .cui for the host */
    cc_args_add(a, p->device ? "--cuda-device-only" : "--cuda-host-only");
    cc_args_add(a, "--cuda-gpu-arch=sm_%u", p->sm);
    cc_args_add(a, "-nocudainc");
    cc_args_add(a, "-nocudalib");
    /* An installed toolkit must make no difference. */
    cc_args_add(a, "--cuda-path=/nonexistent");
    /* The launch protocol and the registration calls of CUDA 10.1 and later. */
    cc_args_add(a, "-Xclang");
    cc_args_add(a, "-target-sdk-version=12.3");
    if (cc->std_cxx)
        cc_args_add(a, "-std=%s", cc->std_cxx);
    if (cc->per_thread) {
        cc_args_add(a, "-Xclang"); /* clang's driver passes it on for HIP only */
        cc_args_add(a, "-fgpu-default-stream=per-thread");
    }
    if (cc->fast_math)
        cc_args_add(a, "-fgpu-approx-transcendentals");
    if (cc->relocatable) {
        cc_args_add(a, "-fgpu-rdc");
        /* In the names of static device variables: the same in all passes. */
        cc_args_add(a, "-cuid=%016llx", (unsigned long long)p->id);
        cc_args_add(a, "-Xclang"); /* clang's driver tells the device's compiler only */
        cc_args_add(a, "-cuid=%016llx", (unsigned long long)p->id);
    }
    if (p->device) {
        cc_args_add(a, "-Xclang");
        cc_args_add(a, "-target-feature");
        cc_args_add(a, "-Xclang");
        cc_args_add(a, "%s", p->sm >= 90 ? CC_PTX_FEATURE_NEW : CC_PTX_FEATURE);
        /* As nvcc: -O is for the host, device code is optimised, though little when it is to be
         * debugged. Not -O0: LLVM then takes structures that a call returns apart byte by byte,
         * which Weir's compiler refuses. */
        cc_args_add(a, cc->device_debug ? "-O1" : "-O3");
        cc_args_add(a, "-w"); /* the host pass reads the same text and warns */
    } else {
        /* gcc, which nvcc has for its host code, lets most overflows of int pass; so programs rely
         * on it. */
        cc_args_add(a, "-fwrapv");
        cc_args_copy(a, &cc->host);
    }
}

bool cc_write_file(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    const bool ok = f && fwrite(data, 1, bytes, f) == bytes;
    if ((f && fclose(f)) || !ok) {
        cc_error("can not write %s", path);
        return false;
    }
    return true;
}

/* Sets the pass's source: the file, or its preprocessed text with asm templates mended. */
static bool prepare(struct cc *cc, const struct cc_input *in, size_t number, const char *output,
                    struct pass *p)
{
    p->source = in->path;
    if (!cc_asm_may_need_fix(cc, in->path))
        return true;
    snprintf(p->mended, sizeof p->mended, "%s/%zu-%s-%u.cu", cc->temp, number,
             p->device ? "device" : "host", p->sm);
    struct cc_args a = {0};
    add_pass(cc, p, &a);
    add_text(cc, &a);
    if (!p->device)
        add_depend(cc, &a, output);
    cc_args_add(&a, "-E");
    cc_args_add(&a, "%s", in->path);
    cc_args_add(&a, "-o");
    cc_args_add(&a, "%s", p->mended);
    bool ok = cc_run_compiler(cc, &a);
    cc_args_finish(&a);
    p->source = p->mended;
    if (!ok || cc->dry_run)
        return ok;
    size_t bytes = 0, mended_bytes = 0;
    char *text = cc_read_file(p->mended, &bytes);
    char *mended = text ? cc_asm_fix(text, bytes, &mended_bytes) : NULL;
    ok = mended && cc_write_file(p->mended, mended, mended_bytes);
    weir_free(text);
    weir_free(mended);
    return ok;
}

/* The options of text belong to whichever step reads the file itself. `object`: what depends on
 * the source, for the host pass. */
static void add_source(struct cc *cc, const struct pass *p, struct cc_args *a, const char *object,
                       const char *output)
{
    if (p->source != p->mended) {
        add_text(cc, a);
        if (!p->device)
            add_depend(cc, a, object);
    }
    cc_args_add(a, "%s", p->source);
    cc_args_add(a, "-o");
    cc_args_add(a, "%s", output);
}

/* Two objects of one program must not have the same: made of the absolute paths. */
static uint64_t unit_id(const char *source, const char *object)
{
    char path[PATH_MAX];
    const char *s = realpath(source, path) ? path : source;
    uint64_t id = weir_hash_bytes(s, strlen(s), 0);
    if (getcwd(path, sizeof path))
        id = weir_hash_bytes(path, strlen(path), id);
    return weir_hash_bytes(object, strlen(object), id);
}

static bool compile_device(struct cc *cc, const struct cc_input *in, size_t number, unsigned sm,
                           const char *object, const char *ptx)
{
    struct pass p = {.sm = sm, .device = true, .id = unit_id(in->path, object)};
    if (!prepare(cc, in, number, ptx, &p))
        return false;
    struct cc_args a = {0};
    add_pass(cc, &p, &a);
    cc_args_add(&a, "-Xclang");
    cc_args_add(&a, "-mlink-builtin-bitcode");
    cc_args_add(&a, "-Xclang");
    cc_args_add(&a, "%s", cc->paths.devlib);
    if (cc->device_debug || cc->line_info)
        cc_args_add(&a, "-gline-tables-only");
    /* Multiplications and additions of the program fuse, as with nvcc; "fast" alone would also fuse
     * those of the device library, which rely on each rounding. */
    cc_args_add(&a, cc->no_fmad ? "-ffp-contract=off" : "-ffp-contract=fast-honor-pragmas");
    if (cc->ftz)
        cc_args_add(&a, "-fcuda-flush-denormals-to-zero");
    if (cc->approximate_div) {
        cc_args_add(&a, "-mllvm");
        cc_args_add(&a, "-nvptx-prec-divf32=%d", cc->fast_math ? 0 : 1);
    }
    if (cc->approximate_sqrt) {
        cc_args_add(&a, "-mllvm");
        cc_args_add(&a, "-nvptx-prec-sqrtf32=0");
    }
    cc_args_add(&a, "-S");
    add_source(cc, &p, &a, object, ptx);
    const bool ok = cc_run_compiler(cc, &a);
    cc_args_finish(&a);
    return ok;
}

char *cc_read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long n = -1;
    if (f && !fseek(f, 0, SEEK_END) && (n = ftell(f)) >= 0 && !fseek(f, 0, SEEK_SET))
        text = weir_alloc((size_t)n + 1);
    if (text && fread(text, 1, (size_t)n, f) != (size_t)n) {
        weir_free(text);
        text = NULL;
    }
    if (f)
        fclose(f);
    if (!text) {
        cc_error("can not read %s", path);
        return NULL;
    }
    text[n] = 0;
    *bytes = (size_t)n;
    return text;
}

/* Names that PTX may leave open because every CUDA system provides them. */
static bool is_system_function(const char *name, size_t length)
{
    static const char *const known[] = {"vprintf", "malloc", "free", "__assertfail",
                                        "cudaGraphSetConditional"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == length && !memcmp(known[i], name, length))
            return true;
    return false;
}

/* Without a device linker a function that is called but not defined can only fail, so it is told
 * now. */
static bool check_externals(const char *source, const char *ptx)
{
    static const char mark[] = ".extern .func";
    bool ok = true;
    for (const char *p = ptx; (p = strstr(p, mark));) {
        p += sizeof mark - 1;
        p += strspn(p, " \t");
        if (*p == '(') { /* the return value */
            p = strchr(p, ')');
            if (!p)
                break;
            p++;
            p += strspn(p, " \t");
        }
        const size_t n = strcspn(p, " \t\n(;");
        if (!is_system_function(p, n)) {
            const bool ours = n > 5 && !memcmp(p, "__nv_", 5);
            cc_error("%s: device code calls %.*s, which %s", source, (int)(ours ? n - 5 : n),
                     ours ? p + 5 : p,
                     ours ? "Weir's device library does not have"
                          : "is not defined here (-rdc=true links device code across files)");
            ok = false;
        }
        p += n;
    }
    return ok;
}

/* The PTX of one architecture in memory, variables marked as managed. NULL after a message. */
static char *read_ptx(struct cc *cc, const struct cc_input *in, const char *file, size_t *bytes,
                      const struct cc_args *managed)
{
    char *text = cc_read_file(file, bytes);
    if (text && !cc->relocatable && !check_externals(in->path, text)) {
        weir_free(text);
        return NULL;
    }
    if (text && cc->relocatable && (text = cc_ptx_mend(text)))
        *bytes = strlen(text);
    if (!text || !managed->v.count)
        return text;
    char *marked = cc_managed_ptx(text, managed);
    weir_free(text);
    *bytes = marked ? strlen(marked) : 0;
    return marked;
}

static bool build_fatbin(struct cc *cc, const struct cc_input *in, size_t number,
                         const char *object, const char *path, const struct cc_args *managed)
{
    WEIR_VEC(struct weir_fatbin_input) texts = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < cc->sms.count; i++) {
        struct weir_fatbin_input t = {.sm = cc->sms.items[i], .name = in->path};
        char file[PATH_MAX + 64];
        snprintf(file, sizeof file, "%s/%zu-sm_%u.ptx", cc->temp, number, t.sm);
        ok = compile_device(cc, in, number, t.sm, object, file);
        if (!ok || cc->dry_run)
            continue;
        t.ptx = read_ptx(cc, in, file, &t.bytes, managed);
        ok = t.ptx && weir_vec_push(&texts, t);
        if (!ok)
            weir_free((char *)t.ptx);
    }
    unsigned char *data = NULL;
    size_t bytes = 0;
    if (ok && !cc->dry_run) {
        ok =
            weir_fatbin_build(texts.items, texts.count, WEIR_FATBIN_ZSTD, &data, &bytes) == WEIR_OK;
        if (!ok)
            cc_error("%s: can not build the fat binary: %s", in->path, weir_err_message());
        ok = ok && cc_write_file(path, data, bytes);
    }
    weir_free(data);
    for (size_t i = 0; i < texts.count; i++)
        weir_free((char *)texts.items[i].ptx);
    weir_vec_finish(&texts);
    return ok;
}

/* Host code of one file with managed variables: LLVM's text, in which they become pointers. */
static bool compile_text(struct cc *cc, const char *text, const char *object)
{
    struct cc_args a = {0};
    cc_args_add(&a, "%s", cc->paths.clang);
    cc_args_add(&a, "-x");
    cc_args_add(&a, "ir");
    cc_args_copy(&a, &cc->host);
    cc_args_add(&a, "-Wno-unused-command-line-argument");
    cc_args_add(&a, "-c");
    cc_args_add(&a, "%s", text);
    cc_args_add(&a, "-o");
    cc_args_add(&a, "%s", object);
    const bool ok = cc_run(cc, &a);
    cc_args_finish(&a);
    return ok;
}

static bool run_host(struct cc *cc, const struct cc_input *in, size_t number, const char *fatbin,
                     const char *object, const char *output)
{
    struct pass p = {.sm = cc->sms.items[0], .id = unit_id(in->path, object)};
    if (!prepare(cc, in, number, object, &p))
        return false;
    struct cc_args a = {0};
    add_pass(cc, &p, &a);
    cc_args_add(&a, "-Xclang");
    cc_args_add(&a, "-fcuda-include-gpubinary");
    cc_args_add(&a, "-Xclang");
    cc_args_add(&a, "%s", fatbin);
    if (object != output) {
        cc_args_add(&a, "-emit-llvm");
        cc_args_add(&a, "-Xclang");
        cc_args_add(&a, "-disable-llvm-passes");
    }
    cc_args_add(&a, object == output ? "-c" : "-S");
    add_source(cc, &p, &a, object, output);
    const bool ok = cc_run_compiler(cc, &a);
    cc_args_finish(&a);
    return ok;
}

/* The host code of a file with managed variables as LLVM's text at `path`, rewritten. The names of
 * the variables come to light here. */
static bool managed_host(struct cc *cc, const struct cc_input *in, size_t number,
                         const char *fatbin, const char *object, const char *path,
                         struct cc_args *names)
{
    size_t bytes;
    if (!run_host(cc, in, number, fatbin, object, path))
        return false;
    if (cc->dry_run)
        return true;
    char *before = cc_read_file(path, &bytes);
    char *after = before ? cc_managed_host(before, names) : NULL;
    const bool ok = after && cc_write_file(path, after, strlen(after));
    weir_free(before);
    weir_free(after);
    return ok;
}

/* The names alone: the host code with an empty fat binary, thrown away. */
static bool managed_names(struct cc *cc, const struct cc_input *in, size_t number,
                          const char *object, struct cc_args *names)
{
    char text[PATH_MAX + 64], fatbin[PATH_MAX + 64];
    snprintf(text, sizeof text, "%s/%zu.ll", cc->temp, number);
    snprintf(fatbin, sizeof fatbin, "%s/%zu.fatbin", cc->temp, number);
    return !cc->managed || (cc_write_file(fatbin, "", 0) &&
                            managed_host(cc, in, number, fatbin, object, text, names));
}

/* Such a file is compiled for the host twice: the first time tells the names, which the PTX needs,
 * which the second time needs. */
static bool compile_managed(struct cc *cc, const struct cc_input *in, size_t number,
                            const char *object)
{
    char text[PATH_MAX + 64], fatbin[PATH_MAX + 64];
    struct cc_args names = {0}, again = {0};
    snprintf(text, sizeof text, "%s/%zu.ll", cc->temp, number);
    snprintf(fatbin, sizeof fatbin, "%s/%zu.fatbin", cc->temp, number);
    const bool ok = managed_names(cc, in, number, object, &names) &&
                    build_fatbin(cc, in, number, object, fatbin, &names) &&
                    managed_host(cc, in, number, fatbin, object, text, &again) &&
                    compile_text(cc, text, object);
    cc_args_finish(&names);
    cc_args_finish(&again);
    return ok;
}

/* -ptx and -fatbin. */
static bool device_only(struct cc *cc, const struct cc_input *in, size_t number, const char *output)
{
    struct cc_args names = {0};
    size_t bytes;
    if (in->language != CC_CUDA) {
        cc_error("%s is no .cu file: there is no device code in it", in->path);
        return false;
    }
    bool ok = managed_names(cc, in, number, output, &names);
    if (cc->stop == CC_FATBIN) {
        ok = ok && build_fatbin(cc, in, number, output, output, &names);
    } else {
        ok = ok && compile_device(cc, in, number, cc->sms.items[0], output, output);
        if (ok && names.v.count && !cc->dry_run) {
            char *plain = cc_read_file(output, &bytes);
            char *marked = plain ? cc_managed_ptx(plain, &names) : NULL;
            ok = marked && cc_write_file(output, marked, strlen(marked));
            weir_free(plain);
            weir_free(marked);
        }
    }
    cc_args_finish(&names);
    return ok;
}

static bool compile_cuda(struct cc *cc, const struct cc_input *in, size_t number,
                         const char *object)
{
    char fatbin[PATH_MAX + 64], seed[32];
    const struct cc_args none = {0};
    bool ok;
    snprintf(fatbin, sizeof fatbin, "%s/%zu.fatbin", cc->temp, number);
    if (cc->managed)
        ok = compile_managed(cc, in, number, object);
    else
        ok = build_fatbin(cc, in, number, object, fatbin, &none) &&
             run_host(cc, in, number, fatbin, object, object);
    if (!ok || !cc->relocatable || cc->dry_run)
        return ok;
    snprintf(seed, sizeof seed, "%016llx", (unsigned long long)unit_id(in->path, object));
    return cc_rename_unit(object, seed);
}

static void add_plain(struct cc *cc, const struct cc_input *in, struct cc_args *a)
{
    const char *standard = in->language == CC_C ? cc->std_c : cc->std_cxx;
    cc_args_add(a, "%s", cc->paths.clang);
    cc_args_add(a, "-x");
    cc_args_add(a, in->language == CC_C ? "c" : "c++");
    if (standard)
        cc_args_add(a, "-std=%s", standard);
    cc_args_add(a, "-I%s", cc->paths.cuda_include);
    if (cc->per_thread)
        cc_args_add(a, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1");
    cc_args_copy(a, &cc->all);
    cc_args_copy(a, &cc->host);
}

static bool compile_plain(struct cc *cc, const struct cc_input *in, const char *object)
{
    struct cc_args a = {0};
    add_plain(cc, in, &a);
    add_depend(cc, &a, object);
    cc_args_add(&a, "-c");
    cc_args_add(&a, "%s", in->path);
    cc_args_add(&a, "-o");
    cc_args_add(&a, "%s", object);
    const bool ok = cc_run_compiler(cc, &a);
    cc_args_finish(&a);
    return ok;
}

/* -E, -M, -MM: what the host's pass reads. `output` NULL: standard output. */
static bool preprocess(struct cc *cc, const struct cc_input *in, const char *output)
{
    const struct pass p = {.sm = cc->sms.items[0], .id = 0};
    struct cc_args a = {0};
    if (in->language == CC_CUDA) {
        add_pass(cc, &p, &a);
        add_text(cc, &a);
    } else {
        add_plain(cc, in, &a);
    }
    if (cc->stop == CC_PREPROCESS)
        cc_args_add(&a, "-E");
    else {
        cc_args_add(&a, cc->user_headers_only ? "-MM" : "-M");
        cc_args_copy(&a, &cc->depend);
        if (!output)
            output = cc->depend_file;
    }
    cc_args_add(&a, "%s", in->path);
    if (output) {
        cc_args_add(&a, "-o");
        cc_args_add(&a, "%s", output);
    }
    const bool ok = cc_run_compiler(cc, &a);
    cc_args_finish(&a);
    return ok;
}

bool cc_compile(struct cc *cc, const struct cc_input *in, size_t number, const char *output)
{
    cc->managed = in->language == CC_CUDA && cc_file_mentions(cc, in->path, "__managed__");
    if (cc->stop == CC_PREPROCESS || cc->stop == CC_DEPENDENCIES)
        return preprocess(cc, in, output);
    if (cc->stop == CC_PTX || cc->stop == CC_FATBIN)
        return device_only(cc, in, number, output);
    return in->language == CC_CUDA ? compile_cuda(cc, in, number, output)
                                   : compile_plain(cc, in, output);
}
