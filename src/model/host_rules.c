/* What calls do to the thread that makes them: copies, memsets, and calls that wait for a device.
 * Tables of the rules ORD-060 to ORD-084; nothing here has state.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/model_int.h"

#define COPY(wait_, strength_, rule_)                                                              \
    ((struct weir_copy_rule){                                                                      \
        .wait = (uint8_t)(wait_), .strength = (uint8_t)(strength_), .rule = (uint16_t)(rule_)})

static bool is_host(enum weir_mem_class c)
{
    return c == WEIR_MEM_PAGEABLE || c == WEIR_MEM_PINNED;
}

static struct weir_copy_rule sync_copy_rule(enum weir_mem_class src, enum weir_mem_class dst)
{
    if (src == WEIR_MEM_MANAGED || dst == WEIR_MEM_MANAGED) /* ORD-066 */
        return COPY(WEIR_HOST_WAIT_COMPLETE, WEIR_GUARANTEED, WEIR_RULE_COPY_MANAGED);
    if (is_host(src) && is_host(dst)) /* ORD-065 */
        return COPY(WEIR_HOST_WAIT_COMPLETE, WEIR_GUARANTEED, WEIR_RULE_COPY_H2H);
    if (is_host(dst)) /* ORD-063 */
        return COPY(WEIR_HOST_WAIT_COMPLETE, WEIR_GUARANTEED, WEIR_RULE_COPY_D2H);
    if (src == WEIR_MEM_PAGEABLE) /* ORD-061 */
        return COPY(WEIR_HOST_WAIT_STREAM_STAGED, WEIR_GUARANTEED, WEIR_RULE_COPY_H2D_PAGEABLE);
    if (src == WEIR_MEM_PINNED) /* ORD-062 */
        return COPY(WEIR_HOST_WAIT_COMPLETE, WEIR_GUARANTEED, WEIR_RULE_COPY_H2D_PINNED);
    return COPY(WEIR_HOST_NO_WAIT, WEIR_GUARANTEED, WEIR_RULE_COPY_D2D); /* ORD-064 */
}

static struct weir_copy_rule async_copy_rule(enum weir_mem_class src, enum weir_mem_class dst,
                                             size_t bytes)
{
    if (is_host(src) && is_host(dst)) /* ORD-070 */
        return COPY(WEIR_HOST_WAIT_COMPLETE, WEIR_GUARANTEED, WEIR_RULE_ASYNC_H2H);
    if (src == WEIR_MEM_MANAGED || dst == WEIR_MEM_MANAGED) /* ORD-071 */
        return COPY(WEIR_HOST_WAIT_COMPLETE, WEIR_OBSERVED, WEIR_RULE_ASYNC_MANAGED);
    if (dst == WEIR_MEM_PAGEABLE) /* ORD-069 */
        return COPY(WEIR_HOST_WAIT_COMPLETE, WEIR_OBSERVED, WEIR_RULE_ASYNC_D2H_PAGEABLE);
    if (src == WEIR_MEM_PAGEABLE && bytes <= WEIR_MODEL_STAGED_MAX) /* ORD-067 */
        return COPY(WEIR_HOST_WAIT_STAGED, WEIR_OBSERVED, WEIR_RULE_ASYNC_H2D_STAGED);
    if (src == WEIR_MEM_PAGEABLE) /* ORD-068 */
        return COPY(WEIR_HOST_WAIT_COMPLETE, WEIR_OBSERVED, WEIR_RULE_ASYNC_H2D_LARGE);
    return COPY(WEIR_HOST_NO_WAIT, WEIR_GUARANTEED, WEIR_RULE_ASYNC_OTHER); /* ORD-072 */
}

