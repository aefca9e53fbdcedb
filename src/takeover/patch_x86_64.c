/* Entry patch for x86-64: `jmp rel32` (5 bytes) to an island within 2 GiB, there `jmp *address`. An
 * ENDBR64 at the entry stays where there is room, and islands begin with one, so that indirect
 * branch tracking is content.
 * SPDX-License-Identifier: Apache-2.0 */
#include "takeover/patch.h"

#if defined(__x86_64__)

#define JUMP_BYTES  5
#define SHORT_BYTES 2

static const unsigned char endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};

static unsigned char *put(unsigned char *at, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = ((const unsigned char *)bytes)[i];
    return at + n;
}

static bool begins_with_endbr64(const unsigned char *p)
{
    return p[0] == endbr64[0] && p[1] == endbr64[1] && p[2] == endbr64[2] && p[3] == endbr64[3];
}

/* jmp rel32 at `at`; false when the island is out of reach. */
static bool put_jump(unsigned char *at, const unsigned char *to)
{
    int64_t distance = (int64_t)((intptr_t)to - (intptr_t)(at + JUMP_BYTES));
    int32_t rel = (int32_t)distance;

    if (rel != distance)
        return false;
    *at = 0xe9;
    put(at + 1, &rel, sizeof rel);
    return true;
}

void weir_patch_island(unsigned char *island, const void *target)
{
    static const unsigned char jmp_rip[6] = {0xff, 0x25, 0,
                                             0,    0,    0}; /* jmp *0(%rip): the address follows */
    unsigned char *at = put(island, endbr64, sizeof endbr64);

    at = put(at, jmp_rip, sizeof jmp_rip);
    at = put(at, &target, sizeof target);
    while (at < island + WEIR_PATCH_ISLAND)
        *at++ = 0xcc;
}

bool weir_patch_entry(struct weir_patch *p)
{
    size_t keep = 0;

    if (p->gap >= sizeof endbr64 + JUMP_BYTES && begins_with_endbr64(p->entry))
        keep = sizeof endbr64;
    if (p->gap < keep + JUMP_BYTES || !put_jump(p->entry + keep, p->island))
        return false;
    p->used = keep + JUMP_BYTES;
    return true;
}

bool weir_patch_entry_through(struct weir_patch *p, struct weir_patch *host)
{
    unsigned char *hop = host->entry + host->used;
    intptr_t distance = hop - (p->entry + SHORT_BYTES);

    if (p->gap < SHORT_BYTES || host->used == 0 || host->gap < host->used + JUMP_BYTES ||
        distance < -128 || distance > 127 || !put_jump(hop, p->island))
        return false;
    host->used += JUMP_BYTES;
    p->entry[0] = 0xeb;
    p->entry[1] = (unsigned char)(distance & 0xff);
    p->used = SHORT_BYTES;
    return true;
}

#else
#error "entry patch: no implementation for this processor"
#endif
