/* pipe_stress ITEMS SEED: random pipelines one after another, up to 1000 items each: random shapes,
 * stage times and errors, several submitting threads, cancelling at random moments. Judged: every
 * accepted item is reported exactly once, results are its own, order is kept where it was asked
 * for, and nobody writes into a slot that another has.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weir/pipe.h"

enum {
    WORDS = 64,
    BYTES = WORDS * sizeof(unsigned),
    MOST = 1000,
    SUBMITTERS = 4,
    MANY_SLOTS = 256
};
enum { FAIL_FILL = 11, FAIL_LAUNCH = 12, FAIL_DRAIN = 13 };
enum owner { NOBODY, FILL, DEVICE, DRAIN };

/* What is asked of one item, and what came of it. */
struct job {
    unsigned id, fill_ns, stage_ns, drain_ns;
    int fail; /* 0, or where */
    _Atomic int accepted, reports, drains, status;
};

struct round {
    weir_pipe *pipe;
    weir_pipe_config config;
    struct job jobs[MOST];
    unsigned count;
    _Atomic unsigned next;
    _Atomic int owner[MANY_SLOTS], submitting;
    _Atomic uint64_t reported[WEIR_PIPE_MAX_LANES], drained[WEIR_PIPE_MAX_LANES];
    unsigned cancels;
};

static _Atomic int faults;
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition) && atomic_fetch_add(&faults, 1) < 20) {                                   \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, "\n");                                                                 \
        }                                                                                          \
    } while (0)

static unsigned random_below(unsigned *seed, unsigned limit)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (unsigned)((uint64_t)(*seed >> 8) * limit >> 24);
}

static void busy(unsigned ns)
{
    struct timespec nap = {0, (long)ns};
    if (ns)
        nanosleep(&nap, NULL);
}

static void hand(struct round *r, const weir_pipe_item *item, enum owner from, enum owner to)
{
    const int was = atomic_exchange(&r->owner[item->slot], to);
    CHECK(was == (int)from, "slot %u: %d -> %d, but it was with %d", item->slot, from, to, was);
}

static unsigned word_of(const struct job *job, unsigned i)
{
    return (job->id * 2654435761u) ^ i;
}

static int fill(void *user, weir_pipe_item *item)
{
    struct round *r = user;
    struct job *job = item->data;
    unsigned *in = item->in;

    hand(r, item, NOBODY, FILL);
    item->recapture = job->fail == FAIL_LAUNCH; /* a replay does not ask launch */
    busy(job->fill_ns);
    for (unsigned i = 0; i < WORDS; i++)
        in[i] = word_of(job, i);
    if (job->fail == FAIL_FILL) {
        hand(r, item, FILL, NOBODY);
        return FAIL_FILL;
    }
    hand(r, item, FILL, DEVICE);
    return 0;
}

static void on_device(void *data)
{
    busy(((struct job *)data)->stage_ns);
}

static int launch(void *user, weir_pipe_item *item)
{
    struct job *job = item->data;
    cudaError_t e = cudaSuccess;

    (void)user;
    if (job->stage_ns && !((struct round *)user)->config.graph)
        e = cudaLaunchHostFunc(item->stream, on_device, job);
    if (e == cudaSuccess)
        e = cudaMemcpyAsync(item->dev_scratch, item->dev_in, BYTES, cudaMemcpyDeviceToDevice,
                            item->stream);
    if (e == cudaSuccess && job->fail == FAIL_LAUNCH)
        return FAIL_LAUNCH;
    if (e == cudaSuccess)
        e = cudaMemcpyAsync(item->dev_out, item->dev_scratch, BYTES, cudaMemcpyDeviceToDevice,
                            item->stream);
    return (int)e;
}

static int drain(void *user, weir_pipe_item *item)
{
    struct round *r = user;
    struct job *job = item->data;
    const unsigned *out = item->out;
    unsigned wrong = 0;

    hand(r, item, DEVICE, DRAIN);
    if (r->config.order == WEIR_PIPE_ORDERED) {
        const uint64_t last = atomic_exchange(&r->drained[item->lane], item->number + 1);
        CHECK(last <= item->number, "drained %llu before %llu", (unsigned long long)last - 1,
              (unsigned long long)item->number);
    }
    for (unsigned i = 0; i < WORDS; i++)
        wrong += out[i] != word_of(job, i);
    CHECK(!wrong, "item %u: %u words are another's", job->id, wrong);
    busy(job->drain_ns);
    atomic_fetch_add(&job->drains, 1);
    return job->fail == FAIL_DRAIN ? FAIL_DRAIN : 0;
}