struct weir_copy_rule weir_model_copy_rule(enum weir_mem_class src, enum weir_mem_class dst,
                                           size_t bytes, bool async)
{
    if (!bytes) /* ORD-060 */
        return COPY(WEIR_HOST_NO_WAIT, WEIR_OBSERVED, WEIR_RULE_COPY_ZERO);
    return async ? async_copy_rule(src, dst, bytes) : sync_copy_rule(src, dst);
}

struct weir_copy_rule weir_model_copy_rule_late(enum weir_mem_class src, enum weir_mem_class dst,
                                                size_t bytes, bool async)
{
    struct weir_copy_rule r = weir_model_copy_rule(src, dst, bytes, async);

    if (r.rule == WEIR_RULE_ASYNC_H2D_LARGE) /* ORD-068 is only observed */
        return COPY(WEIR_HOST_WAIT_STAGED, WEIR_OBSERVED, WEIR_RULE_ASYNC_H2D_STAGED);
    return r;
}

struct weir_copy_rule weir_model_memset_rule(enum weir_mem_class dst, bool async)
{
    if (async) /* ORD-075 */
        return COPY(WEIR_HOST_NO_WAIT, WEIR_GUARANTEED, WEIR_RULE_MEMSET_ASYNC);
    if (dst == WEIR_MEM_DEVICE) /* ORD-073 */
        return COPY(WEIR_HOST_NO_WAIT, WEIR_GUARANTEED, WEIR_RULE_MEMSET_DEVICE);
    return COPY(WEIR_HOST_WAIT_COMPLETE, WEIR_GUARANTEED, WEIR_RULE_MEMSET_HOST); /* ORD-074 */
}

bool weir_model_free_needs_wait(enum weir_host_call call)
{
    struct weir_call_rule r = weir_model_call_rule(call);

    return !r.waits_for_device || r.strength != WEIR_GUARANTEED;
}

/* ORD-092 */
bool weir_model_keeps_host_out(enum weir_attached attached, bool own_stream)
{
    return attached == WEIR_ATTACHED_ALL || (attached == WEIR_ATTACHED_STREAM && own_stream);
}

struct weir_call_rule weir_model_call_rule(enum weir_host_call call)
{
    switch (call) {
    case WEIR_CALL_FREE: /* ORD-087 */
        return (struct weir_call_rule){true, WEIR_GUARANTEED, WEIR_RULE_FREE_SYNCS};
    case WEIR_CALL_FREE_HOST:
    case WEIR_CALL_HOST_UNREGISTER:
    case WEIR_CALL_FREE_ARRAY: /* ORD-080 */
        return (struct weir_call_rule){true, WEIR_OBSERVED, WEIR_RULE_CALL_FREES};
    case WEIR_CALL_MALLOC:
    case WEIR_CALL_MALLOC_HOST:
    case WEIR_CALL_HOST_REGISTER: /* ORD-081 */
        return (struct weir_call_rule){false, WEIR_OBSERVED, WEIR_RULE_CALL_ALLOCATES};
    case WEIR_CALL_STREAM_DESTROY:
    case WEIR_CALL_EVENT_DESTROY: /* ORD-082 */
        return (struct weir_call_rule){false, WEIR_GUARANTEED, WEIR_RULE_CALL_DESTROYS};
    case WEIR_CALL_MODULE_LOAD: /* ORD-083 */
        return (struct weir_call_rule){false, WEIR_OBSERVED, WEIR_RULE_CALL_LOADS};
    case WEIR_CALL_LAZY_LOAD: /* ORD-091 */
        return (struct weir_call_rule){true, WEIR_OBSERVED, WEIR_RULE_LAZY_LOADING};
    case WEIR_CALL_DEVICE_RESET: /* ORD-084 */
        return (struct weir_call_rule){true, WEIR_OBSERVED, WEIR_RULE_CALL_RESETS};
    case WEIR_CALL_DEVICE_SYNCHRONIZE: /* ORD-043 */
        break;
    }
    return (struct weir_call_rule){true, WEIR_GUARANTEED, WEIR_RULE_DEVICE_SYNC};
}
