/* The file of a trace (format.h) and its chunks. A chunk costs more than the records in it: room on
 * the disk, pages that the kernel clears and maps, a checksum. Some are written with zeros and
 * mapped together, as a page costs a third of what it does alone; and a thread, the keeper, has the
 * next ones ready and closes those that are full. Where it has none ready, who asks maps the next
 * one; where it is behind with closing, who gives one back closes it: memory stays bounded.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "trace/format.h"
#include "trace/record.h"

#define TOGETHER 4u  /* chunks that the file grows by, and that are mapped, at a time */
#define FD_MIN   500 /* out of the way of programs that expect low numbers */
#define AHEAD    4u  /* chunks ready at most, and chunks to be closed */

#if !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23
#endif

/* With fewer it only takes one from who submits, or from who runs kernels. */
int weir_trace_keeper_cpus = 3;

static struct {
    struct weir_lock lock; /* the file and its end */
    const char *path;
    int fd; /* 0: not made yet */
    dev_t device;
    ino_t inode;
    uint32_t header_bytes;
    uint64_t chunks; /* handed out of those that were mapped */
    char *next;      /* `left` that were not */
    uint32_t left;
    bool ended;
} file = {.lock = WEIR_LOCK_INIT(LEAF)};

/* Chunks that are ready, oldest first: `last` is written under the file's lock, by whoever maps. No
 * chunk but these is taken of what is mapped and not handed out, so they are the last of the file
 * that count. */
static struct {
    _Atomic uint32_t first, last;
    char *_Atomic chunk[AHEAD];
} ready;

static char *_Atomic full[AHEAD]; /* to be closed */

static struct {
    _Atomic bool asked, runs; /* for the thread, once; it is there */
    _Atomic uint32_t calls;   /* futex word */
    _Atomic uint32_t taken;   /* chunks handed out: a short program needs few ahead */
} keeper;

