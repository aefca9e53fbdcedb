/* The one interface to the processor's instructions that taking over needs: an island near the
 * program's code that jumps to any address, and the change of a function's first bytes into a jump
 * to its island. patch_x86_64.c is the only implementation now; another processor needs these
 * functions and nothing else.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TAKEOVER_PATCH_H
#define WEIR_TAKEOVER_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEIR_PATCH_ISLAND = 32,        /* bytes of an island, all processors */
    WEIR_PATCH_REACH = 0x7ff00000, /* how far from the code an island may lie */
};

/* What the patch of one function needs. */
struct weir_patch {
    unsigned char *entry; /* the function */
    size_t gap; /* bytes up to the next symbol or the end of the code: never written beyond */
    unsigned char *island; /* WEIR_PATCH_ISLAND bytes within reach, writable */
    size_t used; /* out: bytes of the gap that the patch took; the rest is dead code now */
};

/* Makes an island that jumps to `target`. */
void weir_patch_island(unsigned char *island, const void *target);

/* Makes entry jump to its island; false when the gap is too short for that. The code is writable
 * and nobody runs it. */
bool weir_patch_entry(struct weir_patch *p);

/* For a function whose gap is too short: a short jump to the dead bytes of `host`, another function
 * already patched, from there to the island. False when the gap is too short even for that, or host
 * too far or too full. host->used grows. */
bool weir_patch_entry_through(struct weir_patch *p, struct weir_patch *host);

#endif
