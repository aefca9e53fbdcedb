/* The disk cache. Directory descriptors are opened anew for every operation: a program that closes
 * or reuses descriptors it does not know (daemons do) must not make us write somewhere else. File:
 * header (magic, format, key, sizes, hash of the rest), struct weir_jit_meta, the ELF object.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/vec.h"
#include "codegen/hash128.h"

#define CACHE_MAGIC     UINT64_C(0x3148434143524957) /* "WIRCACH1" */
#define CACHE_FORMAT    1u
#define ENTRY_MAX_BYTES ((uint64_t)256 << 20)
#define DEFAULT_LIMIT   ((uint64_t)1 << 30)
#define NAME_BYTES      40
#define SUFFIX          ".wk"
#define TEMP_PREFIX     "tmp."
#define TEMP_MAX_AGE    3600 /* s */
#define TOUCH_AFTER     3600 /* s: younger entries are not touched again by a hit */
#define TRIM_EVERY      32u

struct cache_header {
    uint64_t magic;
    uint32_t format, meta_bytes;
    uint64_t key[2];
    uint64_t object_bytes;
    uint64_t hash[2]; /* of everything else of the header, meta and object */
};

static void entry_name(const struct weir_cache_key *key, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%016llx%016llx" SUFFIX, (unsigned long long)key->word[0],
             (unsigned long long)key->word[1]);
}

bool weir_cache_init(struct weir_cache *c, const char *dir, uint64_t limit_bytes)
{
    size_t n = dir ? strlen(dir) : 0;

    memset(c, 0, sizeof *c);
    c->limit_bytes = limit_bytes;
    if (n >= sizeof c->dir)
        return false;
    memcpy(c->dir, dir ? dir : "", n + 1);
    return true;
}

static uint64_t parse_size(const char *s)
{
    char *end;
    unsigned long long n = strtoull(s, &end, 10);
    int shift = *end == 'G' || *end == 'g'   ? 30
                : *end == 'M' || *end == 'm' ? 20
                : *end == 'K' || *end == 'k' ? 10
                                             : 0;

    if (end == s || n > (UINT64_MAX >> 31))
        return DEFAULT_LIMIT;
    return (uint64_t)n << shift;
}

void weir_cache_init_from_environment(struct weir_cache *c)
{
    const char *mode = getenv("WEIR_CACHE"), *dir = getenv("WEIR_CACHE_DIR"),
               *size = getenv("WEIR_CACHE_SIZE");
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    uint64_t limit = size ? parse_size(size) : DEFAULT_LIMIT;
    char path[sizeof c->dir];
    int n = 0;

    path[0] = 0;
    if (mode && (strcmp(mode, "off") == 0 || strcmp(mode, "0") == 0))
        n = 0;
    else if (dir && *dir)
        n = snprintf(path, sizeof path, "%s", dir);
    else if (xdg && *xdg == '/') /* the specification: relative paths are to be ignored */
        n = snprintf(path, sizeof path, "%s/weir", xdg);
    else if (home && *home)
        n = snprintf(path, sizeof path, "%s/.cache/weir", home);
    if (n < 0 || (size_t)n >= sizeof path)
        path[0] = 0;
    (void)weir_cache_init(c, path, limit);
}

/* mkdir -p; the parents that are missing are made private too. */
static void make_dirs(const char *dir)
{
    char path[sizeof((struct weir_cache *)0)->dir];
    size_t n = strlen(dir);

    memcpy(path, dir, n + 1);
    for (size_t i = 1; i < n; i++) {
        if (path[i] != '/')
            continue;
        path[i] = 0;
        (void)mkdir(path, 0700);
        path[i] = '/';
    }
    (void)mkdir(path, 0700);
}

/* Descriptor of the directory if it is there (or can be made) and nobody else can write or read it;
 * else -1. */
static int open_dir(struct weir_cache *c, bool create)
{
    int fd;
    struct stat st;

    if (!c->dir[0])
        return -1;
    fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && create) {
        make_dirs(c->dir);
        fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 077)) {
        weir_log(WEIR_LOG_INFO, "cache directory %s is not used: it must be yours with mode 0700",
                 c->dir);
        close(fd);
        return -1;
    }
    return fd;
}

