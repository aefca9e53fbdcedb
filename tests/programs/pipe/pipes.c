/* pipes FORM: a few items through a small pipeline of weir/pipe.h, for weir explore: each item's
 * bytes must come back as they were, each slot's buffers have one owner at a time, each item is
 * reported once. Status 1 when not. The device's work is copies, so that a run is short.
 * SPDX-License-Identifier: Apache-2.0
 *
 * slot, split, graph, split-graph, stages, lanes, unordered, cancel   the library's forms
 * keeps   this program's mistake: a result is read after `done` has returned */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "weir/pipe.h"

enum { ITEMS = 10, WORDS = 16, BYTES = WORDS * sizeof(unsigned), SLOTS_MOST = 8 };
enum owner { NOBODY, FILL, DEVICE, DRAIN };

static struct {
    const char *form;
    _Atomic int wrong, reports[ITEMS], owner[SLOTS_MOST];
    const unsigned *kept; /* keeps: where the item before has its result; and which one it was */
    unsigned kept_item;
} test;

static int is(const char *form)
{
    return strcmp(test.form, form) == 0;
}

static unsigned id_of(const weir_pipe_item *item)
{
    return (unsigned)(uintptr_t)item->data;
}

static int is_of(const unsigned *words, unsigned id)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (words[i] != 1000 * id + i)
            return 0;
    return 1;
}

static void hand(const weir_pipe_item *item, enum owner from, enum owner to)
{
    if (atomic_exchange(&test.owner[item->slot], to) != (int)from)
        atomic_fetch_add(&test.wrong, 1);
}

static int fill(void *user, weir_pipe_item *item)
{
    unsigned *in = item->in;

    (void)user;
    hand(item, NOBODY, FILL);
    for (unsigned i = 0; i < WORDS; i++)
        in[i] = 1000 * id_of(item) + i;
    hand(item, FILL, DEVICE);
    return 0;
}

static int launch(void *user, weir_pipe_item *item)
{
    cudaError_t e = cudaMemcpyAsync(item->dev_scratch, item->dev_in, BYTES,
                                    cudaMemcpyDeviceToDevice, item->stream);

    (void)user;
    if (e == cudaSuccess)
        e = cudaMemcpyAsync(item->dev_out, item->dev_scratch, BYTES, cudaMemcpyDeviceToDevice,
                            item->stream);
    return (int)e;
}

static int drain(void *user, weir_pipe_item *item)
{
    (void)user;
    hand(item, DEVICE, DRAIN);
    if (!is_of(item->out, id_of(item)))
        atomic_fetch_add(&test.wrong, 1);
    if (is("keeps")) {
        if (test.kept && !is_of(test.kept, test.kept_item))
            atomic_fetch_add(&test.wrong, 1);
        test.kept = item->out;
        test.kept_item = id_of(item);
    }
    return 0;
}

static void done(void *user, const weir_pipe_item *item, const weir_pipe_outcome *outcome)
{
    (void)user;
    if (outcome->status != WEIR_PIPE_OK &&
        !(is("cancel") && outcome->status == WEIR_PIPE_CANCELLED))
        atomic_fetch_add(&test.wrong, 1);
    atomic_fetch_add(&test.reports[id_of(item)], 1);
    atomic_store(&test.owner[item->slot], NOBODY);
}

static void configure(weir_pipe_config *c)
{
    weir_pipe_config_init(c);
    c->in_bytes = c->out_bytes = c->dev_scratch_bytes = BYTES;
    c->slots = 2;
    c->workers = 2;
    c->producers = 1;
    c->fill = fill;
    c->launch = launch;
    c->drain = drain;
    c->done = done;
    c->order = is("keeps")       ? WEIR_PIPE_ORDERED
               : is("unordered") ? WEIR_PIPE_UNORDERED
                                 : WEIR_PIPE_ORDERED_DONE;
    if (strstr(test.form, "split"))
        c->streams = WEIR_PIPE_STREAMS_SPLIT;
    c->graph = strstr(test.form, "graph") != NULL;
    c->lanes = is("lanes") ? 2 : 1;
    if (is("stages")) {
        c->stage_count = 2;
        for (int i = 0; i < 2; i++)
            c->stages[i] = (weir_pipe_stage){i, BYTES, BYTES, BYTES, launch};
    }
}

int main(int argc, char **argv)
{
    weir_pipe_config config;
    weir_pipe *pipe;
    unsigned accepted = 0;

    if (argc < 2)
        return 2;
    test.form = argv[1];
    configure(&config);
    if (weir_pipe_create(&config, &pipe) != WEIR_PIPE_OK)
        return 2;
    for (unsigned i = 0; i < ITEMS; i++) {
        const weir_pipe_request request = {(void *)(uintptr_t)i, is("lanes") ? i % 2 : 0, 0, -1};
        const enum weir_pipe_status status = weir_pipe_submit_request(pipe, &request, NULL);
        accepted += status == WEIR_PIPE_OK;
        if (status != WEIR_PIPE_OK && !(is("cancel") && status == WEIR_PIPE_CANCELLED))
            return 2;
        if (is("cancel") && i % 4 == 3)
            weir_pipe_cancel(pipe);
    }
    if (weir_pipe_destroy(pipe) != WEIR_PIPE_OK)
        return 2;
    for (unsigned i = 0; i < ITEMS; i++) {
        accepted -= (unsigned)atomic_load(&test.reports[i]);
        if (atomic_load(&test.reports[i]) > 1)
            atomic_fetch_add(&test.wrong, 1);
    }
    if (accepted || atomic_load(&test.wrong))
        printf("%d wrong, %u not reported\n", atomic_load(&test.wrong), accepted);
    return accepted || atomic_load(&test.wrong);
}
