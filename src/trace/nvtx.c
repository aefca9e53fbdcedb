/* NVTX: programs that mark ranges load the library that NVTX_INJECTION64_PATH names and hand it
 * their table of functions; the ones below go into it. The interface's numbers and layouts are
 * declared here, as far as they are used.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/nvtx.h"

#include <stdatomic.h>
#include <string.h>
#include <wchar.h>

#include "base/alloc.h"
#include "trace/record.h"

enum { EXPORT_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3 };
#define COLOR_ARGB   1
#define DEFAULT_ARGB 0xff76b900u

typedef void (*function)(void);

struct callbacks {
    size_t bytes;
    int (*functions)(int module, function ***table, unsigned *size);
};

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *wide;
        const struct name *registered;
    } message;
};

/* A domain or a registered string: lives as long as the process. */
struct name {
    struct name *next; /* all names: NVTX gives them for good */
    struct weir_trace_text text;
};

static _Atomic uint64_t last_range;
static _Atomic(struct name *) names;

/* ---- texts ---- */

static struct weir_trace_text text_of(const char *s)
{
    return (struct weir_trace_text){s ? s : "", s ? strlen(s) : 0};
}

#define WIDE_MAX 512

/* Into UTF-8. */
static struct weir_trace_text narrow(const wchar_t *s, char out[WIDE_MAX])
{
    size_t n = 0;

    for (; s && *s && n + 4 < WIDE_MAX; s++) {
        uint32_t c = (uint32_t)*s;

        if (c < 0x80) {
            out[n++] = (char)c;
        } else if (c < 0x800) {
            out[n++] = (char)(0xc0 | c >> 6);
            out[n++] = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            out[n++] = (char)(0xe0 | c >> 12);
            out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
            out[n++] = (char)(0x80 | (c & 0x3f));
        } else {
            out[n++] = (char)(0xf0 | (c >> 18 & 7));
            out[n++] = (char)(0x80 | (c >> 12 & 0x3f));
            out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
            out[n++] = (char)(0x80 | (c & 0x3f));
        }
    }
    return (struct weir_trace_text){out, n};
}

static struct weir_trace_text message_of(const struct attributes *a, char room[WIDE_MAX])
{
    if (a->size < sizeof *a)
        return text_of(NULL);
    switch (a->message_type) {
    case MESSAGE_ASCII:
        return text_of(a->message.ascii);
    case MESSAGE_WIDE:
        return narrow(a->message.wide, room);
    case MESSAGE_REGISTERED:
        return a->message.registered ? a->message.registered->text : text_of(NULL);
    default:
        return text_of(NULL);
    }
}

static uint32_t color_of(const struct attributes *a)
{
    return a->color_type == COLOR_ARGB ? a->color : DEFAULT_ARGB;
}

static struct weir_trace_text domain_of(const struct name *domain)
{
    return domain ? domain->text : text_of(NULL);
}

static struct name *make_name(struct weir_trace_text text)
{
    struct name *n = weir_alloc(sizeof *n + text.bytes + 1);

    if (!n)
        return NULL;
    memcpy(n + 1, text.text, text.bytes);
    ((char *)(n + 1))[text.bytes] = '\0';
    n->text = (struct weir_trace_text){(char *)(n + 1), text.bytes};
    n->next = atomic_load_explicit(&names, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&names, &n->next, n, memory_order_release,
                                                  memory_order_relaxed))
        ;
    return n;
}

/* ---- what programs call ---- */

static void mark(const struct name *domain, struct weir_trace_text text, uint32_t color)
{
    if (weir_trace_enabled())
        weir_trace_nvtx_mark(domain_of(domain), text, color);
}

static int push(const struct name *domain, struct weir_trace_text text, uint32_t color)
{
    if (weir_trace_enabled())
        weir_trace_nvtx_begin(domain_of(domain), text, color, 0);
    return 0;
}

static uint64_t range(const struct name *domain, struct weir_trace_text text, uint32_t color)
{
    uint64_t id = atomic_fetch_add_explicit(&last_range, 1, memory_order_relaxed) + 1;

    if (weir_trace_enabled())
        weir_trace_nvtx_begin(domain_of(domain), text, color, id);
    return id;
}

