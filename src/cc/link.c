/* The last step: programs and shared libraries, archives, and what nvcc calls the device link. For
 * separately compiled units that is a small object of our own: it collects the units as they
 * register, and registers one fat binary of version 2 that lists their PTX, unlinked; the runtime
 * links it by symbol when it loads it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cc/cc_int.h"

/* Which of the link's words are files that may hold units: archives behind -l too, unless a shared
 * library stands before them. */
static void look_for_library(const struct cc *cc, const char *name, struct cc_units *units)
{
    for (size_t i = 0; i < cc->link.v.count; i++) {
        const char *arg = cc->link.v.items[i];
        char path[PATH_MAX];
        if (strncmp(arg, "-L", 2))
            continue;
        if (*name == ':') {
            if (snprintf(path, sizeof path, "%s/%s", arg + 2, name + 1) < PATH_MAX &&
                !access(path, R_OK)) {
                cc_find_units(units, path);
                return;
            }
            continue;
        }
        if (snprintf(path, sizeof path, "%s/lib%s.so", arg + 2, name) < PATH_MAX &&
            !access(path, R_OK))
            return;
        if (snprintf(path, sizeof path, "%s/lib%s.a", arg + 2, name) < PATH_MAX &&
            !access(path, R_OK)) {
            cc_find_units(units, path);
            return;
        }
    }
}

static void find_units(const struct cc *cc, char *const *objects, size_t count,
                       struct cc_units *units)
{
    for (size_t i = 0; i < count; i++)
        cc_find_units(units, objects[i]);
    for (size_t i = 0; i < cc->link.v.count; i++) {
        const char *arg = cc->link.v.items[i], *dot = strrchr(arg, '.');
        if (!strncmp(arg, "-l", 2))
            look_for_library(cc, arg + 2, units);
        else if (arg[0] != '-' && !(dot && !strcmp(dot, ".so")))
            cc_find_units(units, arg);
    }
}

static const char stub_head[] =
    "struct wrapper { int magic, version; const void *data; void *units; };\n"
    "void **__cudaRegisterFatBinary(void *);\n"
    "void __cudaRegisterFatBinaryEnd(void **);\n"
    "void __cudaUnregisterFatBinary(void **);\n"
    "int atexit(void (*)(void));\n"
    "static const struct { unsigned magic; unsigned short version, header; unsigned long long "
    "bytes; } empty = {0xba55ed50u, 1, 16, 0};\n"
    "static void **handle;\n"
    "static unsigned count;\n"
    "static void forget(void) { __cudaUnregisterFatBinary(handle); }\n";

/* The array of units ends with a null pointer. */
static const char stub_add[] =
    "static const void *units[COUNT + 1];\n"
    "static void (*callbacks[COUNT])(void **);\n"
    "static struct wrapper all __attribute__((section(\".nvFatBinSegment\"), used)) =\n"
    "    {0x466243b1, 2, &empty, units};\n"
    "static void add(void (*callback)(void **), const struct wrapper *unit)\n"
    "{\n"
    "    if (count == COUNT)\n"
    "        return;\n"
    "    units[count] = unit->data;\n"
    "    callbacks[count++] = callback;\n"
    "    if (count < COUNT)\n"
    "        return;\n"
    "    handle = __cudaRegisterFatBinary(&all);\n"
    "    for (unsigned i = 0; i < COUNT; i++)\n"
    "        if (callbacks[i])\n"
    "            callbacks[i](handle);\n"
    "    __cudaRegisterFatBinaryEnd(handle);\n"
    "    atexit(forget);\n"
    "}\n";

/* Each unit's wrapper is named, so that the linker takes its member out of an archive: all of the
 * program's units must register before any of them is complete. */
static bool write_stub(const struct cc_args *ids, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f) {
        cc_error("can not write %s", path);
        return false;
    }
    fprintf(f, "%s#define COUNT %zu\n%s", stub_head, ids->v.count, stub_add);
    for (size_t i = 0; i < ids->v.count; i++) {
        const char *id = ids->v.items[i];
        fprintf(f,
                "extern const struct wrapper __fatbinwrap%s;\n"
                "__attribute__((visibility(\"hidden\"), used)) const void *const "
                "__weir_unit%s = &__fatbinwrap%s;\n"
                "__attribute__((visibility(\"hidden\"))) void __cudaRegisterLinkedBinary%s(\n"
                "    void (*callback)(void **), void *unit, void *id, void (*unused)(void *))\n"
                "{ (void)id, (void)unused; add(callback, unit); }\n",
                id, id, id, id);
    }
    const bool ok = !ferror(f);
    if (fclose(f) || !ok) {
        cc_error("can not write %s", path);
        return false;
    }
    return true;
}

/* The object that registers the units of these files, at `path`; *made false when they have none
 * that is not registered yet. */
