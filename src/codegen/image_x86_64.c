/* Relocations of x86-64 (System V psABI, table "Relocation Types") for the object loader.
 * SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <string.h>

#include "codegen/image_arch.h"

#ifndef R_X86_64_GOTPCRELX
#define R_X86_64_GOTPCRELX     41
#define R_X86_64_REX_GOTPCRELX 42
#endif

static enum weir_image_want want(uint32_t type)
{
    switch (type) {
    case R_X86_64_NONE:
        return WEIR_IMAGE_WANT_NOTHING;
    case R_X86_64_64:
    case R_X86_64_PC64:
    case R_X86_64_32:
    case R_X86_64_32S:
        return WEIR_IMAGE_WANT_ADDRESS;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        return WEIR_IMAGE_WANT_CALL;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
        return WEIR_IMAGE_WANT_GOT;
    default:
        return WEIR_IMAGE_WANT_REFUSE;
    }
}

static size_t width(uint32_t type)
{
    return type == R_X86_64_NONE ? 0 : type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
}

static bool fits_s32(uint64_t x)
{
    return (uint64_t)(int64_t)(int32_t)(uint32_t)x == x;
}

static void put32(unsigned char *out, uint64_t x)
{
    uint32_t v = (uint32_t)x;

    memcpy(out, &v, sizeof v);
}

static bool apply(uint32_t type, unsigned char *out, uint64_t place, uint64_t value)
{
    switch (type) {
    case R_X86_64_64:
        memcpy(out, &value, sizeof value);
        return true;
    case R_X86_64_PC64:
        value -= place;
        memcpy(out, &value, sizeof value);
        return true;
    case R_X86_64_32:
        if (value > UINT32_MAX)
            return false;
        put32(out, value);
        return true;
    case R_X86_64_32S:
        if (!fits_s32(value))
            return false;
        put32(out, value);
        return true;
    default: /* the pc-relative ones */
        value -= place;
        if (!fits_s32(value))
            return false;
        put32(out, value);
        return true;
    }
}

/* jmp *slot(%rip), then int3 up to the stub's size. */
static bool stub(unsigned char *out, uint64_t place, uint64_t slot)
{
    uint64_t disp = slot - (place + 6);

    if (!fits_s32(disp))
        return false;
    out[0] = 0xff;
    out[1] = 0x25;
    put32(out + 2, disp);
    out[6] = out[7] = 0xcc;
    return true;
}

const struct weir_image_arch weir_image_x86_64 = {
    .machine = EM_X86_64,
    .stub_bytes = 8,
    .want = want,
    .width = width,
    .apply = apply,
    .stub = stub,
};
