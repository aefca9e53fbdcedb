/* Three uses of graphs. The diamond of join.cu (A and B side by side, C behind both), captured from two streams and
 * written as a picture. A chain of 200 small kernels, launched one by one and replayed. And what inference engines do with
 * inputs of any size: one graph for each of some batch sizes, a request runs in the next larger one, and what it is padded
 * with changes no result. Options: --dot FILE (DOT text of the diamond; `dot -Tsvg FILE` draws it), --steps N.
 * SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

__global__ void fill(float *out, float value, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = value + i;
}

__global__ void add(const float *a, const float *b, float *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

__global__ void step(float *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] * 0.5f + 1.0f;
}

/* A row of the batch each block: its values' sum, weighted. */
__global__ void score(const float *rows, float *out, int width)
{
    float sum = 0;
    for (int i = 0; i < width; i++)
        sum += rows[blockIdx.x * width + i] * (i % 7 + 1);
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph)); /* the instance has a copy */
    return exec;
}

/* ---- the diamond ---- */

static int diamond(cudaStream_t first, const char *dot)
{
    const int n = 1 << 16, threads = 256, blocks = n / threads;
    float *a, *b, *c, *host;
    CHECK(cudaMalloc(&a, n * sizeof *a));
    CHECK(cudaMalloc(&b, n * sizeof *b));
    CHECK(cudaMalloc(&c, n * sizeof *c));
    CHECK(cudaMallocHost(&host, n * sizeof *host));
    cudaStream_t second;
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t begun, b_done;
    CHECK(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&b_done, cudaEventDisableTiming));

    /* The same calls that would run the work record it; the event makes the second stream take part. */
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(begun, first));
    CHECK(cudaStreamWaitEvent(second, begun, 0));
    fill<<<blocks, threads, 0, first>>>(a, 1.0f, n);
    fill<<<blocks, threads, 0, second>>>(b, 2.0f, n);
    CHECK(cudaEventRecord(b_done, second));
    CHECK(cudaStreamWaitEvent(first, b_done, 0));
    add<<<blocks, threads, 0, first>>>(a, b, c, n);
    CHECK(cudaMemcpyAsync(host, c, n * sizeof *c, cudaMemcpyDeviceToHost, first));
    CHECK(cudaStreamEndCapture(first, &graph));

    size_t nodes = 0, edges = 0;
    CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
    CHECK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    if (dot)
        CHECK(cudaGraphDebugDotPrint(graph, dot, cudaGraphDebugDotFlagsVerbose));
    cudaGraphExec_t exec = instantiate(graph);
    int wrong = 0;
    for (int round = 0; round < 20; round++) {
        memset(host, 0, n * sizeof *host);
        CHECK(cudaGraphLaunch(exec, first));
        CHECK(cudaStreamSynchronize(first));
        for (int i = 0; i < n; i++)
            wrong += host[i] != 3.0f + 2.0f * i;
    }
    printf("diamond: %zu nodes, %zu edges, %d wrong\n", nodes, edges, wrong);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaEventDestroy(begun));
    CHECK(cudaEventDestroy(b_done));
    CHECK(cudaStreamDestroy(second));
    return wrong;
}

/* ---- many small kernels ---- */

static void chain(float *x, int n, cudaStream_t stream)
{
    for (int i = 0; i < 200; i++)
        step<<<(n + 127) / 128, 128, 0, stream>>>(x, n);
}

static int small_kernels(cudaStream_t stream, int steps)
{
    const int n = 1024;
    float *x, eager_result[n], graph_result[n];
    CHECK(cudaMalloc(&x, n * sizeof *x));
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    chain(x, n, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec = instantiate(graph);
    CHECK(cudaGraphLaunch(exec, stream)); /* warm */
    chain(x, n, stream);
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaMemset(x, 0, n * sizeof *x));
    CHECK(cudaDeviceSynchronize());
    double start = now_ms();
    for (int i = 0; i < steps; i++)
        chain(x, n, stream);
    CHECK(cudaStreamSynchronize(stream));
    const double eager = now_ms() - start;
    CHECK(cudaMemcpy(eager_result, x, sizeof eager_result, cudaMemcpyDeviceToHost));

    CHECK(cudaMemset(x, 0, n * sizeof *x));
    CHECK(cudaDeviceSynchronize());
    start = now_ms();
    for (int i = 0; i < steps; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    const double host = now_ms() - start;
    CHECK(cudaStreamSynchronize(stream));
    const double replay = now_ms() - start;
    CHECK(cudaMemcpy(graph_result, x, sizeof graph_result, cudaMemcpyDeviceToHost));

    const int wrong = memcmp(eager_result, graph_result, sizeof eager_result) != 0;
    printf("200 small kernels x %d: %.2f ms one by one, %.2f ms replayed (%.3f ms of the host's), %s\n", steps, eager,
           replay, host, wrong ? "results differ" : "same results");
    CHECK(cudaGraphExecDestroy(exec));
    return wrong;
}

/* ---- batch sizes ---- */

static int buckets(cudaStream_t stream)
{
    const int width = 64, largest = 256, requests = 200;
    static const int sizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
    const int count = sizeof sizes / sizeof *sizes;
    float *in, *out, *rows, *scores;
    CHECK(cudaMalloc(&in, largest * width * sizeof *in));
    CHECK(cudaMalloc(&out, largest * sizeof *out));
    CHECK(cudaMallocHost(&rows, largest * width * sizeof *rows));
    CHECK(cudaMallocHost(&scores, largest * sizeof *scores));

    /* Static addresses: a graph reads and writes the same buffers each time. */
    cudaGraphExec_t execs[count];
    for (int k = 0; k < count; k++) {
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        CHECK(cudaMemcpyAsync(in, rows, sizes[k] * width * sizeof *in, cudaMemcpyHostToDevice, stream));
        score<<<sizes[k], 32, 0, stream>>>(in, out, width);
        CHECK(cudaMemcpyAsync(scores, out, sizes[k] * sizeof *out, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamEndCapture(stream, &graph));
        execs[k] = instantiate(graph);
    }
    int wrong = 0;
    unsigned random = 1;
    for (int r = 0; r < requests; r++) {
        random = random * 1664525u + 1013904223u;
        const int batch = 1 + (int)(random >> 16) % largest;
        for (int i = 0; i < batch * width; i++)
            rows[i] = (float)((i * 31 + r) % 17);
        int k = 0;
        while (sizes[k] < batch)
            k++;
        for (int i = batch * width; i < sizes[k] * width; i++)
            rows[i] = -1e30f; /* padding: nobody looks at its scores */
        CHECK(cudaGraphLaunch(execs[k], stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int b = 0; b < batch; b++) {
            float sum = 0;
            for (int i = 0; i < width; i++)
                sum += rows[b * width + i] * (i % 7 + 1);
            wrong += scores[b] != sum;
        }
    }
    printf("batches: %d requests in %d graphs, %d wrong\n", requests, count, wrong);
    for (int k = 0; k < count; k++)
        CHECK(cudaGraphExecDestroy(execs[k]));
    return wrong;
}

int main(int argc, char **argv)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int wrong = diamond(stream, option(argc, argv, "--dot", NULL));
    wrong += small_kernels(stream, option_int(argc, argv, "--steps", 20));
    wrong += buckets(stream);
    printf("RESULT %s %d wrong\n", wrong ? "FAIL" : "PASS", wrong);
    return wrong != 0;
}
