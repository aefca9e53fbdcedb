/* The autotuner: the first items go through with 1, 2, 3 ... slots, tune_items each; then with the
 * best number once more in the other way of streams. Chosen is the fewest slots within 3 % of the
 * best time. Beside it the arithmetic of chunks, from costs that were measured or planned.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pipe_int.h"

static const double worth = 1.03; /* less than 3 % is no reason for another slot */

static void apply_locked(weir_pipe *pipe, const struct trial *trial)
{
    pipe->limit = trial->slots;
    pipe->split = trial->split;
    weir_pipe_wake_all_locked(pipe);
}

void weir_pipe_tune_init(weir_pipe *pipe)
{
    struct tuner *tune = &pipe->tune;
    const unsigned most = pipe->config.slots;

    tune->done = !pipe->config.tune_items;
    if (tune->done)
        return;
    for (unsigned n = 1;; n += n < 4 ? 1 : n < 8 ? 2 : n) {
        if (n > most || tune->count == MAX_TRIALS - 2)
            n = most;
        tune->trials[tune->count++] = (struct trial){.slots = n, .split = pipe->split};
        if (n == most)
            break;
    }
    pipe->limit = 1;
}

void weir_pipe_tune_accept_locked(weir_pipe *pipe, struct slot *slot)
{
    struct tuner *tune = &pipe->tune;
    struct trial *trial = &tune->trials[tune->now];

    slot->trial = MAX_TRIALS;
    if (tune->done || trial->accepted == pipe->config.tune_items)
        return;
    if (!tune->now && !trial->accepted)
        tune->last_end = slot->outcome.accepted_ns;
    slot->trial = tune->now;
    /* The first item loads the kernels. */
    slot->timing = trial->slots == 1 && trial->accepted > 0 && !slot->split &&
                   !pipe->config.graph && pipe->stage_count == 1;
    if (++trial->accepted == pipe->config.tune_items && tune->now + 1 < tune->count)
        apply_locked(pipe, &tune->trials[++tune->now]);
}

static unsigned best_trial(const struct tuner *tune, unsigned count)
{
    unsigned best = 0;
    double least = tune->trials[0].ns;
    for (unsigned i = 1; i < count; i++)
        if (tune->trials[i].ns < least)
            least = tune->trials[i].ns;
    while (tune->trials[best].ns > worth * least)
        best++;
    return best;
}

static void add(struct tuner *tune, const char *format, ...)
{
    const size_t used = strlen(tune->text);
    va_list args;
    va_start(args, format);
    vsnprintf(tune->text + used, sizeof(tune->text) - used, format, args);
    va_end(args);
}

static const char *way(bool split)
{
    return split ? "a stream for each stage" : "a stream for each slot";
}

static void explain(weir_pipe *pipe, unsigned chosen, unsigned slots_trial)
{
    struct tuner *tune = &pipe->tune;
    const struct trial *best = &tune->trials[chosen];
    const unsigned last = tune->count - 1;

    for (unsigned i = 0; i < tune->count; i++)
        add(tune, "%2u slot%s, %s: %.1f us an item\n", tune->trials[i].slots,
            tune->trials[i].slots == 1 ? "" : "s", way(tune->trials[i].split),
            tune->trials[i].ns / 1e3);
    if (tune->timed)
        add(tune, "alone: upload %.1f us, compute %.1f, download %.1f\n",
            tune->upload_us / tune->timed, tune->compute_us / tune->timed,
            tune->download_us / tune->timed);
    add(tune, "chosen: %u slot%s, %s, because", best->slots, best->slots == 1 ? "" : "s",
        way(best->split));
    if (slots_trial > 0)
        add(tune, " %u took %.0f %% longer,", tune->trials[slots_trial - 1].slots,
            100 * (tune->trials[slots_trial - 1].ns / tune->trials[slots_trial].ns - 1));
    add(tune, " more slots gain less than 3 %%");
    if (tune->trials[last].split != tune->trials[0].split)
        add(tune, ", and %s takes %.1f us", way(!best->split),
            tune->trials[chosen == last ? slots_trial : last].ns / 1e3);
    add(tune, "\n");
}

/* The last item of the last trial has been reported: the other way of streams is tried, or it is
 * over. */
