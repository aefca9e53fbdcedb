/* Names and properties of types, spaces, opcodes and special registers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "ptx/ptx_int.h"

static const struct {
    const char *name;
    uint8_t bits;
    bool is_float, is_signed;
} type_table[WEIR_PTX_TYPE_COUNT] = {
    [WEIR_PTX_NONE] = {"none", 0, false, false},
    [WEIR_PTX_U8] = {"u8", 8, false, false},
    [WEIR_PTX_U16] = {"u16", 16, false, false},
    [WEIR_PTX_U32] = {"u32", 32, false, false},
    [WEIR_PTX_U64] = {"u64", 64, false, false},
    [WEIR_PTX_S8] = {"s8", 8, false, true},
    [WEIR_PTX_S16] = {"s16", 16, false, true},
    [WEIR_PTX_S32] = {"s32", 32, false, true},
    [WEIR_PTX_S64] = {"s64", 64, false, true},
    [WEIR_PTX_B8] = {"b8", 8, false, false},
    [WEIR_PTX_B16] = {"b16", 16, false, false},
    [WEIR_PTX_B32] = {"b32", 32, false, false},
    [WEIR_PTX_B64] = {"b64", 64, false, false},
    [WEIR_PTX_B128] = {"b128", 128, false, false},
    [WEIR_PTX_F16] = {"f16", 16, true, true},
    [WEIR_PTX_F16X2] = {"f16x2", 32, true, true},
    [WEIR_PTX_BF16] = {"bf16", 16, true, true},
    [WEIR_PTX_BF16X2] = {"bf16x2", 32, true, true},
    [WEIR_PTX_TF32] = {"tf32", 32, true, true},
    [WEIR_PTX_F32] = {"f32", 32, true, true},
    [WEIR_PTX_F32X2] = {"f32x2", 64, true, true},
    [WEIR_PTX_F64] = {"f64", 64, true, true},
    [WEIR_PTX_E4M3X2] = {"e4m3x2", 16, true, true},
    [WEIR_PTX_E5M2X2] = {"e5m2x2", 16, true, true},
    [WEIR_PTX_U16X2] = {"u16x2", 32, false, false},
    [WEIR_PTX_S16X2] = {"s16x2", 32, false, true},
    [WEIR_PTX_PRED] = {"pred", 1, false, false},
    [WEIR_PTX_OPAQUE] = {"texref", 64, false, false},
};

unsigned weir_ptx_type_bits(enum weir_ptx_type t)
{
    return (unsigned)t < WEIR_PTX_TYPE_COUNT ? type_table[t].bits : 0;
}

bool weir_ptx_type_is_float(enum weir_ptx_type t)
{
    return (unsigned)t < WEIR_PTX_TYPE_COUNT && type_table[t].is_float;
}

bool weir_ptx_type_is_signed(enum weir_ptx_type t)
{
    return (unsigned)t < WEIR_PTX_TYPE_COUNT && type_table[t].is_signed;
}

const char *weir_ptx_type_name(enum weir_ptx_type t)
{
    return (unsigned)t < WEIR_PTX_TYPE_COUNT ? type_table[t].name : "?";
}

enum weir_ptx_type ptx_type_by_name(struct ptx_str s)
{
    if (ptx_is(s, "texref") || ptx_is(s, "samplerref") || ptx_is(s, "surfref"))
        return WEIR_PTX_OPAQUE;
    for (int t = WEIR_PTX_NONE + 1; t < WEIR_PTX_OPAQUE; t++) {
        if (type_table[t].name[0] == s.s[0] && ptx_is(s, type_table[t].name))
            return (enum weir_ptx_type)t;
    }
    return WEIR_PTX_NONE;
}

const char *ptx_space_name(enum weir_ptx_space s)
{
    static const char *const names[] = {"generic", "reg",    "const", "global",         "local",
                                        "param",   "shared", "tex",   "shared::cluster"};

    return (unsigned)s < WEIR_ARRAY_SIZE(names) ? names[s] : "?";
}

const char *weir_ptx_opcode_name(enum weir_ptx_opcode op)
{
    static const char *const names[] = {
#define WEIR_PTX_OP(name, ...) #name,
#include "ptx/ptx_ops.def"
#undef WEIR_PTX_OP
    };

    return (unsigned)op < WEIR_PTX_OP_COUNT ? names[op] : "?";
}

static const struct {
    const char *name;
    uint8_t len;
} sreg_table[] = {
#define WEIR_PTX_SREG(name, type) {#name, sizeof(#name) - 1},
#include "ptx/ptx_sregs.def"
#undef WEIR_PTX_SREG
};

static bool is_vector_sreg(unsigned r)
{
    switch (r) {
    case WEIR_PTX_SREG_tid:
    case WEIR_PTX_SREG_ntid:
    case WEIR_PTX_SREG_ctaid:
    case WEIR_PTX_SREG_nctaid:
    case WEIR_PTX_SREG_clusterid:
    case WEIR_PTX_SREG_nclusterid:
    case WEIR_PTX_SREG_cluster_ctaid:
    case WEIR_PTX_SREG_cluster_nctaid:
        return true;
    default:
        return false;
    }
}

/* "12" -> 12; -1 when it is no number below `limit`. */
static int small_number(const char *s, size_t n, int limit)
{
    int v = 0;

    if (n < 1 || n > 2)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return -1;
        v = v * 10 + (s[i] - '0');
    }
    return v < limit ? v : -1;
}

