/* Programs of kernels that launch kernels, for what looks at a run: `ordered races` reads what a child writes, in another stream
 * without order; `ordered waits` waits for an event first; `ordered first` fails when of two children without order between them the
 * second runs first; `ordered small` launches with too small a buffer of
 * arguments; `ordered box` copies a box; `ordered own` copies from and to memory of its thread and block; `ordered many` launches a great many, alone and in a graph, and
 * ends with 3 when that takes memory that grows with their number. SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <cstring>
#include <sys/resource.h>

__device__ int at, last;

__global__ void child_writes(int *p) { p[threadIdx.x] = 1; }
__global__ void other_reads(const int *p, int *sum) { atomicAdd(sum, p[threadIdx.x]); }
__global__ void child_marks(int what) { last = what; }

/* Its children write, each after the one before: the stream of the block, then a tail. */
__global__ void writes_by_children(int *p)
{
    child_writes<<<1, 32>>>(p);
    child_writes<<<1, 32>>>(p);
    child_writes<<<1, 32, 0, cudaStreamTailLaunch>>>(p);
}
__global__ void without_order()
{
    child_marks<<<1, 1, 0, cudaStreamFireAndForget>>>(1);
    child_marks<<<1, 1, 0, cudaStreamFireAndForget>>>(2);
}
__global__ void launches(int *p, int count)
{
    for (int i = 0; i < count; i++)
        child_writes<<<1, 32>>>(p + i % 32);
}
struct large {
    char bytes[3000];
};
__global__ void takes_large(large l) { last = l.bytes[0]; }
__global__ void small_buffer(int *error)
{
    *error = cudaLaunchDevice((void *)takes_large, cudaGetParameterBuffer(64, 8), dim3(1), dim3(1), 0, 0);
}
/* Local and shared memory, and none: refused. The heap's is served. */
__global__ void own_memory(int *error, int *p)
{
    __shared__ int shared;
    volatile int local = 5;
    int *heap = (int *)malloc(4);

    shared = 6;
    *heap = 7;
    *error = cudaMemcpyAsync((int *)&local, p, 4, cudaMemcpyDeviceToDevice, 0) * 1000 +
             cudaMemcpyAsync(p, &shared, 4, cudaMemcpyDeviceToDevice, 0) * 100 +
             cudaMemsetAsync((int *)&local, 0, 4, 0) * 10 + cudaMemsetAsync(nullptr, 0, 4, 0);
    *error += cudaMemcpyAsync(p, heap, 4, cudaMemcpyDeviceToDevice, 0) * 10000 + (local - 5) * 100000;
}

static long resident_kib()
{
    rusage r;

    getrusage(RUSAGE_SELF, &r);
    return r.ru_maxrss;
}

/* A few, so that all is there that is needed once; then, in steps of no use for a pool, many. */
static int many(cudaStream_t s, int *p)
{
    const int few = 500, lots = 12000;
    cudaGraphExec_t x;
    cudaGraph_t g;
    long before;

    launches<<<1, 1, 0, s>>>(p, few);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    launches<<<1, 1, 0, s>>>(p, lots);
    cudaStreamEndCapture(s, &g);
    cudaGraphInstantiate(&x, g, 0);
    cudaStreamSynchronize(s);
    before = resident_kib();
    launches<<<1, 1, 0, s>>>(p, lots);
    cudaGraphLaunch(x, s);
    if (cudaStreamSynchronize(s) != cudaSuccess)
        return 2;
    printf("many: %ld KiB\n", resident_kib() - before);
    return resident_kib() - before > 16 << 10 ? 3 : 0;
}

/* 4 by 3 by 2 bytes from (2, 1, 1) of rows of 16 in planes of 5 to (1, 2, 0) of rows of 8 in planes of 6; then what is refused. */
__global__ void copy_box(char *from, char *to, int *errors)
{
    cudaMemcpy3DParms box = {};

    for (int i = 0; i < 240; i++)
        from[i] = i;
    box.srcPtr = cudaPitchedPtr{from, 16, 16, 5};
    box.srcPos = cudaPos{2, 1, 1};
    box.dstPtr = cudaPitchedPtr{to, 8, 8, 6};
    box.dstPos = cudaPos{1, 2, 0};
    box.extent = cudaExtent{4, 3, 2};
    box.kind = cudaMemcpyDeviceToDevice;
    errors[0] = cudaMemcpy3DAsync(&box, 0);
    box.extent.depth = 0;
    errors[1] = cudaMemcpy3DAsync(&box, 0);
    box.extent.depth = 1;
    box.kind = cudaMemcpyHostToDevice;
    errors[2] = cudaMemcpy3DAsync(&box, 0);
    box.kind = cudaMemcpyDefault;
    box.dstPtr.pitch = 3;
    errors[3] = cudaMemcpy3DAsync(&box, 0);
    box.dstPtr = cudaPitchedPtr{nullptr, 8, 8, 6};
    errors[4] = cudaMemcpy3DAsync(&box, 0);
    errors[5] = cudaMemcpy3DAsync(nullptr, 0);
}
static int run_box(char *p)
{
    int errors[6], wrong = 0;
    char got[96];

    copy_box<<<1, 1>>>(p, p + 512, (int *)(p + 1024));
    cudaMemcpy(errors, p + 1024, sizeof errors, cudaMemcpyDeviceToHost);
    cudaMemcpy(got, p + 512, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 96; i++) {
        int x = i % 8 - 1, y = i / 8 % 6 - 2, z = i / 48;
        bool in = x >= 0 && x < 4 && y >= 0 && y < 3;

        wrong += got[i] != (char)(in ? (x + 2) + 16 * (y + 1 + 5 * (z + 1)) : 0);
    }
    printf("box: %d wrong, %d %d %d %d %d %d\n", wrong, errors[0], errors[1], errors[2], errors[3], errors[4], errors[5]);
    return 0;
}

int main(int argc, char **argv)
{
    cudaStream_t a, b;
    cudaEvent_t done;
    int *p, value = 0;

    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    cudaMalloc(&p, 4096);
    cudaMemset(p, 0, 4096);
    cudaDeviceSynchronize();
    if (argc > 1 && strcmp(argv[1], "first") == 0) {
        without_order<<<1, 1, 0, a>>>();
        cudaStreamSynchronize(a);
        cudaMemcpyFromSymbol(&value, last, sizeof value);
        return value == 1;
    }
    if (argc > 1 && strcmp(argv[1], "many") == 0)
        return many(a, p);
    if (argc > 1 && strcmp(argv[1], "small") == 0) {
        small_buffer<<<1, 1>>>(p);
        cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost);
        printf("small: %d\n", value);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "box") == 0)
        return run_box((char *)p);
    if (argc > 1 && strcmp(argv[1], "own") == 0) {
        own_memory<<<1, 1>>>(p + 1, p);
        printf("own: %d", (int)cudaDeviceSynchronize());
        cudaMemcpy(&value, p + 1, sizeof value, cudaMemcpyDeviceToHost);
        printf(" %d", value);
        cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost);
        printf(" %d\n", value);
        return 0;
    }
    writes_by_children<<<1, 1, 0, a>>>(p);
    if (argc > 1 && strcmp(argv[1], "waits") == 0) {
        cudaEventRecord(done, a);
        cudaStreamWaitEvent(b, done, 0);
    }
    other_reads<<<1, 32, 0, b>>>(p, p + 64);
    return cudaDeviceSynchronize();
}