static void next_or_end_locked(weir_pipe *pipe)
{
    struct tuner *tune = &pipe->tune;
    const bool both = tune->trials[tune->count - 1].split != tune->trials[0].split;
    const unsigned slots_trial = best_trial(tune, both ? tune->count - 1 : tune->count);
    unsigned chosen = slots_trial;

    if (!both && !pipe->config.graph && pipe->stage_count == 1) {
        tune->trials[tune->count] = (struct trial){.slots = tune->trials[slots_trial].slots,
                                                   .split = !tune->trials[0].split};
        tune->now = tune->count++;
        tune->last_end = weir_pipe_now_ns();
        apply_locked(pipe, &tune->trials[tune->now]);
        return;
    }
    if (both && worth * tune->trials[tune->count - 1].ns < tune->trials[slots_trial].ns)
        chosen = tune->count - 1;
    explain(pipe, chosen, slots_trial);
    apply_locked(pipe, &tune->trials[chosen]);
    tune->done = true;
}

void weir_pipe_tune_report_locked(weir_pipe *pipe, struct slot *slot)
{
    struct tuner *tune = &pipe->tune;
    struct trial *trial;

    if (tune->done || slot->trial >= tune->count)
        return;
    trial = &tune->trials[slot->trial];
    if (++trial->reported < pipe->config.tune_items)
        return;
    trial->ns = (double)(pipe->last_at - tune->last_end) / pipe->config.tune_items;
    tune->last_end = pipe->last_at;
    if (slot->trial == tune->count - 1)
        next_or_end_locked(pipe);
}

size_t weir_pipe_tune_text(weir_pipe *pipe, char *text, size_t size)
{
    size_t length;
    pthread_mutex_lock(&pipe->lock);
    length = strlen(pipe->tune.text);
    if (size)
        snprintf(text, size, "%s", pipe->tune.text);
    pthread_mutex_unlock(&pipe->lock);
    return length;
}

static double largest(double a, double b, double c)
{
    const double ab = a > b ? a : b;
    return ab > c ? ab : c;
}

/* n chunks one behind the other: the first one's whole way, then one more of the longest stage
 * each. */
static double expected_us(const weir_pipe_costs *c, unsigned n)
{
    const double up = c->upload_us / n + c->chunk_us, work = c->compute_us / n + c->chunk_us;
    const double down = c->download_us / n + c->chunk_us;
    double longest = largest(up, work, down);
    if (longest < c->host_us)
        longest = c->host_us;
    return c->host_us + up + work + down + (n - 1) * longest;
}

enum weir_pipe_status weir_pipe_choose(const weir_pipe_costs *costs, weir_pipe_choice *choice)
{
    double best, sum, longest;
    unsigned n;

    if (!costs || !choice || !costs->max_chunks || !costs->max_slots || costs->upload_us < 0 ||
        costs->compute_us < 0 || costs->download_us < 0 || costs->chunk_us < 0 ||
        costs->host_us < 0)
        return WEIR_PIPE_INVALID;
    memset(choice, 0, sizeof(*choice));
    choice->serial_us = best = expected_us(costs, 1);
    for (n = 2; n <= costs->max_chunks; n++)
        if (expected_us(costs, n) < best)
            best = expected_us(costs, n);
    for (n = 1; expected_us(costs, n) > 1.02 * best; n++)
        ;
    choice->chunks = n;
    choice->us = expected_us(costs, n);
    longest =
        largest(costs->upload_us, costs->compute_us, costs->download_us) / n + costs->chunk_us;
    sum = (costs->upload_us + costs->compute_us + costs->download_us) / n + 3 * costs->chunk_us;
    /* As many as are on their way while the longest stage does one, and one that the host has. */
    choice->slots = (unsigned)(sum / (longest > 0 ? longest : 1) + 0.999) + 1;
    if (choice->slots > n)
        choice->slots = n;
    if (choice->slots > costs->max_slots)
        choice->slots = costs->max_slots;
    choice->split = choice->slots > 1 && longest > 0.6 * sum;
    snprintf(
        choice->why, sizeof(choice->why),
        "%u chunks: %.1f us instead of %.1f; each is %.1f us at its longest stage of %.1f in all, "
        "so %u are on their way%s",
        n, choice->us, choice->serial_us, longest, sum, choice->slots,
        choice->split ? "; one stage is most of it: a stream for each stage" : "");
    return WEIR_PIPE_OK;
}
