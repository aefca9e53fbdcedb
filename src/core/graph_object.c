/* User objects: a program's resource that graphs keep alive. Destructors run on the thread that
 * gives up the last reference, once no lock is held.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/graph_int.h"
#include "core/graph_state.h"

struct weir_user_object {
    struct weir_slot slot; /* first: handle */
    uint32_t refs;         /* guarded by the graphs' lock */
    struct weir_user_object *next_dead;
    void *value;
    void (*destroy)(void *);
};

_Static_assert(sizeof(struct weir_user_object) <= 64, "slot size of user objects");

enum weir_err weir_object_create(void *value, void (*destroy)(void *), uint32_t refs,
                                 struct weir_user_object **out)
{
    struct weir_user_object *o = weir_slots_take(&weir_core.graphs.objects);

    if (!o)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "too many user objects");
    o->refs = refs;
    o->next_dead = NULL;
    o->value = value;
    o->destroy = destroy;
    weir_slot_publish(&o->slot);
    *out = o;
    return WEIR_OK;
}

static void unref_locked(struct weir_user_object *o, uint32_t count)
{
    o->refs -= WEIR_MIN(count, o->refs);
    if (o->refs > 0 || !weir_slot_kill(&o->slot))
        return;
    o->next_dead = weir_core.graphs.dead;
    weir_core.graphs.dead = o;
}

void weir_objects_bury(struct weir_user_object *dead)
{
    while (dead) {
        struct weir_user_object *o = dead;

        dead = o->next_dead;
        weir_lock_check_none_held();
        o->destroy(o->value);
        weir_slots_give(&weir_core.graphs.objects, o);
    }
}

static struct weir_user_object *check(void *handle, uint32_t count)
{
    struct weir_user_object *o = weir_slots_check(&weir_core.graphs.objects, handle);

    return count ? o : NULL;
}

static enum weir_err no_object(const void *handle, uint32_t count)
{
    return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                     "%u references to %p, which is no user object or has less", count, handle);
}

enum weir_err weir_object_retain(void *handle, uint32_t count)
{
    struct weir_user_object *o;

    weir_graphs_lock();
    o = check(handle, count);
    if (o)
        o->refs += count;
    weir_graphs_unlock();
    return o ? WEIR_OK : no_object(handle, count);
}

enum weir_err weir_object_release(void *handle, uint32_t count)
{
    struct weir_user_object *o;
    bool good;

    weir_graphs_lock();
    o = check(handle, count);
    good = o && count <= o->refs;
    if (good)
        unref_locked(o, count);
    weir_graphs_unlock();
    return good ? WEIR_OK : no_object(handle, count);
}

static bool hold(struct weir_graph *g, struct weir_user_object *o, uint32_t count)
{
    for (size_t i = 0; i < g->objects.count; i++) {
        if (g->objects.items[i].object == o) {
            g->objects.items[i].count += count;
            return true;
        }
    }
    return weir_vec_push(&g->objects, ((struct weir_object_ref){o, count}));
}

enum weir_err weir_graph_retain_object(struct weir_graph *g, void *handle, uint32_t count,
                                       bool move)
{
    struct weir_user_object *o;
    bool good, room = true;

    weir_graphs_lock();
    o = check(handle, count);
    good = o && (!move || count <= o->refs);
    if (good)
        room = hold(g, o, count);
    if (good && room && !move)
        o->refs += count;
    weir_graphs_unlock();
    if (!room)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "references of a graph");
    return good ? WEIR_OK : no_object(handle, count);
}

enum weir_err weir_graph_release_object(struct weir_graph *g, void *handle, uint32_t count)
{
    bool good = false;

    weir_graphs_lock();
    for (size_t i = 0; i < g->objects.count && count; i++) {
        struct weir_object_ref *r = &g->objects.items[i];

        if (r->object != handle || r->count < count)
            continue;
        good = true;
        r->count -= count;
        unref_locked(r->object, count);
        if (!r->count)
            *r = g->objects.items[--g->objects.count];
        break;
    }
    weir_graphs_unlock();
    return good ? WEIR_OK : no_object(handle, count);
}

void weir_graph_objects_drop_locked(struct weir_graph *g)
{
    for (size_t i = 0; i < g->objects.count; i++)
        unref_locked(g->objects.items[i].object, g->objects.items[i].count);
    weir_vec_finish(&g->objects);
}

bool weir_graph_objects_copy_locked(struct weir_graph *to, const struct weir_graph *from)
{
    for (size_t i = 0; i < from->objects.count; i++) {
        if (!hold(to, from->objects.items[i].object, 1))
            return false;
        from->objects.items[i].object->refs++;
    }
    return true;
}
