/* Opening libweir-jit.so, and the compile threads.
 * At exit queued background jobs are dropped, and a running one is given half as long as the
 * program has run, two seconds at most: its result in the cache spares the next process the work,
 * but a program must not hang for it. Kernels that are still to be launched then are compiled as
 * ever.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/compile.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loader.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/thread.h"
#include "codegen/codegen.h"

#define JIT_NAME       "libweir-jit.so"
#define STACK_BYTES    ((size_t)16 << 20)
#define THREAD_MAX     16
#define EXIT_GRACE_NS  UINT64_C(2000000000)
#define NOTE_MAX_BYTES 4096u

/* ---- the library ---- */

struct jit_library {
    pthread_once_t once, place_once;
    const struct weir_jit_api *_Atomic api; /* release in open_here, acquire in the readers */
    char path[1024], why[256];
    char place[1024]; /* folder of the object that this code is linked into, "" when unknown */
};

static void end_background(void);

static struct jit_library library = {.once = PTHREAD_ONCE_INIT, .place_once = PTHREAD_ONCE_INIT};

static void find_place(void)
{
    Dl_info info;
    const char *slash;

    if (!dladdr((void *)(uintptr_t)&weir_cg_jit_open, &info) || !info.dli_fname)
        return;
    slash = strrchr(info.dli_fname, '/');
    if (slash && (size_t)(slash + 1 - info.dli_fname) < sizeof library.place)
        memcpy(library.place, info.dli_fname, (size_t)(slash + 1 - info.dli_fname));
}

void weir_cg_prepare(void)
{
    pthread_once(&library.place_once, find_place);
}

/* Beside the object that this code is linked into (libweir.so; a test program), or in lib beside
 * its folder. */
