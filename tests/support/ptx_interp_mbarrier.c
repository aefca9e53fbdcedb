/* Barrier objects in shared memory (PTX ISA, mbarrier), one thread at a time. What an object looks
 * like is the interpreter's own; an arrival's state is the number of the phase and what was
 * pending.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "support/ptx_interp_int.h"

struct object { /* as memory holds it: 8 bytes */
    uint64_t phase : 1;
    uint64_t expected : 20, pending : 20;
    int64_t bytes : 22;
};

static bool has(const struct weir_ptx_inst *i, const char *word)
{
    return strncmp(i->suffix, word, strlen(word)) == 0;
}

static uint32_t number(struct thread *t, const struct weir_ptx_inst *i, unsigned n, uint32_t none)
{
    if (n >= i->operand_count)
        return none;
    return (uint32_t)interp_read_operand(t, &i->operands[n], WEIR_PTX_U32).lo;
}

static struct bits state_of(struct object x)
{
    return (struct bits){(uint64_t)x.phase | (uint64_t)x.pending << 8, 0};
}

static void settle(struct object *x)
{
    if (x->pending || x->bytes)
        return;
    x->phase ^= 1;
    x->pending = x->expected;
}

static bool wait(struct thread *t, const struct weir_ptx_inst *i, struct object x, bool parity)
{
    uint64_t v = interp_read_operand(t, &i->operands[2], parity ? WEIR_PTX_U32 : WEIR_PTX_U64).lo;

    if (i->operands[0].kind == WEIR_PTX_OPERAND_REG)
        interp_write_predicate(t, i->operands[0].reg, x.phase != (v & 1));
    return true;
}

static bool arrive(struct thread *t, const struct weir_ptx_inst *i, struct object *x)
{
    bool drop = has(i, ".arrive_drop"), tx = strstr(i->suffix, ".expect_tx") != NULL;
    uint32_t n = number(t, i, 2, 1), count = tx ? 1 : n;

    interp_write_operand(t, &i->operands[0], state_of(*x), WEIR_PTX_B64);
    x->pending -= count;
    x->expected -= drop ? count : 0;
    x->bytes += tx ? (int32_t)n : 0;
    settle(x);
    return true;
}

bool interp_mbarrier(struct thread *t, const struct weir_ptx_inst *i)
{
    unsigned at = has(i, ".arrive") || has(i, ".test_wait") || has(i, ".try_wait");
    struct object *x;

    if (has(i, ".pending_count")) {
        uint64_t s = interp_read_operand(t, &i->operands[1], WEIR_PTX_B64).lo;

        interp_write_operand(t, &i->operands[0], (struct bits){s >> 8, 0}, WEIR_PTX_B32);
        return true;
    }
    if (at >= i->operand_count || i->operands[at].kind != WEIR_PTX_OPERAND_ADDRESS)
        return interp_unsupported(t, i);
    x = interp_resolve_address(t, i, &i->operands[at], 8);
    if (!x)
        return false;
    if (has(i, ".init"))
        *x = (struct object){.expected = number(t, i, 1, 0) & 0xfffff,
                             .pending = number(t, i, 1, 0) & 0xfffff};
    else if (has(i, ".inval"))
        memset(x, 0xdd, sizeof *x);
    else if (has(i, ".expect_tx"))
        x->bytes += (int32_t)number(t, i, 1, 0);
    else if (has(i, ".complete_tx"))
        x->bytes -= (int32_t)number(t, i, 1, 0), settle(x);
    else if (has(i, ".arrive"))
        return arrive(t, i, x);
    else if (has(i, ".test_wait.parity") || has(i, ".try_wait.parity"))
        return wait(t, i, *x, true);
    else if (at)
        return wait(t, i, *x, false);
    else
        return interp_unsupported(t, i);
    return true;
}

/* Copies are over at once: without .noinc the arrival was expected in addition. */
bool interp_mbarrier_copies(struct thread *t, const struct weir_ptx_inst *i)
{
    struct object *x = interp_resolve_address(t, i, &i->operands[0], 8);

    if (!x)
        return false;
    if (strstr(i->suffix, ".noinc")) {
        x->pending--;
        settle(x);
    }
    return true;
}