static bool device_link(struct cc *cc, char *const *objects, size_t count, const char *path,
                        bool *made)
{
    struct cc_units units = {0};
    struct cc_args ids = {0};
    char source[PATH_MAX + 16];
    bool ok = true;
    find_units(cc, objects, count, &units);
    for (size_t i = 0; i < units.wanted.v.count; i++) {
        bool defined = false;
        for (size_t j = 0; j < units.defined.v.count; j++)
            defined |= !strcmp(units.wanted.v.items[i], units.defined.v.items[j]);
        if (!defined)
            cc_args_add(&ids, "%s", units.wanted.v.items[i]);
    }
    *made = ids.v.count > 0;
    if (*made || cc->stop == CC_DEVICE_LINK) {
        struct cc_args a = {0};
        snprintf(source, sizeof source, "%s/link.c", cc->temp);
        ok = *made ? write_stub(&ids, source) : cc_write_file(source, "", 0);
        cc_args_add(&a, "%s", cc->paths.clang);
        cc_args_add(&a, "-w");
        cc_args_add(&a, "-O1");
        cc_args_add(&a, "-fPIC");
        cc_args_add(&a, "-c");
        cc_args_add(&a, "%s", source);
        cc_args_add(&a, "-o");
        cc_args_add(&a, "%s", path);
        ok = ok && cc_run(cc, &a);
        cc_args_finish(&a);
    }
    cc_args_finish(&ids);
    cc_units_finish(&units);
    return ok;
}

static bool archive(struct cc *cc, char *const *objects, size_t count)
{
    struct cc_args a = {0};
    cc_args_add(&a, "%s", cc->paths.ar);
    cc_args_add(&a, "rcs");
    cc_args_add(&a, "%s", cc->output ? cc->output : "a.a");
    for (size_t i = 0; i < count; i++)
        cc_args_add(&a, "%s", objects[i]);
    for (size_t i = 0; i < cc->link.v.count; i++)
        if (cc->link.v.items[i][0] != '-')
            cc_args_add(&a, "%s", cc->link.v.items[i]);
    const bool ok = cc_run(cc, &a);
    cc_args_finish(&a);
    return ok;
}

static bool link_all(struct cc *cc, char *const *objects, size_t count, const char *units)
{
    struct cc_args a = {0};
    cc_args_add(&a, "%s/bin/c++", cc->paths.toolkit); /* ours, below; .cu files are C++ */
    if (cc->shared)
        cc_args_add(&a, "-shared");
    if (!cc->no_cudart) /* before the program's own -L, which may name a toolkit's */
        cc_args_add(&a, "-L%s/lib64", cc->paths.toolkit);
    for (size_t i = 0; i < count; i++)
        cc_args_add(&a, "%s", objects[i]);
    if (units)
        cc_args_add(&a, "%s", units);
    cc_args_copy(&a, &cc->link);
    if (!cc->no_cudart)
        cc_args_add(&a, "-lcudart");
    cc_args_add(&a, "-o");
    cc_args_add(&a, "%s", cc->output ? cc->output : "a.out");
    const bool ok = cc_run(cc, &a);
    cc_args_finish(&a);
    return ok;
}

bool cc_link(struct cc *cc, char *const *objects, size_t count)
{
    char path[PATH_MAX + 32];
    bool made = false;
    if (cc->stop == CC_ARCHIVE)
        return archive(cc, objects, count);
    if (cc->stop == CC_DEVICE_LINK)
        return device_link(cc, objects, count, cc->output ? cc->output : "a_dlink.o", &made);
    snprintf(path, sizeof path, "%s/lib64/libcudart.so", cc->paths.toolkit);
    if (!cc->no_cudart && !cc->dry_run && access(path, R_OK)) {
        cc_error("%s is missing: the installation is not complete", path);
        return false;
    }
    snprintf(path, sizeof path, "%s/link.o", cc->temp);
    return device_link(cc, objects, count, path, &made) &&
           link_all(cc, objects, count, made ? path : NULL);
}

/* bin/c++ of the toolkit's folder: clang++, and programs find our runtime without any setting.
 * CMake takes the command that links from weir cc -v and calls it by itself. */
int weir_cc_link_main(int argc, char **argv)
{
    struct cc cc = {0};
    if (!cc_find_paths(&cc.paths))
        return 1;
    cc_args_add(&cc.link, "%s", cc.paths.clangxx);
    cc_args_add(&cc.link, "-Wno-unused-command-line-argument");
    for (int i = 1; i < argc; i++)
        cc_args_add(&cc.link, "%s", argv[i]);
    cc_args_add(&cc.link, "-Wl,-rpath,%s", cc.paths.libdir);
    const bool ok = cc_run(&cc, &cc.link);
    cc_args_finish(&cc.link);
    return ok ? 0 : 1;
}
