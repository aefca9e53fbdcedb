/* See take.h. The object's file gives the functions (object.c), the loaded libweir.so the targets
 * (dynamic.c), patch.h the instructions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "takeover/take.h"

#include "takeover/nvrtc.h"
#include "takeover/object.h"
#include "takeover/patch.h"
#include "takeover/sys.h"

#define PAGE 4096u

enum { EXIT_REFUSED = 125, NAME_BYTES = 256 };

void weir_take_say_once(struct weir_take *t, const char *a, const char *b, const char *c)
{
    if (!t->said_version)
        WEIR_SAY(a, b, c);
    t->said_version = true;
}

/* The executable has no name in its link map. */
static const char *object_path(const struct link_map *map)
{
    return map->l_name[0] ? map->l_name : "/proc/self/exe";
}

static void *find_prefixed(const struct weir_take *t, const char *prefix, const char *name)
{
    size_t p = weir_str_length(prefix), n = weir_str_length(name);
    char full[NAME_BYTES];

    if (p + n >= sizeof full)
        return NULL;
    for (size_t i = 0; i < p; i++)
        full[i] = prefix[i];
    for (size_t i = 0; i <= n; i++)
        full[p + i] = name[i];
    return weir_dynamic_find(&t->weir, full);
}

/* Weir's function; in an object of CUDA 12 the one with 12's parameters, where they differ. */
static void *find_target(const struct weir_take *t, bool cuda12, const char *name)
{
    void *target = cuda12 ? find_prefixed(t, "weir_api12_", name) : NULL;

    return target ? target : find_prefixed(t, "weir_api_", name);
}

/* Memory for islands within reach of the code: below the object, where neither the heap of a
 * program nor the next library wants to grow, else above. */
