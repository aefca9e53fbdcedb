/* A loop like training: each step computes the gradients of the layers from the last to the first; each gradient goes to
 * the host, which sums it up as a collective would and sends it back, and the layer's weights are changed by it.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   training [--form bad|usual|good] [--steps N] [--layer-kib N] [--work N]
 *
 * usual  one stream: a layer's copies are over before the next layer's kernel begins, and the weights change at the step's end
 * bad    gradients come down and go up in streams of their own, but nothing makes the first copy wait for the kernel: a race
 * good   the same with that event too; and a layer's weights change when the next step is about to use them, not before: so
 *        its gradient has a whole step's time to go round, and nobody waits at the step's end */
#include <vector>

#include "common.h"
#include "weir/pipe.h"

enum { LAYERS = 6 };

__global__ void backward(const unsigned *weights, const unsigned *after, unsigned *gradient, int n, int work)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = weights[i] + 3 * after[i];
    for (int k = 0; k < work; k++)
        x = 1664525u * x + 1013904223u;
    gradient[i] = x;
}

__global__ void update(unsigned *weights, const unsigned *gradient, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        weights[i] -= gradient[i] >> 3;
}

struct layer {
    unsigned *weights, *gradient, *reduced, *host; /* host is pinned */
    int n;
    cudaEvent_t computed, down, arrived;
};

struct model {
    layer layers[LAYERS];
    unsigned *input;
    int n, work;
    cudaStream_t compute, down, up;
    cudaEvent_t ended[2]; /* of the last two steps */
};

static unsigned reduce(unsigned gradient) /* what the other workers add */
{
    return gradient + (gradient ^ 0x5bd1e995u);
}

static void CUDART_CB reduce_all(void *data)
{
    const layer *at = (const layer *)data;
    for (int i = 0; i < at->n; i++)
        at->host[i] = reduce(at->host[i]);
}

static void compute_layer(model &m, int l)
{
    backward<<<(m.n + 255) / 256, 256, 0, m.compute>>>(m.layers[l].weights, l + 1 < LAYERS ? m.layers[l + 1].gradient : m.input,
                                                       m.layers[l].gradient, m.n, m.work);
    CHECK(cudaGetLastError());
}

static void update_layer(model &m, int l)
{
    update<<<(m.n + 255) / 256, 256, 0, m.compute>>>(m.layers[l].weights, m.layers[l].reduced, m.n);
    CHECK(cudaGetLastError());
}

static void hand_on(cudaEvent_t event, cudaStream_t from, cudaStream_t to)
{
    CHECK(cudaEventRecord(event, from));
    CHECK(cudaStreamWaitEvent(to, event, 0));
}

/* Everything in one stream, which keeps it in order. */
static void usual_step(model &m)
{
    for (int l = LAYERS; l-- > 0;) {
        layer &at = m.layers[l];
        compute_layer(m, l);
        CHECK(cudaMemcpyAsync(at.host, at.gradient, m.n * sizeof(unsigned), cudaMemcpyDeviceToHost, m.compute));
        CHECK(cudaLaunchHostFunc(m.compute, reduce_all, &at));
        CHECK(cudaMemcpyAsync(at.reduced, at.host, m.n * sizeof(unsigned), cudaMemcpyHostToDevice, m.compute));
    }
    for (int l = 0; l < LAYERS; l++)
        update_layer(m, l);
    CHECK(cudaStreamSynchronize(m.compute)); /* the end of a step */
}

/* The gradient's way: down, through the host, up. What the next step writes again is safe by one event: the update before
 * it has waited for `arrived`, which comes after all of this. */
static void send_round(model &m, int l, bool bad)
{
    layer &at = m.layers[l];
    if (!bad)
        hand_on(at.computed, m.compute, m.down);
    CHECK(cudaMemcpyAsync(at.host, at.gradient, m.n * sizeof(unsigned), cudaMemcpyDeviceToHost, m.down));
    hand_on(at.down, m.down, m.up);
    CHECK(cudaLaunchHostFunc(m.up, reduce_all, &at));
    CHECK(cudaMemcpyAsync(at.reduced, at.host, m.n * sizeof(unsigned), cudaMemcpyHostToDevice, m.up));
    CHECK(cudaEventRecord(at.arrived, m.up));
}

static void overlapped_step(model &m, int step, bool bad)
{
    if (step >= 2) /* the host is at most two steps ahead: more would only fill the streams' queues */
        CHECK(cudaEventSynchronize(m.ended[step % 2]));
    for (int l = LAYERS; l-- > 0;) {
        if (step > 0) {
            CHECK(cudaStreamWaitEvent(m.compute, m.layers[l].arrived, 0));
            update_layer(m, l);
        }
        compute_layer(m, l);
        send_round(m, l, bad);
    }
    CHECK(cudaEventRecord(m.ended[step % 2], m.compute));
    if (bad)
        CHECK(cudaDeviceSynchronize()); /* one mistake is enough */
}

/* What the last step has left to do. */
static void last_updates(model &m)
{
    for (int l = LAYERS; l-- > 0;) {
        CHECK(cudaStreamWaitEvent(m.compute, m.layers[l].arrived, 0));
        update_layer(m, l);
    }
    CHECK(cudaStreamSynchronize(m.compute));
}

static unsigned initial(int l, int i)
{
    return 2654435761u * ((unsigned)l * 16384u + (unsigned)i);
}