static const char *const smem_offset_names[] = {"begin", "end", "cap", "0", "1"};

/* Registers with a number or a word inside their name. */
static bool numbered_sreg(struct ptx_str s, struct weir_ptx_operand *out)
{
    int v = -1;
    unsigned reg = 0;

    if (s.n > 6 && memcmp(s.s, "envreg", 6) == 0) {
        reg = WEIR_PTX_SREG_envreg;
        v = small_number(s.s + 6, s.n - 6, 32);
    } else if (s.n == 6 && memcmp(s.s, "pm", 2) == 0 && memcmp(s.s + 3, "_64", 3) == 0) {
        reg = WEIR_PTX_SREG_pm_64;
        v = small_number(s.s + 2, 1, 8);
    } else if (s.n == 3 && memcmp(s.s, "pm", 2) == 0) {
        reg = WEIR_PTX_SREG_pm;
        v = small_number(s.s + 2, 1, 8);
    } else if (s.n > 21 && memcmp(s.s, "reserved_smem_offset_", 21) == 0) {
        struct ptx_str rest = {s.s + 21, s.n - 21};

        reg = WEIR_PTX_SREG_reserved_smem_offset;
        for (size_t i = 0; i < WEIR_ARRAY_SIZE(smem_offset_names); i++) {
            if (ptx_is(rest, smem_offset_names[i]))
                v = (int)i;
        }
    }
    if (v < 0)
        return false;
    out->sreg = (uint16_t)reg;
    out->element = (uint8_t)v;
    return true;
}

/* s has no '%'; the element (.x) is the caller's. Sets sreg, and count = 4 for vectors. */
bool ptx_sreg_by_name(struct ptx_str s, struct weir_ptx_operand *out)
{
    for (unsigned i = 0; i < WEIR_PTX_SREG_COUNT; i++) {
        if (sreg_table[i].len != s.n || memcmp(sreg_table[i].name, s.s, s.n) != 0)
            continue;
        if (i == WEIR_PTX_SREG_pm || i == WEIR_PTX_SREG_pm_64 || i == WEIR_PTX_SREG_envreg ||
            i == WEIR_PTX_SREG_reserved_smem_offset)
            return false; /* only with their number */
        out->sreg = (uint16_t)i;
        out->count = is_vector_sreg(i) ? 4 : 0;
        return true;
    }
    return numbered_sreg(s, out);
}

size_t ptx_sreg_name(const struct weir_ptx_operand *o, char *buf, size_t bytes)
{
    int n;
    unsigned e = o->element;

    switch (o->sreg) {
    case WEIR_PTX_SREG_envreg:
        n = snprintf(buf, bytes, "%%envreg%u", e);
        break;
    case WEIR_PTX_SREG_pm:
        n = snprintf(buf, bytes, "%%pm%u", e);
        break;
    case WEIR_PTX_SREG_pm_64:
        n = snprintf(buf, bytes, "%%pm%u_64", e);
        break;
    case WEIR_PTX_SREG_reserved_smem_offset:
        n = snprintf(buf, bytes, "%%reserved_smem_offset_%s", e < 5 ? smem_offset_names[e] : "?");
        break;
    default:
        if (o->sreg >= WEIR_PTX_SREG_COUNT)
            n = snprintf(buf, bytes, "%%?");
        else if (is_vector_sreg(o->sreg) && o->count == 0)
            n = snprintf(buf, bytes, "%%%s.%c", sreg_table[o->sreg].name, "xyzw"[e & 3]);
        else
            n = snprintf(buf, bytes, "%%%s", sreg_table[o->sreg].name);
    }
    return n < 0 ? 0 : (size_t)n;
}
