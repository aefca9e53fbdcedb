/* Events: a record is a point of a stream, a wait is an edge to that point.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/model_int.h"

bool weir_model_record_needs_op(const struct weir_model_stream *s)
{
    /* ORD-007, and ORD-026: the record is complete only behind the pending legacy operation. */
    return s->cls == WEIR_STREAM_LEGACY || legacy_ahead(s) != NULL;
}

enum weir_model_result weir_model_record(struct weir_model_event *e, struct weir_model_stream *s,
                                         struct weir_model_op *op, struct weir_model_out *out)
{
    if (op) {
        enum weir_model_result r;

        op->kind = WEIR_OP_RECORD;
        r = weir_model_submit(s, op, out);
        if (r != WEIR_MODEL_OK)
            return r; /* the earlier record stands */
    }
    /* ORD-020; a later record moves the event, waits already made keep their own copy of the point:
     * ORD-022. */
    e->point = end_of(s);
    e->recorded = true;
    return WEIR_MODEL_OK;
}

bool weir_model_event_wait_dep(const struct weir_model_event *e, const struct weir_model_stream *s,
                               struct weir_model_dep *dep)
{
    if (weir_model_event_is_complete(e) || e->point.stream == s) /* ORD-023, ORD-024 */
        return false;
    /* ORD-021; the copy also outlives the event (ORD-025), and may belong to another device
     * (ORD-027). */
    dep->point = e->point;
    dep->strength = WEIR_GUARANTEED;
    dep->rule = e->point.stream->device == s->device ? WEIR_RULE_WAIT_SNAPSHOT
                                                     : WEIR_RULE_WAIT_ACROSS_DEVICES;
    return true;
}

bool weir_model_event_is_complete(const struct weir_model_event *e)
{
    return !e->recorded || weir_model_point_holds(&e->point); /* ORD-044, ORD-023 */
}
