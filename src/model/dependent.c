/* See dependent.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/dependent.h"

const struct weir_edge_data weir_model_programmatic_edge = {.from_port = WEIR_PORT_PROGRAMMATIC,
                                                            .type = WEIR_EDGE_PROGRAMMATIC};

/* ---- edges ---- */

enum weir_edge_port weir_model_edge_lets(bool kernels, struct weir_edge_data data, size_t edges)
{
    /* As measured, behind two edges nothing begins early: of a node (pdl_capture), or of a launch
     * that follows another stream as well (pdl_between.legacy_kernel.blocking). */
    if (!kernels || edges != 1)
        return WEIR_PORT_END;
    if (data.from_port == WEIR_PORT_LAUNCHED)
        return WEIR_PORT_LAUNCHED;
    return data.type == WEIR_EDGE_PROGRAMMATIC ? (enum weir_edge_port)data.from_port
                                               : WEIR_PORT_END;
}

/* ---- kernels in streams ---- */

/* The edge from the operation in front of op to op (ORD-001, ORD-031). */
static enum weir_edge_port lets(const struct weir_model_op *front, const struct weir_model_op *op)
{
    struct weir_edge_data data = {0};
    bool kernels = front->kind == WEIR_OP_KERNEL && op->kind == WEIR_OP_KERNEL;

    if (kernels && (op->early & WEIR_EARLY_ASKS))
        data = weir_model_programmatic_edge;
    return weir_model_edge_lets(kernels, data, 1u + op->dep_count);
}

struct weir_model_op *weir_model_early_next(const struct weir_model_stream *s)
{
    struct weir_model_op *op = s->head, *next;

    for (; op; op = next) {
        enum weir_edge_port port;

        next = op->next;
        if (!next)
            break;
        port = lets(op, next);
        /* At its source's end alone: that is the order of the stream, which is not asked here. What
         * has triggered has begun. */
        if (port == WEIR_PORT_END || !weir_model_port_holds(port, op->early))
            break;
        if (!(next->early & WEIR_MOMENT_BEGUN))
            return next;
    }
    return NULL;
}

bool weir_model_end_early(struct weir_model_op *op)
{
    if (!(op->early & WEIR_MOMENT_BEGUN))
        return false;
    op->early |= WEIR_MOMENT_ENDED;
    return true;
}

unsigned weir_model_turn(struct weir_model_op *op)
{
    unsigned early = op->early & (WEIR_MOMENT_BEGUN | WEIR_MOMENT_ENDED);

    op->early &= (uint8_t)~WEIR_MOMENT_BEGUN; /* its end is no early one any more */
    return early;
}

/* ---- events that a launch records ---- */

struct weir_launch_event_rule weir_model_launch_event_rule(enum weir_launch_event event)
{
    switch (event) {
    case WEIR_LAUNCH_COMPLETION: /* ORD-033 */
        return (struct weir_launch_event_rule){.in_front = true,
                                               .promised_in_front = true,
                                               .edge = {.from_port = WEIR_PORT_LAUNCHED},
                                               .rule = WEIR_RULE_LAUNCH_COMPLETION};
    case WEIR_LAUNCH_PROGRAMMATIC_AT_START: /* ORD-034 */
        return (struct weir_launch_event_rule){
            .promised_in_front = true,
            .edge = {.from_port = WEIR_PORT_LAUNCHED, .type = WEIR_EDGE_PROGRAMMATIC},
            .rule = WEIR_RULE_PROGRAMMATIC_EVENT};
    default:
        return (struct weir_launch_event_rule){.promised_in_front = true,
                                               .edge = weir_model_programmatic_edge,
                                               .rule = WEIR_RULE_PROGRAMMATIC_EVENT};
    }
}
