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
#define OPEN_POLL_NS   UINT64_C(1000000)
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

/* Two crews, so that urgent work never waits for a background compilation, and so that background
 * threads can be nice: a thread cannot take that back. */
struct crew {
    /* guarded by the pool's lock */
    struct weir_list jobs;
    int length, idle, count;
    pthread_t threads[THREAD_MAX];
    struct weir_cg_job *running[THREAD_MAX];
    /* futex word, counted up under the lock: a job came */
    _Atomic uint32_t queued;
};

enum crew_kind { CREW_URGENT, CREW_BACKGROUND, CREWS };

struct pool {
    pthread_once_t exit_once;
    struct weir_lock lock;
    /* guarded by lock */
    struct crew crews[CREWS];
    bool started, ending /* no background jobs */, stopping /* no jobs */;
    _Atomic pid_t pid;   /* written under the lock; a forked child cannot take that */
    uint64_t started_ns; /* the first job came */
    /* futex word, counted up under the lock: a job ended; drain and the exit sleep on it */
    _Atomic uint32_t finished;
};

static struct pool pool = {.exit_once = PTHREAD_ONCE_INIT, .lock = WEIR_LOCK_INIT(LEAF)};

static int crew_limit(enum crew_kind kind)
{
    int n = weir_cpu_count();

    return WEIR_MIN(kind == CREW_URGENT ? n : WEIR_MAX(1, n / 2), THREAD_MAX);
}

static void bump(_Atomic uint32_t *word, int wake)
{
    atomic_fetch_add_explicit(word, 1, memory_order_release);
    weir_futex_wake(word, wake);
}

static void crew_run(struct crew *crew, int self)
{
    weir_lock_acquire(&pool.lock);
    while (!pool.stopping) {
        struct weir_cg_job *job;

        if (weir_list_is_empty(&crew->jobs)) {
            uint32_t seen = atomic_load_explicit(&crew->queued, memory_order_acquire);

            crew->idle++;
            weir_lock_release(&pool.lock);
            weir_futex_wait(&crew->queued, seen, UINT64_MAX);
            weir_lock_acquire(&pool.lock);
            crew->idle--;
            continue;
        }
        job = WEIR_LIST_ENTRY(crew->jobs.next, struct weir_cg_job, link);
        weir_list_remove(&job->link);
        crew->length--;
        crew->running[self] = job;
        weir_lock_release(&pool.lock);
        job->run(job); /* the job's memory may be gone afterwards */
        weir_lock_acquire(&pool.lock);
        crew->running[self] = NULL;
        bump(&pool.finished, INT32_MAX);
    }
    weir_lock_release(&pool.lock);
}

static void *urgent_worker(void *arg)
{
    weir_thread_ready();
    crew_run(&pool.crews[CREW_URGENT], (int)(intptr_t)arg);
    return NULL;
}

static void *background_worker(void *arg)
{
    weir_thread_ready();
    weir_thread_be_nice();
    crew_run(&pool.crews[CREW_BACKGROUND], (int)(intptr_t)arg);
    return NULL;
}

