/* Characters to tokens. The text is a private copy that ends with a zero byte, so that looking at
 * *pos is always allowed. Tokens have no struct of their own: the parser asks for what may stand
 * next.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx_int.h"

enum { C_IDENT = 1, C_DIGIT = 2, C_SPACE = 4, C_HEX = 8 };

static const unsigned char char_class[256] = {
    ['0'] = C_IDENT | C_DIGIT | C_HEX,
    ['1'] = C_IDENT | C_DIGIT | C_HEX,
    ['2'] = C_IDENT | C_DIGIT | C_HEX,
    ['3'] = C_IDENT | C_DIGIT | C_HEX,
    ['4'] = C_IDENT | C_DIGIT | C_HEX,
    ['5'] = C_IDENT | C_DIGIT | C_HEX,
    ['6'] = C_IDENT | C_DIGIT | C_HEX,
    ['7'] = C_IDENT | C_DIGIT | C_HEX,
    ['8'] = C_IDENT | C_DIGIT | C_HEX,
    ['9'] = C_IDENT | C_DIGIT | C_HEX,
    ['a'] = C_IDENT | C_HEX,
    ['b'] = C_IDENT | C_HEX,
    ['c'] = C_IDENT | C_HEX,
    ['d'] = C_IDENT | C_HEX,
    ['e'] = C_IDENT | C_HEX,
    ['f'] = C_IDENT | C_HEX,
    ['A'] = C_IDENT | C_HEX,
    ['B'] = C_IDENT | C_HEX,
    ['C'] = C_IDENT | C_HEX,
    ['D'] = C_IDENT | C_HEX,
    ['E'] = C_IDENT | C_HEX,
    ['F'] = C_IDENT | C_HEX,
    ['g'] = C_IDENT,
    ['h'] = C_IDENT,
    ['i'] = C_IDENT,
    ['j'] = C_IDENT,
    ['k'] = C_IDENT,
    ['l'] = C_IDENT,
    ['m'] = C_IDENT,
    ['n'] = C_IDENT,
    ['o'] = C_IDENT,
    ['p'] = C_IDENT,
    ['q'] = C_IDENT,
    ['r'] = C_IDENT,
    ['s'] = C_IDENT,
    ['t'] = C_IDENT,
    ['u'] = C_IDENT,
    ['v'] = C_IDENT,
    ['w'] = C_IDENT,
    ['x'] = C_IDENT,
    ['y'] = C_IDENT,
    ['z'] = C_IDENT,
    ['G'] = C_IDENT,
    ['H'] = C_IDENT,
    ['I'] = C_IDENT,
    ['J'] = C_IDENT,
    ['K'] = C_IDENT,
    ['L'] = C_IDENT,
    ['M'] = C_IDENT,
    ['N'] = C_IDENT,
    ['O'] = C_IDENT,
    ['P'] = C_IDENT,
    ['Q'] = C_IDENT,
    ['R'] = C_IDENT,
    ['S'] = C_IDENT,
    ['T'] = C_IDENT,
    ['U'] = C_IDENT,
    ['V'] = C_IDENT,
    ['W'] = C_IDENT,
    ['X'] = C_IDENT,
    ['Y'] = C_IDENT,
    ['Z'] = C_IDENT,
    ['_'] = C_IDENT,
    ['$'] = C_IDENT,
    [' '] = C_SPACE,
    ['\t'] = C_SPACE,
    ['\r'] = C_SPACE,
    ['\n'] = C_SPACE,
    ['\f'] = C_SPACE,
    ['\v'] = C_SPACE,
};

static inline unsigned class_of(char c)
{
    return char_class[(unsigned char)c];
}

bool ptx_is_ident_char(char c)
{
    return (class_of(c) & C_IDENT) != 0;
}

bool ptx_is(struct ptx_str s, const char *name)
{
    return strncmp(s.s, name, s.n) == 0 && name[s.n] == 0;
}

int ptx_column(const struct ptx_parser *p, const char *at)
{
    ptrdiff_t n = at - p->line_start;

    return n >= 0 && n < 1000000
               ? (int)n + 1
               : 1; /* a token that began on an earlier line: its column is lost */
}

