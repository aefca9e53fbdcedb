/* The disk cache and its hash: stored entries come back, damage is noticed and removed, a directory
 * that is not ours alone is not used, the oldest go first, many processes may write at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "codegen/cache.h"
#include "codegen/cpu.h"
#include "codegen/hash128.h"

static char dir[64];
static struct weir_cache cache;

static void for_each_file(void (*f)(const char *path, void *arg), void *arg)
{
    DIR *d = opendir(dir);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        char path[400];

        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        f(path, arg);
    }
    if (d)
        closedir(d);
}

static void remove_file(const char *path, void *arg)
{
    (void)arg;
    unlink(path);
}

static void count_file(const char *path, void *arg)
{
    (void)path;
    ++*(int *)arg;
}

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/weir-test-cache-XXXXXX");
    return mkdtemp(dir) && weir_cache_init(&cache, dir, UINT64_C(1) << 30) ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    for_each_file(remove_file, NULL);
    return rmdir(dir);
}

static struct weir_cache_key key_of(uint64_t n)
{
    struct weir_cache_key key = {{n * UINT64_C(0x9e3779b97f4a7c15), n}};

    return key;
}

static bool put(uint64_t n, size_t bytes)
{
    struct weir_jit_meta meta = {.kernel_abi = 1, .state_bytes = (uint32_t)n, .may_park = 1};
    struct weir_cache_key key = key_of(n);
    unsigned char *object = malloc(bytes + 1);
    bool ok;

    memset(object, (int)n, bytes);
    ok = weir_cache_put(&cache, &key, &meta, object, bytes);
    free(object);
    return ok;
}

static bool get(uint64_t n, size_t bytes)
{
    struct weir_cache_key key = key_of(n);
    struct weir_cache_entry e;
    bool ok;

    if (!weir_cache_get(&cache, &key, &e))
        return false;
    ok = e.object_bytes == bytes && e.meta.state_bytes == n && e.meta.may_park == 1;
    for (size_t i = 0; ok && i < bytes; i++)
        ok = e.object[i] == (unsigned char)n;
    weir_free(e.object);
    assert_true(ok); /* whatever comes back is right */
    return true;
}

/* Vectors of the hash's authors: key 00 .. 0f, input 00 01 02 ... */
static void test_hash_vectors(void **state)
{
    static const struct {
        size_t bytes;
        unsigned char out[16];
    } vectors[] = {
        {0,
         {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
          0x93}},
        {1,
         {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
          0x45}},
    };
    unsigned char key[16], in[64];

    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        in[i] = (unsigned char)i;
        key[i % 16] = (unsigned char)(i % 16);
    }
    for (size_t v = 0; v < WEIR_ARRAY_SIZE(vectors); v++) {
        struct weir_hash128 h;
        uint64_t out[2];

        weir_hash128_init_key(&h, key);
        weir_hash128_add(&h, in, vectors[v].bytes);
        weir_hash128_finish(&h, out);
        assert_memory_equal(out, vectors[v].out, 16);
    }
}

/* In pieces of any length the hash is the same. */
static void test_hash_pieces(void **state)
{
    unsigned char in[100];
    struct weir_hash128 h;
    uint64_t whole[2], parts[2];

    (void)state;
    for (unsigned i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)(i * 37);
    weir_hash128_init(&h);
    weir_hash128_add(&h, in, sizeof in);
    weir_hash128_finish(&h, whole);
    for (size_t step = 1; step < 40; step++) {
        weir_hash128_init(&h);
        for (size_t at = 0; at < sizeof in; at += step)
            weir_hash128_add(&h, in + at, WEIR_MIN(step, sizeof in - at));
        weir_hash128_finish(&h, parts);
        assert_memory_equal(whole, parts, sizeof whole);
    }
}

static void test_cpu_is_stable(void **state)
{
    struct weir_hash128 a, b;
    uint64_t x[2], y[2];

    (void)state;
    weir_hash128_init(&a);
    weir_hash128_init(&b);
    weir_cpu_hash(&a);
    weir_cpu_hash(&b);
    weir_hash128_finish(&a, x);
    weir_hash128_finish(&b, y);
    assert_memory_equal(x, y, sizeof x);
}

static void test_put_get(void **state)
{
    struct weir_cache_key key = key_of(1);

    (void)state;
    assert_false(get(1, 1000));
    assert_true(put(1, 1000));
    assert_true(put(2, 0));
    assert_true(get(1, 1000));
    assert_true(get(2, 0));
    assert_false(get(3, 0));
    assert_true(put(1, 5000)); /* replaced */
    assert_true(get(1, 5000));
    weir_cache_remove(&cache, &key);
    assert_false(get(1, 5000));
    assert_true(get(2, 0));
}

static void flip_byte(const char *path, void *arg)
{
    int fd = open(path, O_RDWR);
    unsigned char c;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &c, 1, *(off_t *)arg), 1);
    c ^= 0x10;
    assert_int_equal(pwrite(fd, &c, 1, *(off_t *)arg), 1);
    close(fd);
}