static unsigned char *islands_map(uintptr_t low, uintptr_t high, size_t bytes)
{
    const uintptr_t lowest = 1u << 16, step = 1u << 16;

    for (int pass = 0; pass < 2; pass++) {
        /* pass 0: distances double; pass 1: every 2 MiB, for a crowded address space */
        for (uintptr_t d = step; d < WEIR_PATCH_REACH; d = pass ? d + (2u << 20) : d * 2) {
            uintptr_t down = (low - d - bytes) & ~(uintptr_t)(PAGE - 1),
                      up = (high + d + PAGE) & ~(uintptr_t)(PAGE - 1);
            uintptr_t at[2] = {low > lowest + d + bytes && high - down < WEIR_PATCH_REACH ? down
                                                                                          : 0,
                               up + bytes - low < WEIR_PATCH_REACH && d >= (64u << 20) ? up : 0};

            for (int k = 0; k < 2; k++) {
                long got;

                if (at[k] == 0)
                    continue;
                got = sys_mmap((void *)at[k], bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
                if (!sys_failed(got) && (uintptr_t)got == at[k])
                    return (unsigned char *)got;
                if (!sys_failed(got)) /* kernels before 4.17 take the address as a hint */
                    sys_munmap((void *)got, bytes);
            }
        }
    }
    return NULL;
}

/* A function to patch, and ours. */
struct job {
    struct weir_patch patch;
    const void *target;
};

/* Fills jobs from the object's functions; returns their number. False names (a program's own
 * cudaSomething) have no target and are left alone. */
static size_t jobs_make(const struct weir_take *t, const struct weir_object *o, uintptr_t base,
                        struct job *jobs)
{
    bool cuda12 = weir_object_is_cuda12(o);
    size_t n = 0;

    for (size_t i = 0; i < o->function_count; i++) {
        const struct weir_object_function *f = &o->functions[i];
        struct job j = {.patch = {.entry = (unsigned char *)(base + f->value), .gap = f->gap}};

        if (n > 0 && jobs[n - 1].patch.entry == j.patch.entry) /* an alias */
            continue;
        j.target = find_target(t, cuda12, f->name);
        if (j.target)
            jobs[n++] = j;
    }
    return n;
}

/* True when memory and file agree: the symbols are those of what is loaded. */
static bool code_matches(const struct weir_object *o, uintptr_t base)
{
    for (size_t i = 0; i < o->function_count; i++) {
        const struct weir_object_function *f = &o->functions[i];

        for (uint64_t k = 0; k < f->gap && k < 5; k++) {
            if (((const unsigned char *)(base + f->value))[k] != f->bytes[k])
                return false;
        }
    }
    return true;
}

/* Patches all; the number that could not be. */
static size_t jobs_patch(struct job *jobs, size_t count, unsigned char *islands)
{
    size_t failed = 0;

    for (size_t i = 0; i < count; i++) {
        jobs[i].patch.island = islands + i * WEIR_PATCH_ISLAND;
        weir_patch_island(jobs[i].patch.island, jobs[i].target);
        weir_patch_entry(&jobs[i].patch);
    }
    for (size_t i = 0; i < count; i++) {
        bool done = jobs[i].patch.used != 0;

        for (size_t near = 1; !done && near < 8; near++) { /* jobs are in the order of addresses */
            done = (i >= near && weir_patch_entry_through(&jobs[i].patch, &jobs[i - near].patch)) ||
                   (i + near < count &&
                    weir_patch_entry_through(&jobs[i].patch, &jobs[i + near].patch));
        }
        failed += !done;
    }
    return failed;
}

/* Where the islands of an object are; it stands in front of them. */
struct islands {
    size_t bytes;
    unsigned char padding[WEIR_PATCH_ISLAND - sizeof(size_t)];
};

static const char *jobs_run(struct job *jobs, size_t count, struct islands **out)
{
    uintptr_t low = (uintptr_t)jobs[0].patch.entry & ~(uintptr_t)(PAGE - 1);
    const struct weir_patch *last = &jobs[count - 1].patch;
    size_t tail = last->gap < 64 ? last->gap : 64; /* no patch writes more */
    uintptr_t high = ((uintptr_t)last->entry + tail + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    size_t bytes = ((count + 1) * WEIR_PATCH_ISLAND + PAGE - 1) & ~(size_t)(PAGE - 1), failed;
    struct islands *islands = (struct islands *)islands_map(low, high, bytes);

    if (islands == NULL)
        return "no free addresses within 2 GiB of its code";
    islands->bytes = bytes;
    *out = islands;
    /* Functions lie within one code segment: its pages are r-x before and after. */
    if (sys_failed(sys_mprotect((void *)low, high - low, PROT_READ | PROT_WRITE)))
        return "its code cannot be made writable";
    failed = jobs_patch(jobs, count, (unsigned char *)(islands + 1));
    if (sys_failed(sys_mprotect((void *)low, high - low, PROT_READ | PROT_EXEC)) ||
        sys_failed(sys_mprotect(islands, bytes, PROT_READ | PROT_EXEC)))
        return "changed code cannot be made executable (a security policy of this system forbids "
               "it)";
    return failed ? "a function in it is too short to be patched" : NULL;
}

/* NULL, or why not. */
static const char *take_cudart(struct weir_take *t, const struct weir_object *o, uintptr_t base,
                               struct islands **islands)
{
    size_t bytes = o->function_count * sizeof(struct job), count;
    const char *why = NULL;
    long memory;

    if (!t->have_weir)
        return "libweir.so is not loaded (start it by `weir run`)";
    if (!code_matches(o, base))
        return "its file has changed since it was loaded";
    memory = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_failed(memory))
        return "out of memory";
    count = jobs_make(t, o, base, (struct job *)memory);
    if (count)
        why = jobs_run((struct job *)memory, count, islands);
    sys_munmap((void *)memory, bytes);
    return why;
}

/* ---- nvJitLink ---- */

enum { LINKER_FUNCTIONS = 16, LINKER_JOBS = LINKER_FUNCTIONS * 21, LINKER_GAP = 16 };

/* Jobs are run in the order of their addresses; one for each. */
static size_t insert_job(struct job *jobs, size_t count, void *entry, const void *target)
{
    size_t at = count;

    if (entry == NULL || target == NULL || count == LINKER_JOBS)
        return count;
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].patch.entry == entry)
            return count;
    }
    for (; at > 0 && jobs[at - 1].patch.entry > (unsigned char *)entry; at--)
        jobs[at] = jobs[at - 1];
    jobs[at] = (struct job){.patch = {.entry = entry, .gap = LINKER_GAP}, .target = target};
    return count + 1;
}

/* "__NAME_13_0": what programs that were built with the headers of 13.0 ask for. */
static void versioned_name(char out[NAME_BYTES], const char *name, unsigned major, unsigned minor)
{
    size_t n = weir_str_length(name), at = 0;

    out[at++] = '_';
    out[at++] = '_';
    for (size_t i = 0; i < n; i++)
        out[at++] = name[i];
    out[at++] = '_';
    out[at++] = (char)('0' + major / 10);
    out[at++] = (char)('0' + major % 10);
    out[at++] = '_';
    out[at++] = (char)('0' + minor);
    out[at] = '\0';
}

