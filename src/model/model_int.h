/* What the files of the model share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_MODEL_MODEL_INT_H
#define WEIR_MODEL_MODEL_INT_H

#include "model/model.h"

/* An array index that is safe to form: devices are few and fixed (weir_model_init). */
static inline struct weir_model_device *device_of(const struct weir_model_stream *s)
{
    return &s->model->devices[s->device];
}

/* `last` is written under the stream's lock alone, so relaxed is enough for its holder; other
 * readers see at least what happened before in their own thread. */
static inline weir_seq last_of(const struct weir_model_stream *s)
{
    return atomic_load_explicit(&s->last, memory_order_relaxed);
}

/* The point "all of s so far". */
static inline struct weir_model_point end_of(const struct weir_model_stream *s)
{
    return (struct weir_model_point){(struct weir_model_stream *)s, last_of(s)};
}

/* Acquire pairs with the release in weir_model_complete: who sees the number sees what the
 * operation did. */
static inline bool has_pending(const struct weir_model_stream *s)
{
    return atomic_load_explicit(&s->completed, memory_order_acquire) < last_of(s);
}

/* Blocking towards the legacy stream (ORD-003, ORD-004, ORD-006); false for the legacy stream
 * itself. */
static inline bool is_blocking(const struct weir_model_stream *s)
{
    return s->cls == WEIR_STREAM_BLOCKING || s->cls == WEIR_STREAM_PER_THREAD;
}

/* The legacy operation that the next submission into s must follow and does not follow yet, else
 * NULL. Legacy numbers change only while every stream's lock is held, so s's own lock makes the
 * read safe. */
static inline struct weir_model_stream *legacy_ahead(const struct weir_model_stream *s)
{
    struct weir_model_stream *legacy = device_of(s)->legacy;

    if (!is_blocking(s) || !legacy || s->legacy_seen >= last_of(legacy) || !has_pending(legacy))
        return NULL;
    return legacy;
}

#endif