static void done(void *user, const weir_pipe_item *item, const weir_pipe_outcome *outcome)
{
    struct round *r = user;
    struct job *job = item->data;

    atomic_store(&r->owner[item->slot], NOBODY);
    atomic_store(&job->status, (int)outcome->status);
    atomic_fetch_add(&job->reports, 1);
    if (r->config.order != WEIR_PIPE_UNORDERED) {
        const uint64_t next = atomic_fetch_add(&r->reported[item->lane], 1);
        CHECK(next == item->number, "lane %u: report %llu is of item %llu", item->lane,
              (unsigned long long)next, (unsigned long long)item->number);
    }
}

static void make_jobs(struct round *r, unsigned *seed)
{
    const unsigned slow = random_below(seed, 4) == 0 ? 20000 : 0;
    const unsigned errors = random_below(seed, 3) == 0 ? 10 : 1000000;

    for (unsigned i = 0; i < r->count; i++) {
        struct job *job = &r->jobs[i];
        memset(job, 0, sizeof(*job));
        job->id = *seed ^ i;
        if (slow && random_below(seed, 8) == 0) {
            job->fill_ns = random_below(seed, slow);
            job->stage_ns = random_below(seed, slow);
            job->drain_ns = random_below(seed, slow);
        }
        if (random_below(seed, errors) == 0)
            job->fail = FAIL_FILL + (int)random_below(seed, 3);
    }
}

static void make_config(struct round *r, unsigned *seed)
{
    static const uint64_t buckets[] = {4, 16, 64};
    weir_pipe_config *c = &r->config;

    weir_pipe_config_init(c);
    c->in_bytes = c->out_bytes = c->dev_scratch_bytes = BYTES;
    c->slots = 1 + random_below(seed, 6);
    c->workers = random_below(seed, 5);
    c->producers = random_below(seed, 3);
    c->lanes = 1 + random_below(seed, 3);
    c->order = (enum weir_pipe_order)random_below(seed, 3);
    c->spin_ns = random_below(seed, 4) == 0 ? 20000 : 0;
    c->wait = (enum weir_pipe_wait)random_below(seed, 3);
    if (random_below(seed, 3) == 0) {
        c->device_count = 2;
        c->devices[1] = 1;
    } else if (random_below(seed, 3) == 0) {
        c->stage_count = 2 + random_below(seed, 2);
        for (unsigned i = 0; i < c->stage_count; i++)
            c->stages[i] = (weir_pipe_stage){(int)i & 1, BYTES, BYTES, BYTES, launch};
    }
    if (!c->stage_count && random_below(seed, 3) == 0) {
        c->streams = WEIR_PIPE_STREAMS_SPLIT;
        c->compute_streams = 1 + random_below(seed, 2);
    }
    if (random_below(seed, 3) == 0) {
        c->graph = 1;
        c->padding = WEIR_PIPE_PAD_UP;
        c->bucket_count = 3;
        memcpy(c->buckets, buckets, sizeof(buckets));
    }
    if (random_below(seed, 4) == 0)
        c->tune_items = 16;
    c->user = r;
    c->fill = fill;
    c->launch = launch;
    c->drain = drain;
    c->done = done;
}

static void *submitter(void *arg)
{
    struct round *r = arg;
    unsigned seed = (unsigned)(uintptr_t)pthread_self() ^ (r->jobs[0].id);
    unsigned i;

    while ((i = atomic_fetch_add(&r->next, 1)) < r->count) {
        static const int64_t timeouts[] = {-1, -1, -1, 0, 50000};
        const weir_pipe_request request = {.data = &r->jobs[i],
                                           .lane = random_below(&seed, r->config.lanes),
                                           .shape = 1 + random_below(&seed, 80),
                                           .timeout_ns = timeouts[random_below(&seed, 5)]};
        const enum weir_pipe_status status = weir_pipe_submit_request(r->pipe, &request, NULL);
        CHECK(status == WEIR_PIPE_OK || (status == WEIR_PIPE_FULL && request.timeout_ns == 0) ||
                  (status == WEIR_PIPE_TIMED_OUT && request.timeout_ns > 0) ||
                  (status == WEIR_PIPE_CANCELLED && r->cancels),
              "submit: %s", weir_pipe_status_name(status));
        atomic_store(&r->jobs[i].accepted, status == WEIR_PIPE_OK);
    }
    atomic_fetch_sub(&r->submitting, 1);
    return NULL;
}

