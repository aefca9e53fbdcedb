/* The course of one weir cc: options, places, each input compiled, the link; and the temporary
 * folder around it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cc/cc_int.h"

static bool make_temp(struct cc *cc)
{
    const char *where = getenv("TMPDIR");
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
    } else if (cc->keep && cc->temp[0])
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

/* Where the result of input `number` goes. From weir_alloc. */
static char *output_of(const struct cc *cc, const struct cc_input *in, size_t number)
{
    if (cc->stop == CC_LINK) {
        const size_t bytes = strlen(cc->temp) + 32;
        char *out = weir_alloc(bytes);
        if (out)
            snprintf(out, bytes, "%s/%zu.o", cc->temp, number);
        return out;
    }
    return cc->output ? weir_strdup(cc->output)
                      : default_output(in->path, cc->stop == CC_PTX ? ".ptx" : ".o");
}

static bool run(struct cc *cc)
{
    WEIR_VEC(char *) objects = {0};
    bool ok = cc_find_paths(&cc->paths) && make_temp(cc);
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
    if (ok && cc->stop == CC_LINK)
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
    const bool ok = cc_parse(&cc, argc, argv, &done) && (done || run(&cc));
    weir_vec_finish(&cc.inputs);
    weir_vec_finish(&cc.sms);
    cc_args_finish(&cc.all);
    cc_args_finish(&cc.host);
    cc_args_finish(&cc.depend);
    cc_args_finish(&cc.link);
    return ok ? 0 : 1;
}