static bool read_all(int fd, void *buf, size_t bytes)
{
    char *p = buf;

    while (bytes) {
        ssize_t n = read(fd, p, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool write_all(int fd, const void *buf, size_t bytes)
{
    const char *p = buf;

    while (bytes) {
        ssize_t n = write(fd, p, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

static void content_hash(const struct cache_header *h, const struct weir_jit_meta *meta,
                         const void *object, uint64_t out[2])
{
    struct cache_header copy = *h;
    struct weir_hash128 hash;

    copy.hash[0] = copy.hash[1] = 0;
    weir_hash128_init(&hash);
    weir_hash128_add(&hash, &copy, sizeof copy);
    weir_hash128_add(&hash, meta, sizeof *meta);
    weir_hash128_add(&hash, object, (size_t)h->object_bytes);
    weir_hash128_finish(&hash, out);
}

/* Reads and checks an open entry. */
static bool read_entry(int fd, const struct stat *st, const struct weir_cache_key *key,
                       struct weir_cache_entry *out)
{
    struct cache_header h;
    uint64_t hash[2];

    if (!S_ISREG(st->st_mode) || st->st_uid != geteuid() || !read_all(fd, &h, sizeof h) ||
        h.magic != CACHE_MAGIC || h.format != CACHE_FORMAT || h.meta_bytes != sizeof out->meta ||
        h.key[0] != key->word[0] || h.key[1] != key->word[1] || h.object_bytes > ENTRY_MAX_BYTES ||
        (uint64_t)st->st_size != sizeof h + sizeof out->meta + h.object_bytes)
        return false;
    out->object_bytes = (size_t)h.object_bytes;
    out->object = weir_alloc(out->object_bytes);
    if (!out->object)
        return false;
    if (read_all(fd, &out->meta, sizeof out->meta) &&
        read_all(fd, out->object, out->object_bytes)) {
        content_hash(&h, &out->meta, out->object, hash);
        if (hash[0] == h.hash[0] && hash[1] == h.hash[1])
            return true;
    }
    weir_free(out->object);
    return false;
}

bool weir_cache_get(struct weir_cache *c, const struct weir_cache_key *key,
                    struct weir_cache_entry *out)
{
    int dir = open_dir(c, false), fd, saved = errno;
    char name[NAME_BYTES];
    struct stat st;
    bool ok = false;

    memset(out, 0, sizeof *out);
    if (dir < 0)
        return false;
    entry_name(key, name);
    fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        ok = fstat(fd, &st) == 0 && read_entry(fd, &st, key, out);
        if (!ok) {
            weir_log(WEIR_LOG_INFO, "cache entry %s is damaged, removed", name);
            (void)unlinkat(dir, name, 0);
        } else if (time(NULL) - st.st_mtime > TOUCH_AFTER) {
            (void)futimens(fd, NULL); /* eviction goes by this time */
        }
        close(fd);
    } else if (errno == ELOOP) {
        (void)unlinkat(dir, name, 0); /* a link where an entry should be */
    }
    close(dir);
    errno = saved;
    return ok;
}

/* Writes the entry under the temporary name. */
static bool write_entry(int fd, const struct weir_cache_key *key, const struct weir_jit_meta *meta,
                        const void *object, size_t object_bytes)
{
    struct cache_header h;

    memset(&h, 0, sizeof h);
    h.magic = CACHE_MAGIC;
    h.format = CACHE_FORMAT;
    h.meta_bytes = sizeof *meta;
    h.key[0] = key->word[0];
    h.key[1] = key->word[1];
    h.object_bytes = object_bytes;
    content_hash(&h, meta, object, h.hash);
    return write_all(fd, &h, sizeof h) && write_all(fd, meta, sizeof *meta) &&
           write_all(fd, object, object_bytes);
}

bool weir_cache_put(struct weir_cache *c, const struct weir_cache_key *key,
                    const struct weir_jit_meta *meta, const void *object, size_t object_bytes)
{
    int dir = open_dir(c, true), fd, saved = errno;
    uint32_t count = atomic_fetch_add_explicit(&c->puts, 1, memory_order_relaxed);
    char name[NAME_BYTES], temp[96];
    bool ok = false;

    if (dir < 0)
        return false;
    entry_name(key, name);
    snprintf(temp, sizeof temp, TEMP_PREFIX "%ld.%u.%u.%llx", (long)getpid(), weir_thread_id(),
             count, (unsigned long long)weir_clock_ns());
    fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        ok = object_bytes <= ENTRY_MAX_BYTES && write_entry(fd, key, meta, object, object_bytes);
        if (close(fd) != 0)
            ok = false;
        if (!ok || renameat(dir, temp, dir, name) != 0) {
            (void)unlinkat(dir, temp, 0);
            ok = false;
        }
    }
    close(dir);
    if (count % TRIM_EVERY == 0)
        weir_cache_trim(c);
    errno = saved;
    return ok;
}

void weir_cache_remove(struct weir_cache *c, const struct weir_cache_key *key)
{
    int dir = open_dir(c, false), saved = errno;
    char name[NAME_BYTES];

    if (dir < 0)
        return;
    entry_name(key, name);
    (void)unlinkat(dir, name, 0);
    close(dir);
    errno = saved;
}

struct cache_file {
    char name[NAME_BYTES];
    uint64_t bytes;
    struct timespec time;
};

static int compare_age(const void *a, const void *b)
{
    const struct cache_file *x = a, *y = b;

    if (x->time.tv_sec != y->time.tv_sec)
        return x->time.tv_sec < y->time.tv_sec ? -1 : 1;
    if (x->time.tv_nsec != y->time.tv_nsec)
        return x->time.tv_nsec < y->time.tv_nsec ? -1 : 1;
    return 0;
}

WEIR_MUST_CHECK static bool is_entry_name(const char *name)
{
    size_t n = strlen(name);

    return n == 32 + sizeof SUFFIX - 1 && n < NAME_BYTES && strcmp(name + 32, SUFFIX) == 0;
}

/* Another process may remove files meanwhile: a failed unlink is no trouble. */
static void trim_open(struct weir_cache *c, int dirfd, DIR *stream)
{
    WEIR_VEC(struct cache_file) files = {0};
    uint64_t total = 0;
    struct dirent *e;
    struct stat st;

    while ((e = readdir(stream)) != NULL) {
        struct cache_file f;

        if (fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (strncmp(e->d_name, TEMP_PREFIX, sizeof TEMP_PREFIX - 1) == 0) {
            if (time(NULL) - st.st_mtime > TEMP_MAX_AGE)
                (void)unlinkat(dirfd, e->d_name, 0);
            continue;
        }
        if (!is_entry_name(e->d_name))
            continue;
        memcpy(f.name, e->d_name, strlen(e->d_name) + 1);
        f.bytes = (uint64_t)st.st_blocks * 512;
        f.time = st.st_mtim;
        total += f.bytes;
        if (!weir_vec_push(&files, f))
            break;
    }
    if (total > c->limit_bytes && files.count) {
        /* Down to nine tenths, so that not every later put has to trim. */
        uint64_t target = c->limit_bytes / 10 * 9;

        qsort(files.items, files.count, sizeof *files.items, compare_age);
        for (size_t i = 0; i < files.count && total > target; i++) {
            (void)unlinkat(dirfd, files.items[i].name, 0);
            total -= files.items[i].bytes;
        }
    }
    weir_vec_finish(&files);
}

void weir_cache_trim(struct weir_cache *c)
{
    int dir = open_dir(c, false), saved = errno;
    DIR *stream;

    if (dir < 0)
        return;
    stream = fdopendir(dir);
    if (stream) {
        trim_open(c, dir, stream);
        closedir(stream);
    } else {
        close(dir);
    }
    errno = saved;
}