/* Its exported functions are each one jump to where the work is done: that stays callable, for
 * link-time optimisation. NULL when this one is made otherwise. */
static void *behind_jump(const unsigned char *entry)
{
    int32_t distance;

    if (entry == NULL || entry[0] != 0xe9)
        return NULL;
    for (size_t i = 0; i < sizeof distance; i++)
        ((unsigned char *)&distance)[i] = entry[1 + i];
    return (void *)(uintptr_t)(entry + 5 + distance);
}

/* The linker of device code: its functions become ours (driver/nvjitlink.c), which get the
 * originals in a table, in this order. NULL, or why not. */
static const char *take_linker(const struct weir_take *t, const struct link_map *map,
                               struct islands **islands)
{
    static const char names[LINKER_FUNCTIONS][32] = {
        "nvJitLinkCreate",          "nvJitLinkDestroy",          "nvJitLinkAddData",
        "nvJitLinkAddFile",         "nvJitLinkComplete",         "nvJitLinkGetLinkedCubinSize",
        "nvJitLinkGetLinkedCubin",  "nvJitLinkGetLinkedPtxSize", "nvJitLinkGetLinkedPtx",
        "nvJitLinkGetErrorLogSize", "nvJitLinkGetErrorLog",      "nvJitLinkGetInfoLogSize",
        "nvJitLinkGetInfoLog",      "nvJitLinkVersion",          "nvJitLinkGetLinkedLTOIRSize",
        "nvJitLinkGetLinkedLTOIR",
    };
    void **originals = weir_dynamic_find(&t->weir, "weir_api_nvJitLink_originals");
    struct job jobs[LINKER_JOBS];
    char name[NAME_BYTES];
    struct weir_dynamic d;
    size_t count = 0;

    if (!t->have_weir)
        return "libweir.so is not loaded (start it by `weir run`)";
    weir_dynamic_init(&d, map);
    for (size_t i = 0; i < LINKER_FUNCTIONS; i++) {
        const void *target = find_target(t, false, names[i]);
        void *plain = weir_dynamic_find(&d, names[i]);

        if (originals)
            originals[i] = behind_jump(plain);
        count = insert_job(jobs, count, plain, target);
        for (unsigned v = 120; v < 140; v++) {
            versioned_name(name, names[i], v / 10, v % 10);
            count = insert_job(jobs, count, weir_dynamic_find(&d, name), target);
        }
    }
    return count ? jobs_run(jobs, count, islands) : "its functions have other names";
}

void weir_take_release(void *islands)
{
    if (islands)
        sys_munmap(islands, ((struct islands *)islands)->bytes);
}

void *weir_take_object(struct weir_take *t, const struct link_map *map)
{
    struct islands *islands = NULL;
    bool program = map->l_name[0] == '\0';
    struct weir_dynamic dynamic;
    const char *why = NULL;
    struct weir_object o;

    if (weir_str_begins(map->l_name, "linux-vdso") || weir_str_begins(map->l_name, "linux-gate"))
        return NULL;
    if (weir_nvrtc_is(weir_str_basename(map->l_name))) {
        why = weir_nvrtc_take(map);
        if (why)
            WEIR_SAY("cannot take over ", map->l_name, ": ", why);
        return NULL;
    }
    if (weir_str_begins(weir_str_basename(map->l_name), "libnvJitLink.so")) {
        why = take_linker(t, map, &islands);
        if (why)
            WEIR_SAY("cannot take over ", map->l_name, ": ", why);
        return islands;
    }
    weir_dynamic_init(&dynamic, map);
    if (!weir_object_open(&o, object_path(map), weir_dynamic_find(&dynamic, "cudaMalloc") != NULL))
        return NULL;
    if (weir_object_has_cudart(&o)) {
        why = take_cudart(t, &o, map->l_addr, &islands);
    } else if (o.has_device_code && !o.has_symbols && !o.imports_cudart) {
        why = "it is stripped, so the CUDA runtime inside it cannot be found; "
              "link it with `-cudart shared`, or do not strip it";
    }
    if (why && (program || !t->said_stripped)) {
        WEIR_SAY("cannot take over ", program ? "the program" : map->l_name, ": ", why);
        t->said_stripped = true;
    }
    weir_object_close(&o);
    if (why && program)
        sys_exit(EXIT_REFUSED);
    return islands;
}
