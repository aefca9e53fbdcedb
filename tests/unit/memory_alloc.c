/* Tests of memory: allocation, release and look-up in the window; random operations against a naive
 * list; threads; failing heap; many allocations.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/sanitize.h"
#include "memory/memory.h"

#define GIB ((size_t)1 << 30)

static int start(void **state)
{
    const struct weir_mem_config config = {.device_count = 2, .device_bytes = 16 * GIB};

    (void)state;
    return weir_mem_init(&config) == WEIR_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    weir_alloc_fail_after(0);
    weir_mem_finish();
    return 0;
}

static void *alloc(enum weir_mem_kind kind, int device, size_t bytes)
{
    void *p = NULL;

    assert_int_equal(weir_mem_alloc(kind, device, bytes, 0, NULL, &p), WEIR_OK);
    return p;
}

static size_t resident_pages(const void *p, size_t bytes)
{
    size_t pages = bytes / 4096, n = 0;
    unsigned char *here = malloc(pages);

    assert_int_equal(mincore((void *)(uintptr_t)p, bytes, here), 0);
    for (size_t i = 0; i < pages; i++)
        n += here[i] & 1;
    free(here);
    return n;
}

#ifdef MADV_POPULATE_WRITE
static void wait_for_pages(const void *p, size_t bytes)
{
    while (resident_pages(p, bytes) < bytes / 4096)
        usleep(1000);
}

/* Not with an older kernel. */
static bool may_populate(void *p)
{
    return madvise(p, 4096, MADV_POPULATE_WRITE) == 0;
}
#endif

/* Nobody pays for the first touch of moderate allocations, as long as it is not much in all; large
 * ones take no memory before. */
static void moderate_allocations_are_there_soon(void **state)
{
    enum { COUNT = 9 };
    const size_t moderate = (size_t)64 << 20, large = 4 * GIB;
    void *p[COUNT], *l = alloc(WEIR_MEM_KIND_DEVICE, 0, large);

    (void)state;
    for (int i = 0; i < COUNT; i++)
        p[i] = alloc(i % 2 ? WEIR_MEM_KIND_DEVICE : WEIR_MEM_KIND_PINNED, 0, moderate);
#ifdef MADV_POPULATE_WRITE
    if (may_populate(p[0])) {
        for (int i = 0; i < COUNT - 1; i++)
            wait_for_pages(p[i], moderate);
    }
#endif
    assert_int_equal(resident_pages(p[COUNT - 1], moderate), 0); /* enough is enough */
    assert_int_equal(resident_pages(l, large), 0);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(weir_mem_free(i % 2 ? WEIR_MEM_KIND_DEVICE : WEIR_MEM_KIND_PINNED, p[i]),
                         WEIR_OK);
#ifdef MADV_POPULATE_WRITE
    p[0] = alloc(WEIR_MEM_KIND_DEVICE, 0, (size_t)4 << 20); /* what was freed does not count */
    if (may_populate(p[0]))
        wait_for_pages(p[0], (size_t)4 << 20);
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, p[0]), WEIR_OK);
#endif
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, l), WEIR_OK);
}

/* What is written while pages come stays, and what is freed meanwhile is gone. */
static void pages_come_beside_what_the_program_does(void **state)
{
    enum { ROUNDS = 100, LIVE = 4 };
    const size_t bytes = (size_t)6 << 20;
    unsigned char *p[LIVE] = {0};

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned char **at = &p[i % LIVE];

        if (*at) {
            for (size_t k = 0; k < bytes; k += 4096)
                assert_int_equal((*at)[k], (i - LIVE + k / 4096) & 255);
            assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, *at), WEIR_OK);
        }
        *at = alloc(WEIR_MEM_KIND_DEVICE, 0, bytes);
        for (size_t k = 0; k < bytes; k += 4096) {
            assert_int_equal((*at)[k], 0);
            (*at)[k] = (unsigned char)(i + k / 4096);
        }
        if (i % 3 == 0)
            assert_int_equal(
                weir_mem_free(WEIR_MEM_KIND_DEVICE, alloc(WEIR_MEM_KIND_DEVICE, 0, 8 * bytes)),
                WEIR_OK);
    }
    for (int i = 0; i < LIVE; i++)
        assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, p[i]), WEIR_OK);
}

