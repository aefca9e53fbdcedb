/* Which entry a device takes: only PTX is of use here, and never that of an architecture-specific
 * variant of another device (sm_90a has instructions that no other device has).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "fatbin/fatbin_int.h"

/* 'a' runs on that one device; 'f' on the later ones of its family (equal tens) too; plain on every
 * later one. */
static bool entry_fits(const struct weir_fatbin_entry *e, uint32_t sm)
{
    if (e->kind != WEIR_FATBIN_PTX)
        return false;
    if (e->sm_suffix == 'a')
        return e->sm == sm;
    if (e->sm_suffix == 'f')
        return e->sm <= sm && e->sm / 10 == sm / 10;
    return e->sm <= sm;
}

/* Says what there is, and what to build with. */
static enum weir_err fail_select(const struct weir_fatbin *fb, uint32_t sm)
{
    char list[256] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < fb->entry_count && used + 32 < sizeof list; i++) {
        struct weir_fatbin_entry e;
        const char *kind;

        if (weir_fatbin_entry(fb, i, &e) != WEIR_OK)
            continue;
        kind = e.kind == WEIR_FATBIN_PTX   ? "PTX"
               : e.kind == WEIR_FATBIN_ELF ? "machine code"
               : e.kind == WEIR_FATBIN_LTO ? "link-time code"
                                           : "unknown code";
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s sm_%u%.1s",
                                 used ? ", " : "", kind, e.sm, e.sm_suffix ? &e.sm_suffix : "");
    }
    return WEIR_FAIL(
        WEIR_ERR_NO_KERNEL_IMAGE_FOR_DEVICE,
        "no PTX for a device of capability %u.%u in this program (it has: %s); build it with "
        "-gencode arch=compute_%u,code=compute_%u",
        sm / 10, sm % 10, used ? list : "nothing", sm, sm);
}

enum weir_err weir_fatbin_select(const struct weir_fatbin *fb, uint32_t sm,
                                 struct weir_fatbin_entry *out)
{
    bool found = false;

    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < fb->entry_count; i++) {
        struct weir_fatbin_entry e;
        enum weir_err err = weir_fatbin_entry(fb, i, &e);

        if (err != WEIR_OK)
            return err;
        if (!entry_fits(&e, sm))
            continue;
        /* Equal versions: the one without a suffix, then the first. */
        if (!found || e.sm > out->sm || (e.sm == out->sm && out->sm_suffix && !e.sm_suffix)) {
            *out = e;
            found = true;
        }
    }
    return found ? WEIR_OK : fail_select(fb, sm);
}
