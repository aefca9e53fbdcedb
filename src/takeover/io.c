/* libweir-io.so: the C library's calls that have the system access the program's memory. See io.h.
 * Each tells of its bytes, and calls the next library's function of the same name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "takeover/io.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/compiler.h"

#define EXPORT WEIR_EXPORT
#define HERE   __builtin_return_address(0)

static struct {
    _Atomic(weir_io_begin_fn *) begin; /* NULL: nobody is told */
    _Atomic(weir_io_end_fn *) end;
    _Atomic(weir_io_gone_fn *) gone;
    _Atomic(weir_io_freed_fn *) freed;
} told;

EXPORT void weir_io_claim(weir_io_begin_fn *begin, weir_io_end_fn *end, weir_io_gone_fn *gone,
                          weir_io_freed_fn *freed)
{
    atomic_store_explicit(&told.end, end, memory_order_relaxed);
    atomic_store_explicit(&told.gone, gone, memory_order_relaxed);
    atomic_store_explicit(&told.freed, freed, memory_order_relaxed);
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

/* ---- what a call does ---- */

enum does { READS, WRITES, OPENS /* what it does there is not known, or no matter */ };

/* How many bytes, by what `of` says. */
enum how {
    NOTHING,
    FIXED,    /* so many */
    ARG,      /* the argument of that number */
    PARTS,    /* so many struct iovec */
    MESSAGE,  /* a struct msghdr */
    MESSAGES, /* so many struct mmsghdr */
    OWN_PARTS /* the same of the process that is named first, if it is this one */
};

struct span {
    uint8_t arg, how;
    uint16_t of;
    uint16_t each; /* of ARG: bytes for each, 0: one, and the argument is an int */
    uint8_t does;
};

struct row {
    struct span spans[3];
};

/* The most that an argument of no known size points to: names, addresses, sets of descriptors. */
#define SOME 4096

#define ARG_SPAN(i, k, what)                                                                       \
    {                                                                                              \
        .arg = (i), .how = ARG, .of = (k), .each = 1, .does = (what)                               \
    }
#define EACH_SPAN(i, k, n)                                                                         \
    {                                                                                              \
        .arg = (i), .how = ARG, .of = (k), .each = (n), .does = OPENS                              \
    }
#define PARTS_SPAN(i, k, what)                                                                     \
    {                                                                                              \
        .arg = (i), .how = PARTS, .of = (k), .does = (what)                                        \
    }
#define OWN_SPAN(i, k, what)                                                                       \
    {                                                                                              \
        .arg = (i), .how = OWN_PARTS, .of = (k), .does = (what)                                    \
    }
#define SOME_SPAN(i)                                                                               \
    {                                                                                              \
        .arg = (i), .how = FIXED, .of = SOME, .does = OPENS                                        \
    }
#define MESSAGE_SPAN(i, k, what)                                                                   \
    {                                                                                              \
        .arg = (i), .how = (k) ? MESSAGES : MESSAGE, .of = (k), .does = (what)                     \
    }

enum row_id {
    ROW_NONE,
    ROW_ANY1,
    ROW_ANY2,
    ROW_ANY3,
    ROW_ANY4,
    ROW_ANY5,
    ROW_ANY6,
    ROW_FUTEX,
    ROW_READ,
    ROW_WRITE,
    ROW_RECVFROM,
    ROW_RECVFROM_CHK,
    ROW_SENDTO,
    ROW_READV,
    ROW_WRITEV,
    ROW_RECVMSG,
    ROW_SENDMSG,
    ROW_RECVMMSG,
    ROW_SENDMMSG,
    ROW_VM_READV,
    ROW_VM_WRITEV,
    ROW_GETRANDOM,
    ROW_MSGSND,
    ROW_MSGRCV,
    ROW_GETXATTR,
    ROW_SETXATTR,
    ROW_POLL,
    ROW_PPOLL,
    ROW_EPOLL_WAIT,
    ROW_EPOLL_PWAIT
};

static const struct row rows[] = {
    [ROW_FUTEX] = {{SOME_SPAN(0)}},
    [ROW_READ] = {{ARG_SPAN(1, 2, WRITES)}},
    [ROW_WRITE] = {{ARG_SPAN(1, 2, READS)}},
    [ROW_RECVFROM] = {{ARG_SPAN(1, 2, WRITES), SOME_SPAN(4), SOME_SPAN(5)}},
    [ROW_RECVFROM_CHK] = {{ARG_SPAN(1, 2, WRITES), SOME_SPAN(5)}},
    [ROW_SENDTO] = {{ARG_SPAN(1, 2, READS), SOME_SPAN(4)}},
    [ROW_READV] = {{PARTS_SPAN(1, 2, WRITES)}},
    [ROW_WRITEV] = {{PARTS_SPAN(1, 2, READS)}},
    [ROW_RECVMSG] = {{MESSAGE_SPAN(1, 0, WRITES)}},
    [ROW_SENDMSG] = {{MESSAGE_SPAN(1, 0, READS)}},
    [ROW_RECVMMSG] = {{MESSAGE_SPAN(1, 2, WRITES), SOME_SPAN(4)}},
    [ROW_SENDMMSG] = {{MESSAGE_SPAN(1, 2, READS)}},
    [ROW_VM_READV] = {{PARTS_SPAN(1, 2, WRITES), OWN_SPAN(3, 4, READS)}},
    [ROW_VM_WRITEV] = {{PARTS_SPAN(1, 2, READS), OWN_SPAN(3, 4, WRITES)}},
    [ROW_GETRANDOM] = {{ARG_SPAN(0, 1, WRITES)}},
    [ROW_MSGSND] = {{SOME_SPAN(1), ARG_SPAN(1, 2, READS)}},
    [ROW_MSGRCV] = {{SOME_SPAN(1), ARG_SPAN(1, 2, WRITES)}},
    [ROW_GETXATTR] = {{SOME_SPAN(0), SOME_SPAN(1), ARG_SPAN(2, 3, WRITES)}},
    [ROW_SETXATTR] = {{SOME_SPAN(0), SOME_SPAN(1), ARG_SPAN(2, 3, READS)}},
    [ROW_POLL] = {{EACH_SPAN(0, 1, 8)}},
    [ROW_PPOLL] = {{EACH_SPAN(0, 1, 8), SOME_SPAN(2), SOME_SPAN(3)}},
    [ROW_EPOLL_WAIT] = {{EACH_SPAN(1, 2, 0)}},
    [ROW_EPOLL_PWAIT] = {{EACH_SPAN(1, 2, 0), SOME_SPAN(3), SOME_SPAN(4)}},
};

/* What the number of a system call does. Of others it is not even known how many arguments they
 * have: nothing is opened for what lies in the registers. */
static enum row_id row_of(long number)
{
    switch (number) {
#define SAME(name, row)                                                                            \
    case SYS_##name:                                                                               \
        return ROW_##row;
        SAME(read, READ)
        SAME(pread64, READ)
        SAME(getdents64, READ)
        SAME(mq_timedreceive, READ)
        SAME(write, WRITE)
        SAME(pwrite64, WRITE)
        SAME(mq_timedsend, WRITE)
        SAME(recvfrom, RECVFROM)
        SAME(sendto, SENDTO)
        SAME(readv, READV)
        SAME(preadv, READV)
        SAME(preadv2, READV)
        SAME(writev, WRITEV)
        SAME(pwritev, WRITEV)
        SAME(pwritev2, WRITEV)
        SAME(vmsplice, WRITEV)
        SAME(recvmsg, RECVMSG)
        SAME(sendmsg, SENDMSG)
        SAME(recvmmsg, RECVMMSG)
        SAME(sendmmsg, SENDMMSG)
        SAME(process_vm_readv, VM_READV)
        SAME(process_vm_writev, VM_WRITEV)
        SAME(getrandom, GETRANDOM)
        SAME(msgsnd, MSGSND)
        SAME(msgrcv, MSGRCV)
        SAME(getxattr, GETXATTR)
        SAME(lgetxattr, GETXATTR)
        SAME(fgetxattr, GETXATTR)
        SAME(setxattr, SETXATTR)
        SAME(lsetxattr, SETXATTR)
        SAME(fsetxattr, SETXATTR)
        SAME(futex, FUTEX)
        SAME(openat, ANY2)
        SAME(newfstatat, ANY3)
        SAME(fstat, ANY2)
        SAME(statx, ANY5)
        SAME(readlinkat, ANY3)
        SAME(getcwd, ANY1)
        SAME(uname, ANY1)
        SAME(sysinfo, ANY1)
        SAME(getrusage, ANY2)
        SAME(prlimit64, ANY4)
        SAME(ioctl, ANY3)
        SAME(accept4, ANY3)
        SAME(connect, ANY2)
        SAME(bind, ANY2)
        SAME(getsockopt, ANY5)
        SAME(setsockopt, ANY4)
        SAME(epoll_ctl, ANY4)
        SAME(sendfile, ANY3)
        SAME(splice, ANY4)
        SAME(copy_file_range, ANY4)
        SAME(nanosleep, ANY2)
        SAME(clock_nanosleep, ANY4)
        SAME(wait4, ANY4)
        SAME(waitid, ANY3)
        SAME(semtimedop, ANY4)
        SAME(mincore, ANY3)
        SAME(move_pages, ANY5)
        SAME(io_submit, ANY3)
        SAME(io_getevents, ANY5)
        SAME(pselect6, ANY6)
        SAME(ppoll, PPOLL)
        SAME(epoll_pwait, EPOLL_PWAIT)
#ifdef SYS_poll
        SAME(poll, POLL)
        SAME(epoll_wait, EPOLL_WAIT)
#endif
#undef SAME
    default:
        return ROW_NONE;
    }
}

/* ---- a call ---- */

#define ARGS 6

/* What is open while a call lasts. Further parts than these are rare, and stay as they are. */
struct held {
    const char *call;
    const void *at;
    unsigned count;
    struct iovec open[64];
};

static void hold(struct held *h, const void *p, size_t bytes, enum does does)
{
    if ((uintptr_t)p < 65536 || h->count == WEIR_ARRAY_SIZE(h->open) ||
        !io_begin(p, bytes, does == WRITES, does == OPENS ? NULL : h->call, h->at))
        return;
    h->open[h->count++] = (struct iovec){(void *)(uintptr_t)p, bytes};
}

static void hold_parts(struct held *h, const struct iovec *v, size_t count, enum does does)
{
    if (!v)
        return;
    hold(h, v, count * sizeof *v, OPENS);
    for (size_t i = 0; i < count && h->count < WEIR_ARRAY_SIZE(h->open); i++)
        hold(h, v[i].iov_base, v[i].iov_len, does);
}

static void hold_message(struct held *h, const struct msghdr *m, enum does does)
{
    if (!m)
        return;
    hold(h, m, sizeof(struct mmsghdr), OPENS);
    hold(h, m->msg_name, m->msg_namelen, OPENS);
    hold(h, m->msg_control, m->msg_controllen, OPENS);
    hold_parts(h, m->msg_iov, m->msg_iovlen, does);
}

static void hold_span(struct held *h, const struct span *s, const long *args)
{
    const void *p = (const void *)args[s->arg];
    size_t count = s->how == FIXED ? s->of : (size_t)args[s->of];

    switch (s->how) {
    case FIXED:
        hold(h, p, count, (enum does)s->does);
        break;
    case ARG:
        if (!s->each) /* struct epoll_event */
            hold(h, p, (size_t)WEIR_MAX((int)count, 0) * 12, (enum does)s->does);
        else
            hold(h, p, count * s->each, (enum does)s->does);
        break;
    case OWN_PARTS:
        if ((int)args[0] != getpid())
            break;
        __attribute__((fallthrough));
    case PARTS:
        hold_parts(h, p, (size_t)WEIR_MAX((int)count, 0), (enum does)s->does);
        break;
    case MESSAGE:
        hold_message(h, p, (enum does)s->does);
        break;
    case MESSAGES:
        for (unsigned i = 0; p && i < (unsigned)count && h->count < WEIR_ARRAY_SIZE(h->open); i++)
            hold_message(h, &((const struct mmsghdr *)p)[i].msg_hdr, (enum does)s->does);
        break;
    default:
        break;
    }
}

static void held_begin(struct held *h, enum row_id id, const long *args, const char *call,
                       const void *at)
{
    const struct row *row = &rows[id];
    unsigned count = id >= ROW_ANY1 && id <= ROW_ANY6 ? id - ROW_ANY1 + 1 : 0;

    h->call = call;
    h->at = at;
    h->count = 0;
    for (unsigned i = 0; i < count; i++)
        hold(h, (const void *)args[i], SOME, OPENS);
    for (unsigned i = 0; i < WEIR_ARRAY_SIZE(row->spans); i++)
        hold_span(h, &row->spans[i], args);
}

static void held_end(struct held *h)
{
    while (h->count) {
        h->count--;
        io_end(h->open[h->count].iov_base, h->open[h->count].iov_len);
    }
}

/* ---- the calls ---- */

typedef long call_fn(long, long, long, long, long, long);

enum {
#define CALL(name, row) NUMBER_##name,
#include "takeover/io_calls.def"
#undef CALL
    NUMBERS
};

static const char *const names[NUMBERS] = {
#define CALL(name, row) #name,
#include "takeover/io_calls.def"
#undef CALL
};

static _Atomic(void *) next_calls[NUMBERS];

/* The next library's function; condition variables have an older one of each name. */
static void *next_of(const char *name)
{
    void *f =
        strncmp(name, "pthread_cond_", 13) == 0 ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : NULL;

    return f ? f : dlsym(RTLD_NEXT, name);
}

static void *known_or_next(_Atomic(void *) *known, const char *name)
{
    void *f = atomic_load_explicit(known, memory_order_relaxed);

    if (WEIR_UNLIKELY(!f)) {
        f = next_of(name);
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
    } next = {.object = known_or_next(&known, #name)}

static void *next_call(unsigned number)
{
    return known_or_next(&next_calls[number], names[number]);
}

static _Atomic(void *) next_free;

/* Looking for a name may free what is left of an error before, or of its own: so this one comes
 * first. NULL: it is being looked for. There are no threads yet. */
static void *find_free(void)
{
    static volatile bool looks; /* to the compiler dlsym never comes back here */
    void *f;

    if (looks)
        return NULL;
    looks = true;
    f = dlsym(RTLD_NEXT, "free");
    looks = false;
    atomic_store_explicit(&next_free, f, memory_order_relaxed);
    return f;
}

/* Before there are threads: looking for a name takes the loader's lock, which another thread may
 * hold while it waits for one that calls. */
__attribute__((constructor)) static void find_calls(void)
{
    (void)find_free();
    for (unsigned i = 0; i < NUMBERS; i++)
        (void)next_call(i);
}

static __attribute__((noinline)) long watched_call(call_fn *f, enum row_id row, const char *name,
                                                   const void *at, const long *args)
{
    struct held h;
    long r;

    held_begin(&h, row, args, name, at);
    r = f(args[0], args[1], args[2], args[3], args[4], args[5]);
    held_end(&h); /* errno stays */
    return r;
}

/* Arguments and results of all of them go through general registers, so one type serves all. */
#define CALL(name, row)                                                                            \
    EXPORT long weir_io_##name(long a, long b, long c, long d, long e, long g) __asm__(#name);     \
    EXPORT long weir_io_##name(long a, long b, long c, long d, long e, long g)                     \
    {                                                                                              \
        union {                                                                                    \
            void *object;                                                                          \
            call_fn *call;                                                                         \
        } next = {.object = next_call(NUMBER_##name)};                                             \
                                                                                                   \
        if (!next.object) {                                                                        \
            errno = ENOSYS;                                                                        \
            return -1;                                                                             \
        }                                                                                          \
        if (!atomic_load_explicit(&told.begin, memory_order_relaxed))                              \
            return next.call(a, b, c, d, e, g);                                                    \
        return watched_call(next.call, ROW_##row, #name, HERE, (long[]){a, b, c, d, e, g});        \
    }
#include "takeover/io_calls.def"
#undef CALL

/* The same by their numbers. What makes a process or a thread goes through without a frame of its
 * own: the child may return on another stack. */
typedef long syscall_fn(long, long, long, long, long, long, long);

static __attribute__((noinline)) long watched_syscall(syscall_fn *f, long number, const void *at,
                                                      const long *args)
{
    struct held h;
    long r;

    held_begin(&h, row_of(number), args, "syscall", at);
    r = f(number, args[0], args[1], args[2], args[3], args[4], args[5]);
    held_end(&h);
    return r;
}

static bool makes_another(long number)
{
    return number == SYS_clone || number == SYS_clone3
#ifdef SYS_vfork
           || number == SYS_vfork || number == SYS_fork
#endif
        ;
}

EXPORT long weir_io_syscall(long number, long a, long b, long c, long d, long e,
                            long g) __asm__("syscall");
EXPORT long weir_io_syscall(long number, long a, long b, long c, long d, long e, long g)
{
    NEXT(long, syscall, (long, long, long, long, long, long, long));

    if (makes_another(number) || !atomic_load_explicit(&told.begin, memory_order_relaxed))
        return next.call(number, a, b, c, d, e, g);
    return watched_syscall(next.call, number, HERE, (long[]){a, b, c, d, e, g});
}

/* ---- streams ---- */

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

CALL(size_t, __fread_chk, (void *restrict p, size_t room, size_t size, size_t n, FILE *restrict f),
     (p, room, size, n, f), p, size *n, true)

/* A stream's buffer is read and written by the library itself, whenever it likes. */
EXPORT int setvbuf(FILE *restrict f, char *restrict p, int mode, size_t bytes)
{
    NEXT(int, setvbuf, (FILE *, char *, int, size_t));

    if (p)
        (void)io_begin(p, bytes, true, NULL, HERE);
    return next.call(f, p, mode, bytes);
}

EXPORT void setbuf(FILE *restrict f, char *restrict p)
{
    (void)setvbuf(f, p, p ? _IOFBF : _IONBF, BUFSIZ);
}

/* ---- what goes on when the call has returned: what it uses is open from then on ---- */

static void hold_for_good(const struct aiocb *cb, bool writes, const char *call, const void *at)
{
    if (cb)
        (void)io_begin((const void *)(uintptr_t)cb->aio_buf, cb->aio_nbytes, writes, call, at);
}

/* (A struct aiocb64 is the same.) */
#define CALL_LATER(name, writes)                                                                   \
    EXPORT int weir_io_##name(struct aiocb *cb) __asm__(#name);                                    \
    EXPORT int weir_io_##name(struct aiocb *cb)                                                    \
    {                                                                                              \
        NEXT(int, name, (struct aiocb *));                                                         \
                                                                                                   \
        hold_for_good(cb, writes, #name, HERE);                                                    \
        return next.call(cb);                                                                      \
    }

CALL_LATER(aio_read, true)
CALL_LATER(aio_read64, true)
CALL_LATER(aio_write, false)
CALL_LATER(aio_write64, false)

/* ---- memory that is given back ---- */

static void gone(const void *p, size_t bytes, bool moves, const char *call, const void *at)
{
    if (atomic_load_explicit(&told.begin, memory_order_acquire))
        atomic_load_explicit(&told.gone, memory_order_relaxed)(p, bytes, moves, call, at);
}

static void freed(const void *p, size_t bytes, const char *call, const void *at)
{
    if (atomic_load_explicit(&told.begin, memory_order_acquire))
        atomic_load_explicit(&told.freed, memory_order_relaxed)(p, bytes, call, at);
}

EXPORT void free(void *p)
{
    union {
        void *object;
        void (*call)(void *);
    } next = {.object = atomic_load_explicit(&next_free, memory_order_relaxed)};

    if (WEIR_UNLIKELY(!next.object)) /* before the first constructors */
        next.object = find_free();
    if (!next.object)
        return; /* a text that is never given back */
    if (p)
        freed(p, 0, "free", HERE);
    next.call(p);
}

/* The library moves the bytes while it holds its own lock, under which nothing can be told: so the
 * pages are opened before. Whether the block has moved is known afterwards. */
static void *realloc_watched(void *(*call)(void *, size_t), void *p, size_t bytes, const void *at)
{
    size_t old = malloc_usable_size(p);
    bool held = io_begin(p, old, false, NULL, at);
    void *r = call(p, bytes);

    if (held)
        io_end(p, old);
    if (r ? r != p : !bytes)
        freed(p, old, "realloc", at);
    return r;
}

EXPORT void *realloc(void *p, size_t bytes)
{
    NEXT(void *, realloc, (void *, size_t));

    if (!p || !atomic_load_explicit(&told.begin, memory_order_acquire))
        return next.call(p, bytes);
    return realloc_watched(next.call, p, bytes, HERE);
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