static void allocation_is_found_by_every_address_of_it(void **state)
{
    struct weir_mem_info info;
    int owner;
    char *p;

    (void)state;
    assert_int_equal(weir_mem_alloc(WEIR_MEM_KIND_DEVICE, 1, 100000, 7, &owner, (void **)&p),
                     WEIR_OK);
    assert_int_equal((uintptr_t)p % 256, 0);
    assert_true((uintptr_t)p - weir_mem_window_base < weir_mem_window_bytes);
    for (size_t i = 0; i < 100000; i += 999) {
        assert_true(weir_mem_find(p + i, &info));
        assert_int_equal(info.kind, WEIR_MEM_KIND_DEVICE);
        assert_int_equal(info.device, 1);
        assert_int_equal(info.flags, 7);
        assert_int_equal(info.base, (uintptr_t)p);
        assert_int_equal(info.bytes, 100000);
        assert_ptr_equal(info.owner, &owner);
    }
    assert_false(weir_mem_find(p - 1, &info));
    assert_false(weir_mem_find(p + 100000, &info));
    assert_true(weir_mem_kernel_may_touch(p + 99996, 4, 1));
    assert_false(weir_mem_kernel_may_touch(p + 99997, 4, 1));
    assert_false(weir_mem_kernel_may_touch(p, 4, 0));
    weir_mem_peer_allow(0, 1, true);
    assert_true(weir_mem_kernel_may_touch(p, 4, 0));
    weir_mem_peer_allow(0, 1, false);
    assert_false(weir_mem_kernel_may_touch(p, 4, 0));
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(p[i], 0);
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_PINNED, p), WEIR_ERR_INVALID_VALUE);
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, p + 256), WEIR_ERR_INVALID_VALUE);
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, p), WEIR_OK);
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, p), WEIR_ERR_INVALID_VALUE);
    assert_false(weir_mem_find(p, &info));
}

static void impossible_sizes_fail_cleanly(void **state)
{
    static const size_t sizes[] = {300 * GIB,       16 * GIB + 1,        SIZE_MAX,
                                   SIZE_MAX - 1,    SIZE_MAX - 511,      SIZE_MAX / 2,
                                   (size_t)1 << 63, (size_t)1 << 47,     SIZE_MAX - 65536,
                                   (size_t)3 << 40, SIZE_MAX - (1 << 21)};
    struct weir_mem_stats before, after;
    void *p;

    (void)state;
    weir_mem_stats(0, &before);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(weir_mem_alloc(WEIR_MEM_KIND_DEVICE, 0, sizes[i], 0, NULL, &p),
                         WEIR_ERR_MEMORY_ALLOCATION);
        if (sizes[i] > 2048 * GIB)
            assert_int_equal(weir_mem_alloc(WEIR_MEM_KIND_PINNED, 0, sizes[i], 0, NULL, &p),
                             WEIR_ERR_MEMORY_ALLOCATION);
    }
    weir_mem_stats(0, &after);
    assert_memory_equal(&before, &after, sizeof before);
}

static void capacity_is_exact_and_per_device(void **state)
{
    struct weir_mem_stats s;
    void *a, *b, *c;

    (void)state;
    a = alloc(WEIR_MEM_KIND_DEVICE, 0,
              10 * GIB); /* more than this machine may have: never touched */
    b = alloc(WEIR_MEM_KIND_DEVICE, 0, 6 * GIB - 512);
    c = alloc(WEIR_MEM_KIND_DEVICE, 0, 1);
    weir_mem_stats(0, &s);
    assert_int_equal(s.device_used, 16 * GIB);
    assert_int_equal(s.device_peak, 16 * GIB);
    assert_int_equal(s.device_capacity, 16 * GIB);
    assert_int_equal(weir_mem_alloc(WEIR_MEM_KIND_DEVICE, 0, 1, 0, NULL, &(void *){NULL}),
                     WEIR_ERR_MEMORY_ALLOCATION);
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, alloc(WEIR_MEM_KIND_DEVICE, 1, 1)),
                     WEIR_OK);
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, c), WEIR_OK);
    c = alloc(WEIR_MEM_KIND_DEVICE, 0, 512);
    ((char *)a)[10 * GIB - 1] = 5;
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, a), WEIR_OK);
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, b), WEIR_OK);
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, c), WEIR_OK);
    weir_mem_stats(0, &s);
    assert_int_equal(s.device_used, 0);
    assert_int_equal(s.alloc_count, s.free_count);
}

