/* libweir-audit.so: the dynamic loader's auditor (rtld-audit(7)) that takes over each object of a
 * program before the object's constructors run. An object with a CUDA runtime inside gets its
 * entries patched (take.c); a request for a shared CUDA runtime or driver, whatever path it names,
 * is answered with ours. No binding is audited, so calls cost nothing. Linked to nothing (sys.h).
 * glibc holds its loader lock in every function here: the state needs no lock of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#include <link.h>

#include "base/compiler.h"
#include "takeover/sys.h"
#include "takeover/take.h"

enum { PENDING_MAX = 64, PATH_BYTES = 4096 };

/* An auditor has no argument that carries a context: this is the loader's, guarded by its lock. */
static struct {
    struct weir_take take;
    struct link_map *pending[PENDING_MAX]; /* objects opened before libweir.so was */
    size_t pending_count;
    /* our libcudart.so.12 and .13, and libcuda.so.1; "" while libweir.so is unknown */
    char cudart[2][PATH_BYTES], driver[PATH_BYTES];
} audit;

WEIR_EXPORT unsigned la_version(unsigned version)
{
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

static void take_pending(void)
{
    for (size_t i = 0; i < audit.pending_count; i++)
        weir_take_object(&audit.take, audit.pending[i]);
    audit.pending_count = 0;
}

/* Writes DIR/NAME, the directory being the first `dir` bytes of `path`. */
static void path_make(char out[PATH_BYTES], const char *path, size_t dir, const char *name)
{
    size_t n = weir_str_length(name) + 1;

    if (dir + n > PATH_BYTES)
        return;
    for (size_t i = 0; i < dir; i++)
        out[i] = path[i];
    for (size_t i = 0; i < n; i++)
        out[dir + i] = name[i];
}

/* libweir.so itself: where its functions are, and where its directory is. */
static void found_weir(struct link_map *map)
{
    size_t dir = (size_t)(weir_str_basename(map->l_name) - map->l_name);

    weir_dynamic_init(&audit.take.weir, map);
    audit.take.have_weir = true;
    path_make(audit.cudart[0], map->l_name, dir, "libcudart.so.12");
    path_make(audit.cudart[1], map->l_name, dir, "libcudart.so.13");
    path_make(audit.driver, map->l_name, dir, "libcuda.so.1");
}

static bool is_ours(const char *path, const char *base)
{
    if (weir_str_begins(base, "libweir.so") || weir_str_begins(base, "libweir-"))
        return true;
    return audit.take.have_weir &&
           (weir_str_equal(path, audit.cudart[0]) || weir_str_equal(path, audit.cudart[1]) ||
            weir_str_equal(path, audit.driver));
}

/* The version of the CUDA runtime that the name asks for: "libcudart.so" (13, as our own),
 * "libcudart.so.12", "libcudart.so.12.9.79"; also "libcudart-0123abcd.so.12", which packaging tools
 * make of it. 0: no CUDA runtime; 1: one of another version. */
static int cudart_major(const char *base)
{
    if (!weir_str_begins(base, "libcudart"))
        return 0;
    base += sizeof "libcudart" - 1;
    if (*base == '-') {
        while (*base && *base != '.')
            base++;
    }
    if (!weir_str_begins(base, ".so"))
        return 0;
    base += sizeof ".so" - 1;
    if (*base == '\0')
        return 13;
    for (int major = 12; major <= 13; major++) {
        const char number[] = {'.', '1', (char)('0' + major % 10), '\0'};

        if (weir_str_begins(base, number) && (base[3] == '\0' || base[3] == '.'))
            return major;
    }
    return 1;
}

WEIR_EXPORT unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
    const char *base = weir_str_basename(map->l_name);

    *cookie = 0; /* ours to use: the object's islands */
    if (lmid == LM_ID_BASE && !audit.take.have_weir && weir_str_begins(base, "libweir.so"))
        found_weir(map);
    if (is_ours(map->l_name, base))
        return 0;
    /* Said when it is there, not when it is looked for: Python packages try all versions. */
    if (cudart_major(base) == 1)
        weir_take_say_once(&audit.take, "not supported: ", base,
                           " (a program or library of another CUDA than 12 and 13)");
    if (audit.take.have_weir) {
        take_pending();
        *cookie = (uintptr_t)weir_take_object(&audit.take, map);
    } else if (audit.pending_count < PENDING_MAX) {
        audit.pending[audit.pending_count++] = map;
    }
    return 0; /* neither bindings from nor to it are of interest */
}

WEIR_EXPORT unsigned la_objclose(uintptr_t *cookie)
{
    weir_take_release((void *)*cookie);
    *cookie = 0;
    return 0;
}

/* At start-up the last moment before constructors. Without our libraries the objects are looked at
 * all the same, so that a program with CUDA inside is told what is missing. */
WEIR_EXPORT void la_activity(uintptr_t *cookie, unsigned flag)
{
    (void)cookie;
    if (flag == LA_ACT_CONSISTENT)
        take_pending();
}

/* "libcuda.so", "libcuda.so.1", behind any path: a real driver needs a GPU. */
static bool is_driver(const char *base)
{
    return weir_str_equal(base, "libcuda.so") || weir_str_equal(base, "libcuda.so.1");
}

WEIR_EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
    const char *base = weir_str_basename(name);
    int major = cudart_major(base);

    (void)cookie;
    if (flag != LA_SER_ORIG)
        return (char *)(uintptr_t)name;
    if (audit.driver[0] && is_driver(base))
        return audit.driver;
    if (major > 1 && audit.cudart[major - 12][0])
        return audit.cudart[major - 12];
    return (char *)(uintptr_t)name;
}
