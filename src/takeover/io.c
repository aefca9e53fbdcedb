/* libweir-io.so: the C library's calls that have the system access the program's memory. See io.h.
 * Each tells of its bytes, and calls the next library's function of the same name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "takeover/io.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/compiler.h"

#define EXPORT WEIR_EXPORT
#define HERE   __builtin_return_address(0)

static struct {
    _Atomic(weir_io_begin_fn *) begin; /* NULL: nobody is told */
    _Atomic(weir_io_end_fn *) end;
    _Atomic(weir_io_gone_fn *) gone;
} told;

EXPORT void weir_io_claim(weir_io_begin_fn *begin, weir_io_end_fn *end, weir_io_gone_fn *gone)
{
    atomic_store_explicit(&told.end, end, memory_order_relaxed);
    atomic_store_explicit(&told.gone, gone, memory_order_relaxed);
    atomic_store_explicit(&told.begin, begin, memory_order_release);
}

static bool io_begin(const void *p, size_t bytes, bool writes, const char *call, const void *at)
{
    weir_io_begin_fn *f = atomic_load_explicit(&told.begin, memory_order_acquire);

    return f && f(p, bytes, writes, call, at);
}

static void io_end(const void *p, size_t bytes)
{
    atomic_load_explicit(&told.end, memory_order_relaxed)(p, bytes);
}

/* A bit for each of the first 64 parts: further ones are rare, and stay as they are. */
static uint64_t parts_begin(const struct iovec *v, size_t count, bool writes, const char *call,
                            const void *at)
{
    uint64_t held = 0;

    if (!atomic_load_explicit(&told.begin, memory_order_relaxed))
        return 0;
    for (size_t i = 0; i < count && i < 64; i++)
        held |= (uint64_t)io_begin(v[i].iov_base, v[i].iov_len, writes, call, at) << i;
    return held;
}

static void parts_end(const struct iovec *v, uint64_t held)
{
    for (unsigned i = 0; held >> i; i++) {
        if (held >> i & 1)
            io_end(v[i].iov_base, v[i].iov_len);
        if (i == 63)
            break;
    }
}

/* The next library's function: looked for once. */
static void *next_of(_Atomic(void *) *known, const char *name)
{
    void *f = atomic_load_explicit(known, memory_order_relaxed);

    if (!f) {
        f = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(known, f, memory_order_relaxed);
    }
    return f;
}

/* next.call: the function `name` of whoever comes behind this library. */
#define NEXT(result, name, params)                                                                 \
    static _Atomic(void *) known;                                                                  \
    union {                                                                                        \
        void *object;                                                                              \
        result(*call) params;                                                                      \
    } next = {.object = next_of(&known, #name)}

/* A function `name` whose bytes are [p, p + bytes); writes: what it does to them. */
#define CALL(result, name, params, args, p, bytes, writes)                                         \
    EXPORT result name params;                                                                     \
    EXPORT result name params                                                                      \
    {                                                                                              \
        NEXT(result, name, params);                                                                \
        size_t io_bytes = (bytes);                                                                 \
        bool held = io_begin(p, io_bytes, writes, #name, HERE);                                    \
        result r = next.call args;                                                                 \
                                                                                                   \
        if (held)                                                                                  \
            io_end(p, io_bytes);                                                                   \
        return r;                                                                                  \
    }

/* The same for a vector of parts. */
#define CALL_PARTS(result, name, params, args, v, count, writes)                                   \
    EXPORT result name params;                                                                     \
    EXPORT result name params                                                                      \
    {                                                                                              \
        NEXT(result, name, params);                                                                \
        uint64_t held = parts_begin(v, (size_t)(count), writes, #name, HERE);                      \
        result r = next.call args;                                                                 \
                                                                                                   \
        parts_end(v, held);                                                                        \
        return r;                                                                                  \
    }

CALL(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n), p, n, true)
CALL(ssize_t, pread, (int fd, void *p, size_t n, off_t at), (fd, p, n, at), p, n, true)
CALL(ssize_t, pread64, (int fd, void *p, size_t n, off_t at), (fd, p, n, at), p, n, true)
CALL(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n), p, n, false)
CALL(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at), p, n, false)
CALL(ssize_t, pwrite64, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at), p, n, false)
CALL(ssize_t, recv, (int fd, void *p, size_t n, int flags), (fd, p, n, flags), p, n, true)
CALL(ssize_t, send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags), p, n, false)
CALL(ssize_t, recvfrom,
     (int fd, void *restrict p, size_t n, int flags, struct sockaddr *restrict from,
      socklen_t *restrict length),
     (fd, p, n, flags, from, length), p, n, true)
CALL(ssize_t, sendto,
     (int fd, const void *p, size_t n, int flags, const struct sockaddr *to, socklen_t length),
     (fd, p, n, flags, to, length), p, n, false)
CALL(ssize_t, getrandom, (void *p, size_t n, unsigned flags), (p, n, flags), p, n, true)

CALL_PARTS(ssize_t, readv, (int fd, const struct iovec *v, int n), (fd, v, n), v, n > 0 ? n : 0,
           true)