static void domain_mark_ex(void *domain, const struct attributes *a)
{
    char room[WIDE_MAX];

    if (a)
        mark(domain, message_of(a, room), color_of(a));
}

static int domain_push_ex(void *domain, const struct attributes *a)
{
    char room[WIDE_MAX];

    return a ? push(domain, message_of(a, room), color_of(a)) : 0;
}

static int domain_pop(void *domain)
{
    if (weir_trace_enabled())
        weir_trace_nvtx_end(domain_of(domain), 0);
    return 0;
}

static uint64_t domain_start_ex(void *domain, const struct attributes *a)
{
    char room[WIDE_MAX];

    return a ? range(domain, message_of(a, room), color_of(a)) : 0;
}

static void domain_end(void *domain, uint64_t id)
{
    if (id && weir_trace_enabled())
        weir_trace_nvtx_end(domain_of(domain), id);
}

static void mark_ex(const struct attributes *a)
{
    domain_mark_ex(NULL, a);
}

static void mark_a(const char *s)
{
    mark(NULL, text_of(s), DEFAULT_ARGB);
}

static void mark_w(const wchar_t *s)
{
    char room[WIDE_MAX];

    mark(NULL, narrow(s, room), DEFAULT_ARGB);
}

static int push_ex(const struct attributes *a)
{
    return domain_push_ex(NULL, a);
}

static int push_a(const char *s)
{
    return push(NULL, text_of(s), DEFAULT_ARGB);
}

static int push_w(const wchar_t *s)
{
    char room[WIDE_MAX];

    return push(NULL, narrow(s, room), DEFAULT_ARGB);
}

static int pop(void)
{
    return domain_pop(NULL);
}

static uint64_t start_ex(const struct attributes *a)
{
    return domain_start_ex(NULL, a);
}

static uint64_t start_a(const char *s)
{
    return range(NULL, text_of(s), DEFAULT_ARGB);
}

static uint64_t start_w(const wchar_t *s)
{
    char room[WIDE_MAX];

    return range(NULL, narrow(s, room), DEFAULT_ARGB);
}

static void end(uint64_t id)
{
    domain_end(NULL, id);
}

static void *create_a(const char *s)
{
    return make_name(text_of(s));
}

static void *create_w(const wchar_t *s)
{
    char room[WIDE_MAX];

    return make_name(narrow(s, room));
}

static void *register_a(void *domain, const char *s)
{
    (void)domain;
    return make_name(text_of(s));
}

static void *register_w(void *domain, const wchar_t *s)
{
    (void)domain;
    return create_w(s);
}

/* ---- the table; its functions have NVTX's types, where a domain and a string are opaque ---- */

struct entry {
    unsigned number;
    function f;
};

static bool fill(const struct callbacks *callbacks, int module, const struct entry *entries,
                 size_t count)
{
    function **table = NULL;
    unsigned size = 0;

    if (!callbacks->functions(module, &table, &size) || !table)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (entries[i].number < size && table[entries[i].number])
            *table[entries[i].number] = entries[i].f;
    }
    return true;
}

int weir_trace_nvtx_init(const void *(*export_table)(uint32_t id))
{
    /* The numbers are those of NVTX 3's callbacks of the modules CORE and CORE2. */
    static const struct entry core[] = {
        {1, (function)mark_ex},  {2, (function)mark_a},  {3, (function)mark_w},
        {4, (function)start_ex}, {5, (function)start_a}, {6, (function)start_w},
        {7, (function)end},      {8, (function)push_ex}, {9, (function)push_a},
        {10, (function)push_w},  {11, (function)pop},
    };
    static const struct entry core2[] = {
        {1, (function)domain_mark_ex}, {2, (function)domain_start_ex}, {3, (function)domain_end},
        {4, (function)domain_push_ex}, {5, (function)domain_pop},      {10, (function)register_a},
        {11, (function)register_w},    {12, (function)create_a},       {13, (function)create_w},
    };
    const struct callbacks *callbacks = export_table(EXPORT_CALLBACKS);

    if (!callbacks || callbacks->bytes < sizeof *callbacks)
        return 0;
    return fill(callbacks, MODULE_CORE, core, WEIR_ARRAY_SIZE(core)) &&
           fill(callbacks, MODULE_CORE2, core2, WEIR_ARRAY_SIZE(core2));
}
