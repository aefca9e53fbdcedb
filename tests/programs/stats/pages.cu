// Managed memory that host and kernels take turns with: pages.sh knows what that moves.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>

#define N ((size_t)4 << 20) // 16 MiB of them

__global__ void add(int *p, size_t n)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i]++;
}

static int wrong;

static void check(const int *p, size_t i, int value)
{
    wrong += p[i] != value;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    cudaMemLocation host = {cudaMemLocationTypeHost, 0}, device = {cudaMemLocationTypeDevice, 0};
    int *p;

    cudaMallocManaged(&p, N * sizeof *p);
    if (strcmp(what, "advised") == 0)
        cudaMemAdvise(p, N * sizeof *p, cudaMemAdviseSetPreferredLocation, host);
    for (size_t i = 0; i < N; i++)
        p[i] = (int)i;
    if (strcmp(what, "prefetch") == 0)
        cudaMemPrefetchAsync(p, N * sizeof *p, device, 0, 0);
    add<<<8, 128>>>(p, N);
    cudaDeviceSynchronize();
    if (strcmp(what, "graph") == 0) {
        cudaStream_t s;
        cudaGraph_t g;
        cudaGraphExec_t x;

        cudaStreamCreate(&s);
        cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
        add<<<8, 128, 0, s>>>(p, N / 2);
        cudaStreamEndCapture(s, &g);
        cudaGraphInstantiate(&x, g, 0);
        for (int i = 0; i < 2; i++) {
            p[0]--; // one page to the host, and back
            cudaGraphLaunch(x, s);
            cudaStreamSynchronize(s);
        }
        check(p, 0, 1);
        check(p, 1, 4);
        cudaGraphExecDestroy(x);
        cudaGraphDestroy(g);
        cudaStreamDestroy(s);
    } else {
        check(p, 0, 1);
        check(p, N - 1, (int)N);
        for (size_t i = 0; i < N / 4; i++)
            p[i]--;
        check(p, 1, 1);
    }
    if (strcmp(what, "kept") != 0)
        cudaFree(p);
    printf("pages: %d wrong\n", wrong);
    return wrong;
}
