/* SPDX-License-Identifier: Apache-2.0 */
#include "takeover/nvrtc.h"

#include "takeover/dynamic.h"
#include "takeover/patch.h"
#include "takeover/sys.h"

#define PAGE 4096u

enum { ENTRY_BYTES = 16 }; /* no function of a library that is aligned to 16 bytes is shorter */

bool weir_nvrtc_is(const char *base)
{
    return weir_str_begins(base, "libnvrtc.so") || weir_str_begins(base, "libnvrtc.alt.so");
}

static const char *redirect(void *from, void *to)
{
    struct weir_patch patch = {.entry = from, .gap = ENTRY_BYTES, .island = to};
    uintptr_t low = (uintptr_t)from & ~(uintptr_t)(PAGE - 1);
    size_t bytes = (uintptr_t)from + ENTRY_BYTES > low + PAGE ? 2 * PAGE : PAGE;
    bool done;

    if (sys_failed(sys_mprotect((void *)low, bytes, PROT_READ | PROT_WRITE)))
        return "its code cannot be made writable";
    done = weir_patch_entry(&patch);
    if (sys_failed(sys_mprotect((void *)low, bytes, PROT_READ | PROT_EXEC)))
        return "changed code cannot be made executable (a security policy of this system forbids "
               "it)";
    return done ? NULL : "its code is too large";
}

const char *weir_nvrtc_take(const struct link_map *map)
{
    static const char *const names[][2] = {{"nvrtcGetCUBINSize", "nvrtcGetPTXSize"},
                                           {"nvrtcGetCUBIN", "nvrtcGetPTX"}};
    struct weir_dynamic d;
    const char *why = NULL;

    weir_dynamic_init(&d, map);
    for (int i = 0; i < 2 && !why; i++) {
        void *from = weir_dynamic_find(&d, names[i][0]), *to = weir_dynamic_find(&d, names[i][1]);

        if (from && to)
            why = redirect(from, to);
    }
    return why;
}
