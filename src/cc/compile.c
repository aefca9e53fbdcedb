/* The passes: device code of each architecture to PTX, PTX to a fat binary, host code to an
 * object, objects to a program. Host objects register their fat binary as nvcc's do, so that
 * nothing later can tell which compiler made them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cc/cc_int.h"
#include "fatbin/fatbin.h"

/* One pass over a .cu file: where it reads, and what belongs to it alone. */
struct pass {
    unsigned sm; /* of the device code; for the host any one of them */
    bool device;
    const char *source; /* the file itself, or its preprocessed and mended text */
    char mended[PATH_MAX + 64];
};

/* Both passes must see the same text: same macros, same order of folders. Ours come before the
 * program's own -I, which may name a toolkit's. */
static void add_text(struct cc *cc, struct cc_args *a)
{
    cc_args_add(a, "-I%s", cc->paths.cc_include);
    cc_args_add(a, "-I%s", cc->paths.cuda_include);
    cc_args_add(a, "-include");
    cc_args_add(a, "%s/weir_cuda.h", cc->paths.cc_include);
    if (cc->per_thread)
        cc_args_add(a, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1");
    cc_args_copy(a, &cc->all);
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
    if (p->device) {
        cc_args_add(a, "-Xclang");
        cc_args_add(a, "-target-feature");
        cc_args_add(a, "-Xclang");
        cc_args_add(a, "%s", p->sm >= 90 ? CC_PTX_FEATURE_NEW : CC_PTX_FEATURE);
        /* As nvcc: -O is for the host, device code is optimised unless it is to be debugged. */
        cc_args_add(a, cc->device_debug ? "-O0" : "-O3");
        cc_args_add(a, "-w"); /* the host pass reads the same text and warns */
    } else {
        cc_args_copy(a, &cc->host);
    }
}

static bool write_file(const char *path, const void *data, size_t bytes)
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
    if (!p->device && cc->depend.v.count) {
        cc_args_add(&a, "-MT"); /* what depends is the object; an -MT of the user's adds to it */
        cc_args_add(&a, "%s", output);
        cc_args_copy(&a, &cc->depend);
    }
    cc_args_add(&a, "-E");
    cc_args_add(&a, "%s", in->path);
    cc_args_add(&a, "-o");
    cc_args_add(&a, "%s", p->mended);
    bool ok = cc_run(cc, &a);
    cc_args_finish(&a);
    p->source = p->mended;
    if (!ok || cc->dry_run)
        return ok;
    size_t bytes = 0, mended_bytes = 0;
    char *text = cc_read_file(p->mended, &bytes);
    char *mended = text ? cc_asm_fix(text, bytes, &mended_bytes) : NULL;
    ok = mended && write_file(p->mended, mended, mended_bytes);
    weir_free(text);
    weir_free(mended);
    return ok;
}

/* The options of text belong to whichever step reads the file itself. */
static void add_source(struct cc *cc, const struct pass *p, struct cc_args *a, const char *output)
{
    if (p->source != p->mended) {
        add_text(cc, a);
        if (!p->device)
            cc_args_copy(a, &cc->depend);
    }
    cc_args_add(a, p->device ? "-S" : "-c");
    cc_args_add(a, "%s", p->source);
    cc_args_add(a, "-o");
    cc_args_add(a, "%s", output);
}

static bool compile_device(struct cc *cc, const struct cc_input *in, size_t number, unsigned sm,
                           const char *ptx)
{
    struct pass p = {.sm = sm, .device = true};
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
    if (cc->fast_math)
        cc_args_add(&a, "-fcuda-flush-denormals-to-zero");
    add_source(cc, &p, &a, ptx);
    const bool ok = cc_run(cc, &a);
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
    static const char *const known[] = {"vprintf", "malloc", "free", "__assertfail"};
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
                          : "is not defined here (device code is not linked across files)");
            ok = false;
        }
        p += n;
    }
    return ok;
}