static bool find_library(char *path, size_t bytes)
{
    const char *env = getenv("WEIR_JIT_LIBRARY");
    static const char *const places[] = {"", "../lib/"};

    if (env && *env)
        return (size_t)snprintf(path, bytes, "%s", env) < bytes && access(path, R_OK) == 0;
    weir_cg_prepare();
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(places); i++) {
        if ((size_t)snprintf(path, bytes, "%s%s" JIT_NAME, library.place, places[i]) < bytes &&
            access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* Possibly on several threads at the same time (base/loader.h): the loader gives all the same
 * library, and what is written is the same. */
static void open_here(void)
{
    const struct weir_jit_api *(*entry)(void) = NULL;
    const struct weir_jit_api *api = NULL, *none = NULL;
    void *handle = dlopen(library.path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = handle ? dlsym(handle, "weir_jit_entry") : NULL;

    if (!symbol) {
        snprintf(library.why, sizeof library.why, "cannot open: %.200s", dlerror());
        return;
    }
    memcpy(&entry, &symbol, sizeof entry);
    api = entry();
    if (!api || api->abi != WEIR_JIT_ABI)
        snprintf(library.why, sizeof library.why, "%.160s is of another version of Weir",
                 library.path);
    else if (atomic_compare_exchange_strong(&library.api, &none, api))
        atexit(end_background);
}

static void open_once(void)
{
    if (find_library(library.path, sizeof library.path))
        weir_loader_call(open_here);
    else
        snprintf(library.why, sizeof library.why, "%s is not installed beside libweir.so",
                 JIT_NAME);
}

enum weir_err weir_cg_jit_open(const struct weir_jit_api **out)
{
    pthread_once(&library.once, open_once);
    *out = weir_cg_jit_if_open();
    if (!*out) {
        weir_log_unsupported("compiling kernels", "%s", library.why);
        return WEIR_FAIL(WEIR_ERR_JIT_COMPILER_NOT_FOUND, "%s", library.why);
    }
    return WEIR_OK;
}

const struct weir_jit_api *weir_cg_jit_if_open(void)
{
    return atomic_load_explicit(&library.api, memory_order_acquire);
}

/* The build id from the file's notes. False when it has none. */
static bool hash_build_id(int fd, struct weir_hash128 *h)
{
    Elf64_Ehdr e;
    Elf64_Phdr p;
    Elf64_Nhdr n;
    unsigned char notes[NOTE_MAX_BYTES];

    if (pread(fd, &e, sizeof e, 0) != (ssize_t)sizeof e ||
        memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_phentsize != sizeof p)
        return false;
    for (unsigned i = 0; i < e.e_phnum; i++) {
        size_t at = 0, bytes;

        if (pread(fd, &p, sizeof p, (off_t)(e.e_phoff + i * sizeof p)) != (ssize_t)sizeof p)
            return false;
        bytes = (size_t)p.p_filesz;
        if (p.p_type != PT_NOTE || bytes > sizeof notes ||
            pread(fd, notes, bytes, (off_t)p.p_offset) != (ssize_t)bytes)
            continue;
        while (at + sizeof n <= bytes) {
            size_t name, desc;

            memcpy(&n, notes + at, sizeof n);
            name = at + sizeof n;
            desc = name + WEIR_ALIGN_UP((size_t)n.n_namesz, (size_t)4);
            if (n.n_namesz > bytes || n.n_descsz > bytes || desc + n.n_descsz > bytes)
                break;
            if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
                memcmp(notes + name, "GNU", 4) == 0) {
                weir_hash128_add_field(h, notes + desc, n.n_descsz);
                return true;
            }
            at = desc + WEIR_ALIGN_UP((size_t)n.n_descsz, (size_t)4);
        }
    }
    return false;
}

void weir_cg_jit_hash(struct weir_hash128 *h)
{
    char path[1024];
    struct stat st;
    int fd = find_library(path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    if (!hash_build_id(fd, h) && fstat(fd, &st) == 0) {
        int64_t words[3] = {(int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec,
                            (int64_t)st.st_mtim.tv_nsec};

        weir_hash128_add_field(h, words, sizeof words);
    }
    close(fd);
}

/* ---- the threads ---- */

struct pool {
    struct weir_lock lock;
    /* guarded by lock */
    struct weir_list urgent, background;
    struct weir_cg_job *running[THREAD_MAX];
    pthread_t threads[THREAD_MAX];
    int thread_count, idle, background_running, queue_length;
    bool started, ending /* no background jobs */, stopping /* no jobs */;
    pid_t pid;
    uint64_t started_ns; /* the first job came */
    /* futex words, counted up under the lock */
    _Atomic uint32_t queued;   /* a job came: workers sleep on it */
    _Atomic uint32_t finished; /* a job ended: drain and the exit sleep on it */
};

static struct pool pool = {.lock = WEIR_LOCK_INIT(LEAF)};

static int thread_limit(void)
{
    return WEIR_MIN(weir_cpu_count() + 1, THREAD_MAX);
}

/* One thread fewer than there are is left for urgent work. */
static int background_limit(void)
{
    return WEIR_MAX(1, (thread_limit() - 1) / 2);
}

static struct weir_cg_job *take_locked(bool *is_background)
{
    struct weir_list *from = NULL;
    struct weir_cg_job *job;

    if (!weir_list_is_empty(&pool.urgent))
        from = &pool.urgent;
    else if (!weir_list_is_empty(&pool.background) && pool.background_running < background_limit())
        from = &pool.background;
    if (!from)
        return NULL;
    *is_background = from == &pool.background;
    job = WEIR_LIST_ENTRY(from->next, struct weir_cg_job, link);
    weir_list_remove(&job->link);
    pool.queue_length--;
    return job;
}

static void bump(_Atomic uint32_t *word, int wake)
{
    atomic_fetch_add_explicit(word, 1, memory_order_release);
    weir_futex_wake(word, wake);
}

static void *worker(void *arg)
{
    int self = (int)(intptr_t)arg;

    weir_thread_mark_own();
    weir_lock_acquire(&pool.lock);
    while (!pool.stopping) {
        bool is_background = false;
        struct weir_cg_job *job = take_locked(&is_background);

        if (!job) {
            uint32_t seen = atomic_load_explicit(&pool.queued, memory_order_acquire);

            pool.idle++;
            weir_lock_release(&pool.lock);
            weir_futex_wait(&pool.queued, seen, UINT64_MAX);
            weir_lock_acquire(&pool.lock);
            pool.idle--;
            continue;
        }
        pool.running[self] = job;
        pool.background_running += is_background;
        weir_lock_release(&pool.lock);
        job->run(job); /* the job's memory may be gone afterwards */
        weir_lock_acquire(&pool.lock);
        pool.running[self] = NULL;
        pool.background_running -= is_background;
        bump(&pool.finished, INT32_MAX);
    }
    weir_lock_release(&pool.lock);
    return NULL;
}

static bool is_busy_locked(void)
{
    for (int i = 0; i < pool.thread_count; i++) {
        if (pool.running[i])
            return true;
    }
    return false;
}

/* Sleeps until no job runs; the lock is held on entry and return. False on time-out. */
static bool wait_idle_locked(uint64_t deadline_ns)
{
    while (is_busy_locked()) {
        uint32_t seen = atomic_load_explicit(&pool.finished, memory_order_acquire);
        uint64_t now = weir_clock_ns();

        if (now >= deadline_ns)
            return false;
        weir_lock_release(&pool.lock);
        weir_loader_wait(&pool.finished, seen,
                         deadline_ns == UINT64_MAX ? UINT64_MAX : deadline_ns - now);
        weir_lock_acquire(&pool.lock);
    }
    return true;
}

static void drop_background_locked(void)
{
    pool.ending = true;
    while (pool.started && !weir_list_is_empty(&pool.background)) {
        weir_list_remove(pool.background.next);
        pool.queue_length--;
    }
}

/* atexit, registered after the library was opened: so it runs before what the library itself has
 * registered, and no background compilation is in LLVM while that ends. Urgent jobs go on: work
 * that is still pending drains after this. */
static void end_background(void)
{
    uint64_t now;

    if (pool.pid != getpid())
        return; /* a forked child has no such threads */
    weir_lock_acquire(&pool.lock);
    drop_background_locked();
    now = weir_clock_ns();
    (void)wait_idle_locked(now + WEIR_MIN(EXIT_GRACE_NS, (now - pool.started_ns) / 2));
    weir_lock_release(&pool.lock);
}

/* The end, after pending work has drained. A thread that still compiles is left to the process. */
WEIR_DESTRUCTOR_LAST static void end_threads(void)
{
    pthread_t threads[THREAD_MAX];
    int count;

    if (pool.pid != getpid())
        return;
    weir_lock_acquire(&pool.lock);
    drop_background_locked();
    if (is_busy_locked()) {
        weir_lock_release(&pool.lock);
        return;
    }
    pool.stopping = true;
    count = pool.thread_count;
    memcpy(threads, pool.threads, sizeof threads);
    bump(&pool.queued, INT32_MAX);
    weir_lock_release(&pool.lock);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void start_locked(void)
{
    weir_list_init(&pool.urgent);
    weir_list_init(&pool.background);
    pool.pid = getpid();
    pool.started_ns = weir_clock_ns();
    pool.started = true;
}

enum weir_err weir_cg_job_submit(struct weir_cg_job *job, bool urgent)
{
    enum weir_err err = WEIR_OK;

    weir_lock_acquire(&pool.lock);
    if (!pool.started)
        start_locked();
    if (pool.stopping || (pool.ending && !urgent) || pool.pid != getpid()) {
        weir_lock_release(&pool.lock);
        return WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM,
                         "no compile threads (after exit, or in a forked child)");
    }
    weir_list_append(urgent ? &pool.urgent : &pool.background, &job->link);
    pool.queue_length++;
    if (pool.queue_length > pool.idle && pool.thread_count < thread_limit()) {
        err = weir_thread_start(&pool.threads[pool.thread_count], "compile", STACK_BYTES, worker,
                                (void *)(intptr_t)pool.thread_count);
        if (!err) {
            pool.thread_count++;
        } else if (pool.thread_count > 0) {
            err = WEIR_OK; /* one that is there will come to it */
        } else {
            weir_list_remove(&job->link);
            pool.queue_length--;
        }
    }
    bump(&pool.queued, INT32_MAX);
    weir_lock_release(&pool.lock);
    return err;
}

static size_t drop_queued_locked(struct weir_list *list, const void *owner)
{
    size_t n = 0;

    WEIR_LIST_FOR_EACH_SAFE(node, next, list)
    {
        if (WEIR_LIST_ENTRY(node, struct weir_cg_job, link)->owner == owner) {
            weir_list_remove(node);
            pool.queue_length--;
            n++;
        }
    }
    return n;
}

size_t weir_cg_jobs_drop(const void *owner)
{
    size_t n = 0;

    weir_lock_acquire(&pool.lock);
    if (pool.started && pool.pid == getpid())
        n = drop_queued_locked(&pool.urgent, owner) + drop_queued_locked(&pool.background, owner);
    weir_lock_release(&pool.lock);
    return n;
}

void weir_cg_jobs_drain(void)
{
    weir_lock_acquire(&pool.lock);
    while (pool.started && (!weir_list_is_empty(&pool.urgent) ||
                            !weir_list_is_empty(&pool.background) || is_busy_locked())) {
        uint32_t seen = atomic_load_explicit(&pool.finished, memory_order_acquire);

        weir_lock_release(&pool.lock);
        weir_futex_wait(&pool.finished, seen, UINT64_C(50000000));
        weir_lock_acquire(&pool.lock);
    }
    weir_lock_release(&pool.lock);
}