static void note_error(struct ptx_parser *p, enum weir_err code, const char *fmt, va_list ap)
{
    if (p->code != WEIR_OK)
        return; /* the first one counts */
    p->code = code;
    if (!p->error)
        return;
    p->error->line = p->line;
    p->error->column = ptx_column(p, p->tok ? p->tok : p->pos);
    vsnprintf(p->error->message, sizeof p->error->message, fmt, ap);
}

bool ptx_fail(struct ptx_parser *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    note_error(p, WEIR_ERR_INVALID_PTX, fmt, ap);
    va_end(ap);
    return false;
}

bool ptx_fail_code(struct ptx_parser *p, enum weir_err code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    note_error(p, code, fmt, ap);
    va_end(ap);
    return false;
}

bool ptx_fail_memory(struct ptx_parser *p)
{
    return ptx_fail_code(p, WEIR_ERR_MEMORY_ALLOCATION,
                         "out of memory, or the module is larger than its text allows");
}

void *ptx_new(struct ptx_parser *p, size_t bytes)
{
    void *v = weir_arena_alloc(&p->m->arena, bytes);

    if (!v)
        ptx_fail_memory(p);
    return v;
}

const char *ptx_copy_str(struct ptx_parser *p, struct ptx_str s)
{
    const char *c = weir_arena_strndup(&p->m->arena, s.s, s.n);

    if (!c)
        ptx_fail_memory(p);
    return c;
}

static void skip_block_comment(struct ptx_parser *p)
{
    p->pos += 2;
    while (p->pos < p->end && !(p->pos[0] == '*' && p->pos[1] == '/')) {
        if (*p->pos == '\n') {
            p->line++;
            p->line_start = p->pos + 1;
        }
        p->pos++;
    }
    if (p->pos < p->end)
        p->pos += 2;
}

void ptx_skip(struct ptx_parser *p)
{
    for (;;) {
        while (class_of(*p->pos) & C_SPACE) {
            if (*p->pos == '\n') {
                p->line++;
                p->line_start = p->pos + 1;
            }
            p->pos++;
        }
        if (*p->pos != '/')
            break;
        if (p->pos[1] == '/') {
            const char *nl = memchr(p->pos, '\n', (size_t)(p->end - p->pos));

            p->pos = nl ? nl : p->end;
        } else if (p->pos[1] == '*') {
            skip_block_comment(p);
        } else {
            break;
        }
    }
    p->tok = p->pos;
}

bool ptx_accept(struct ptx_parser *p, char c)
{
    ptx_skip(p);
    if (*p->pos != c)
        return false;
    p->pos++;
    return true;
}

/* What stands at p->pos, for messages: at most 20 characters of it. */
static const char *found(const struct ptx_parser *p, char buf[32])
{
    size_t n = 0;

    if (p->pos >= p->end)
        return "the end of the text";
    buf[n++] = '\'';
    do {
        char c = p->pos[n - 1];

        buf[n++] = c >= ' ' && c < 127 ? c : '?';
    } while (n < 21 && p->pos + n - 1 < p->end && class_of(p->pos[n - 2]) & C_IDENT &&
             class_of(p->pos[n - 1]) & C_IDENT);
    buf[n++] = '\'';
    buf[n] = 0;
    return buf;
}

bool ptx_expect(struct ptx_parser *p, char c)
{
    char buf[32];

    if (ptx_accept(p, c))
        return true;
    return ptx_fail(p, "'%c' expected, found %s", c, found(p, buf));
}

bool ptx_peek_ident(struct ptx_parser *p)
{
    ptx_skip(p);
    if (*p->pos == '%')
        return ptx_is_ident_char(p->pos[1]);
    return (class_of(*p->pos) & (C_IDENT | C_DIGIT)) == C_IDENT;
}

bool ptx_ident(struct ptx_parser *p, struct ptx_str *out, const char *what)
{
    char buf[32];
    const char *s;

    if (!ptx_peek_ident(p))
        return ptx_fail(p, "%s expected, found %s", what, found(p, buf));
    s = p->pos++;
    while (class_of(*p->pos) & C_IDENT)
        p->pos++;
    *out = (struct ptx_str){s, (size_t)(p->pos - s)};
    return true;
}

bool ptx_directive(struct ptx_parser *p, struct ptx_str *out)
{
    const char *s;

    ptx_skip(p);
    if (*p->pos != '.' || !(class_of(p->pos[1]) & C_IDENT))
        return false;
    s = ++p->pos;
    while (class_of(*p->pos) & C_IDENT || (p->pos[0] == ':' && p->pos[1] == ':'))
        p->pos += *p->pos == ':' ? 2 : 1;
    *out = (struct ptx_str){s, (size_t)(p->pos - s)};
    return true;
}