static void cut_file(const char *path, void *arg)
{
    assert_int_equal(truncate(path, *(off_t *)arg), 0);
}

static void test_damage(void **state)
{
    (void)state;
    for (off_t at = 0; at < 150; at++) {
        int files = 0;

        assert_true(put(7, 100));
        for_each_file(flip_byte, &at);
        assert_false(get(7, 100));
        for_each_file(count_file, &files);
        assert_int_equal(files, 0); /* removed */
        assert_true(put(7, 100));
        for_each_file(cut_file, &at);
        assert_false(get(7, 100));
    }
}

static void test_private(void **state)
{
    (void)state;
    assert_true(put(1, 10));
    assert_int_equal(chmod(dir, 0755), 0);
    assert_false(get(1, 10));
    assert_false(put(2, 10));
    assert_int_equal(chmod(dir, 0700), 0);
    assert_true(get(1, 10));
}

static void test_symlink_not_followed(void **state)
{
    struct weir_cache_key key = key_of(9);
    char path[200], other[200];

    (void)state;
    assert_true(put(9, 10));
    snprintf(path, sizeof path, "%s/%016llx%016llx.wk", dir, (unsigned long long)key.word[0],
             (unsigned long long)key.word[1]);
    snprintf(other, sizeof other, "%s/other", dir);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_false(get(9, 10));
    assert_true(put(9, 20)); /* replaces what is there */
    assert_true(get(9, 20));
}

static void age_file(const char *path, void *arg)
{
    struct stat st;
    struct timespec times[2];

    (void)arg;
    assert_int_equal(stat(path, &st), 0);
    times[0] = times[1] = st.st_mtim;
    times[0].tv_sec -= 3000;
    times[1].tv_sec -= 3000;
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_oldest_first(void **state)
{
    int files = 0;

    (void)state;
    cache.limit_bytes = 20 * 8192;
    for (uint64_t n = 1; n <= 15; n++)
        assert_true(put(n, 8000));
    for_each_file(age_file, NULL);
    for (uint64_t n = 16; n <= 30; n++)
        assert_true(put(n, 8000));
    weir_cache_trim(&cache);
    for_each_file(count_file, &files);
    assert_in_range(files, 10, 20);
    for (uint64_t n = 16; n <= 30; n++)
        assert_true(get(n, 8000));
}

static void test_many_processes(void **state)
{
    pid_t pids[4];

    (void)state;
    cache.limit_bytes = 10 * 8192; /* evictions run all the time */
    for (int p = 0; p < 4; p++) {
        pids[p] = fork();
        if (pids[p] == 0) {
            for (uint64_t i = 0; i < 200; i++) {
                uint64_t n = i % 13;

                if (i % 3 == (uint64_t)p % 3)
                    (void)put(n, 7000 + (size_t)n);
                else
                    (void)get(n, 7000 + (size_t)n); /* asserts what it finds */
            }
            _exit(0);
        }
    }
    for (int p = 0; p < 4; p++) {
        int status;

        assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
        assert_int_equal(status, 0);
    }
}

static void test_environment(void **state)
{
    struct weir_cache c;
    char path[200];

    (void)state;
    unsetenv("WEIR_CACHE");
    unsetenv("WEIR_CACHE_DIR");
    unsetenv("WEIR_CACHE_SIZE");
    setenv("HOME", "/somewhere", 1);
    setenv("XDG_CACHE_HOME", "relative", 1);
    weir_cache_init_from_environment(&c);
    assert_string_equal(c.dir, "/somewhere/.cache/weir");
    assert_int_equal(c.limit_bytes, UINT64_C(1) << 30);
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("WEIR_CACHE_SIZE", "20M", 1);
    weir_cache_init_from_environment(&c);
    assert_string_equal(c.dir, "/xdg/weir");
    assert_int_equal(c.limit_bytes, 20 << 20);
    setenv("WEIR_CACHE_DIR", "/own", 1);
    weir_cache_init_from_environment(&c);
    assert_string_equal(c.dir, "/own");
    setenv("WEIR_CACHE", "off", 1);
    weir_cache_init_from_environment(&c);
    assert_string_equal(c.dir, "");
    assert_false(
        weir_cache_get(&c, &(struct weir_cache_key){{1, 2}}, &(struct weir_cache_entry){0}));
    /* Missing folders are made, private. */
    snprintf(path, sizeof path, "%s/a/b", dir);
    assert_true(weir_cache_init(&c, path, 1 << 20));
    cache = c;
    assert_true(put(1, 10));
    assert_true(get(1, 10));
    weir_cache_remove(&c, &(struct weir_cache_key){{key_of(1).word[0], 1}});
    assert_int_equal(rmdir(path), 0);
    snprintf(path, sizeof path, "%s/a", dir);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_vectors),
        cmocka_unit_test(test_hash_pieces),
        cmocka_unit_test(test_cpu_is_stable),
        T(test_put_get),
        T(test_damage),
        T(test_private),
        T(test_symlink_not_followed),
        T(test_oldest_first),
        T(test_many_processes),
        T(test_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