/* Runs touch(p) in a child; true when it died of SIGSEGV. */
static bool dies(char *p)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        *(volatile char *)p = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

static void freed_pages_and_gaps_are_closed(void **state)
{
    char *a, *b;

    (void)state;
    a = alloc(WEIR_MEM_KIND_DEVICE, 0, 65536);
    b = alloc(WEIR_MEM_KIND_PINNED, 0, 4096);
    assert_false(dies(a));
    assert_true(dies(a + 65536));
    assert_true(dies(a - 1));
    assert_true(dies(b + 4096));
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, a), WEIR_OK);
    assert_true(dies(a));
    assert_false(dies(b));
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_PINNED, b), WEIR_OK);
    assert_true(dies(b));
}

static void addresses_are_not_reused_soon(void **state)
{
    void *p[100];

    (void)state;
    for (int i = 0; i < 100; i++) {
        p[i] = alloc(WEIR_MEM_KIND_DEVICE, 0, 1000);
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(p[i], p[k]);
        assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, p[i]), WEIR_OK);
    }
}

static size_t mapping_count(void)
{
    size_t n = 0;
    FILE *f = fopen("/proc/self/maps", "r");

    for (int c; (c = getc(f)) != EOF;)
        n += c == '\n';
    fclose(f);
    return n;
}

/* What allocates and frees for ever has no page tables for ever more addresses; and those that are
 * aligned stay so. */
static void addresses_come_back_late_and_aligned(void **state)
{
    enum { PAIRS = 24000, EARLY = 1024 };
    const size_t huge = (size_t)2 << 20;
    uintptr_t *at = calloc(PAIRS, sizeof *at), least = UINTPTR_MAX, most = 0;
    void *kept = NULL;

    (void)state;
    for (int i = 0; i < PAIRS; i++) {
        size_t bytes = i % 512 == 511 ? huge : 64 << 10;
        char *p = alloc(WEIR_MEM_KIND_DEVICE, 0, bytes);

        at[i] = (uintptr_t)p;
        least = at[i] < least ? at[i] : least;
        most = at[i] > most ? at[i] : most;
        if (bytes == huge)
            assert_int_equal(at[i] % huge, 0);
        for (int k = i - EARLY < 0 ? 0 : i - EARLY; k < i && i % 97 == 0; k++)
            assert_int_not_equal(at[i], at[k]);
        assert_int_equal(*p, 0);
        *p = 1;
        if (i % 1000 == 0) { /* one that stays, in changing places */
            if (kept)
                assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, kept), WEIR_OK);
            kept = p;
        } else {
            assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, p), WEIR_OK);
        }
    }
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, kept), WEIR_OK);
    assert_true(most - least < GIB * 3 / 2);
    free(at);
}

/* More allocations than the kernel allows mappings; ids are unique, chunks reuse slots that read as
 * zero. */
