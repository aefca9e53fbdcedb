/* The inbox of an engine: how work enters without a lock.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device/device_int.h"

void weir_inbox_push(struct inbox *in, struct weir_work *work)
{
    struct weir_list *head = atomic_load_explicit(&in->head, memory_order_relaxed);

    /* seq_cst: the submitter's next load asks whether the consumer sleeps, whose last act was to
     * look in here. */
    do
        work->link.next = head;
    while (!atomic_compare_exchange_weak_explicit(&in->head, &head, &work->link,
                                                  memory_order_seq_cst, memory_order_relaxed));
}

size_t weir_inbox_drain(struct inbox *in, struct weir_list *to)
{
    struct weir_list *newest, *behind = to;
    size_t count = 0;

    if (!atomic_load_explicit(&in->head, memory_order_relaxed))
        return 0;
    newest = atomic_exchange_explicit(&in->head, NULL, memory_order_acquire);
    weir_race_at(WEIR_RACE_INBOX_TAKEN);
    while (newest) { /* newest first: each goes before the one handled last */
        struct weir_list *next = newest->next;

        weir_list_insert_after(behind->prev, newest);
        behind = newest;
        newest = next;
        count++;
    }
    return count;
}