static bool build_fatbin(struct cc *cc, const struct cc_input *in, size_t number, const char *path)
{
    WEIR_VEC(struct weir_fatbin_input) texts = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < cc->sms.count; i++) {
        struct weir_fatbin_input t = {.sm = cc->sms.items[i], .name = in->path};
        char file[PATH_MAX + 64];
        snprintf(file, sizeof file, "%s/%zu-sm_%u.ptx", cc->temp, number, t.sm);
        ok = compile_device(cc, in, number, t.sm, file);
        if (!ok || cc->dry_run)
            continue;
        t.ptx = cc_read_file(file, &t.bytes);
        const bool kept = t.ptx && weir_vec_push(&texts, t);
        ok = kept && check_externals(in->path, t.ptx);
        if (!kept)
            weir_free((char *)t.ptx);
    }
    unsigned char *data = NULL;
    size_t bytes = 0;
    if (ok && !cc->dry_run) {
        ok =
            weir_fatbin_build(texts.items, texts.count, WEIR_FATBIN_ZSTD, &data, &bytes) == WEIR_OK;
        if (!ok)
            cc_error("%s: can not build the fat binary: %s", in->path, weir_err_message());
        ok = ok && write_file(path, data, bytes);
    }
    weir_free(data);
    for (size_t i = 0; i < texts.count; i++)
        weir_free((char *)texts.items[i].ptx);
    weir_vec_finish(&texts);
    return ok;
}

static bool compile_cuda_host(struct cc *cc, const struct cc_input *in, size_t number,
                              const char *fatbin, const char *object)
{
    struct pass p = {.sm = cc->sms.items[0]};
    if (!prepare(cc, in, number, object, &p))
        return false;
    struct cc_args a = {0};
    add_pass(cc, &p, &a);
    cc_args_add(&a, "-Xclang");
    cc_args_add(&a, "-fcuda-include-gpubinary");
    cc_args_add(&a, "-Xclang");
    cc_args_add(&a, "%s", fatbin);
    add_source(cc, &p, &a, object);
    const bool ok = cc_run(cc, &a);
    cc_args_finish(&a);
    return ok;
}

static bool compile_plain(struct cc *cc, const struct cc_input *in, const char *object)
{
    struct cc_args a = {0};
    const char *standard = in->language == CC_C ? cc->std_c : cc->std_cxx;
    cc_args_add(&a, "%s", cc->paths.clang);
    cc_args_add(&a, "-x");
    cc_args_add(&a, in->language == CC_C ? "c" : "c++");
    if (standard)
        cc_args_add(&a, "-std=%s", standard);
    cc_args_add(&a, "-I%s", cc->paths.cuda_include);
    if (cc->per_thread)
        cc_args_add(&a, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1");
    cc_args_copy(&a, &cc->all);
    cc_args_copy(&a, &cc->host);
    cc_args_copy(&a, &cc->depend);
    cc_args_add(&a, "-c");
    cc_args_add(&a, "%s", in->path);
    cc_args_add(&a, "-o");
    cc_args_add(&a, "%s", object);
    const bool ok = cc_run(cc, &a);
    cc_args_finish(&a);
    return ok;
}

bool cc_compile(struct cc *cc, const struct cc_input *in, size_t number, const char *object)
{
    if (cc->stop == CC_PTX) {
        if (in->language != CC_CUDA) {
            cc_error("%s is no .cu file: there is no PTX to make of it", in->path);
            return false;
        }
        return compile_device(cc, in, number, cc->sms.items[0], object);
    }
    if (in->language != CC_CUDA)
        return compile_plain(cc, in, object);
    char fatbin[PATH_MAX + 64];
    snprintf(fatbin, sizeof fatbin, "%s/%zu.fatbin", cc->temp, number);
    return build_fatbin(cc, in, number, fatbin) &&
           compile_cuda_host(cc, in, number, fatbin, object);
}

bool cc_link(struct cc *cc, char *const *objects, size_t count)
{
    struct cc_args a = {0};
    char runtime[PATH_MAX + 32];
    snprintf(runtime, sizeof runtime, "%s/libcudart.so.13", cc->paths.libdir);
    if (!cc->no_cudart && !cc->dry_run && access(runtime, R_OK)) {
        cc_error("%s is missing: the installation is not complete", runtime);
        return false;
    }
    cc_args_add(&a, "%s", cc->paths.clang);
    cc_args_add(&a, "--driver-mode=g++"); /* .cu files are C++ */
    if (cc->shared)
        cc_args_add(&a, "-shared");
    for (size_t i = 0; i < count; i++)
        cc_args_add(&a, "%s", objects[i]);
    cc_args_copy(&a, &cc->link);
    if (!cc->no_cudart) {
        cc_args_add(&a, "%s", runtime);
        cc_args_add(&a, "-Wl,-rpath,%s", cc->paths.libdir);
    }
    cc_args_add(&a, "-o");
    cc_args_add(&a, "%s", cc->output ? cc->output : "a.out");
    const bool ok = cc_run(cc, &a);
    cc_args_finish(&a);
    return ok;
}
