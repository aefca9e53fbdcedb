/* See vmm.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/vmm.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/vec.h"
#include "check/check.h"
#include "memory/region.h"

struct weir_vmm_memory {
    struct weir_list link;
    struct weir_vmm_props props;
    size_t bytes, charged;
    unsigned handles, mappings;
    int fd;
    uintptr_t name; /* by which the checker knows it; 0: not at all */
};

struct mapping {
    size_t offset, bytes; /* in the range */
    struct weir_vmm_memory *memory;
    uint64_t devices; /* that may touch it */
};

struct range {
    struct weir_list link;
    struct weir_mem_region *region;
    uintptr_t base;
    size_t bytes;
    int device;
    WEIR_VEC(struct mapping) maps;      /* by offset */
    WEIR_VEC(struct mapping) published; /* what weir_mem_find knows; offset and bytes count */
};

static struct {
    struct weir_lock lock; /* rank VMM */
    struct weir_list memories, ranges;
} store = {.lock = WEIR_LOCK_INIT(VMM),
           .memories = {&store.memories, &store.memories},
           .ranges = {&store.ranges, &store.ranges}};

static bool is_aligned(size_t n)
{
    return n % WEIR_VMM_GRANULARITY == 0;
}

/* ---- memory ---- */

static struct weir_vmm_memory *memory_locked(uint64_t handle)
{
    for (struct weir_list *l = store.memories.next; l != &store.memories; l = l->next) {
        struct weir_vmm_memory *m = WEIR_LIST_ENTRY(l, struct weir_vmm_memory, link);

        if ((uintptr_t)m == handle && m->handles)
            return m;
    }
    return NULL;
}

static enum weir_err no_memory(uint64_t handle)
{
    return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%#llx is no memory handle, or a released one",
                     (unsigned long long)handle);
}

static void settle_locked(struct weir_vmm_memory *m)
{
    if (m->handles || m->mappings)
        return;
    weir_list_remove(&m->link);
    if (m->name)
        weir_check_mapped_gone(m->name, m->bytes);
    weir_mem_discharge(m->props.device, m->charged);
    close(m->fd);
    weir_free(m);
}

static enum weir_err add_memory(struct weir_vmm_memory m, uint64_t *handle)
{
    struct weir_vmm_memory *out = m.fd >= 0 ? weir_calloc(1, sizeof *out) : NULL;

    if (!out) {
        weir_mem_discharge(m.props.device, m.charged);
        if (m.fd >= 0)
            close(m.fd);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu bytes of memory to be mapped", m.bytes);
    }
    *out = m;
    out->handles = 1;
    if (weir_check_enabled())
        out->name = weir_check_mapped_name(m.bytes);
    weir_lock_acquire(&store.lock);
    weir_list_append(&store.memories, &out->link);
    weir_lock_release(&store.lock);
    *handle = (uintptr_t)out;
    return WEIR_OK;
}

enum weir_err weir_vmm_create(size_t bytes, const struct weir_vmm_props *props, uint64_t *handle)
{
    struct weir_vmm_memory m = {.props = *props, .bytes = bytes, .charged = bytes};

    if (bytes == 0 || !is_aligned(bytes))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu bytes: not a multiple of %zu", bytes,
                         WEIR_VMM_GRANULARITY);
    if (!weir_mem_charge(props->device, bytes))
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu bytes on device %d", bytes,
                         props->device);
    m.fd = memfd_create("weir-memory", MFD_CLOEXEC);
    if (m.fd >= 0 && ftruncate(m.fd, (off_t)bytes) != 0) {
        close(m.fd);
        m.fd = -1;
    }
    return add_memory(m, handle);
}

enum weir_err weir_vmm_import(int fd, int device, uint64_t *handle)
{
    struct weir_vmm_memory m = {.props = {.device = device, .exportable = true}};
    struct stat st;

