// A program with five operations a round in four streams, for a timeline of a million: bench/view/measure.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static const int STREAMS = 4, N = 1024, ROUNDS_AHEAD = 100;

__global__ void add(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
__global__ void scale(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 3; }

static void check(cudaError_t e)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "many: %s\n", cudaGetErrorString(e));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    cudaStream_t s[STREAMS];
    cudaEvent_t e[STREAMS];
    int *d[STREAMS], *h;

    check(cudaMallocHost(&h, STREAMS * N * sizeof *h));
    for (int i = 0; i < STREAMS; i++) {
        check(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
        check(cudaEventCreateWithFlags(&e[i], cudaEventDisableTiming));
        check(cudaMalloc(&d[i], N * sizeof *h));
    }
    for (int r = 0; r < rounds; r++) {
        const int i = r % STREAMS;
        check(cudaMemcpyAsync(d[i], h + i * N, N * sizeof *h, cudaMemcpyHostToDevice, s[i]));
        add<<<N / 256, 256, 0, s[i]>>>(d[i]);
        scale<<<N / 256, 256, 0, s[i]>>>(d[i]);
        check(cudaEventRecord(e[i], s[i]));
        check(cudaStreamWaitEvent(s[(i + 1) % STREAMS], e[i], 0));
        check(cudaMemcpyAsync(h + i * N, d[i], N * sizeof *h, cudaMemcpyDeviceToHost, s[i]));
        if (r % ROUNDS_AHEAD == ROUNDS_AHEAD - 1)
            check(cudaStreamSynchronize(s[i]));
    }
    check(cudaDeviceSynchronize());
    return 0;
}
