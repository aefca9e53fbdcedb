/* How many bytes an x86-64 instruction accesses. Only what compilers use for data, and in doubt one
 * byte: too few may hide an access, too many would invent one. Intel's manual, volume 2, is the
 * source of the encodings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/compiler.h"
#include "core/host_fault.h"

struct insn {
    const uint8_t *at;
    bool size16, repne, rep, rex_w;
    uint8_t map;    /* 1: 0F, 2: 0F 38, 3: 0F 3A; 0: none */
    uint8_t vector; /* bytes of a vector register of a VEX or EVEX form, else 0 */
    bool evex, masked, broadcast;
    uint8_t opcode, modrm;
};

static void prefixes(struct insn *i)
{
    for (int n = 0; n < 14; n++) {
        switch (*i->at) {
        case 0x66:
            i->size16 = true;
            break;
        case 0xf2:
            i->repne = true;
            break;
        case 0xf3:
            i->rep = true;
            break;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
        case 0x67:
        case 0xf0:
            break;
        default:
            return;
        }
        i->at++;
    }
}

static void simd_prefix(struct insn *i, unsigned pp)
{
    i->size16 = pp == 1;
    i->rep = pp == 2;
    i->repne = pp == 3;
}

/* VEX of two and three bytes, EVEX. */
static void vector_prefix(struct insn *i)
{
    const uint8_t *p = i->at;

    if (p[0] == 0xc5) {
        i->map = 1;
        i->vector = p[1] & 4 ? 32 : 16;
        simd_prefix(i, p[1] & 3);
        i->at += 2;
    } else if (p[0] == 0xc4) {
        i->map = p[1] & 31;
        i->rex_w = p[2] & 0x80;
        i->vector = p[2] & 4 ? 32 : 16;
        simd_prefix(i, p[2] & 3);
        i->at += 3;
    } else {
        i->evex = true;
        i->map = p[1] & 7;
        i->rex_w = p[2] & 0x80;
        simd_prefix(i, p[2] & 3);
        i->vector = (uint8_t)(16u << WEIR_MIN(p[3] >> 5 & 3, 2));
        i->masked = p[3] & 7;
        i->broadcast = p[3] & 16;
        i->at += 4;
    }
}

static void decode(struct insn *i)
{
    prefixes(i);
    if (*i->at == 0xc4 || *i->at == 0xc5 || *i->at == 0x62) {
        vector_prefix(i);
    } else {
        if ((*i->at & 0xf0) == 0x40)
            i->rex_w = *i->at++ & 8;
        if (*i->at == 0x0f) {
            i->at++;
            i->map = *i->at == 0x38 ? 2 : *i->at == 0x3a ? 3 : 1;
            i->at += i->map > 1;
        }
    }
    i->opcode = i->at[0];
    i->modrm = i->at[1];
}

static size_t operand(const struct insn *i)
{
    return i->rex_w ? 8 : i->size16 ? 2 : 4;
}

/* x87: by the opcode and the second field of the byte behind it. */
static size_t x87(const struct insn *i)
{
    unsigned reg = i->modrm >> 3 & 7;

    switch (i->opcode) {
    case 0xd8:
    case 0xda:
        return 4;
    case 0xd9:
        return reg <= 3 && reg != 1 ? 4 : reg == 5 || reg == 7 ? 2 : 1;
    case 0xdb:
        return reg == 5 || reg == 7 ? 10 : 4;
    case 0xdc:
        return 8;
    case 0xdd:
        return reg <= 3 ? 8 : 1;
    case 0xdf:
        return reg == 5 || reg == 7 ? 8 : reg == 4 || reg == 6 ? 10 : 2;
    default:
        return 2;
    }
}

static size_t plain(const struct insn *i)
{
    unsigned reg = i->modrm >> 3 & 7;

    if (i->opcode < 0x40)
        return i->opcode & 1 ? operand(i) : 1;
    switch (i->opcode) {
    case 0x63: /* movsxd */
        return 4;
    case 0x69:
    case 0x6b:
    case 0x81:
    case 0x83:
    case 0x85:
    case 0x87:
    case 0x89:
    case 0x8b:
    case 0xa5:
    case 0xa7:
    case 0xab:
    case 0xad:
    case 0xaf:
    case 0xc1:
    case 0xc7:
    case 0xd1:
    case 0xd3:
    case 0xf7:
        return operand(i);
    case 0x8f:
        return 8;
    case 0xff:
        return reg >= 2 ? 8 : operand(i);
    default:
        return i->opcode >= 0xd8 && i->opcode <= 0xdf ? x87(i) : 1;
    }
}

/* Of one element, or of a vector: by the prefix. */
static size_t scalar_or_vector(const struct insn *i)
{
    if (i->rep)
        return 4;
    if (i->repne)
        return 8;
    return i->vector ? i->vector : 16;
}

static size_t two_byte(const struct insn *i)
{
    size_t vector = i->vector ? i->vector : 16;

    switch (i->opcode) {
    case 0x12: /* halves; F2 and F3 duplicate */
    case 0x16:
        return i->rep ? vector : 8;
    case 0x13:
    case 0x17:
        return 8;
    case 0x14:
    case 0x15:
    case 0x28:
    case 0x29:
    case 0x2b:
    case 0xf0:
    case 0xc6:
        return vector;
    case 0x2a:
    case 0xc3: /* movnti */
        return i->rex_w ? 8 : 4;
    case 0x2c:
    case 0x2d:
        return i->repne ? 8 : 4;
    case 0x2e:
    case 0x2f:
        return i->size16 ? 8 : 4;
    case 0x6e:
        return i->rex_w ? 8 : 4;
    case 0x7e:
        return i->rep || i->rex_w ? 8 : 4;
    case 0xd6:
        return 8;
    case 0xaf:
    case 0xb1:
    case 0xc1:
        return operand(i);
    case 0xb6:
    case 0xbe:
        return 1;
    case 0xb7:
    case 0xbf:
        return 2;
    case 0xc7:
        return i->rex_w ? 16 : 8;
    case 0x10:
    case 0x11:
    case 0x51:
    case 0xc2:
        return scalar_or_vector(i);
    default:
        break;
    }
    if (i->opcode >= 0x40 && i->opcode <= 0x4f && !i->vector) /* cmov */
        return operand(i);
    if (i->opcode >= 0x54 && i->opcode <= 0x5f)
        return i->opcode == 0x5a && !i->rep && !i->repne && !i->size16 ? vector / 2
                                                                       : scalar_or_vector(i);
    if (i->opcode == 0x6f || i->opcode == 0x7f || i->opcode == 0xe7)
        return i->vector || i->size16 || i->rep ? vector : 8;
    /* Integer vectors. Shifts read 16 bytes for the count. */
    if (i->opcode >= 0xd1 && ((i->opcode & 0x0f) - 1u < 3 || i->opcode == 0xe6))
        return 1;
    if ((i->opcode >= 0x60 && i->opcode <= 0x6d) || (i->opcode >= 0x74 && i->opcode <= 0x76) ||
        (i->opcode >= 0xd4 && i->opcode <= 0xfe))
        return i->vector || i->size16 ? vector : 8;
    return 1;
}

size_t weir_host_insn_bytes(const uint8_t *code)
{
    struct insn i = {.at = code};

    decode(&i);
    if (i.broadcast)
        return i.rex_w ? 8 : 4;
    if (i.masked)
        return 1;
    if (i.map == 0)
        return plain(&i);
    return i.map == 1 ? two_byte(&i) : 1;
}
