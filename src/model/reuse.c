/* See reuse.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/reuse.h"

void weir_model_follows_add(struct weir_model_follows *f, const struct weir_model_stream *s,
                            const struct weir_model_point *point)
{
    uint32_t at = 0;

    if (!point->stream || point->stream == s)
        return;
    while (at < WEIR_MODEL_FOLLOWS && f->points[at].stream != point->stream)
        at++;
    if (at == WEIR_MODEL_FOLLOWS)
        at = f->next++ % WEIR_MODEL_FOLLOWS;
    if (f->points[at].stream != point->stream || f->points[at].seq < point->seq)
        f->points[at] = *point;
}

bool weir_model_follows_has(const struct weir_model_follows *f,
                            const struct weir_model_point *point)
{
    for (uint32_t i = 0; i < WEIR_MODEL_FOLLOWS; i++)
        if (f->points[i].stream == point->stream && f->points[i].seq >= point->seq)
            return true;
    return false;
}

bool weir_model_synced_covers(const struct weir_model_synced *w,
                              const struct weir_model_point *freed)
{
    const struct weir_model_stream *t = freed->stream;

    /* (A wait ends early in a failed context.) */
    if (!weir_model_point_holds(freed))
        return false;
    if (w->point) /* cudaEventSynchronize */
        return w->point->stream == t && w->point->seq >= freed->seq;
    if (!w->stream) /* cudaDeviceSynchronize */
        return t->device == w->device;
    if (w->stream == t || weir_model_follows_has(w->follows, freed))
        return true;
    return w->stream->cls == WEIR_STREAM_LEGACY && t->device == w->stream->device &&
           t->cls != WEIR_STREAM_NONBLOCKING; /* ORD-041 */
}