static void a_hundred_thousand_allocations_live_at_once(void **state)
{
    enum { N = 100000 };
    char **p = calloc(N, sizeof *p);
    struct weir_mem_info info;
    uint64_t id = 0;

    (void)state;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            size_t bytes = i % 1000 == 0 ? 70000 : (size_t)(i % 7 == 0 ? 2000 : 1 + i % 300);

            p[i] = alloc(WEIR_MEM_KIND_DEVICE, 0, bytes);
            assert_int_equal(p[i][0], 0);
            assert_int_equal(p[i][bytes - 1], 0);
            p[i][0] = p[i][bytes - 1] = 1;
        }
        assert_true(mapping_count() < 40000);
        for (int i = 0; i < N; i++) {
            assert_true(weir_mem_find(p[i], &info));
            assert_int_equal(info.base, (uintptr_t)p[i]);
            assert_false(weir_mem_find(p[i] + info.bytes, &info) && info.base == (uintptr_t)p[i]);
            assert_true(weir_mem_find(p[i], &info) && info.id > id);
            id = info.id;
        }
        for (int i = 0; i < N; i++)
            assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, p[i]), WEIR_OK);
        assert_true(mapping_count() < 1000);
    }
    free(p);
}

struct naive {
    char *p;
    size_t bytes;
    enum weir_mem_kind kind;
};

static uint32_t random_next(uint32_t *x)
{
    *x = *x * 1664525u + 1013904223u;
    return *x >> 8;
}

static void check_against(const struct naive *list, int count, char *addr)
{
    struct weir_mem_info info;
    const struct naive *owner = NULL;

    for (int i = 0; i < count; i++)
        if (addr >= list[i].p && addr < list[i].p + list[i].bytes)
            owner = &list[i];
    assert_int_equal(weir_mem_find(addr, &info), owner != NULL);
    if (owner) {
        assert_int_equal(info.base, (uintptr_t)owner->p);
        assert_int_equal(info.kind, owner->kind);
        assert_int_equal(info.bytes, owner->bytes);
    }
}

static void random_operations_agree_with_a_naive_list(size_t window_bytes, size_t size_max,
                                                      int steps)
{
    enum { MAX = 200 };
    const struct weir_mem_config config = {
        .device_count = 1, .device_bytes = 4 * GIB, .window_bytes = window_bytes};
    struct naive list[MAX];
    int count = 0, failed = 0;
    uint32_t x = 12345;

    weir_mem_finish();
    assert_int_equal(weir_mem_init(&config), WEIR_OK);
    for (int step = 0; step < steps; step++) {
        if (count < MAX && random_next(&x) % 2) {
            struct naive *n = &list[count];

            n->bytes = 1 + random_next(&x) % (random_next(&x) % 4 ? 5000 : size_max);
            n->kind = random_next(&x) % 2 ? WEIR_MEM_KIND_DEVICE : WEIR_MEM_KIND_PINNED;
            if (weir_mem_alloc(n->kind, 0, n->bytes, 0, NULL, (void **)&n->p) == WEIR_OK) {
                assert_int_equal(n->p[0] | n->p[n->bytes - 1], 0);
                n->p[0] = n->p[n->bytes - 1] = 1;
                count++;
            } else {
                failed++;
            }
        } else if (count > 0) {
            int i = (int)(random_next(&x) % (uint32_t)count);

            assert_int_equal(weir_mem_free(list[i].kind, list[i].p), WEIR_OK);
            list[i] = list[--count];
        }
        if (count > 0) {
            const struct naive *n = &list[random_next(&x) % (uint32_t)count];

            check_against(list, count, n->p + random_next(&x) % n->bytes);
            check_against(list, count, n->p + n->bytes + random_next(&x) % 70000);
            check_against(list, count, n->p - 1 - random_next(&x) % 70000);
        }
    }
    while (count > 0)
        assert_int_equal(weir_mem_free(list[count - 1].kind, list[count - 1].p), WEIR_OK), count--;
    assert_true(failed < steps / 4);
}

static void random_operations_in_a_large_window(void **state)
{
    (void)state;
    random_operations_agree_with_a_naive_list(0, 1u << 24, 20000);
}

/* The window is used up after a moment: addresses come round again. */
static void random_operations_in_a_small_window(void **state)
{
    (void)state;
    random_operations_agree_with_a_naive_list((size_t)64 << 20, 1u << 18, 20000);
}

