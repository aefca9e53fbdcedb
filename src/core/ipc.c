/* See ipc.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/ipc.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/vec.h"
#include "core/poll.h"
#include "memory/share.h"

#define MEMORY_MAGIC 0x4d454d5249455757ull
#define EVENT_MAGIC  0x5645455249455757ull
#define PAGE_BYTES   4096

struct handle {
    uint64_t magic;
    int32_t pid, fd;
    uint64_t inode, bytes;
};

_Static_assert(sizeof(struct handle) <= WEIR_IPC_HANDLE_BYTES, "an IPC handle");

static void write_handle(uint64_t magic, int fd, size_t bytes, void *out)
{
    struct handle h = {.magic = magic, .pid = getpid(), .fd = fd, .bytes = bytes};
    struct stat st;

    if (fstat(fd, &st) == 0)
        h.inode = (uint64_t)st.st_ino;
    memset(out, 0, WEIR_IPC_HANDLE_BYTES);
    memcpy(out, &h, sizeof h);
}

/* The file that a handle names, opened; the caller closes it. */
static enum weir_err open_handle(const void *data, uint64_t magic, struct handle *h, int *fd)
{
    struct stat st;
    char path[64];

    memcpy(h, data, sizeof *h);
    if (h->magic != magic)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no handle of that kind");
    if (h->pid == getpid())
        return WEIR_FAIL(WEIR_ERR_DEVICE_UNINITIALIZED, "a handle of this process itself");
    snprintf(path, sizeof path, "/proc/%d/fd/%d", h->pid, h->fd);
    *fd = open(path, O_RDWR | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &st) != 0 || (uint64_t)st.st_ino != h->inode ||
        (uint64_t)st.st_size < h->bytes) {
        if (*fd >= 0)
            close(*fd);
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "what process %d exported is not there, or not for this user", h->pid);
    }
    return WEIR_OK;
}

/* ---- memory ---- */

struct opened {
    uint64_t inode;
    int device, count;
    void *ptr;
};

static struct {
    struct weir_lock lock; /* rank RUNTIME: memory is mapped under it */
    WEIR_VEC(struct opened) list;
} memory = {.lock = WEIR_LOCK_INIT(MODULES)};

enum weir_err weir_ipc_memory_handle(const void *ptr, void *handle)
{
    size_t bytes;
    int fd;
    enum weir_err err = weir_mem_share(ptr, &fd, &bytes);

    if (err == WEIR_OK)
        write_handle(MEMORY_MAGIC, fd, bytes, handle);
    return err;
}

static enum weir_err attach_locked(struct weir_context *ctx, const struct handle *h, int fd,
                                   void **ptr)
{
    struct opened o = {.inode = h->inode, .device = ctx->ordinal, .count = 1};
    enum weir_err err;

    for (size_t i = 0; i < memory.list.count; i++) {
        struct opened *old = &memory.list.items[i];

        if (old->inode == h->inode && old->device == ctx->ordinal) {
            old->count++;
            *ptr = old->ptr;
            return WEIR_OK;
        }
    }
    if (!weir_vec_reserve(&memory.list, memory.list.count + 1))
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "memory of another process");
    err = weir_mem_attach(fd, h->bytes, ctx->ordinal, &o.ptr);
    if (err != WEIR_OK)
        return err;
    memory.list.items[memory.list.count++] = o;
    *ptr = o.ptr;
    return WEIR_OK;
}

enum weir_err weir_ipc_memory_open(struct weir_context *ctx, const void *handle, void **ptr)
{
    struct handle h;
    int fd;
    enum weir_err err = open_handle(handle, MEMORY_MAGIC, &h, &fd);

    if (err != WEIR_OK)
        return err;
    weir_lock_acquire(&memory.lock);
    err = attach_locked(ctx, &h, fd, ptr);
    weir_lock_release(&memory.lock);
    close(fd);
    return err;
}