static bool is_busy_locked(void)
{
    for (int k = 0; k < CREWS; k++) {
        for (int i = 0; i < pool.crews[k].count; i++) {
            if (pool.crews[k].running[i])
                return true;
        }
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
    struct crew *c = &pool.crews[CREW_BACKGROUND];

    pool.ending = true;
    while (pool.started && !weir_list_is_empty(&c->jobs)) {
        weir_list_remove(c->jobs.next);
        c->length--;
    }
}

/* atexit, registered with the first job, and after the library was opened: so it runs before what
 * the library itself has registered, and no background compilation is in LLVM while that ends; nor
 * is the library opened while the loader ends the others, for which a run time with thread-local
 * memory of its own (a sanitizer's) would be made anew under its threads. Urgent jobs go on: work
 * that is still pending drains after this. */
static void end_background(void)
{
    uint64_t now;

    if (pool.pid != getpid())
        return; /* a forked child has no such threads */
    weir_lock_acquire(&pool.lock);
    if (!pool.ending) {
        drop_background_locked();
        now = weir_clock_ns();
        (void)wait_idle_locked(now + WEIR_MIN(EXIT_GRACE_NS, (now - pool.started_ns) / 4));
        now += EXIT_GRACE_NS;
        while (!weir_cg_jit_if_open() && weir_clock_ns() < now &&
               !wait_idle_locked(weir_clock_ns() + OPEN_POLL_NS))
            ;
    }
    weir_lock_release(&pool.lock);
}

bool weir_cg_background_over(void)
{
    bool over;

    weir_lock_acquire(&pool.lock);
    over = pool.ending;
    weir_lock_release(&pool.lock);
    return over;
}

/* The end, after pending work has drained. A thread that still compiles is left to the process. */
WEIR_DESTRUCTOR_LAST static void end_threads(void)
{
    if (pool.pid != getpid())
        return;
    weir_lock_acquire(&pool.lock);
    drop_background_locked();
    if (is_busy_locked()) {
        weir_lock_release(&pool.lock);
        return;
    }
    pool.stopping = true;
    for (int k = 0; k < CREWS; k++)
        bump(&pool.crews[k].queued, INT32_MAX);
    weir_lock_release(&pool.lock);
    for (int k = 0; k < CREWS; k++) { /* nobody starts a thread any more */
        for (int i = 0; i < pool.crews[k].count; i++)
            pthread_join(pool.crews[k].threads[i], NULL);
    }
}

static void watch_exit(void)
{
    atexit(end_background);
}

static void start_locked(void)
{
    for (int k = 0; k < CREWS; k++)
        weir_list_init(&pool.crews[k].jobs);
    pool.pid = getpid();
    pool.started_ns = weir_clock_ns();
    pool.started = true;
}

/* Another thread when all are busy. */
static enum weir_err add_thread_locked(enum crew_kind kind)
{
    struct crew *c = &pool.crews[kind];
    enum weir_err err;

    if (c->length <= c->idle || c->count >= crew_limit(kind))
        return WEIR_OK;
    err = weir_thread_start(&c->threads[c->count], "compile", STACK_BYTES,
                            kind == CREW_URGENT ? urgent_worker : background_worker,
                            (void *)(intptr_t)c->count);
    if (!err)
        c->count++;
    else if (c->count > 0)
        err = WEIR_OK; /* one that is there will come to it */
    return err;
}

enum weir_err weir_cg_job_submit(struct weir_cg_job *job, bool urgent)
{
    enum crew_kind kind = urgent ? CREW_URGENT : CREW_BACKGROUND;
    struct crew *c = &pool.crews[kind];
    enum weir_err err;

    pthread_once(&pool.exit_once, watch_exit);
    weir_lock_acquire(&pool.lock);
    if (!pool.started)
        start_locked();
    if (pool.stopping || (pool.ending && !urgent) || pool.pid != getpid()) {
        weir_lock_release(&pool.lock);
        return WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM,
                         "no compile threads (after exit, or in a forked child)");
    }
    weir_list_append(&c->jobs, &job->link);
    c->length++;
    err = add_thread_locked(kind);
    if (err) {
        weir_list_remove(&job->link);
        c->length--;
    }
    bump(&c->queued, INT32_MAX);
    weir_lock_release(&pool.lock);
    return err;
}

size_t weir_cg_jobs_drop(const void *owner)
{
    size_t n = 0;

    weir_lock_acquire(&pool.lock);
    for (int k = 0; k < CREWS && pool.started && pool.pid == getpid(); k++) {
        WEIR_LIST_FOR_EACH_SAFE(node, next, &pool.crews[k].jobs)
        {
            if (WEIR_LIST_ENTRY(node, struct weir_cg_job, link)->owner == owner) {
                weir_list_remove(node);
                pool.crews[k].length--;
                n++;
            }
        }
    }
    weir_lock_release(&pool.lock);
    return n;
}

static bool is_any_queued_locked(void)
{
    for (int k = 0; k < CREWS; k++) {
        if (!weir_list_is_empty(&pool.crews[k].jobs))
            return true;
    }
    return false;
}

void weir_cg_jobs_drain(void)
{
    weir_lock_acquire(&pool.lock);
    while (pool.started && (is_any_queued_locked() || is_busy_locked())) {
        uint32_t seen = atomic_load_explicit(&pool.finished, memory_order_acquire);

        weir_lock_release(&pool.lock);
        weir_futex_wait(&pool.finished, seen, UINT64_C(50000000));
        weir_lock_acquire(&pool.lock);
    }
    weir_lock_release(&pool.lock);
}
