/* Exported symbols of a loaded object, by its dynamic section: works before the object is
 * relocated.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TAKEOVER_DYNAMIC_H
#define WEIR_TAKEOVER_DYNAMIC_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>

struct weir_dynamic {
    uintptr_t base;
    const Elf64_Sym *symbols;
    const char *strings;
    const uint32_t *gnu_hash; /* NULL: nothing can be found */
};

void weir_dynamic_init(struct weir_dynamic *d, const struct link_map *map);
/* The address of a defined function or variable, NULL when there is none. */
void *weir_dynamic_find(const struct weir_dynamic *d, const char *name);

#endif