static void allocation_over_spans_is_found(void **state)
{
    const size_t bytes = ((size_t)3 << 30) + 12345;
    char *p = alloc(WEIR_MEM_KIND_DEVICE, 0, bytes), *q = alloc(WEIR_MEM_KIND_DEVICE, 0, 5000);
    struct weir_mem_info info;

    (void)state;
    for (size_t at = 0; at < bytes; at += 65536 * 13 + 77)
        assert_true(weir_mem_find(p + at, &info) && info.base == (uintptr_t)p);
    assert_true(weir_mem_find(p + bytes - 1, &info));
    assert_false(weir_mem_find(p + bytes, &info));
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, p), WEIR_OK);
    for (size_t at = 0; at < bytes; at += 65536 * 13 + 77)
        assert_false(weir_mem_find(p + at, &info));
    assert_true(weir_mem_find(q, &info));
    assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, q), WEIR_OK);
}

static void failing_heap_is_an_error_and_nothing_leaks(void **state)
{
    struct weir_mem_stats s;
    void *p[200];

    (void)state;
    for (long n = 1; n < 12; n++) {
        int count = 0;

        weir_alloc_fail_after(n);
        for (int i = 0; i < 200; i++)
            if (weir_mem_alloc(WEIR_MEM_KIND_DEVICE, 0, 5000, 0, NULL, &p[count]) == WEIR_OK)
                count++;
        weir_alloc_fail_after(0);
        while (count > 0)
            assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, p[--count]), WEIR_OK);
        weir_mem_stats(0, &s);
        assert_int_equal(s.device_used, 0);
        assert_int_equal(s.alloc_count, s.free_count);
    }
}

static _Atomic bool stop;
static _Atomic(char *) shared_pointer;

/* Looks up what others allocate and free: a found range must be one that was really handed out. */
static void *reader(void *arg)
{
    size_t found = 0;

    while (!atomic_load(&stop)) {
        char *p = atomic_load(&shared_pointer);
        struct weir_mem_info info;

        if (p && weir_mem_find(p + 100, &info)) {
            assert_true(info.base <= (uintptr_t)p + 100 &&
                        (uintptr_t)p + 100 - info.base < info.bytes);
            assert_int_equal(info.flags,
                             info.bytes & 0xff); /* fields of one allocation, not of two */
            found++;
        }
    }
    *(size_t *)arg = found;
    return NULL;
}

static void *writer(void *arg)
{
    uint32_t x = (uint32_t)(uintptr_t)arg;

    for (int i = 0; i < 3000; i++) {
        size_t bytes = 101 + random_next(&x) % 200000;
        char *p;

        assert_int_equal(weir_mem_alloc(WEIR_MEM_KIND_DEVICE, 0, bytes, (uint32_t)bytes & 0xff,
                                        NULL, (void **)&p),
                         WEIR_OK);
        atomic_store(&shared_pointer, p);
        p[bytes - 1] = 1;
        assert_int_equal(weir_mem_free(WEIR_MEM_KIND_DEVICE, p), WEIR_OK);
    }
    return NULL;
}

static void readers_run_beside_writers(void **state)
{
    const struct weir_mem_config config = {
        .device_count = 1, .device_bytes = GIB, .window_bytes = (size_t)64 << 20};
    pthread_t r[2], w[3];
    size_t found[2];

    (void)state;
    weir_mem_finish();
    assert_int_equal(weir_mem_init(&config), WEIR_OK);
    atomic_store(&stop, false);
    atomic_store(&shared_pointer, NULL);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&r[i], NULL, reader, &found[i]), 0);
    for (uintptr_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&w[i], NULL, writer, (void *)(i + 1)), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(w[i], NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(r[i], NULL);
}

