/* A loop like training: each step computes the gradients of the layers from the last to the first; each gradient goes to
 * the host, which sums it up as a collective would and sends it back, and the layer's weights are changed by it.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   training [--form bad|usual|good] [--steps N]
 *
 * bad    gradients are copied in a stream of their own, which nothing makes wait for the kernel: a race
 * usual  one stream: a layer's copies are over before the next layer's kernel begins
 * good   the same stream of its own, with events: a layer's copies are made while the next layers compute */
#include <vector>

#include "common.h"
#include "weir/pipe.h"

enum { LAYERS = 6, N = 16 * 1024, BYTES = N * (int)sizeof(unsigned), WORK = 200 };

__global__ void backward(const unsigned *weights, const unsigned *after, unsigned *gradient)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = weights[i] + 3 * after[i];
    for (int k = 0; k < WORK; k++)
        x = 1664525u * x + 1013904223u;
    gradient[i] = x;
}

__global__ void update(unsigned *weights, const unsigned *gradient)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    weights[i] -= gradient[i] >> 3;
}

struct layer {
    unsigned *weights, *gradient, *reduced, *host; /* host is pinned */
    cudaEvent_t computed, arrived;
};

static unsigned reduce(unsigned gradient) /* what the other workers add */
{
    return gradient + (gradient ^ 0x5bd1e995u);
}

static void CUDART_CB reduce_all(void *data)
{
    unsigned *gradient = (unsigned *)data;
    for (int i = 0; i < N; i++)
        gradient[i] = reduce(gradient[i]);
}

static void step(layer *layers, const unsigned *input, cudaStream_t compute, cudaStream_t copy, bool events)
{
    for (int l = LAYERS; l-- > 0;) {
        layer &at = layers[l];
        backward<<<N / 256, 256, 0, compute>>>(at.weights, l + 1 < LAYERS ? layers[l + 1].gradient : input, at.gradient);
        if (events) {
            CHECK(cudaEventRecord(at.computed, compute));
            CHECK(cudaStreamWaitEvent(copy, at.computed, 0));
        }
        CHECK(cudaMemcpyAsync(at.host, at.gradient, BYTES, cudaMemcpyDeviceToHost, copy));
        CHECK(cudaLaunchHostFunc(copy, reduce_all, at.host));
        CHECK(cudaMemcpyAsync(at.reduced, at.host, BYTES, cudaMemcpyHostToDevice, copy));
        if (events)
            CHECK(cudaEventRecord(at.arrived, copy));
    }
    for (int l = 0; l < LAYERS; l++) {
        if (events)
            CHECK(cudaStreamWaitEvent(compute, layers[l].arrived, 0));
        update<<<N / 256, 256, 0, compute>>>(layers[l].weights, layers[l].reduced);
        CHECK(cudaGetLastError());
    }
    if (!events) /* the end of a step */
        CHECK(cudaDeviceSynchronize());
}

static unsigned initial(int l, int i)
{
    return 2654435761u * (unsigned)(l * N + i);
}

/* Elements do not depend on one another: a few of them are enough. */
static int judge(const std::vector<unsigned> *weights, int steps)
{
    int wrong = 0;
    for (int i = 0; i < N; i += 61) {
        unsigned w[LAYERS], g[LAYERS];
        for (int l = 0; l < LAYERS; l++)
            w[l] = initial(l, i);
        for (int s = 0; s < steps; s++) {
            for (int l = LAYERS; l-- > 0;) {
                unsigned x = w[l] + 3 * (l + 1 < LAYERS ? g[l + 1] : (unsigned)i);
                for (int k = 0; k < WORK; k++)
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

int main(int argc, char **argv)
{
    const char *form = option(argc, argv, "--form", "good");
    const int steps = option_int(argc, argv, "--steps", 20);
    std::vector<unsigned> weights[LAYERS], values(N);
    layer layers[LAYERS];
    unsigned *input;
    cudaStream_t compute, copy;
    weir_pipe_pinned *pool; /* the library's pools are of use without its pipelines */

    if (weir_pipe_pinned_create(0, &pool) != WEIR_PIPE_OK)
        return 1;
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&input, BYTES));
    for (int i = 0; i < N; i++)
        values[i] = (unsigned)i;
    CHECK(cudaMemcpy(input, values.data(), BYTES, cudaMemcpyHostToDevice));
    for (int l = 0; l < LAYERS; l++) {
        for (int i = 0; i < N; i++)
            values[i] = initial(l, i);
        CHECK(cudaMalloc(&layers[l].weights, BYTES));
        CHECK(cudaMalloc(&layers[l].gradient, BYTES));
        CHECK(cudaMalloc(&layers[l].reduced, BYTES));
        if (weir_pipe_pinned_get(pool, BYTES, (void **)&layers[l].host) != WEIR_PIPE_OK)
            return 1;
        CHECK(cudaMemcpy(layers[l].weights, values.data(), BYTES, cudaMemcpyHostToDevice));
        CHECK(cudaMemset(layers[l].gradient, 0, BYTES));
        CHECK(cudaEventCreateWithFlags(&layers[l].computed, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&layers[l].arrived, cudaEventDisableTiming));
    }
    CHECK(cudaDeviceSynchronize());

    const double started = now_ms();
    for (int s = 0; s < steps; s++)
        step(layers, input, compute, strcmp(form, "usual") ? copy : compute, !strcmp(form, "good"));
    CHECK(cudaDeviceSynchronize());
    const double ms = (now_ms() - started) / steps;

    for (int l = 0; l < LAYERS; l++) {
        weights[l].resize(N);
        CHECK(cudaMemcpy(weights[l].data(), layers[l].weights, BYTES, cudaMemcpyDeviceToHost));
        CHECK(cudaFree(layers[l].weights));
        CHECK(cudaFree(layers[l].gradient));
        CHECK(cudaFree(layers[l].reduced));
        CHECK(cudaEventDestroy(layers[l].computed));
        CHECK(cudaEventDestroy(layers[l].arrived));
    }
    CHECK(cudaFree(input));
    weir_pipe_pinned_destroy(pool);
    CHECK(cudaStreamDestroy(compute));
    CHECK(cudaStreamDestroy(copy));
    const int wrong = judge(weights, steps);
    printf("%s: %d steps of %d layers, %.3f ms each, %d wrong\n", form, steps, LAYERS, ms, wrong);
    printf("RESULT %s %d wrong\n", wrong ? "FAIL" : "PASS", wrong);
    return wrong != 0;
}