    if (fstat(fd, &st) != 0 || st.st_size <= 0 || !is_aligned((size_t)st.st_size))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "descriptor %d is no memory", fd);
    m.bytes = (size_t)st.st_size;
    m.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return add_memory(m, handle);
}

enum weir_err weir_vmm_export(uint64_t handle, int *fd)
{
    struct weir_vmm_memory *m;
    enum weir_err err = WEIR_OK;

    weir_lock_acquire(&store.lock);
    m = memory_locked(handle);
    if (!m)
        err = no_memory(handle);
    else if (!m->props.exportable)
        err = WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory that was not made to be exported");
    else if ((*fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 0)) < 0)
        err = WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "no descriptor for exported memory");
    weir_lock_release(&store.lock);
    return err;
}

enum weir_err weir_vmm_release(uint64_t handle)
{
    struct weir_vmm_memory *m;

    weir_lock_acquire(&store.lock);
    m = memory_locked(handle);
    if (m) {
        m->handles--;
        settle_locked(m);
    }
    weir_lock_release(&store.lock);
    return m ? WEIR_OK : no_memory(handle);
}

enum weir_err weir_vmm_props_of(uint64_t handle, struct weir_vmm_props *out)
{
    struct weir_vmm_memory *m;

    weir_lock_acquire(&store.lock);
    m = memory_locked(handle);
    if (m)
        *out = m->props;
    weir_lock_release(&store.lock);
    return m ? WEIR_OK : no_memory(handle);
}

/* ---- addresses ---- */

static struct range *range_locked(uintptr_t at, size_t bytes)
{
    for (struct weir_list *l = store.ranges.next; l != &store.ranges; l = l->next) {
        struct range *r = WEIR_LIST_ENTRY(l, struct range, link);

        if (at >= r->base && at - r->base < r->bytes && bytes <= r->bytes - (at - r->base))
            return r;
    }
    return NULL;
}

static enum weir_err no_range(uintptr_t at, size_t bytes)
{
    return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu bytes at %#zx are not reserved, or not as asked",
                     bytes, (size_t)at);
}

enum weir_err weir_vmm_reserve(int device, size_t bytes, size_t align, uintptr_t *out)
{
    struct weir_mem_region_config config = {.device = device, .bytes = bytes, .fd = -1};
    struct range *r;
    enum weir_err err;

    if (bytes == 0 || !is_aligned(bytes) || (align && (align & (align - 1))) ||
        bytes > SIZE_MAX / 2 || align > SIZE_MAX / 4)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu bytes of addresses, at multiples of %zu",
                         bytes, align);
    if (align > WEIR_VMM_GRANULARITY) /* regions begin at multiples of it */
        config.bytes += align;
    r = weir_calloc(1, sizeof *r);
    if (!r)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a reservation");
    err = weir_mem_region_create(&config, &r->region);
    if (err != WEIR_OK) {
        weir_free(r);
        return err;
    }
    r->base = weir_mem_region_base(r->region);
    if (align > WEIR_VMM_GRANULARITY)
        r->base = WEIR_ALIGN_UP(r->base, align);
    r->bytes = bytes;
    r->device = device;
    weir_lock_acquire(&store.lock);
    weir_list_append(&store.ranges, &r->link);
    weir_lock_release(&store.lock);
    *out = r->base;
    return WEIR_OK;
}

enum weir_err weir_vmm_unreserve(uintptr_t at, size_t bytes)
{
    struct range *r;
    bool good;

    weir_lock_acquire(&store.lock);
    r = range_locked(at, bytes);
    good = r && r->base == at && r->bytes == bytes && r->maps.count == 0;
    if (good)
        weir_list_remove(&r->link);
    weir_lock_release(&store.lock);
    if (!good)
        return no_range(at, bytes);
    weir_mem_region_destroy(r->region);
    weir_vec_finish(&r->maps);
    weir_vec_finish(&r->published);
    weir_free(r);
    return WEIR_OK;
}

/* ---- mappings ---- */

