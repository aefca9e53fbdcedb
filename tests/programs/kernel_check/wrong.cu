/* Kernels that do what no kernel may, and their corrected twins, by name: what weir check must say of each is in
 * kernel_check.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, M = 100000 };

__global__ void fill(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        p[i] = i; /* write */
}

__global__ void sum(const int *p, int n, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicAdd(out, p[i]); /* read */
}

__global__ void scattered(int *p, const int *where)
{
    p[where[threadIdx.x]] = 1; /* scatter */
}

__global__ void last_of_vector(int4 *p, int n)
{
    int i = threadIdx.x;

    if (i <= n / 4)
        p[i] = make_int4(1, 2, 3, 4); /* vector */
}

__global__ void write_then_read(int *p, int *out, int n)
{
    int i = threadIdx.x;

    p[i] = i;
    __syncthreads();
    out[i] = p[n - 1 - i];
}

/* Not const, and yet only read; the same with a write that never happens. */
__global__ void take(int *from, int *to)
{
    to[threadIdx.x] = from[threadIdx.x] + from[threadIdx.x + 1];
}

__global__ void take_and_give(int *from, int *to, int never)
{
    to[threadIdx.x] = from[threadIdx.x];
    if (never)
        from[threadIdx.x] = 0;
}

__global__ void in_shared(int far, int *out)
{
    __shared__ int s[64];

    s[threadIdx.x + far] = 1; /* shared */
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

__device__ int counter;
__device__ int table[64];

__global__ void variables(int *out)
{
    out[threadIdx.x] = atomicAdd(&counter, table[threadIdx.x]);
}

static int *a, *b;
static int host[M];

static void make(int n)
{
    cudaMalloc(&a, n * sizeof *a);
    cudaMalloc(&b, n * sizeof *b);
}

static void with_place(int index)
{
    int where[32];

    make(N);
    for (int i = 0; i < 32; i++)
        where[i] = i == 17 ? index : i;
    cudaMemcpy(b, where, sizeof where, cudaMemcpyHostToDevice);
    scattered<<<1, 32>>>(a, b);
}

static void use_graph()
{
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t e;

    make(N);
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    fill<<<4, 256, 0, s>>>(a, N + 1);
    cudaStreamEndCapture(s, &g);
    cudaGraphInstantiate(&e, g, 0);
    cudaGraphLaunch(e, s);
    cudaStreamSynchronize(s);
}

static void use_pool(bool write, bool again)
{
    cudaStream_t s;
    int *p, *q;

    make(N);
    cudaMemset(b, 0, sizeof *b);
    cudaStreamCreate(&s);
    cudaDeviceSynchronize();
    for (int i = 0; i < 3; i++) {
        cudaMallocAsync(&p, N * sizeof *p, s);
        fill<<<4, 256, 0, s>>>(p, N);
        sum<<<4, 256, 0, s>>>(p, N, b);
        cudaFreeAsync(p, s);
    }
    cudaStreamSynchronize(s);
    if (again) {
        cudaMallocAsync(&q, N * sizeof *q, s);
        if (write)
            cudaMemsetAsync(q, 0, N * sizeof *q, s);
        sum<<<4, 256, 0, s>>>(q, N, b);
        cudaFreeAsync(q, s);
        cudaStreamSynchronize(s);
    }
}

static void use_freed_in_order(bool waits)
{
    cudaStream_t s;
    int *p;

    cudaStreamCreate(&s);
    cudaMallocAsync(&p, N * sizeof *p, s);
    cudaFreeAsync(p, s);
    if (waits)
        cudaStreamSynchronize(s);
    fill<<<4, 256, 0, s>>>(p, N);
}

static void share(bool write)
{
    cudaStream_t s[2];

    make(N);
    cudaMemset(a, 0, N * sizeof *a);
    cudaDeviceSynchronize();
    for (int i = 0; i < 2; i++) {
        int *to;

        cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking);
        cudaMalloc(&to, 1024);
        if (write)
            take_and_give<<<1, 64, 0, s[i]>>>(a, to, 0);
        else
            take<<<1, 64, 0, s[i]>>>(a, to);
    }
}

#define FORM(text, ...) {text, [] { __VA_ARGS__; }}
static const struct form {
    const char *name;
    void (*run)();
} forms[] = {
    FORM("write-inside", (make(N), fill<<<4, 256>>>(a, N))),
    FORM("write-behind", (make(N), fill<<<4, 256>>>(a, N + 1))),
    FORM("write-page-behind", (make(M), fill<<<(M + 9999) / 256, 256>>>(a, M + 5000))),
    FORM("read-behind", (make(N), cudaMemset(a, 0, N * 4), cudaMemset(b, 0, 4), sum<<<4, 256>>>(a, N + 3, b))),
    FORM("scatter-behind", with_place(N + 7)),
    FORM("scatter-before", with_place(-8)),
    FORM("scatter-inside", with_place(N - 1)),
    FORM("vector-behind", (make(N), last_of_vector<<<1, 256>>>((int4 *)a, N))),
    FORM("host-pointer", (make(N), fill<<<4, 256>>>(host, N))),
    FORM("null", fill<<<1, 256>>>(NULL, N)),
    FORM("freed", (make(N), cudaFree(a), fill<<<4, 256>>>(a, N))),
    FORM("freed-in-order", use_freed_in_order(false)),
    FORM("freed-in-order-waited", use_freed_in_order(true)),
    FORM("null-member", fill<<<4, 256>>>((int *)400, N)),
    FORM("shared-far", (make(N), in_shared<<<1, 64>>>(1 << 14, a))),
    FORM("graph-behind", use_graph()),
    FORM("shared-read", share(false)),
    FORM("shared-write", share(true)),
    FORM("read-unwritten", (make(M), cudaMemset(b, 0, 4), sum<<<(M + 255) / 256, 256>>>(a, M, b))),
    FORM("read-part-unwritten", (make(N), cudaMemset(b, 0, 4), cudaMemset(a, 0, N * 4 - 1), sum<<<4, 256>>>(a, N, b))),
    FORM("update-unwritten", (make(N), cudaMemset(a, 0, N * 4), sum<<<4, 256>>>(a, N, b))),
    FORM("read-set", (make(M), cudaMemset(b, 0, 4), cudaMemset(a, 0, M * 4), sum<<<(M + 255) / 256, 256>>>(a, M, b))),
    FORM("read-copied", (make(M), cudaMemset(b, 0, 4), cudaMemcpy(a, host, M * 4, cudaMemcpyHostToDevice),
                         sum<<<(M + 255) / 256, 256>>>(a, M, b))),
    FORM("read-filled", (make(M), cudaMemset(b, 0, 4), fill<<<(M + 255) / 256, 256>>>(a, M),
                         sum<<<(M + 255) / 256, 256>>>(a, M, b))),
    FORM("read-own", (make(N), write_then_read<<<1, 256>>>(a, b, 256))),
    FORM("read-variables", (make(N), variables<<<1, 64>>>(a))),
    FORM("read-pool", use_pool(true, true)),
    FORM("read-pool-unwritten", use_pool(false, true)),
    FORM("read-reused", use_pool(true, false)),
};

int main(int, char **argv)
{
    for (const struct form &f : forms)
        if (strcmp(argv[1], f.name) == 0)
            f.run();
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
