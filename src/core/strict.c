/* See strict.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/strict.h"

#include <stdlib.h>
#include <string.h>

#include "model/limits.h"

#define HW_QUEUES 8 /* what drivers make without CUDA_DEVICE_MAX_CONNECTIONS */

void weir_strict_default(struct weir_strict *out)
{
    *out = (struct weir_strict){.queue_depth = WEIR_MODEL_QUEUE_DEPTH,
                                .staging = WEIR_MODEL_STAGED_MAX};
}

static int connections(void)
{
    const char *text = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    long n = text ? strtol(text, NULL, 10) : 0;

    return n >= 1 && n <= WEIR_HW_QUEUES_MAX ? (int)n : HW_QUEUES;
}

/* A number with an optional K or M. False: none, or not from low to high. */
static bool read_value(const char *p, size_t n, unsigned long long low, unsigned long long high,
                       unsigned long long *out)
{
    char *end;

    if (n == 0 || *p < '0' || *p > '9')
        return false;
    *out = strtoull(p, &end, 10);
    if (end < p + n && (*end == 'K' || *end == 'k'))
        *out <<= 10, end++;
    else if (end < p + n && (*end == 'M' || *end == 'm'))
        *out <<= 20, end++;
    return end == p + n && *out >= low && *out <= high;
}

/* One word; value NULL: without. */
static enum weir_err take(struct weir_strict *s, const char *word, size_t n, const char *value,
                          size_t value_n)
{
    static const struct {
        const char *word;
        unsigned long long low, high;
    } words[] = {
        {"all", 0, 0},
        {"lazy-loading", 0, 0},
        {"managed", 0, 0},
        {"hw-queues", 1, WEIR_HW_QUEUES_MAX},
        {"queue-depth", 1, 1000000},
        {"staging", 1024, 1ull << 30},
        {"copy-engines", 1, 2},
    };
    enum { ALL, LAZY, MANAGED, QUEUES, DEPTH, STAGING, ENGINES, COUNT };
    unsigned long long v = 0;
    int which = 0;

    while (which < COUNT && (strlen(words[which].word) != n || memcmp(words[which].word, word, n)))
        which++;
    if (which == COUNT)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "there is no mode \"%.*s\"", (int)n, word);
    if (value &&
        (which <= MANAGED || !read_value(value, value_n, words[which].low, words[which].high, &v)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%s takes %s%.0llu%s%.0llu", words[which].word,
                         which <= MANAGED ? "no value" : "a number from ", words[which].low,
                         which <= MANAGED ? "" : " to ", words[which].high);
    if (which == ALL || which == LAZY)
        s->lazy_loading = true;
    if (which == MANAGED) /* a device of another kind, no limit of all of them */
        s->managed = true;
    if (which == ALL || which == QUEUES)
        s->hw_queues = v ? (int)v : connections();
    if (which == ALL || which == DEPTH)
        s->queue_depth = v ? (int)v : WEIR_MODEL_QUEUE_DEPTH;
    if (which == ALL || which == STAGING)
        s->staging = v ? (size_t)v : WEIR_MODEL_STAGED_MAX;
    if (which == ALL || which == ENGINES)
        s->copy_engines = v ? (int)v : 1;
    return WEIR_OK;
}

enum weir_err weir_strict_parse(const char *list, struct weir_strict *out)
{
    enum weir_err err = WEIR_OK;

    weir_strict_default(out);
    if (!*list)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no mode");
    for (;; list++) {
        size_t n = strcspn(list, ","), word = strcspn(list, ",=");
        bool has_value = word < n;

        err =
            take(out, list, word, has_value ? list + word + 1 : NULL, has_value ? n - word - 1 : 0);
        list += n;
        if (err != WEIR_OK || !*list)
            return err;
    }
}

enum weir_err weir_strict_read(struct weir_strict *out)
{
    const char *list = getenv("WEIR_STRICT");
    enum weir_err err = WEIR_OK;

    weir_strict_default(out);
    if (list && *list && strcmp(list, "0") != 0)
        err = weir_strict_parse(strcmp(list, "1") == 0 ? "all" : list, out);
    if (err != WEIR_OK)
        weir_strict_default(out);
    return err;
}
