/* See nested.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/nested.h"

/* The numbers of the special handles in device code. */
#define HANDLE_TAIL   3
#define HANDLE_FORGET 4

enum weir_nested_place weir_model_nested_place(uint64_t handle)
{
    if (handle < HANDLE_TAIL)
        return WEIR_NESTED_BLOCK;
    return handle == HANDLE_TAIL     ? WEIR_NESTED_TAIL
           : handle == HANDLE_FORGET ? WEIR_NESTED_FORGET
                                     : WEIR_NESTED_NAMED;
}

enum weir_nested_next weir_model_nest_over(struct weir_model_nest *n, uint32_t count)
{
    n->open -= count;
    if (n->open)
        return WEIR_NESTED_WAIT;
    if (!n->tails)
        return WEIR_NESTED_COMPLETE;
    n->tails--;
    n->open = 1;
    return WEIR_NESTED_TURN;
}

void weir_model_nest_hand_over(struct weir_model_nest *n, struct weir_model_nest *up)
{
    up->tails += n->tails + (n->open != 0);
    n->tails = n->open = 0;
}
