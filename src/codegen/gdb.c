/* Compiled code for debuggers: GDB's JIT interface ("JIT Compilation Interface" in its manual). gdb
 * and lldb read __jit_debug_descriptor and stop at __jit_debug_register_code, by these names.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/gdb.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/lock.h"
#include "codegen/object.h"

enum { JIT_NOACTION, JIT_REGISTER, JIT_UNREGISTER };

/* The layout is gdb's. */
struct weir_gdb_entry {
    struct weir_gdb_entry *next, *prev;
    const void *symfile;
    uint64_t symfile_bytes;
};

struct jit_descriptor {
    uint32_t version, action;
    struct weir_gdb_entry *relevant, *first;
};

/* Found by debuggers also where symbols are stripped; never a program's of the same name. */
#define FOR_DEBUGGERS __attribute__((visibility("protected")))

extern FOR_DEBUGGERS struct jit_descriptor __jit_debug_descriptor;
FOR_DEBUGGERS struct jit_descriptor __jit_debug_descriptor = {1, JIT_NOACTION, NULL, NULL};

FOR_DEBUGGERS void __jit_debug_register_code(void);
FOR_DEBUGGERS WEIR_NOINLINE void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory"); /* a call, whatever is known of it */
}

static struct weir_lock lock = WEIR_LOCK_INIT(LEAF); /* of the descriptor and its list */

static void tell_locked(uint32_t action, struct weir_gdb_entry *e)
{
    __jit_debug_descriptor.action = action;
    __jit_debug_descriptor.relevant = e;
    __jit_debug_register_code();
    __jit_debug_descriptor.action = JIT_NOACTION;
    __jit_debug_descriptor.relevant = NULL;
}

/* Says where the sections are; debuggers relocate the rest. */
static bool place_sections(unsigned char *copy, size_t bytes, const struct weir_image *image)
{
    struct weir_object o;
    Elf64_Shdr s;

    if (!weir_object_open(&o, copy, bytes))
        return false;
    for (uint32_t i = 1; i < o.header.e_shnum; i++) {
        if (!weir_object_section(&o, i, &s))
            return false;
        s.sh_addr = weir_image_section(image, i);
        memcpy(copy + o.header.e_shoff + (size_t)i * sizeof s, &s, sizeof s);
    }
    return true;
}

struct weir_gdb_entry *weir_gdb_add(const struct weir_image *image, const void *object,
                                    size_t bytes)
{
    struct weir_gdb_entry *e = weir_calloc(1, sizeof *e + bytes);
    unsigned char *copy = (unsigned char *)(e + 1);

    if (!e)
        return NULL;
    memcpy(copy, object, bytes);
    if (!place_sections(copy, bytes, image)) {
        weir_free(e);
        return NULL;
    }
    e->symfile = copy;
    e->symfile_bytes = bytes;
    weir_lock_acquire(&lock);
    e->next = __jit_debug_descriptor.first;
    if (e->next)
        e->next->prev = e;
    __jit_debug_descriptor.first = e;
    tell_locked(JIT_REGISTER, e);
    weir_lock_release(&lock);
    return e;
}

void weir_gdb_remove(struct weir_gdb_entry *e)
{
    if (!e)
        return;
    weir_lock_acquire(&lock);
    if (e->next)
        e->next->prev = e->prev;
    if (e->prev)
        e->prev->next = e->next;
    else
        __jit_debug_descriptor.first = e->next;
    tell_locked(JIT_UNREGISTER, e);
    weir_lock_release(&lock);
    weir_free(e);
}