/* A program under `ulimit -v` keeps most of its addresses. */
static void a_limit_on_addresses_gives_a_smaller_window(void **state)
{
    int status;
    pid_t pid;

    (void)state;
#if defined(WEIR_BUILT_ASAN) || defined(WEIR_BUILT_TSAN)
    skip(); /* their shadow is far larger than the limit */
#endif
    weir_mem_finish();
    pid = fork();
    if (pid == 0) {
        const struct weir_mem_config config = {.device_count = 1, .device_bytes = 16 * GIB};
        void *p = NULL;
        int bad;

        setrlimit(RLIMIT_AS, &(struct rlimit){4 * GIB, 4 * GIB});
        bad = weir_mem_init(&config) != WEIR_OK || weir_mem_window_bytes > GIB ||
              weir_mem_alloc(WEIR_MEM_KIND_DEVICE, 0, 100 << 20, 0, NULL, &p) != WEIR_OK ||
              weir_mem_alloc(WEIR_MEM_KIND_DEVICE, 0, 10 * GIB, 0, NULL, &p) !=
                  WEIR_ERR_MEMORY_ALLOCATION;
        _exit(bad);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void pitch_is_a_multiple_of_512(void **state)
{
    (void)state;
    assert_int_equal(weir_mem_pitch(100), 512);
    assert_int_equal(weir_mem_pitch(512), 512);
    assert_int_equal(weir_mem_pitch(513), 1024);
}

/* What kernels of one of two devices may touch without asking: its own memory and what both use,
 * but not the other one's. */
static void the_other_device_lies_outside(void **state)
{
    uintptr_t base[2];
    size_t bytes[2];
    void *own[2], *pinned, *internal;

    (void)state;
    for (int d = 0; d < 2; d++) {
        weir_mem_window_of(d, &base[d], &bytes[d]);
        assert_int_equal(weir_mem_alloc(WEIR_MEM_KIND_DEVICE, d, 1 << 20, 0, NULL, &own[d]),
                         WEIR_OK);
    }
    assert_int_equal(weir_mem_alloc(WEIR_MEM_KIND_PINNED, 0, 100, 0, NULL, &pinned), WEIR_OK);
    assert_int_equal(weir_mem_alloc(WEIR_MEM_KIND_INTERNAL, 1, 100, 0, NULL, &internal), WEIR_OK);
    for (int d = 0; d < 2; d++) {
        assert_true((uintptr_t)own[d] - base[d] < bytes[d]);
        assert_true((uintptr_t)own[1 - d] - base[d] >= bytes[d]);
        assert_true((uintptr_t)pinned - base[d] < bytes[d]);
        assert_true((uintptr_t)internal - base[d] < bytes[d]);
        assert_false(weir_mem_kernel_may_touch(own[1 - d], 1, d));
    }
    weir_mem_peer_allow(1, 0, true);
    assert_true(weir_mem_kernel_may_touch(own[0], 1, 1));
    assert_false(weir_mem_kernel_may_touch(own[1], 1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(allocation_is_found_by_every_address_of_it, start, end),
        cmocka_unit_test_setup_teardown(moderate_allocations_are_there_soon, start, end),
        cmocka_unit_test_setup_teardown(pages_come_beside_what_the_program_does, start, end),
        cmocka_unit_test_setup_teardown(the_other_device_lies_outside, start, end),
        cmocka_unit_test_setup_teardown(impossible_sizes_fail_cleanly, start, end),
        cmocka_unit_test_setup_teardown(capacity_is_exact_and_per_device, start, end),
        cmocka_unit_test_setup_teardown(freed_pages_and_gaps_are_closed, start, end),
        cmocka_unit_test_setup_teardown(addresses_are_not_reused_soon, start, end),
        cmocka_unit_test_setup_teardown(addresses_come_back_late_and_aligned, start, end),
        cmocka_unit_test_setup_teardown(a_hundred_thousand_allocations_live_at_once, start, end),
        cmocka_unit_test_setup_teardown(random_operations_in_a_large_window, start, end),
        cmocka_unit_test_setup_teardown(random_operations_in_a_small_window, start, end),
        cmocka_unit_test_setup_teardown(allocation_over_spans_is_found, start, end),
        cmocka_unit_test_setup_teardown(failing_heap_is_an_error_and_nothing_leaks, start, end),
        cmocka_unit_test_setup_teardown(readers_run_beside_writers, start, end),
        cmocka_unit_test_setup_teardown(a_limit_on_addresses_gives_a_smaller_window, start, end),
        cmocka_unit_test(pitch_is_a_multiple_of_512),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
