/* Pools between processes: the memory of a pool that may be exported lies in an anonymous file,
 * whose descriptor is the shareable handle. Its first page says whose it is; an exported pointer is
 * a place in the file. The importer maps the same file: what one process writes, the other sees.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pool_ipc.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAGIC    0x4c4f4f5052494557ull /* "WEIRPOOL" */
#define POINTER_MAGIC 0x5254504c4f4f5057ull
#define HEAD_BYTES    ((uint64_t)WEIR_POOL_STEP)

struct file_head {
    uint64_t magic;
    int32_t device;
};

struct pointer_data {
    uint64_t magic, file_offset, arena_bytes, offset, bytes, inode;
};

_Static_assert(sizeof(struct pointer_data) <= WEIR_POOL_EXPORT_BYTES,
               "data of an exported pointer");

enum weir_err weir_pool_make_file_locked(struct weir_pool *p)
{
    struct file_head head = {.magic = FILE_MAGIC, .device = p->device};

    p->fd = memfd_create("weir-pool", MFD_CLOEXEC);
    if (p->fd < 0)
        return WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "no file for a pool that is to be shared");
    if (ftruncate(p->fd, (off_t)HEAD_BYTES) != 0 ||
        pwrite(p->fd, &head, sizeof head, 0) != (ssize_t)sizeof head) {
        close(p->fd);
        p->fd = -1;
        return WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "the file of a pool that is to be shared");
    }
    p->file_bytes = HEAD_BYTES;
    return WEIR_OK;
}

static uint64_t inode_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

enum weir_err weir_pool_export(struct weir_pool *p, int *fd)
{
    if (p->fd < 0 || p->imported)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a pool made without handle types, or imported");
    *fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
    return *fd >= 0 ? WEIR_OK : WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "no descriptor for a pool");
}

enum weir_err weir_pool_import(int fd, struct weir_pool **out)
{
    struct weir_pool_config config = {0};
    struct file_head head;
    enum weir_err err;
    int own;

    if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head || head.magic != FILE_MAGIC)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "descriptor %d is no exported pool", fd);
    config.device = head.device < weir_core.device_count ? head.device : 0;
    own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "no descriptor for a pool");
    err = weir_pool_create(&config, out);
    if (err != WEIR_OK) {
        close(own);
        return err;
    }
    weir_lock_acquire(&(*out)->lock);
    (*out)->fd = own;
    (*out)->imported = true;
    weir_lock_release(&(*out)->lock);
    return WEIR_OK;
}

enum weir_err weir_pool_export_pointer(void *ptr, void *data)
{
    struct weir_mem_info info;
    struct pointer_data out = {.magic = POINTER_MAGIC};
    struct weir_pool *p = NULL;
    bool good = false;

    if (weir_mem_find(ptr, &info) && info.base == (uintptr_t)ptr)
        p = weir_pool_of(&info);
    if (p) {
        const struct weir_piece *b = info.block;

        weir_lock_acquire(&p->lock);
        good =
            weir_pool_of(&info) == p && b->state == WEIR_PIECE_LIVE && p->fd >= 0 && !p->imported;
        if (good) {
            out.file_offset = b->arena->file_offset;
            out.arena_bytes = weir_mem_region_bytes(b->arena->region);
            out.offset = b->offset;
            out.bytes = b->wanted;
            out.inode = inode_of(p->fd);
        }
        weir_lock_release(&p->lock);
    }
    if (!good)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is no allocation of a pool that is shared",
                         ptr);
    memset(data, 0, WEIR_POOL_EXPORT_BYTES);
    memcpy(data, &out, sizeof out);
    return WEIR_OK;
}

enum weir_err weir_pool_import_pointer(struct weir_pool *p, const void *data, void **ptr)
{
    struct pointer_data in;
    struct weir_piece *b;
    struct stat st;
    enum weir_err err;

    memcpy(&in, data, sizeof in);
    if (!p->imported || in.magic != POINTER_MAGIC || fstat(p->fd, &st) != 0 ||
        in.inode != (uint64_t)st.st_ino || in.arena_bytes > (uint64_t)st.st_size ||
        in.file_offset > (uint64_t)st.st_size - in.arena_bytes || in.bytes == 0 ||
        in.offset >= in.arena_bytes || in.bytes > in.arena_bytes - in.offset ||
        in.offset % WEIR_REGION_UNIT)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "data of no pointer into this imported pool");
    weir_lock_acquire(&p->lock);
    err = weir_arena_import_locked(p, in.file_offset, in.arena_bytes, in.offset, in.bytes, &b);
    if (err == WEIR_OK)
        *ptr = weir_piece_address(b);
    weir_lock_release(&p->lock);
    return err;
}
