/* The course of one weir cc: options, places, each input compiled, the link; and the temporary
 * folder around it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cc/cc_int.h"

static bool make_temp(struct cc *cc)
{
    const char *where = getenv("TMPDIR");
    if (cc->keep && cc->keep_folder) {
        snprintf(cc->temp, sizeof cc->temp, "%s", cc->keep_folder);
        if (!mkdir(cc->temp, 0777) || errno == EEXIST)
            return true;
        cc_error("can not make the folder %s", cc->temp);
        return false;
    }
    snprintf(cc->temp, sizeof cc->temp, "%s/weir-cc-XXXXXX", where && *where ? where : "/tmp");
    if (mkdtemp(cc->temp))
        return true;
    cc_error("can not make a temporary folder like %s", cc->temp);
    cc->temp[0] = 0;
    return false;
}

static void remove_temp(struct cc *cc)
{
    DIR *d = cc->temp[0] && !cc->keep ? opendir(cc->temp) : NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d) {
        closedir(d);
        (void)rmdir(cc->temp);
    } else if (cc->keep && !cc->keep_folder && cc->temp[0])
        fprintf(stderr, "weir cc: kept %s\n", cc->temp);
}

/* dir/x.cu -> x.o in the current folder, as compilers do. */
static char *default_output(const char *path, const char *extension)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    const char *dot = strrchr(base, '.');
    const size_t stem = dot ? (size_t)(dot - base) : strlen(base),
                 bytes = stem + strlen(extension) + 1;
    char *out = weir_alloc(bytes);
    if (out)
        snprintf(out, bytes, "%.*s%s", (int)stem, base, extension);
    return out;
}

/* Does a last step follow, with objects that nobody else sees? */
static bool links(const struct cc *cc)
{
    return cc->stop == CC_LINK || cc->stop == CC_DEVICE_LINK || cc->stop == CC_ARCHIVE;
}

/* dir/x.cu -> ODIR/x.o */
static char *in_folder(const char *folder, char *name)
{
    const size_t bytes = strlen(folder) + strlen(name) + 2;
    char *out = weir_alloc(bytes);
    if (out)
        snprintf(out, bytes, "%s/%s", folder, name);
    weir_free(name);
    return out;
}

/* Where the result of input `number` goes. From weir_alloc; NULL when out of memory. */
static char *output_of(const struct cc *cc, const struct cc_input *in, size_t number)
{
    if (links(cc)) {
        const size_t bytes = strlen(cc->temp) + 32;
        char *out = weir_alloc(bytes);
        if (out)
            snprintf(out, bytes, "%s/%zu.o", cc->temp, number);
        return out;
    }
    if (cc->output)
        return weir_strdup(cc->output);
    char *name = default_output(in->path, cc->stop == CC_PTX      ? ".ptx"
                                          : cc->stop == CC_FATBIN ? ".fatbin"
                                                                  : ".o");
    return name && cc->output_folder ? in_folder(cc->output_folder, name) : name;
}

/* -E and -M write to standard output unless there is an -o. */
static bool run_reading(struct cc *cc)
{
    bool ok = true;
    for (size_t i = 0; ok && i < cc->inputs.count; i++)
        if (cc->inputs.items[i].language != CC_OBJECT)
            ok = cc_compile(cc, &cc->inputs.items[i], i, cc->output);
    return ok;
}

/* In nvcc's form, which CMake reads: it takes the folders of headers and libraries from here, and
 * the architecture. */
static void print_settings(const struct cc *cc)
{
    fprintf(stderr,
            "#$ TOP=%s\n#$ NVVMIR_LIBRARY_DIR=%s/nvvm/libdevice\n#$ PATH=%s/bin\n"
            "#$ LIBRARIES=-L%s/lib64\n#$ INCLUDES=-I%s\n#$ ARCHITECTURES=",
            cc->paths.toolkit, cc->paths.toolkit, cc->paths.toolkit, cc->paths.toolkit,
            cc->paths.cuda_include);
    for (size_t i = 0; i < cc->sms.count; i++)
        fprintf(stderr, i ? " -arch compute_%u" : "-arch compute_%u", cc->sms.items[i]);
    fputc('\n', stderr);
}

static bool run(struct cc *cc)
{
    WEIR_VEC(char *) objects = {0};
    bool ok = make_temp(cc);
    if (ok && (cc->stop == CC_PREPROCESS || cc->stop == CC_DEPENDENCIES)) {
        ok = run_reading(cc);
        remove_temp(cc);
        return ok;
    }
    for (size_t i = 0; ok && i < cc->inputs.count; i++) {
        const struct cc_input *in = &cc->inputs.items[i];
        if (in->language == CC_OBJECT)
            continue;
        char *object = output_of(cc, in, i);
        ok = object && weir_vec_push(&objects, object);
        if (!ok) {
            weir_free(object);
            cc_error("out of memory");
        }
        ok = ok && cc_compile(cc, in, i, object);
    }
    if (ok && links(cc))
        ok = cc_link(cc, objects.items, objects.count);
    for (size_t i = 0; i < objects.count; i++)
        weir_free(objects.items[i]);
    weir_vec_finish(&objects);
    remove_temp(cc);
    return ok;
}

int weir_cc_main(int argc, char **argv)
{
    struct cc cc = {0};
    bool done;
    bool ok = cc_parse(&cc, argc, argv, &done);
    if (!done) { /* settings are told even when the rest is wrong: CMake asks in this way */
        const bool found = cc_find_paths(&cc.paths);
        if (found && (cc.verbose || cc.dry_run))
            print_settings(&cc);
        ok = ok && found && run(&cc);
    }
    weir_vec_finish(&cc.inputs);
    weir_vec_finish(&cc.sms);
    cc_args_finish(&cc.words);
    cc_args_finish(&cc.all);
    cc_args_finish(&cc.host);
    cc_args_finish(&cc.depend);
    cc_args_finish(&cc.link);
    return ok ? 0 : 1;
}
