/* Intrusive doubly linked list with a head node.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_LIST_H
#define WEIR_BASE_LIST_H

#include <stdbool.h>

#include "base/compiler.h"

struct weir_list {
    struct weir_list *prev, *next;
};

static inline void weir_list_init(struct weir_list *l)
{
    l->prev = l->next = l;
}

static inline bool weir_list_is_empty(const struct weir_list *l)
{
    return l->next == l;
}

static inline void weir_list_insert_after(struct weir_list *pos, struct weir_list *node)
{
    node->prev = pos;
    node->next = pos->next;
    pos->next->prev = node;
    pos->next = node;
}

static inline void weir_list_append(struct weir_list *head, struct weir_list *node)
{
    weir_list_insert_after(head->prev, node);
}

/* Leaves the node in the state of weir_list_init, so that removing twice does no harm. */
static inline void weir_list_remove(struct weir_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    weir_list_init(node);
}

#define WEIR_LIST_ENTRY(node, type, member) WEIR_CONTAINER_OF(node, type, member)
#define WEIR_LIST_FOR_EACH(node, head)                                                             \
    for (struct weir_list *node = (head)->next; node != (head); node = node->next)
#define WEIR_LIST_FOR_EACH_SAFE(node, tmp, head)                                                   \
    for (struct weir_list *node = (head)->next, *tmp = node->next; node != (head);                 \
         node = tmp, tmp = node->next)

#endif
