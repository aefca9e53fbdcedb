/* See share.h. Moving: the pages become read-only, are copied into the file, and the file takes
 * their place. Who writes meanwhile faults, waits for the end of the move in the fault handler, and
 * tries again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/share.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "memory/memory_int.h"
#include "memory/region.h"

struct shared {
    uint64_t id; /* of the allocation */
    uintptr_t start, end;
    int fd;
};

struct attached {
    struct weir_mem_region *region;
    size_t mapped;
    int fd;
};

/* Of the process. Readers in signal handlers look at `moved` only, which grows and never shrinks: a
 * range that was given back and handed out again is looked at twice in vain, no more. */
#define MOVED_MAX 1024
static struct {
    struct weir_lock lock; /* rank LEAF */
    WEIR_VEC(struct shared) shared;
    WEIR_VEC(struct attached) attached;
    _Atomic uintptr_t moving_start, moving_end;
    _Atomic uint32_t moved_count;
    struct {
        _Atomic uintptr_t start, end;
    } moved[MOVED_MAX];
} share = {.lock = WEIR_LOCK_INIT(LEAF)};

static size_t file_bytes(size_t bytes)
{
    return WEIR_ALIGN_UP(bytes, GRANULE_BYTES);
}

/* Whoever wrote these pages was stopped by their protection, an order that TSan does not see: so
 * the system call itself, not the function that TSan watches. */
static bool copy_out(int fd, uintptr_t start, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        long n = syscall(SYS_pwrite64, fd, start + done, bytes - done, (off_t)done);

        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* The pages at [start, start + bytes) become those of the file. */
static bool move_locked(int fd, uintptr_t start, size_t bytes)
{
    uint32_t n = atomic_load(&share.moved_count);
    bool ok;

    if (n == MOVED_MAX)
        return false;
    atomic_store(&share.moved[n].start, start);
    atomic_store(&share.moved[n].end, start + bytes);
    atomic_store(&share.moving_start, start);
    atomic_store(&share.moving_end, start + bytes);
    atomic_store(&share.moved_count, n + 1);
    ok = mprotect((void *)start, bytes, PROT_READ) == 0 && copy_out(fd, start, bytes) &&
         mmap((void *)start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
             MAP_FAILED;
    if (!ok)
        (void)mprotect((void *)start, bytes, PROT_READ | PROT_WRITE);
    atomic_store(&share.moving_end, 0);
    return ok;
}

static bool within(uintptr_t addr, uintptr_t start, uintptr_t end)
{
    return addr >= start && addr < end;
}

/* Where the thread last tried again: the same address once more is a true fault. */
static WEIR_TLS uintptr_t last;

bool weir_mem_share_fault(const void *ptr)
{
    uintptr_t addr = (uintptr_t)ptr;
    struct weir_mem_info info;
    bool again;

    for (uint32_t i = 0, n = atomic_load(&share.moved_count); i < n; i++) {
        if (!within(addr, atomic_load(&share.moved[i].start), atomic_load(&share.moved[i].end)))
            continue;
        while (within(addr, atomic_load(&share.moving_start), atomic_load(&share.moving_end)))
            sched_yield();
        again = addr != last && weir_mem_find(ptr, &info);
        last = again ? addr : 0;
        return again;
    }
    return false;
}

static enum weir_err share_locked(const struct weir_mem_info *info, size_t mapped, int *fd)
{
    struct shared s = {.id = info->id, .start = info->base, .end = info->base + mapped};

    for (size_t i = 0; i < share.shared.count; i++) {
        if (share.shared.items[i].id == info->id) {
            *fd = share.shared.items[i].fd;
            return WEIR_OK;
        }
    }
    s.fd = memfd_create("weir-memory", MFD_CLOEXEC);
    if (s.fd < 0 || ftruncate(s.fd, (off_t)file_bytes(info->bytes)) != 0 ||
        !weir_vec_reserve(&share.shared, share.shared.count + 1) ||
        !move_locked(s.fd, s.start, mapped)) {
        if (s.fd >= 0)
            close(s.fd);
        return WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "%zu bytes of device memory to be shared",
                         info->bytes);
    }
    share.shared.items[share.shared.count++] = s;
    *fd = s.fd;
    return WEIR_OK;
}

enum weir_err weir_mem_share(const void *ptr, int *fd, size_t *bytes)
{
    struct weir_mem_info info;
    struct mem_record *r;
    enum weir_err err;

    if (!weir_mem_find(ptr, &info) || info.kind != WEIR_MEM_KIND_DEVICE || info.block)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is no device memory that can be shared", ptr);
    r = weir_mem_record_at((uintptr_t)ptr);
    if (!r)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p belongs to another process", ptr);
    if (r->mapping == MAPPING_CHUNK)
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED,
                         "sharing a small allocation among many thousand others");
    *bytes = info.bytes;
    weir_lock_acquire(&share.lock);
    err = share_locked(&info,
                       WEIR_ALIGN_UP(info.bytes, r->mapping == MAPPING_GAPPED ? (size_t)PAGE_BYTES
                                                                              : GRANULE_BYTES),
                       fd);
    weir_lock_release(&share.lock);
    return err;
}