static void judge(struct round *r, const weir_pipe_stats *stats)
{
    uint64_t accepted = 0, completed = 0;

    for (unsigned i = 0; i < r->count; i++) {
        struct job *job = &r->jobs[i];
        const int ended = atomic_load(&job->status), reports = atomic_load(&job->reports);
        CHECK(reports == atomic_load(&job->accepted), "item %u of %u: accepted %d, reported %d", i,
              r->count, atomic_load(&job->accepted), reports);
        CHECK(atomic_load(&job->drains) <= 1, "item %u is drained twice", i);
        if (!reports)
            continue;
        accepted++;
        completed += ended == WEIR_PIPE_OK;
        if (ended == WEIR_PIPE_OK)
            CHECK(!job->fail && atomic_load(&job->drains) == 1, "item %u: ok, though %d", i,
                  job->fail);
        else if (ended == WEIR_PIPE_CANCELLED)
            CHECK(r->cancels && !atomic_load(&job->drains), "item %u is cancelled", i);
        else
            CHECK(job->fail && ended == WEIR_PIPE_FILL + job->fail - FAIL_FILL, "item %u: %s", i,
                  weir_pipe_status_name((enum weir_pipe_status)ended));
    }
    CHECK(stats->accepted == accepted && stats->completed == completed &&
              stats->completed + stats->failed + stats->cancelled == accepted,
          "statistics: %llu accepted, %llu of %llu completed", (unsigned long long)stats->accepted,
          (unsigned long long)stats->completed, (unsigned long long)completed);
}

static void run_round(struct round *r, unsigned *seed)
{
    const bool cancelling = random_below(seed, 3) == 0;
    pthread_t threads[SUBMITTERS];
    const unsigned submitters = 1 + random_below(seed, SUBMITTERS);
    weir_pipe_stats stats;

    if (weir_pipe_create(&r->config, &r->pipe) != WEIR_PIPE_OK) {
        CHECK(0, "create");
        return;
    }
    r->cancels = cancelling;
    atomic_store(&r->submitting, (int)submitters);
    for (unsigned i = 0; i < submitters; i++)
        pthread_create(&threads[i], NULL, submitter, r);
    while (cancelling && atomic_load(&r->submitting)) {
        busy(random_below(seed, 300000));
        weir_pipe_cancel(r->pipe);
        weir_pipe_cancel_item(r->pipe, 0, random_below(seed, r->count));
    }
    for (unsigned i = 0; i < submitters; i++)
        pthread_join(threads[i], NULL);
    if (random_below(seed, 2))
        weir_pipe_flush(r->pipe);
    else
        weir_pipe_cancel(r->pipe), r->cancels = 1;
    weir_pipe_flush(r->pipe);
    weir_pipe_stats_get(r->pipe, &stats);
    weir_pipe_destroy(r->pipe);
    judge(r, &stats);
}

int main(int argc, char **argv)
{
    unsigned long left = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000, rounds = 0;
    unsigned seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    int devices = 0;

    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) {
        printf("skipped: two devices are needed\n");
        return 77;
    }
    for (; left && !atomic_load(&faults); rounds++) {
        struct round *r = calloc(1, sizeof(*r));
        const unsigned start = seed;
        r->count = 1 + random_below(&seed, left < MOST ? (unsigned)left : MOST);
        make_config(r, &seed);
        make_jobs(r, &seed);
        run_round(r, &seed);
        if (atomic_load(&faults))
            fprintf(stderr, "round %lu, seed %u\n", rounds, start);
        left -= r->count;
        free(r);
    }
    printf("%lu rounds, %d faults\n", rounds, atomic_load(&faults));
    return atomic_load(&faults) != 0;
}
