/* Names in scopes. One chained hash table for all open scopes; closing a scope takes its names out
 * again, newest first.
 * `.reg .b32 %r<100>` is one entry under its prefix: a register's number is read from its name.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "ptx/ptx_int.h"

void ptx_symtab_finish(struct ptx_symtab *t)
{
    weir_free(t->buckets);
    memset(t, 0, sizeof *t);
}

static uint32_t hash_name(const char *s, size_t n)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ n, w;

    for (; n >= 8; s += 8, n -= 8) {
        memcpy(&w, s, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    w = 0;
    for (size_t i = 0; i < n; i++)
        w = w << 8 | (unsigned char)s[i];
    h = (h ^ w) * 0xff51afd7ed558ccdu;
    return (uint32_t)(h >> 32);
}

static struct ptx_sym *find(const struct ptx_symtab *t, const char *s, size_t n, bool range)
{
    uint32_t h = hash_name(s, n);

    if (!t->bucket_count)
        return NULL;
    for (struct ptx_sym *y = t->buckets[h & (t->bucket_count - 1)]; y; y = y->next) {
        if (y->hash == h && y->len == n && (y->kind == PTX_SYM_REG_RANGE) == range &&
            memcmp(y->name, s, n) == 0)
            return y;
    }
    return NULL;
}

struct ptx_sym *ptx_sym_find(const struct ptx_parser *p, struct ptx_str name)
{
    return find(&p->syms, name.s, name.n, false);
}

/* Splits "%r12" into prefix and number; false when the name does not end in a plain number. */
static bool split_number(struct ptx_str name, size_t *prefix, uint32_t *number)
{
    size_t i = name.n;
    uint32_t v = 0;

    while (i > 1 && name.s[i - 1] >= '0' && name.s[i - 1] <= '9')
        i--;
    if (i == name.n || name.n - i > 7 || (name.s[i] == '0' && name.n - i > 1))
        return false;
    for (size_t k = i; k < name.n; k++)
        v = v * 10 + (uint32_t)(name.s[k] - '0');
    *prefix = i;
    *number = v;
    return true;
}

static const struct ptx_sym *find_range(const struct ptx_symtab *t, struct ptx_str name,
                                        uint32_t *number)
{
    size_t prefix;
    const struct ptx_sym *y;

    if (!split_number(name, &prefix, number))
        return NULL;
    y = find(t, name.s, prefix, true);
    for (; y;
         y = y->next) { /* an inner scope's shorter range must not hide an outer one's registers */
        if (y->kind == PTX_SYM_REG_RANGE && y->len == prefix && *number < y->range &&
            memcmp(y->name, name.s, prefix) == 0)
            return y;
    }
    return NULL;
}

int32_t ptx_sym_reg(const struct ptx_parser *p, struct ptx_str name)
{
    uint32_t number;
    const struct ptx_sym *range = find_range(&p->syms, name, &number), *one;

    if (range && range->depth == p->syms.depth)
        return range->reg + (int32_t)number;
    one = find(&p->syms, name.s, name.n, false);
    if (one && one->kind == PTX_SYM_REG && (!range || one->depth > range->depth))
        return one->reg;
    return range && !(one && one->depth > range->depth) ? range->reg + (int32_t)number : -1;
}

static bool grow(struct ptx_parser *p)
{
    struct ptx_symtab *t = &p->syms;
    size_t n = t->bucket_count ? t->bucket_count * 2 : 1024;
    struct ptx_sym **b = weir_calloc(n, sizeof *b);

    if (!b)
        return ptx_fail_memory(p);
    for (size_t i = 0; i < t->bucket_count; i++) {
        struct ptx_sym *y = t->buckets[i], *next, *lists[2] = {NULL, NULL},
                       **tails[2] = {&lists[0], &lists[1]};

        /* Order within a bucket matters: inner scopes first. */
        for (; y; y = next) {
            int high = (y->hash & t->bucket_count) != 0;

            next = y->next;
            y->next = NULL;
            *tails[high] = y;
            tails[high] = &y->next;
        }
        b[i] = lists[0];
        b[i + t->bucket_count] = lists[1];
    }
    weir_free(t->buckets);
    t->buckets = b;
    t->bucket_count = n;
    return true;
}

/* Is the name taken in the innermost scope, by itself or by a range? */
static bool is_taken(const struct ptx_parser *p, struct ptx_str name, enum ptx_sym_kind kind)
{
    const struct ptx_sym *y = find(&p->syms, name.s, name.n, kind == PTX_SYM_REG_RANGE);
    uint32_t number;

    if (y && y->depth == p->syms.depth)
        return true;
    if (kind == PTX_SYM_REG_RANGE)
        return false;
    y = find_range(&p->syms, name, &number);
    return y && y->depth == p->syms.depth;
}

struct ptx_sym *ptx_sym_add(struct ptx_parser *p, const char *name, size_t len,
                            enum ptx_sym_kind kind, void *ptr)
{
    struct ptx_symtab *t = &p->syms;
    struct ptx_sym *y;
    size_t b;

    if (is_taken(p, (struct ptx_str){name, len}, kind)) {
        ptx_fail(p, "'%.*s' is defined twice", (int)WEIR_MIN(len, (size_t)120), name);
        return NULL;
    }
    if (t->count >= t->bucket_count && !grow(p))
        return NULL;
    y = weir_arena_alloc(&p->scratch, sizeof *y);
    if (!y) {
        ptx_fail_memory(p);
        return NULL;
    }
    y->name = name;
    y->len = (uint32_t)len;
    y->hash = hash_name(name, len);
    y->kind = (uint8_t)kind;
    y->depth = (uint8_t)t->depth;
    y->ptr = ptr;
    b = y->hash & (t->bucket_count - 1);
    y->next = t->buckets[b];
    t->buckets[b] = y;
    y->older = t->newest;
    t->newest = y;
    t->count++;
    return y;
}

bool ptx_scope_open(struct ptx_parser *p)
{
    if (p->syms.depth + 1 > PTX_MAX_DEPTH)
        return ptx_fail(p, "more than %u nested scopes", PTX_MAX_DEPTH);
    p->syms.depth++;
    return true;
}

void ptx_scope_close(struct ptx_parser *p)
{
    struct ptx_symtab *t = &p->syms;

    while (t->newest && t->newest->depth == t->depth) {
        struct ptx_sym *y = t->newest;

        /* Only younger names stood before it in its bucket, and those are gone. */
        t->buckets[y->hash & (t->bucket_count - 1)] = y->next;
        t->newest = y->older;
        t->count--;
    }
    t->depth--;
}