static size_t region_offset(const struct range *r, size_t offset)
{
    return r->base - weir_mem_region_base(r->region) + offset;
}

/* Among the first `count` of the list; bytes 0: of whatever size. */
static bool is_published(const struct range *r, size_t count, size_t offset, size_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (r->published.items[i].offset == offset &&
            (bytes == 0 || r->published.items[i].bytes == bytes))
            return true;
    }
    return false;
}

/* What may be touched and lies side by side becomes one allocation. Beginnings that stay are known
 * all the time; the list has room (reserved by the caller). */
static void publish_locked(struct range *r)
{
    uint64_t devices = 0;
    size_t old = r->published.count;

    /* New list behind the old one. */
    for (size_t i = 0; i < r->maps.count; i++) {
        const struct mapping *m = &r->maps.items[i];
        struct mapping *last =
            r->published.count > old ? &r->published.items[r->published.count - 1] : NULL;

        if (!m->devices)
            continue;
        devices |= m->devices;
        if (last && last->offset + last->bytes == m->offset)
            last->bytes += m->bytes;
        else
            r->published.items[r->published.count++] = *m;
    }
    if (devices)
        weir_mem_region_set_access(r->region, devices);
    for (size_t i = old; i < r->published.count; i++) {
        const struct mapping *m = &r->published.items[i];

        if (!is_published(r, old, m->offset, m->bytes))
            weir_mem_region_publish(r->region, region_offset(r, m->offset), m->bytes, NULL);
    }
    for (size_t i = 0; i < old; i++) {
        size_t offset = r->published.items[i].offset;

        r->published.items[i].offset = SIZE_MAX; /* is it in the new list? */
        if (!is_published(r, r->published.count, offset, 0))
            weir_mem_region_retire(r->region, region_offset(r, offset));
    }
    for (size_t i = old; i < r->published.count; i++)
        r->published.items[i - old] = r->published.items[i];
    r->published.count -= old;
}

static bool make_room_locked(struct range *r)
{
    return weir_vec_reserve(&r->maps, r->maps.count + 1) &&
           weir_vec_reserve(&r->published, r->published.count + r->maps.count + 1);
}

/* The mappings that together are [offset, offset + bytes): from *first on, their number. 0: there
 * are none such. */
static size_t find_locked(const struct range *r, size_t offset, size_t bytes, size_t *first)
{
    size_t n = 0, end = offset + bytes;

    for (size_t i = 0; i < r->maps.count && offset < end; i++) {
        const struct mapping *m = &r->maps.items[i];

        if (m->offset != offset)
            continue;
        if (n++ == 0)
            *first = i;
        offset += m->bytes;
    }
    return offset == end ? n : 0;
}

static enum weir_err map_locked(struct range *r, const struct mapping *m, size_t offset)
{
    size_t at = r->maps.count;

    for (size_t i = 0; i < r->maps.count; i++) {
        const struct mapping *o = &r->maps.items[i];

        if (m->offset < o->offset + o->bytes && o->offset < m->offset + m->bytes)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "something is mapped there already");
        if (o->offset > m->offset && at == r->maps.count)
            at = i;
    }
    if (!make_room_locked(r))
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a mapping");
    if (!weir_mem_region_map(r->region, region_offset(r, m->offset), m->bytes, m->memory->fd,
                             offset))
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu bytes cannot be mapped", m->bytes);
    for (size_t i = r->maps.count++; i > at; i--)
        r->maps.items[i] = r->maps.items[i - 1];
    r->maps.items[at] = *m;
    m->memory->mappings++;
    if (m->memory->name)
        weir_check_mapped(r->base + m->offset, m->bytes, m->memory->name + offset);
    return WEIR_OK;
}

enum weir_err weir_vmm_map(uintptr_t at, size_t bytes, size_t offset, uint64_t handle)
{
    struct mapping m = {.bytes = bytes};
    enum weir_err err;
    struct range *r;