enum weir_err weir_ipc_memory_close(void *ptr)
{
    struct opened o = {0};
    enum weir_err err = WEIR_OK;

    weir_lock_acquire(&memory.lock);
    for (size_t i = 0; i < memory.list.count && !o.ptr; i++) {
        if (memory.list.items[i].ptr != ptr)
            continue;
        o = memory.list.items[i];
        if (--memory.list.items[i].count == 0)
            memory.list.items[i] = memory.list.items[--memory.list.count];
    }
    weir_lock_release(&memory.lock);
    if (!o.ptr)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is no memory of another process", ptr);
    if (o.count == 1) {
        err = weir_context_wait_device(o.device); /* what uses it must have ended */
        weir_mem_detach(ptr);
    }
    return err;
}

/* ---- events ---- */

static struct weir_shared_event *map_page(int fd)
{
    void *p = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return p == MAP_FAILED ? NULL : p;
}

enum weir_err weir_ipc_event_make(struct weir_event *e)
{
    int fd = memfd_create("weir-event", MFD_CLOEXEC);

    if (fd >= 0 && ftruncate(fd, PAGE_BYTES) == 0)
        e->shared = map_page(fd);
    if (e->shared) {
        e->shared_fd = fd;
        return WEIR_OK;
    }
    if (fd >= 0)
        close(fd);
    return WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "an event of several processes");
}

void weir_ipc_event_drop(struct weir_event *e)
{
    if (e->shared && e->shared_fd >= 0)
        close(e->shared_fd);
    e->shared = NULL;
    e->shared_fd = -1;
}

enum weir_err weir_ipc_event_handle(struct weir_event *e, void *handle)
{
    if (!e->shared)
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE,
                         "an event made without cudaEventInterprocess");
    write_handle(EVENT_MAGIC, e->shared_fd, PAGE_BYTES, handle);
    return WEIR_OK;
}

enum weir_err weir_ipc_event_open(struct weir_context *ctx, const void *handle,
                                  struct weir_event **out)
{
    struct weir_shared_event *page;
    struct handle h;
    int fd;
    enum weir_err err = open_handle(handle, EVENT_MAGIC, &h, &fd);

    if (err != WEIR_OK)
        return err;
    page = map_page(fd);
    err = page ? weir_event_create(ctx, WEIR_EVENT_DISABLE_TIMING | WEIR_EVENT_INTERPROCESS, out)
               : WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "an event of another process");
    if (err != WEIR_OK) {
        if (page)
            munmap(page, PAGE_BYTES);
        close(fd);
        return err;
    }
    weir_ipc_event_drop(*out); /* its own page was nobody else's yet */
    (*out)->shared_fd = fd;
    (*out)->shared = page;
    return WEIR_OK;
}

static void shared_futex(_Atomic uint32_t *word, int op, uint32_t value)
{
    (void)syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

void weir_ipc_event_complete(struct weir_shared_event *page, uint64_t number)
{
    uint64_t now = atomic_load(&page->completed);

    while (now < number && !atomic_compare_exchange_weak(&page->completed, &now, number)) {
    }
    atomic_fetch_add(&page->word, 1);
    shared_futex(&page->word, FUTEX_WAKE, INT_MAX);
}

void weir_ipc_event_wait(struct weir_shared_event *page, uint64_t number)
{
    for (;;) {
        uint32_t word = atomic_load(&page->word);

        if (weir_ipc_event_reached(page, number))
            return;
        shared_futex(&page->word, FUTEX_WAIT, word);
    }
}

static bool is_reached(struct weir_poll *poll)
{
    return weir_ipc_event_reached(poll->object, poll->value);
}

enum weir_err weir_ipc_event_wait_in(struct weir_shared_event *page, uint64_t number,
                                     struct weir_stream *s)
{
    struct weir_poll poll = {.ready = is_reached, .object = page, .value = number};

    return weir_ipc_event_reached(page, number) ? WEIR_OK : weir_poll_submit(s, &poll);
}