static bool make_file_locked(void)
{
    struct weir_trace_file_header h = {.version = WEIR_TRACE_VERSION,
                                       .chunk_bytes = WEIR_TRACE_CHUNK_BYTES,
                                       .pid = (uint32_t)getpid()};
    long page = sysconf(_SC_PAGESIZE);
    struct timespec wall;
    struct stat st;
    int fd = file.path[0] ? open(file.path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
                          : memfd_create("weir-trace", MFD_CLOEXEC);
    int high;

    if (fd < 0)
        return false;
    high = fcntl(fd, F_DUPFD_CLOEXEC, FD_MIN);
    if (high >= 0) {
        close(fd);
        fd = high;
    }
    clock_gettime(CLOCK_REALTIME, &wall);
    memcpy(h.magic, WEIR_TRACE_MAGIC, sizeof h.magic);
    h.header_bytes = (uint32_t)WEIR_MAX(page, 4096);
    h.start_ns = weir_clock_ns();
    h.wall_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec;
    if (pwrite(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || fstat(fd, &st) != 0) {
        close(fd);
        return false;
    }
    file.fd = fd;
    file.device = st.st_dev;
    file.inode = st.st_ino;
    file.header_bytes = h.header_bytes;
    return true;
}

/* Space on the disk, not only in the file's length: a write to a mapped page that finds the disk
 * full would be a SIGBUS. Written, not only reserved: the file system then has larger pages in
 * memory, and knows them to be changed. */
static bool grow_locked(off_t from)
{
    static char zeros[WEIR_TRACE_CHUNK_BYTES];

    for (off_t done = 0; done < (off_t)(TOGETHER * sizeof zeros);) {
        ssize_t n = pwrite(file.fd, zeros, sizeof zeros - (size_t)done % sizeof zeros, from + done);

        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        done += n > 0 ? n : 0;
    }
    return true;
}

/* The program may have closed all files. */
static bool is_ours_locked(void)
{
    struct stat st;

    return fstat(file.fd, &st) == 0 && st.st_dev == file.device && st.st_ino == file.inode;
}

static bool map_next_locked(void)
{
    off_t from = (off_t)(file.header_bytes + file.chunks * WEIR_TRACE_CHUNK_BYTES);
    const size_t bytes = TOGETHER * WEIR_TRACE_CHUNK_BYTES;
    char *p;

    if (!grow_locked(from))
        return false;
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, from);
    if (p == MAP_FAILED)
        return false;
    /* (Pages that are only read in fault once more when they are first written. A kernel that does
     * not know this: they fault one by one.) */
    (void)madvise(p, bytes, MADV_POPULATE_WRITE);
    file.next = p;
    file.left = TOGETHER;
    return true;
}

/* The file's next chunk, or NULL and *what went wrong. */
static char *map_locked(const char **what)
{
    char *p;

    *what = "cannot be written";
    errno = 0;
    if (file.ended)
        return NULL;
    if (!file.fd && !make_file_locked()) {
        *what = "cannot be made";
        return NULL;
    }
    if (!is_ours_locked()) {
        errno = EBADF;
        *what = "the program closed it";
        return NULL;
    }
    if (!file.left && !map_next_locked())
        return NULL;
    p = file.next;
    file.next += WEIR_TRACE_CHUNK_BYTES;
    file.left--;
    file.chunks++;
    return p;
}

static void give_up(const char *what)
{
    if (atomic_exchange(&weir_trace_on, false))
        weir_log(WEIR_LOG_WARN, "the trace %s ends here: %s: %s", file.path, what, strerror(errno));
}

static void seal(char *chunk)
{
    struct weir_trace_chunk_header *h = (struct weir_trace_chunk_header *)chunk;

    h->checksum = weir_hash_lanes(h + 1, h->used, 1);
    __atomic_store_n(&h->state, WEIR_TRACE_CHUNK_SEALED, __ATOMIC_RELEASE);
    munmap(chunk, WEIR_TRACE_CHUNK_BYTES);
}

/* ---- the keeper ---- */

static uint32_t count_ready(void)
{
    return atomic_load(&ready.last) - atomic_load(&ready.first);
}

static char *take_ready(void)
{
    uint32_t first = atomic_load(&ready.first);

    while (first != atomic_load(&ready.last)) {
        char *chunk = atomic_load(&ready.chunk[first % AHEAD]);

        if (atomic_compare_exchange_weak(&ready.first, &first, first + 1))
            return chunk;
    }
    return NULL;
}

static void close_full(void)
{
    for (uint32_t i = 0; i < AHEAD; i++) {
        char *chunk = atomic_exchange(&full[i], NULL);

        if (chunk)
            seal(chunk);
    }
}

/* False: enough are ready, or there can be no more. (Whoever needs one says why.) */
static bool make_ready(void)
{
    const char *what;
    uint32_t last;
    char *chunk = NULL;

    if (count_ready() >= WEIR_MIN(AHEAD, atomic_load(&keeper.taken)))
        return false;
    weir_lock_acquire(&file.lock);
    last = atomic_load(&ready.last);
    if (last - atomic_load(&ready.first) < AHEAD && atomic_load(&weir_trace_on))
        chunk = map_locked(&what);
    if (chunk) {
        atomic_store(&ready.chunk[last % AHEAD], chunk);
        atomic_store(&ready.last, last + 1);
    }
    weir_lock_release(&file.lock);
    return chunk != NULL;
}

static void *keep(void *arg)
{
    weir_thread_ready();
    for (;;) {
        uint32_t calls = atomic_load(&keeper.calls);

        close_full();
        while (make_ready())
            close_full();
        weir_futex_wait(&keeper.calls, calls, UINT64_MAX);
    }
    return arg;
}

static WEIR_NOINLINE void start_keeper(void)
{
    pthread_t thread;

    if (atomic_exchange(&keeper.asked, true) || weir_cpu_count() < weir_trace_keeper_cpus)
        return;
    if (weir_thread_start(&thread, "trace", 0, keep, NULL) != WEIR_OK) {
        weir_log(WEIR_LOG_INFO, "the trace is written without its thread: %s", weir_err_message());
        return;
    }
    pthread_detach(thread);
    atomic_store(&keeper.runs, true);
}

static void call_keeper(void)
{
    if (WEIR_UNLIKELY(!atomic_load(&keeper.asked)))
        start_keeper();
    if (!atomic_load(&keeper.runs))
        return;
    atomic_fetch_add(&keeper.calls, 1);
    weir_futex_wake(&keeper.calls, 1);
}

/* ---- what the writer asks for ---- */

char *weir_trace_chunk_take(void)
{
    char *chunk = take_ready();
    const char *what;

    atomic_fetch_add(&keeper.taken, 1);
    if (!chunk) {
        weir_lock_acquire(&file.lock);
        chunk = take_ready(); /* while we waited for who was mapping it */
        if (!chunk)
            chunk = map_locked(&what);
        weir_lock_release(&file.lock);
    }
    if (chunk)
        call_keeper();
    else
        give_up(what);
    return chunk;
}

void weir_trace_chunk_give(char *chunk)
{
    for (uint32_t i = 0; i < AHEAD && atomic_load(&keeper.runs); i++) {
        char *none = NULL;

        if (atomic_compare_exchange_strong(&full[i], &none, chunk))
            return; /* who gives one takes another, and calls the keeper then */
    }
    seal(chunk);
}

/* ---- beginning and end ---- */

void weir_trace_file_name(const char *path)
{
    file.path = path;
}

bool weir_trace_file_own_path(char out[32])
{
    bool ok;

    weir_lock_acquire(&file.lock);
    ok = file.fd && is_ours_locked();
    if (ok)
        snprintf(out, 32, "/proc/self/fd/%d", file.fd);
    weir_lock_release(&file.lock);
    return ok;
}

void weir_trace_file_end(void)
{
    char *unused;

    weir_lock_acquire(&file.lock);
    file.ended = true;
    while ((unused = take_ready())) {
        munmap(unused, WEIR_TRACE_CHUNK_BYTES);
        file.chunks--;
    }
    if (file.left)
        munmap(file.next, file.left * WEIR_TRACE_CHUNK_BYTES);
    file.left = 0;
    /* Nobody maps a chunk behind this any more; those that are mapped stay inside. */
    if (file.fd && is_ours_locked())
        (void)!ftruncate(file.fd,
                         (off_t)(file.header_bytes + file.chunks * WEIR_TRACE_CHUNK_BYTES));
    weir_lock_release(&file.lock);
    close_full();
}
