/* SPDX-License-Identifier: Apache-2.0 */
#include "core/linked.h"

#include <string.h>

#include "base/alloc.h"

static const char magic[8] = "WeirPTX";

struct header {
    char magic[8];
    uint64_t bytes; /* of all */
    uint32_t count, version;
    uint32_t max_registers, reserved;
};

/* Followed by the text and the name, each with its terminator, and padding to 8 bytes. */
struct unit_header {
    uint64_t text_bytes, name_bytes; /* without terminators */
};

#define VERSION   1u
#define UNITS_MAX 65536u

static size_t unit_bytes(size_t text_bytes, size_t name_bytes)
{
    return WEIR_ALIGN_UP(sizeof(struct unit_header) + text_bytes + name_bytes + 2, (size_t)8);
}

enum weir_err weir_linked_build(const struct weir_cg_unit *units, size_t count, int max_registers,
                                unsigned char **out, size_t *bytes)
{
    struct header h = {
        .count = (uint32_t)count, .version = VERSION, .max_registers = (uint32_t)max_registers};
    unsigned char *at;

    *bytes = sizeof h;
    for (size_t i = 0; i < count; i++)
        *bytes += unit_bytes(units[i].bytes, strlen(units[i].name));
    *out = at = weir_calloc(1, *bytes);
    if (!at)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu bytes of linked device code", *bytes);
    memcpy(h.magic, magic, sizeof magic);
    h.bytes = *bytes;
    memcpy(at, &h, sizeof h);
    at += sizeof h;
    for (size_t i = 0; i < count; i++) {
        struct unit_header u = {units[i].bytes, strlen(units[i].name)};

        memcpy(at, &u, sizeof u);
        memcpy(at + sizeof u, units[i].ptx, u.text_bytes);
        memcpy(at + sizeof u + u.text_bytes + 1, units[i].name, u.name_bytes);
        at += unit_bytes(u.text_bytes, u.name_bytes);
    }
    return WEIR_OK;
}

bool weir_linked_is(const void *data, size_t max_bytes)
{
    const char *p = data;

    /* Byte by byte: shorter texts end earlier. */
    for (size_t i = 0; i < sizeof magic; i++) {
        if (i >= max_bytes || p[i] != magic[i])
            return false;
    }
    return true;
}

enum weir_err weir_linked_header(const void *data, size_t max_bytes, size_t *bytes,
                                 int *max_registers)
{
    struct header h;

    if (max_bytes < sizeof h)
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "linked device code, cut short");
    memcpy(&h, data, sizeof h);
    if (h.version != VERSION || h.bytes < sizeof h || h.bytes > max_bytes || h.count == 0 ||
        h.count > UNITS_MAX)
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "damaged linked device code");
    *bytes = h.bytes;
    *max_registers = (int)WEIR_MIN(h.max_registers, 255u);
    return WEIR_OK;
}

static enum weir_err read_units(const unsigned char *at, size_t left, struct weir_cg_unit *units,
                                size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct unit_header u;
        size_t n;

        if (left < sizeof u)
            return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "damaged linked device code");
        memcpy(&u, at, sizeof u);
        if (u.text_bytes > left || u.name_bytes > left ||
            (n = unit_bytes(u.text_bytes, u.name_bytes)) > left ||
            at[sizeof u + u.text_bytes] != 0 || at[sizeof u + u.text_bytes + 1 + u.name_bytes] != 0)
            return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "damaged linked device code");
        units[i] = (struct weir_cg_unit){.ptx = (const char *)at + sizeof u,
                                         .bytes = u.text_bytes,
                                         .name = (const char *)at + sizeof u + u.text_bytes + 1};
        at += n;
        left -= n;
    }
    return WEIR_OK;
}

enum weir_err weir_linked_module(const void *data, size_t bytes, struct weir_cg_module **out)
{
    struct weir_cg_unit *units;
    struct header h;
    int max_registers;
    enum weir_err err = weir_linked_header(data, bytes, &bytes, &max_registers);

    if (err != WEIR_OK)
        return err;
    memcpy(&h, data, sizeof h);
    units = weir_calloc(h.count, sizeof *units);
    if (!units)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%u units of device code", h.count);
    err = read_units((const unsigned char *)data + sizeof h, bytes - sizeof h, units, h.count);
    if (err == WEIR_OK)
        err = weir_cg_module_link(units, h.count, out);
    weir_free(units);
    return err;
}
