/* The line of a place in a compiled object. Source: DWARF 4, 6.2 "Line Number Information".
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/object.h"

/* What is left of a table; `bad` once something was asked for that is not there. */
struct bytes {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t take(struct bytes *b, unsigned n)
{
    uint64_t v = 0;

    if ((size_t)(b->end - b->at) < n) {
        b->bad = true;
        b->at = b->end;
        return 0;
    }
    memcpy(&v, b->at, n); /* little endian, as what it describes */
    b->at += n;
    return v;
}

static uint64_t take_leb(struct bytes *b, bool is_signed)
{
    uint64_t v = 0, byte;
    unsigned shift = 0;

    do {
        byte = take(b, 1);
        if (shift < 64)
            v |= (byte & 127) << shift;
        shift += 7;
    } while (byte & 128);
    if (is_signed && byte & 64 && shift < 64)
        v |= ~(uint64_t)0 << shift;
    return v;
}

struct header {
    uint8_t min_length, line_range, opcode_base, operands[256];
    int8_t line_base;
};

/* Of a version that is known: b is what follows the header, to the unit's end. */
static bool read_header(struct bytes *b, struct header *h)
{
    uint64_t length = take(b, 4), skip;
    unsigned version;

    if (b->bad || length > (uint64_t)(b->end - b->at))
        return false;
    b->end = b->at + length;
    version = (unsigned)take(b, 2);
    skip = take(b, 4);
    if (b->bad || version < 2 || version > 4 || skip > (uint64_t)(b->end - b->at))
        return false;
    struct bytes in = {b->at, b->at + skip, false};
    b->at += skip;
    h->min_length = (uint8_t)take(&in, 1);
    if (version >= 4)
        (void)take(&in, 1); /* operations of an instruction: 1 */
    (void)take(&in, 1);
    h->line_base = (int8_t)take(&in, 1);
    h->line_range = (uint8_t)take(&in, 1);
    h->opcode_base = (uint8_t)take(&in, 1);
    for (unsigned k = 1; k < h->opcode_base; k++)
        h->operands[k] = (uint8_t)take(&in, 1);
    return !in.bad && h->line_range && h->opcode_base >= 10;
}

/* The state of the machine, and the row before. */
struct machine {
    uint64_t address, last_address, wanted;
    int64_t line, last_line;
    uint32_t section, wanted_section; /* that the address is in; 0 unknown */
    bool has_last;
    uint32_t found;
};

static void row(struct machine *m)
{
    if (m->has_last && m->section == m->wanted_section && m->last_address <= m->wanted &&
        m->wanted < m->address && m->last_line > 0)
        m->found = (uint32_t)m->last_line;
    m->has_last = true;
    m->last_address = m->address;
    m->last_line = m->line;
}

static void start_sequence(struct machine *m)
{
    m->address = 0;
    m->line = 1;
    m->section = 0;
    m->has_last = false;
}

/* Addresses are relocations: against a section or a symbol in it. */
static void set_address(const struct weir_object *o, uint32_t table, uint64_t place,
                        struct machine *m)
{
    Elf64_Rela r;
    Elf64_Sym s;

    m->section = 0;
    for (size_t n = 0; weir_object_relocation(o, table, n, &r, &s); n++) {
        if (r.r_offset != place)
            continue;
        m->section = s.st_shndx;
        m->address = s.st_value + (uint64_t)r.r_addend;
        return;
    }
}

static void extended(const struct weir_object *o, uint32_t table, const unsigned char *begin,
                     struct bytes *b, struct machine *m)
{
    uint64_t length = take_leb(b, false);
    const unsigned char *next;

    if (b->bad || length == 0 || length > (uint64_t)(b->end - b->at)) {
        b->bad = true;
        return;
    }
    next = b->at + length;
    switch (take(b, 1)) {
    case 1: /* the sequence ends */
        row(m);
        start_sequence(m);
        break;
    case 2:
        set_address(o, table, (uint64_t)(b->at - begin), m);
        break;
    default:
        break;
    }
    b->at = next;
}

static void standard(const struct header *h, unsigned opcode, struct bytes *b, struct machine *m)
{
    switch (opcode) {
    case 1: /* copy */
        row(m);
        break;
    case 2: /* advance_pc */
        m->address += take_leb(b, false) * h->min_length;
        break;
    case 3: /* advance_line */
        m->line = (int64_t)((uint64_t)m->line + take_leb(b, true));
        break;
    case 8: /* const_add_pc */
        m->address += (uint64_t)((255 - h->opcode_base) / h->line_range) * h->min_length;
        break;
    case 9: /* fixed_advance_pc */
        m->address += take(b, 2);
        break;
    default: /* what neither moves the address nor the line */
        for (unsigned k = 0; k < h->operands[opcode]; k++)
            (void)take_leb(b, false);
    }
}

static void special(const struct header *h, unsigned opcode, struct machine *m)
{
    unsigned n = opcode - h->opcode_base;

    m->address += (uint64_t)(n / h->line_range) * h->min_length;
    m->line += h->line_base + (int)(n % h->line_range);
    row(m);
}

uint32_t weir_object_line(const struct weir_object *o, const char *function, uint64_t offset)
{
    uint32_t table = weir_object_section_named(o, ".debug_line");
    struct machine m = {0};
    struct header h;
    Elf64_Shdr s;
    Elf64_Sym f;

    if (!table || !weir_object_section(o, table, &s) || s.sh_type == SHT_NOBITS ||
        !weir_object_symbol(o, function, &f))
        return 0;
    m.wanted = f.st_value + offset;
    m.wanted_section = f.st_shndx;
    const unsigned char *begin = o->data + s.sh_offset;
    struct bytes all = {begin, begin + s.sh_size, false};
    while (all.at < all.end && !m.found) {
        struct bytes b = all;

        if (!read_header(&b, &h))
            return 0;
        all.at = b.end;
        start_sequence(&m);
        while (b.at < b.end && !b.bad && !m.found) {
            unsigned opcode = (unsigned)take(&b, 1);

            if (opcode == 0)
                extended(o, table, begin, &b, &m);
            else if (opcode < h.opcode_base)
                standard(&h, opcode, &b, &m);
            else
                special(&h, opcode, &m);
        }
    }
    return m.found;
}
