/* What a GPU of the profile's size holds at a time. A block takes threads, registers, shared memory
 * and a place of one multiprocessor from its start to its end, also while it polls and is parked
 * here; only so many kernels have blocks there. What does not fit is not handed out: a kernel that
 * waits for one that does not fit beside it hangs, as there. Without a size (profile cpu) there is
 * no bound. Everything is under the compute lock.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device/device_int.h"

#include "base/alloc.h"

enum weir_err weir_residency_init(struct residency *r, const struct weir_device_size *size)
{
    *r = (struct residency){.size = *size};
    if (!size->sms)
        return WEIR_OK;
    r->sms = weir_calloc(size->sms, sizeof *r->sms);
    return r->sms ? WEIR_OK : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%u SMs", size->sms);
}

void weir_residency_finish(struct residency *r)
{
    weir_free(r->sms);
    r->sms = NULL;
}

static bool fits_sm(const struct residency *r, const struct sm_use *u,
                    const struct weir_block_needs *n)
{
    return u->blocks < r->size.blocks && u->threads + n->threads <= r->size.threads &&
           u->registers + n->registers <= r->size.registers &&
           u->shared + n->shared <= r->size.shared;
}

/* Moves the cursor to an SM where a block of k fits; false when there is none. */
static bool find_sm(struct residency *r, const struct weir_kernel_work *k)
{
    for (uint32_t i = 0; i < r->size.sms; i++) {
        uint32_t at = (r->cursor + i) % r->size.sms;

        if (fits_sm(r, &r->sms[at], &k->needs)) {
            r->cursor = at;
            return true;
        }
    }
    return false;
}

bool weir_residency_fits_locked(struct residency *r, struct weir_kernel_work *k)
{
    /* All blocks of a cooperative kernel run, or none: the launch was refused if they never fit. */
    if (!r->sms || (k->code && k->code->cooperative))
        return true;
    if (k->refused == r->left + 1)
        return false;
    if ((k->resident > 0 || r->kernels < r->size.kernels) && find_sm(r, k))
        return true;
    k->refused = r->left + 1;
    return false;
}

int32_t weir_residency_enter_locked(struct residency *r, struct weir_kernel_work *k)
{
    struct sm_use *u;
    uint32_t at;

    if (!r->sms)
        return -1;
    (void)find_sm(r, k); /* the cursor has moved when others were asked about; none: cooperative */
    at = r->cursor;
    u = &r->sms[at];
    u->blocks++;
    u->threads += k->needs.threads;
    u->registers += k->needs.registers;
    u->shared += k->needs.shared;
    r->cursor = (at + 1) % r->size.sms;
    if (k->resident++ == 0)
        r->kernels++;
    return (int32_t)at;
}

void weir_residency_leave_locked(struct residency *r, struct weir_kernel_work *k, int32_t sm)
{
    struct sm_use *u;

    if (sm < 0)
        return;
    u = &r->sms[sm];
    u->blocks--;
    u->threads -= k->needs.threads;
    u->registers -= k->needs.registers;
    u->shared -= k->needs.shared;
    if (--k->resident == 0)
        r->kernels--;
    r->left++;
}