CALL_PARTS(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n), v, n > 0 ? n : 0,
           false)
CALL_PARTS(ssize_t, preadv, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), v,
           n > 0 ? n : 0, true)
CALL_PARTS(ssize_t, preadv64, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), v,
           n > 0 ? n : 0, true)
CALL_PARTS(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), v,
           n > 0 ? n : 0, false)
CALL_PARTS(ssize_t, pwritev64, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), v,
           n > 0 ? n : 0, false)
CALL_PARTS(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags),
           m ? m->msg_iov : NULL, m ? m->msg_iovlen : 0, true)
CALL_PARTS(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags),
           m ? m->msg_iov : NULL, m ? m->msg_iovlen : 0, false)

/* Streams: much at once goes past their buffers. */
#undef fread_unlocked /* macros, for constant sizes */
#undef fwrite_unlocked
CALL(size_t, fread, (void *restrict p, size_t size, size_t n, FILE *restrict f), (p, size, n, f), p,
     size *n, true)
CALL(size_t, fread_unlocked, (void *restrict p, size_t size, size_t n, FILE *restrict f),
     (p, size, n, f), p, size *n, true)
CALL(size_t, fwrite, (const void *restrict p, size_t size, size_t n, FILE *restrict f),
     (p, size, n, f), p, size *n, false)
CALL(size_t, fwrite_unlocked, (const void *restrict p, size_t size, size_t n, FILE *restrict f),
     (p, size, n, f), p, size *n, false)
CALL(int, fputs, (const char *restrict s, FILE *restrict f), (s, f), s, strlen(s), false)
CALL(int, puts, (const char *s), (s), s, strlen(s), false)

/* What the same calls become with -D_FORTIFY_SOURCE. */
CALL(ssize_t, __read_chk, (int fd, void *p, size_t n, size_t room), (fd, p, n, room), p, n, true)
CALL(ssize_t, __pread_chk, (int fd, void *p, size_t n, off_t at, size_t room), (fd, p, n, at, room),
     p, n, true)
CALL(ssize_t, __pread64_chk, (int fd, void *p, size_t n, off_t at, size_t room),
     (fd, p, n, at, room), p, n, true)
CALL(ssize_t, __recv_chk, (int fd, void *p, size_t n, size_t room, int flags),
     (fd, p, n, room, flags), p, n, true)
CALL(ssize_t, __recvfrom_chk,
     (int fd, void *restrict p, size_t n, size_t room, int flags, struct sockaddr *restrict from,
      socklen_t *restrict length),
     (fd, p, n, room, flags, from, length), p, n, true)
CALL(size_t, __fread_chk, (void *restrict p, size_t room, size_t size, size_t n, FILE *restrict f),
     (p, room, size, n, f), p, size *n, true)

/* ---- memory that is given back ---- */

static void gone(const void *p, size_t bytes, bool moves, const char *call, const void *at)
{
    if (atomic_load_explicit(&told.begin, memory_order_acquire))
        atomic_load_explicit(&told.gone, memory_order_relaxed)(p, bytes, moves, call, at);
}

EXPORT int munmap(void *p, size_t bytes)
{
    NEXT(int, munmap, (void *, size_t));

    gone(p, bytes, false, "munmap", HERE);
    return next.call(p, bytes);
}

EXPORT int madvise(void *p, size_t bytes, int advice)
{
    NEXT(int, madvise, (void *, size_t, int));

    if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE)
        gone(p, bytes, false, "madvise", HERE);
    return next.call(p, bytes, advice);
}

EXPORT void *mremap(void *p, size_t old_bytes, size_t new_bytes, int flags, ...)
{
    NEXT(void *, mremap, (void *, size_t, size_t, int, void *));
    void *to = NULL;

    if (flags & MREMAP_FIXED) {
        va_list args;

        va_start(args, flags);
        to = va_arg(args, void *);
        va_end(args);
        gone(to, new_bytes, false, "mremap", HERE);
    }
    if (flags & (MREMAP_MAYMOVE | MREMAP_FIXED))
        gone(p, old_bytes, !(flags & MREMAP_FIXED), "mremap", HERE);
    else if (new_bytes < old_bytes)
        gone((char *)p + new_bytes, old_bytes - new_bytes, false, "mremap", HERE);
    return next.call(p, old_bytes, new_bytes, flags, to);
}

EXPORT void *mmap(void *p, size_t bytes, int protection, int flags, int fd, off_t at)
{
    NEXT(void *, mmap, (void *, size_t, int, int, int, off_t));

    if (flags & MAP_FIXED)
        gone(p, bytes, false, "mmap", HERE);
    return next.call(p, bytes, protection, flags, fd, at);
}

EXPORT void *mmap64(void *p, size_t bytes, int protection, int flags, int fd, off_t at);
EXPORT void *mmap64(void *p, size_t bytes, int protection, int flags, int fd, off_t at)
{
    NEXT(void *, mmap64, (void *, size_t, int, int, int, off_t));

    if (flags & MAP_FIXED)
        gone(p, bytes, false, "mmap64", HERE);
    return next.call(p, bytes, protection, flags, fd, at);
}
