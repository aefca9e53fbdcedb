/* A load or store while it is made: between emit_memory.c and outline.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_LOWER_ACCESS_H
#define WEIR_CODEGEN_LOWER_ACCESS_H

#include "codegen/lower/lower.h"

#define LOW_MAX_COMPS 8

struct low_access {
    const struct low_inst *i;
    const struct weir_ptx_inst *p;
    struct low_address a;
    LLVMTypeRef elem;
    uint32_t size, comps;
    bool copy;                       /* the destination of a cp.async */
    struct low_val v[LOW_MAX_COMPS]; /* per component: what is stored, or was loaded */
};

/* The address without speculation. */
void low_access_exact(struct low *l, const struct low_access *x, struct low_address *a);
/* Checks the whole access, then makes it, in the form that the address's shape allows. */
void low_access_load(struct low *l, struct low_access *x);
void low_access_store(struct low *l, struct low_access *x);

/* Of a group of an access to consecutive addresses. */
LLVMValueRef low_group_pointer(struct low *l, const struct low_address *a, uint32_t g);

/* rows.c: the access's groups in the window, and what remains to be asked for that (NULL: nothing).
 * False: it is of no row. lim: the last offset in the window that is allowed, bits: of an address,
 * that must be 0. */
bool low_row_condition(struct low *l, struct low_access *x, LLVMValueRef lim, unsigned bits,
                       LLVMValueRef *ok);
/* Is memory to be asked for beside this access? Not if it was for another of its row, within so
 * many bytes. further: where, counted from here. */
bool low_row_asks(struct low *l, const struct low_access *x, int64_t line, int64_t *further);
/* emit_memory.c: the offset is at most `lim` and a multiple of 1 << bits. */
LLVMValueRef low_at_most(struct low *l, LLVMValueRef off, LLVMValueRef lim, unsigned bits);

/* prefetch.c: behind a load of consecutive addresses in a loop, asks for what a later pass loads.
 */
void low_prefetch(struct low *l, const struct low_access *x);

/* race.c: says who is about to access; nothing where nobody asked. */
void low_race_load(struct low *l, struct low_access *x);
void low_race_store(struct low *l, struct low_access *x);

/* outline.c: in the quick tier, makes the access by calling a function of the object. False: it is
 * to be made in place. */
bool low_outline_access(struct low *l, struct low_access *x, bool store);

#endif