    weir_lock_acquire(&store.lock);
    r = range_locked(at, bytes);
    m.memory = memory_locked(handle);
    if (!m.memory)
        err = no_memory(handle);
    else if (!r || bytes == 0 || !is_aligned(bytes) || !is_aligned(at - r->base) ||
             !is_aligned(offset) || offset > m.memory->bytes || bytes > m.memory->bytes - offset)
        err = no_range(at, bytes);
    else if (m.memory->props.device != r->device) {
        weir_log_unsupported("memory of one device at addresses reserved with another one current",
                             "cuMemMap");
        err = WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "memory of device %d at addresses of device %d",
                        m.memory->props.device, r->device);
    } else {
        m.offset = at - r->base;
        err = map_locked(r, &m, offset);
    }
    weir_lock_release(&store.lock);
    return err;
}

/* The mappings [*first, *first + the result) of *r that make up the range, about to be changed; 0:
 * there are none, or there is no memory for it. */
static size_t change_locked(uintptr_t at, size_t bytes, struct range **r, size_t *first)
{
    size_t n = 0;

    *r = range_locked(at, bytes);
    if (*r)
        n = find_locked(*r, at - (*r)->base, bytes, first);
    return n && make_room_locked(*r) ? n : 0;
}

enum weir_err weir_vmm_unmap(uintptr_t at, size_t bytes)
{
    struct range *r;
    size_t n, first = 0;

    weir_lock_acquire(&store.lock);
    n = change_locked(at, bytes, &r, &first);
    for (size_t i = first; i < first + n; i++)
        r->maps.items[i].devices = 0;
    if (n)
        publish_locked(r); /* nobody finds it any more */
    for (size_t i = first; i < first + n; i++) {
        struct mapping *m = &r->maps.items[i];

        weir_mem_region_close(r->region, region_offset(r, m->offset), m->bytes, false);
        if (m->memory->name)
            weir_check_mapped_end(r->base + m->offset, m->bytes);
        m->memory->mappings--;
        settle_locked(m->memory);
    }
    if (n) {
        for (size_t i = first; i + n < r->maps.count; i++)
            r->maps.items[i] = r->maps.items[i + n];
        r->maps.count -= n;
    }
    weir_lock_release(&store.lock);
    return n ? WEIR_OK : no_range(at, bytes);
}

enum weir_err weir_vmm_set_access(uintptr_t at, size_t bytes, uint64_t devices, bool on)
{
    struct range *r;
    size_t n, first = 0;

    weir_lock_acquire(&store.lock);
    n = change_locked(at, bytes, &r, &first);
    for (size_t i = first; i < first + n; i++) {
        uint64_t *now = &r->maps.items[i].devices;

        *now = on ? *now | devices : *now & ~devices;
    }
    if (n)
        publish_locked(r);
    weir_lock_release(&store.lock);
    return n ? WEIR_OK : no_range(at, bytes);
}

static const struct mapping *mapping_at_locked(uintptr_t at)
{
    const struct range *r = range_locked(at, 1);

    for (size_t i = 0; r && i < r->maps.count; i++) {
        const struct mapping *m = &r->maps.items[i];

        if (at - r->base >= m->offset && at - r->base - m->offset < m->bytes)
            return m;
    }
    return NULL;
}

enum weir_err weir_vmm_get_access(uintptr_t at, int device, bool *on)
{
    const struct mapping *m;

    weir_lock_acquire(&store.lock);
    m = mapping_at_locked(at);
    if (m)
        *on = m->devices >> device & 1;
    weir_lock_release(&store.lock);
    return m ? WEIR_OK : no_range(at, 1);
}

enum weir_err weir_vmm_retain(uintptr_t at, uint64_t *handle)
{
    const struct mapping *m;

    weir_lock_acquire(&store.lock);
    m = mapping_at_locked(at);
    if (m) {
        m->memory->handles++;
        *handle = (uintptr_t)m->memory;
    }
    weir_lock_release(&store.lock);
    return m ? WEIR_OK : no_range(at, 1);
}