/* Elements do not depend on one another: a few of them are enough. */
static int judge(const model &m, const std::vector<unsigned> *weights, int steps)
{
    int wrong = 0;
    for (int i = 0; i < m.n; i += m.n / 250 + 1) {
        unsigned w[LAYERS], g[LAYERS];
        for (int l = 0; l < LAYERS; l++)
            w[l] = initial(l, i);
        for (int s = 0; s < steps; s++) {
            for (int l = LAYERS; l-- > 0;) {
                unsigned x = w[l] + 3 * (l + 1 < LAYERS ? g[l + 1] : (unsigned)i);
                for (int k = 0; k < m.work; k++)
                    x = 1664525u * x + 1013904223u;
                g[l] = x;
            }
            for (int l = 0; l < LAYERS; l++)
                w[l] -= reduce(g[l]) >> 3;
        }
        for (int l = 0; l < LAYERS; l++)
            wrong += weights[l][i] != w[l];
    }
    return wrong;
}

static void make_layer(model &m, int l, weir_pipe_pinned *pool, std::vector<unsigned> &values)
{
    layer &at = m.layers[l];
    const size_t bytes = m.n * sizeof(unsigned);
    for (int i = 0; i < m.n; i++)
        values[i] = initial(l, i);
    at.n = m.n;
    CHECK(cudaMalloc(&at.weights, bytes));
    CHECK(cudaMalloc(&at.gradient, bytes));
    CHECK(cudaMalloc(&at.reduced, bytes));
    if (weir_pipe_pinned_get(pool, bytes, (void **)&at.host) != WEIR_PIPE_OK)
        exit(1);
    CHECK(cudaMemcpy(at.weights, values.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(at.gradient, 0, bytes));
    CHECK(cudaEventCreateWithFlags(&at.computed, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&at.down, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&at.arrived, cudaEventDisableTiming));
}

static void make_model(model &m, weir_pipe_pinned *pool)
{
    std::vector<unsigned> values(m.n);
    CHECK(cudaMalloc(&m.input, m.n * sizeof(unsigned)));
    for (int i = 0; i < m.n; i++)
        values[i] = (unsigned)i;
    CHECK(cudaMemcpy(m.input, values.data(), m.n * sizeof(unsigned), cudaMemcpyHostToDevice));
    for (int l = 0; l < LAYERS; l++)
        make_layer(m, l, pool, values);
    for (cudaStream_t *stream : {&m.compute, &m.down, &m.up})
        CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    for (cudaEvent_t &ended : m.ended)
        CHECK(cudaEventCreateWithFlags(&ended, cudaEventDisableTiming));
    /* The first launch of a kernel loads its code: not a step's time. */
    backward<<<1, 1, 0, m.compute>>>(NULL, NULL, NULL, 0, 0);
    update<<<1, 1, 0, m.compute>>>(NULL, NULL, 0);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

static void read_weights(const model &m, std::vector<unsigned> *weights)
{
    for (int l = 0; l < LAYERS; l++) {
        weights[l].resize(m.n);
        CHECK(cudaMemcpy(weights[l].data(), m.layers[l].weights, m.n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    }
}

static void free_model(model &m)
{
    for (layer &at : m.layers) {
        CHECK(cudaFree(at.weights));
        CHECK(cudaFree(at.gradient));
        CHECK(cudaFree(at.reduced));
        CHECK(cudaEventDestroy(at.computed));
        CHECK(cudaEventDestroy(at.down));
        CHECK(cudaEventDestroy(at.arrived));
    }
    CHECK(cudaFree(m.input));
    for (cudaStream_t stream : {m.compute, m.down, m.up})
        CHECK(cudaStreamDestroy(stream));
    for (cudaEvent_t ended : m.ended)
        CHECK(cudaEventDestroy(ended));
}

int main(int argc, char **argv)
{
    const char *form = option(argc, argv, "--form", "good");
    const int steps = option_int(argc, argv, "--steps", 20);
    const bool usual = !strcmp(form, "usual"), bad = !strcmp(form, "bad");
    std::vector<unsigned> weights[LAYERS];
    weir_pipe_pinned *pool; /* the library's pools are of use without its pipelines */
    model m;

    m.n = option_int(argc, argv, "--layer-kib", 256) * 1024 / (int)sizeof(unsigned);
    m.work = option_int(argc, argv, "--work", 1000);
    if (steps < 1 || m.n < 1 || m.work < 0) {
        fprintf(stderr, "training: --steps and --layer-kib from 1, --work from 0\n");
        return 2;
    }
    if (weir_pipe_pinned_create(0, &pool) != WEIR_PIPE_OK)
        return 1;
    make_model(m, pool);

    const double started = now_ms();
    for (int s = 0; s < steps; s++) {
        if (usual)
            usual_step(m);
        else
            overlapped_step(m, s, bad);
    }
    if (!usual)
        last_updates(m);
    const double ms = (now_ms() - started) / steps;

    read_weights(m, weights);
    free_model(m);
    weir_pipe_pinned_destroy(pool);
    const int wrong = judge(m, weights, steps);
    printf("%s: %d steps of %d layers, %.3f ms each, %d wrong\n", form, steps, LAYERS, ms, wrong);
    printf("RESULT %s %d wrong\n", wrong ? "FAIL" : "PASS", wrong);
    return wrong != 0;
}
