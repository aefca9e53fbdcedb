/* Where weir cc finds its parts. The build tree and an installation have the same shape, so that
 * everything hangs on the place of the running binary: PREFIX/bin/weir,
 * PREFIX/include/{cuda,weir/cc}, PREFIX/LIBDIR/weir/devlib.bc, and PREFIX/LIBDIR/weir/cuda, a
 * folder in the form of a CUDA toolkit for build systems that look for one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cc/cc_int.h"

static bool join(char out[PATH_MAX], const char *a, const char *b)
{
    const int n = snprintf(out, PATH_MAX, "%s/%s", a, b);
    return n > 0 && n < PATH_MAX;
}

static bool find_in_path(const char *name, char out[PATH_MAX])
{
    const char *path = getenv("PATH");
    while (path && *path) {
        const size_t n = strcspn(path, ":");
        char folder[PATH_MAX];
        if (n && n < sizeof folder) {
            memcpy(folder, path, n);
            folder[n] = 0;
            if (join(out, folder, name) && !access(out, X_OK))
                return true;
        }
        path += n + (path[n] == ':');
    }
    return false;
}

static bool find_clang(char out[PATH_MAX])
{
    const char *chosen = getenv("WEIR_CLANG");
    if (chosen && *chosen) {
        if (strchr(chosen, '/')
                ? snprintf(out, PATH_MAX, "%s", chosen) < PATH_MAX && !access(out, X_OK)
                : find_in_path(chosen, out))
            return true;
        cc_error("WEIR_CLANG is %s, which can not be run", chosen);
        return false;
    }
    if (find_in_path("clang-19", out))
        return true;
    snprintf(out, PATH_MAX, "/usr/lib/llvm-19/bin/clang");
    if (!access(out, X_OK))
        return true;
    cc_error(
        "clang-19 is not on PATH (Debian: apt install clang-19); WEIR_CLANG names another one");
    return false;
}

/* clang++-19 beside clang-19; whoever parses our commands sees a C++ compiler by its name. */
static void find_clangxx(const char *clang, char out[PATH_MAX])
{
    const char *base = strrchr(clang, '/');
    const size_t folder = base ? (size_t)(base - clang) + 1 : 0;
    const char *version = strchr(clang + folder, '-');
    if (snprintf(out, PATH_MAX, "%.*sclang++%s", (int)folder, clang, version ? version : "") <
            PATH_MAX &&
        !access(out, X_OK))
        return;
    snprintf(out, PATH_MAX, "%.*sclang++", (int)folder, clang);
    if (access(out, X_OK))
        snprintf(out, PATH_MAX, "%s", clang);
}

static bool need(const char *path)
{
    if (!access(path, R_OK))
        return true;
    cc_error("%s is missing: the installation is not complete", path);
    return false;
}

bool cc_find_paths(struct cc_paths *p)
{
    static const char *const libdirs[] = {"lib", WEIR_CC_LIBDIR};
    char root[PATH_MAX], file[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", root, sizeof root - 1);
    if (n <= 0) {
        cc_error("can not tell where the weir binary is");
        return false;
    }
    root[n] = 0;
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(root, '/');
        if (slash)
            *slash = 0;
    }
    if (!find_clang(p->clang) || !join(p->cuda_include, root, "include/cuda") ||
        !join(p->cc_include, root, "include/weir/cc"))
        return false;
    for (size_t i = 0; i < 2; i++) {
        if (!join(p->libdir, root, libdirs[i]) || !join(p->devlib, p->libdir, "weir/devlib.bc"))
            return false;
        if (!access(p->devlib, R_OK))
            break;
    }
    find_clangxx(p->clang, p->clangxx);
    if (!find_in_path("ar", p->ar) && !find_in_path("llvm-ar-19", p->ar))
        snprintf(p->ar, sizeof p->ar, "/usr/bin/ar");
    return join(p->toolkit, p->libdir, "weir/cuda") &&
           join(file, p->cuda_include, "cuda_runtime.h") && need(file) &&
           join(file, p->cc_include, "weir_cuda.h") && need(file) && need(p->devlib);
}