bool ptx_expect_directive(struct ptx_parser *p, struct ptx_str *s, const char *what)
{
    return ptx_directive(p, s) || ptx_fail(p, "%s expected", what);
}

bool ptx_string(struct ptx_parser *p, struct ptx_str *out)
{
    const char *s;
    char buf[32];

    ptx_skip(p);
    if (*p->pos != '"')
        return ptx_fail(p, "a string expected, found %s", found(p, buf));
    s = ++p->pos;
    while (*p->pos != '"') {
        if (p->pos >= p->end || *p->pos == '\n')
            return ptx_fail(p, "a string without its end");
        if (*p->pos == '\\' && p->pos[1] != '\n' && p->pos + 1 < p->end)
            p->pos++;
        p->pos++;
    }
    *out = (struct ptx_str){s, (size_t)(p->pos - s)};
    p->pos++;
    return true;
}

static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 99;
}

static bool integer_digits(struct ptx_parser *p, unsigned base, int64_t *imm)
{
    uint64_t v = 0;
    const char *s = p->pos;

    for (; digit_value(*p->pos) < base; p->pos++) {
        unsigned d = digit_value(*p->pos);

        if (v > (UINT64_MAX - d) / base)
            return ptx_fail(p, "an integer constant does not fit in 64 bits");
        v = v * base + d;
    }
    if (p->pos == s)
        return ptx_fail(p, "digits expected in a number");
    if (*p->pos == 'U')
        p->pos++;
    if (ptx_is_ident_char(*p->pos))
        return ptx_fail(p, "'%c' in a number", *p->pos);
    *imm = (int64_t)v;
    return true;
}

/* 0f3F800000, 0d3FF0000000000000: the bits, all of them. */
static bool hex_float(struct ptx_parser *p, unsigned digits, int64_t *imm)
{
    uint64_t v = 0;

    p->pos += 2;
    for (unsigned i = 0; i < digits; i++, p->pos++) {
        if (!(class_of(*p->pos) & C_HEX))
            return ptx_fail(p, "a floating-point constant needs %u hexadecimal digits", digits);
        v = v << 4 | digit_value(*p->pos);
    }
    if (ptx_is_ident_char(*p->pos))
        return ptx_fail(p, "a floating-point constant has more than %u hexadecimal digits", digits);
    *imm = (int64_t)v;
    return true;
}

/* The program may have set a locale with a decimal comma: PTX is read in the C locale. */
static bool decimal_float(struct ptx_parser *p, int64_t *imm)
{
    char *stop;
    double d;

    if (!p->locale)
        p->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!p->locale)
        return ptx_fail_memory(p);
    d = strtod_l(p->pos, &stop, (locale_t)p->locale);
    if (stop <= p->pos || stop > p->end || ptx_is_ident_char(*stop))
        return ptx_fail(p, "a malformed floating-point constant");
    p->pos = stop;
    memcpy(imm, &d, sizeof d);
    return true;
}

bool ptx_number(struct ptx_parser *p, uint8_t *kind, int64_t *imm)
{
    const char *s = p->pos;

    *kind = WEIR_PTX_OPERAND_INT;
    if (!(class_of(*s) & C_DIGIT))
        return ptx_fail(p, "a number expected");
    if (*s == '0') {
        switch (s[1]) {
        case 'x':
        case 'X':
            p->pos += 2;
            return integer_digits(p, 16, imm);
        case 'b':
        case 'B':
            p->pos += 2;
            return integer_digits(p, 2, imm);
        case 'f':
        case 'F':
            *kind = WEIR_PTX_OPERAND_F32;
            return hex_float(p, 8, imm);
        case 'd':
        case 'D':
            *kind = WEIR_PTX_OPERAND_F64;
            return hex_float(p, 16, imm);
        default:
            break;
        }
    }
    while (class_of(*s) & C_DIGIT)
        s++;
    if (*s == '.' || *s == 'e' || *s == 'E') {
        *kind = WEIR_PTX_OPERAND_F64;
        return decimal_float(p, imm);
    }
    return integer_digits(p, *p->pos == '0' ? 8 : 10, imm);
}