void weir_mem_share_drop(uint64_t id)
{
    int fd = -1;

    if (WEIR_LIKELY(atomic_load_explicit(&share.moved_count, memory_order_relaxed) == 0))
        return;
    weir_lock_acquire(&share.lock);
    for (size_t i = 0; i < share.shared.count; i++) {
        if (share.shared.items[i].id == id) {
            fd = share.shared.items[i].fd;
            share.shared.items[i] = share.shared.items[--share.shared.count];
            break;
        }
    }
    weir_lock_release(&share.lock);
    if (fd >= 0)
        close(fd);
}

bool weir_mem_file_back(const struct weir_mem_info *info)
{
    struct mem_record *r =
        info->kind == WEIR_MEM_KIND_MANAGED ? weir_mem_record_at(info->base) : NULL;
    size_t bytes = WEIR_ALIGN_UP(info->bytes, (size_t)PAGE_BYTES);
    bool ok = false;
    int fd;

    /* Others are given back with their pages in place; those with a twin have a file. */
    if (!r || r->mapping != MAPPING_GAPPED || weir_mem_has_twin(info->base))
        return false;
    fd = memfd_create("weir-managed", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    weir_mem_populate_cancel(info->base, bytes);
    ok = ftruncate(fd, (off_t)bytes) == 0 && mmap((void *)info->base, bytes, PROT_READ | PROT_WRITE,
                                                  MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
    close(fd);
    return ok;
}

/* ---- the other side ---- */

enum weir_err weir_mem_attach(int fd, size_t bytes, int device, void **out)
{
    struct weir_mem_region_config config = {.device = device, .bytes = bytes};
    struct attached a = {.mapped = file_bytes(bytes)};
    enum weir_err err;
    bool kept = false;

    a.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    config.fd = a.fd;
    if (a.fd < 0)
        return WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "no descriptor for shared memory");
    err = weir_mem_region_create(&config, &a.region);
    if (err != WEIR_OK) {
        close(a.fd);
        return err;
    }
    err = weir_mem_region_open(a.region, 0, a.mapped);
    if (err == WEIR_OK) {
        weir_lock_acquire(&share.lock);
        kept = weir_vec_push(&share.attached, a);
        weir_lock_release(&share.lock);
        if (!kept) {
            weir_mem_region_close(a.region, 0, a.mapped, false);
            err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "shared memory");
        }
    }
    if (!kept) {
        weir_mem_region_destroy(a.region);
        close(a.fd);
        return err;
    }
    weir_mem_region_publish(a.region, 0, bytes, NULL);
    *out = (void *)weir_mem_region_base(a.region);
    return WEIR_OK;
}

void weir_mem_detach(void *ptr)
{
    struct attached a = {0};

    weir_lock_acquire(&share.lock);
    for (size_t i = 0; i < share.attached.count; i++) {
        if (weir_mem_region_base(share.attached.items[i].region) == (uintptr_t)ptr) {
            a = share.attached.items[i];
            share.attached.items[i] = share.attached.items[--share.attached.count];
            break;
        }
    }
    weir_lock_release(&share.lock);
    if (!a.region)
        return;
    weir_mem_region_retire(a.region, 0);
    weir_mem_region_close(a.region, 0, a.mapped, false);
    weir_mem_region_destroy(a.region);
    close(a.fd);
}
