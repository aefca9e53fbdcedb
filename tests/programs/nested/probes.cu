/* Kernels launched by kernels: what a device answers, a line each. `probes NAME...` runs those,
 * `probes` lists them. What a real GPU answered stands in h200.txt. The names of those that ask what
 * may run beside what begin with beside_: it is no promise.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <cstring>

#define SPIN_MS(ms) spin((ms) * 1000000ull)

__device__ int note[64];
__device__ volatile int seen[64];
__device__ volatile int flag;
__device__ int at;
__device__ int order[64];

static __device__ void spin(unsigned long long ns)
{
    unsigned long long from, now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(from));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - from < ns);
}

static __device__ void put(int what)
{
    order[atomicAdd(&at, 1)] = what;
}

__global__ void nothing() {}
__global__ void add(int *p, int by) { atomicAdd(p, by); }
__global__ void __launch_bounds__(64) bounded() {}
__global__ void mark(int what, int ms)
{
    SPIN_MS(ms);
    put(what);
}
/* Ends when flag is set, or after a second. */
__global__ void wait_flag(int slot)
{
    for (int i = 0; i < 1000 && !flag; i++)
        SPIN_MS(1);
    seen[slot] = flag;
}
__global__ void set_flag() { flag = 1; }
__global__ void trap_now() { asm("trap;"); }
__global__ void illegal() { *(volatile int *)16 = 1; }
__global__ void shared_of(int *out)
{
    extern __shared__ int words[];

    words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    atomicAdd(out, words[blockDim.x - 1 - threadIdx.x]);
}
struct large {
    char bytes[3000];
};
__global__ void take_large(large l, int *out)
{
    int sum = 0;

    for (int i = 0; i < 3000; i++)
        sum += l.bytes[i];
    *out = sum;
}
__device__ void (*chosen)(int *, int) = add;

#define NOTE(i, v) note[i] = (int)(v)

/* ---- errors ---- */

__global__ void ok_launch()
{
    nothing<<<1, 1>>>();
    NOTE(0, cudaGetLastError());
    nothing<<<1, 1, 0, cudaStreamFireAndForget>>>();
    NOTE(1, cudaGetLastError());
    nothing<<<1, 1, 0, cudaStreamTailLaunch>>>();
    NOTE(2, cudaGetLastError());
}
#define TRY(i, ...)                                                                                \
    do {                                                                                           \
        __VA_ARGS__;                                                                               \
        NOTE(i, cudaGetLastError());                                                               \
    } while (0)
__global__ void bad_shapes(int zero)
{
    TRY(0, (nothing<<<zero, 1>>>()));
    TRY(1, (nothing<<<1, zero>>>()));
    TRY(2, (nothing<<<1, 1025 + zero>>>()));
    TRY(3, (nothing<<<1, dim3(1, 1, 65 + zero)>>>()));
    TRY(4, (nothing<<<dim3(1, 65536 + zero), 1>>>()));
    TRY(5, (nothing<<<dim3(1, 1, 65536 + zero), 1>>>()));
    TRY(6, (nothing<<<1, dim3(32, 33 + zero)>>>()));
    TRY(7, (bounded<<<1, 65 + zero>>>()));
    TRY(8, (nothing<<<1, 1, 49152 + zero>>>()));
    TRY(9, (nothing<<<1, 1, 49153 + zero>>>()));
    TRY(10, (nothing<<<1, 1, 300000 + zero>>>()));
    TRY(11, (nothing<<<0x7fffffff + zero, 0 + zero>>>()));
}
__global__ void sticky_thread(int zero)
{
    if (threadIdx.x == 0)
        nothing<<<zero, 1>>>();
    __syncthreads();
    if (threadIdx.x < 3) {
        NOTE(threadIdx.x * 3, cudaPeekAtLastError());
        NOTE(threadIdx.x * 3 + 1, cudaGetLastError());
        NOTE(threadIdx.x * 3 + 2, cudaGetLastError());
    }
}
__global__ void error_then_ok(int zero)
{
    nothing<<<zero, 1>>>();
    nothing<<<1, 1>>>();
    NOTE(0, cudaPeekAtLastError());
    nothing<<<1, zero>>>();
    nothing<<<1, 1025 + zero>>>();
    NOTE(1, cudaGetLastError());
    NOTE(2, cudaGetLastError());
}
__global__ void error_inherited_child() { NOTE(0, cudaGetLastError()); }
__global__ void error_inherited(int zero)
{
    nothing<<<zero, 1>>>();
    error_inherited_child<<<1, 1>>>();
}
__global__ void error_left(int zero)
{
    nothing<<<zero, 1>>>();
}
__global__ void child_traps() { trap_now<<<1, 1>>>(); }
__global__ void child_illegal() { illegal<<<1, 1, 0, cudaStreamFireAndForget>>>(); }
__global__ void tail_illegal() { illegal<<<1, 1, 0, cudaStreamTailLaunch>>>(); }
__global__ void pending(int n, int *count, int kind)
{
    int good = 0, first_bad = -1, code = 0;
    cudaStream_t s = kind == 1 ? cudaStreamFireAndForget : kind == 2 ? cudaStreamTailLaunch : 0;

    for (int i = 0; i < n; i++) {
        add<<<1, 1, 0, s>>>(count, 1);
        int err = cudaGetLastError();
        if (err == 0)
            good++;
        else if (first_bad < 0) {
            first_bad = i;
            code = err;
        }
    }
    NOTE(0, code);
    NOTE(1, good);
    NOTE(2, first_bad);
}
/* As pending, while a child before them runs. */
__global__ void pending_held(int n, int *count)
{
    mark<<<1, 1>>>(1, 300);
    pending<<<1, 1, 0, cudaStreamFireAndForget>>>(n, count, 1);
}
__global__ void depth_step(int level, int most, int kind)
{
    note[0] = level;
    if (level == most)
        return;
    depth_step<<<1, 1, 0,
                 kind == 1   ? cudaStreamFireAndForget
                 : kind == 2 ? cudaStreamTailLaunch
                             : 0>>>(level + 1, most, kind);
    int err = cudaGetLastError();
    if (err) {
        note[1] = err;
        note[2] = level;
    }
}

/* ---- calls ---- */

__global__ void stream_calls(unsigned zero)
{
    cudaStream_t s = 0, t = 0;

    NOTE(0, cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    NOTE(1, s != 0);
    NOTE(2, cudaStreamCreateWithFlags(&t, zero));
    NOTE(3, cudaStreamCreateWithFlags(&t, 77 + zero));
    NOTE(4, cudaStreamDestroy(s));
    NOTE(5, cudaGetLastError());
    NOTE(6, cudaStreamCreateWithFlags((cudaStream_t *)(size_t)zero, cudaStreamNonBlocking));
    NOTE(7, cudaGetLastError());
    NOTE(8, cudaStreamDestroy((cudaStream_t)(size_t)zero));
    NOTE(9, cudaStreamDestroy(cudaStreamTailLaunch));
    NOTE(10, cudaGetLastError());
}
__global__ void stream_special(int zero)
{
    TRY(0, (nothing<<<1, 1, 0, cudaStreamPerThread>>>()));
    TRY(1, (nothing<<<1, 1, 0, cudaStreamLegacy>>>()));
    TRY(2, (nothing<<<1, 1, 0, (cudaStream_t)(size_t)(5 + zero)>>>()));
}
__global__ void stream_destroyed()
{
    cudaStream_t s;

    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    mark<<<1, 1, 0, s>>>(1, 5);
    mark<<<1, 1, 0, s>>>(2, 0);
    NOTE(0, cudaStreamDestroy(s));
}
__global__ void streams_many(int n)
{
    int good = 0, code = 0;

    for (int i = 0; i < n; i++) {
        cudaStream_t s;
        int err = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        if (err == 0)
            good++;
        else if (!code)
            code = err;
    }
    NOTE(0, good);
    NOTE(1, code);
}
__global__ void event_calls(unsigned zero)
{
    cudaEvent_t e = 0, f = 0, g = 0;
    cudaStream_t s;

    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    NOTE(0, cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    NOTE(1, e != 0);
    NOTE(2, cudaEventCreateWithFlags(&f, zero));
    NOTE(3, cudaEventCreateWithFlags(&g, cudaEventDisableTiming | cudaEventBlockingSync));
    NOTE(4, cudaStreamWaitEvent(s, e, 0));
    NOTE(5, cudaEventRecord(e, s));
    NOTE(6, cudaStreamWaitEvent(0, e, 0));
    NOTE(7, cudaStreamWaitEvent(s, e, 0));
    NOTE(8, cudaEventRecord(e, 0));
    NOTE(9, cudaEventDestroy(e));
    NOTE(10, cudaGetLastError());
    NOTE(11, cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    NOTE(12, cudaEventRecord(e, cudaStreamFireAndForget));
    NOTE(13, cudaStreamWaitEvent(cudaStreamFireAndForget, e, 0));
    NOTE(14, cudaEventRecord(e, cudaStreamTailLaunch));
    NOTE(15, cudaStreamWaitEvent(cudaStreamTailLaunch, e, 0));
    NOTE(16, cudaStreamWaitEvent(s, e, 1 + zero));
    NOTE(17, cudaEventRecord((cudaEvent_t)(size_t)zero, s));
    NOTE(18, cudaStreamWaitEvent(s, (cudaEvent_t)(size_t)zero, 0));
    NOTE(19, cudaEventDestroy((cudaEvent_t)(size_t)zero));
}
__global__ void copy_calls(char *p, int zero)
{
    cudaMemsetAsync(p, 7, 64, 0);
    NOTE(0, cudaGetLastError());
    NOTE(1, cudaMemcpyAsync(p + 64, p, 64, cudaMemcpyDeviceToDevice, 0));
    NOTE(2, cudaMemcpyAsync(p + 128, p, 64, cudaMemcpyHostToDevice, 0));
    NOTE(3, cudaMemcpyAsync(p + 128, p, 64, cudaMemcpyDefault, 0));
    NOTE(4, cudaMemcpyAsync(p + 128, p, 64, (cudaMemcpyKind)(9 + zero), 0));
    NOTE(5, cudaMemcpyAsync(p + 128, p, zero, cudaMemcpyDeviceToDevice, 0));
    NOTE(6, cudaMemset2DAsync(p + 256, 32, 3, 8, 4, 0));
    NOTE(7, cudaMemcpy2DAsync(p + 512, 16, p + 256, 32, 8, 4, cudaMemcpyDeviceToDevice, 0));
    NOTE(8, cudaMemsetAsync(p + 800, 1, 8, cudaStreamFireAndForget));
    NOTE(9, cudaMemsetAsync(p + 800, 1, 8, cudaStreamTailLaunch));
    NOTE(10, cudaMemcpyAsync(p + 900, p, 8, cudaMemcpyDeviceToDevice, cudaStreamFireAndForget));
    NOTE(11, cudaMemcpyAsync(p + 900, p, 8, cudaMemcpyDeviceToDevice, cudaStreamTailLaunch));
    NOTE(12, cudaMemset2DAsync(p + 256, 4 + zero, 3, 8, 4, 0));
    NOTE(13, cudaMemcpy2DAsync(p, 4, p + 256, 32, 8, 4, cudaMemcpyDeviceToDevice, 0));
    NOTE(14, cudaMemsetAsync(p, 7, zero, 0));
    NOTE(15, cudaGetLastError());
}
__global__ void query_calls(int zero)
{
    int v = -7;
    size_t z = 77;

    NOTE(0, cudaGetDevice(&v));
    NOTE(1, v);
    NOTE(2, cudaGetDeviceCount(&v));
    NOTE(3, v);
    NOTE(4, cudaDeviceGetAttribute(&v, cudaDevAttrMaxThreadsPerBlock, 0));
    NOTE(5, v);
    NOTE(6, cudaDeviceGetAttribute(&v, (cudaDeviceAttr)(9999 + zero), 0));
    NOTE(7, cudaDeviceGetAttribute(&v, cudaDevAttrMaxThreadsPerBlock, 99 + zero));
    NOTE(8, cudaRuntimeGetVersion(&v));
    NOTE(9, v);
    NOTE(10, cudaDeviceGetLimit(&z, cudaLimitStackSize));
    NOTE(11, z);
    NOTE(12, cudaDeviceGetLimit(&z, cudaLimitPrintfFifoSize));
    NOTE(13, z);
    NOTE(14, cudaDeviceGetLimit(&z, cudaLimitMallocHeapSize));
    NOTE(15, z);
    NOTE(16, cudaDeviceGetLimit(&z, cudaLimitDevRuntimeSyncDepth));
    NOTE(17, z);
    NOTE(18, cudaDeviceGetLimit(&z, cudaLimitDevRuntimePendingLaunchCount));
    NOTE(19, z);
    NOTE(20, cudaDeviceGetLimit(&z, (cudaLimit)(77 + zero)));
    NOTE(21, cudaDeviceGetCacheConfig((cudaFuncCache *)&v));
    NOTE(22, v);
    NOTE(23, cudaGetLastError());
    NOTE(24, cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0));
    NOTE(25, v);
    NOTE(26, cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, 0));
    NOTE(27, v);
    NOTE(28, cudaDeviceGetAttribute(&v, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    NOTE(29, v);
    NOTE(30, cudaDeviceGetAttribute(&v, cudaDevAttrL2CacheSize, 0));
    NOTE(31, v);
    NOTE(32, cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 0));
    NOTE(33, v);
}
__global__ void function_calls(int zero)
{
    cudaFuncAttributes a;
    int v = -1;

    memset(&a, 0x5a, sizeof a);
    NOTE(0, cudaFuncGetAttributes(&a, bounded));
    NOTE(1, a.maxThreadsPerBlock);
    NOTE(2, a.sharedSizeBytes);
    NOTE(3, a.constSizeBytes);
    NOTE(4, a.localSizeBytes);
    NOTE(5, a.ptxVersion);
    NOTE(6, a.binaryVersion);
    NOTE(7, a.cacheModeCA);
    NOTE(8, a.maxDynamicSharedSizeBytes);
    NOTE(9, a.preferredShmemCarveout);
    NOTE(10, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, nothing, 1024, 0));
    NOTE(11, v);
    NOTE(12, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, bounded, 64 + zero, 0));
    NOTE(13, v);
    NOTE(14, cudaGetLastError());
}
__global__ void heap_calls(int zero)
{
    void *p = 0, *q = (void *)1, *r = (void *)1;

    NOTE(0, cudaMalloc(&p, 100));
    NOTE(1, p != 0);
    NOTE(2, cudaMalloc(&q, zero));
    NOTE(3, q != 0);
    NOTE(4, cudaMalloc(&r, (size_t)1 << 40));
    NOTE(5, r != 0);
    NOTE(6, cudaGetLastError());
    NOTE(7, cudaFree(p));
    NOTE(8, cudaFree((void *)(size_t)zero));
    p = 0;
    NOTE(9, cudaMalloc(&p, 32));
    if (p)
        free(p);
    p = malloc(64);
    NOTE(10, cudaFree(p));
    NOTE(11, cudaGetLastError());
}
__global__ void error_texts(int zero)
{
    printf("%s, %s, %s\n", cudaGetErrorName((cudaError_t)(1 + zero)),
           cudaGetErrorString((cudaError_t)(1 + zero)), cudaGetErrorName((cudaError_t)(5555 + zero)));
    printf("%s, %s\n", cudaGetErrorString((cudaError_t)(5555 + zero)),
           cudaGetErrorName(cudaErrorLaunchPendingCountExceeded));
}
__global__ void buffer_calls(int zero, int *out)
{
    void *p = cudaGetParameterBuffer(8, 12);

    NOTE(0, p != 0);
    *(int **)p = out;
    *(int *)((char *)p + 8) = 5;
    NOTE(1, cudaLaunchDevice((void *)add, p, dim3(2), dim3(3), 0, 0));
    NOTE(2, cudaGetLastError());
    p = cudaGetParameterBufferV2((void *)nothing, dim3(zero), dim3(1), 0);
    NOTE(3, p != 0);
    NOTE(4, cudaGetLastError());
    p = cudaGetParameterBufferV2((void *)nothing, dim3(1), dim3(1025), 0);
    NOTE(5, p != 0);
    NOTE(6, cudaGetLastError());
    if (p) {
        NOTE(7, cudaLaunchDeviceV2(p, 0));
    }
    NOTE(8, cudaGetLastError());
}

/* ---- what runs when ---- */

__global__ void null_stream_order()
{
    mark<<<1, 1>>>(1, 20);
    mark<<<1, 1>>>(2, 0);
    mark<<<1, 1>>>(3, 0);
}
__global__ void null_stream_block()
{
    if (threadIdx.x == 0)
        mark<<<1, 1>>>(1, 20);
    __syncthreads();
    if (threadIdx.x == 40)
        mark<<<1, 1>>>(2, 0);
    __syncthreads();
    if (threadIdx.x == 0)
        mark<<<1, 1>>>(3, 0);
}
__global__ void beside_blocks()
{
    if (blockIdx.x == 0)
        wait_flag<<<1, 1>>>(0);
    else {
        SPIN_MS(20);
        set_flag<<<1, 1>>>();
    }
}
__global__ void beside_forget()
{
    wait_flag<<<1, 1, 0, cudaStreamFireAndForget>>>(0);
    SPIN_MS(20);
    set_flag<<<1, 1, 0, cudaStreamFireAndForget>>>();
}
__global__ void beside_forget_parent()
{
    set_flag<<<1, 1, 0, cudaStreamFireAndForget>>>();
    for (int i = 0; i < 1000 && !flag; i++)
        SPIN_MS(1);
    seen[0] = flag;
}
__global__ void beside_null_parent()
{
    set_flag<<<1, 1>>>();
    for (int i = 0; i < 300 && !flag; i++)
        SPIN_MS(1);
    seen[0] = flag;
}
__global__ void beside_named_null()
{
    cudaStream_t s;

    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    wait_flag<<<1, 1>>>(0);
    SPIN_MS(20);
    set_flag<<<1, 1, 0, s>>>();
    cudaStreamDestroy(s);
}
__global__ void tail_last()
{
    mark<<<1, 1, 0, cudaStreamTailLaunch>>>(9, 0);
    mark<<<1, 1>>>(1, 20);
    mark<<<1, 1, 0, cudaStreamFireAndForget>>>(1, 40);
    SPIN_MS(60);
    put(1);
}
__global__ void tails_in_order()
{
    mark<<<1, 1, 0, cudaStreamTailLaunch>>>(1, 20);
    mark<<<1, 1, 0, cudaStreamTailLaunch>>>(2, 10);
    mark<<<1, 1, 0, cudaStreamTailLaunch>>>(3, 0);
}
__global__ void forgets(int what, int ms)
{
    mark<<<1, 1, 0, cudaStreamFireAndForget>>>(what, ms);
}
__global__ void tail_waits_for_children()
{
    forgets<<<1, 1, 0, cudaStreamTailLaunch>>>(1, 30);
    mark<<<1, 1, 0, cudaStreamTailLaunch>>>(2, 0);
}
__global__ void tails(int what, int ms)
{
    mark<<<1, 1, 0, cudaStreamTailLaunch>>>(what + 1, ms);
    put(what);
}
__global__ void tail_of_tail()
{
    tails<<<1, 1, 0, cudaStreamTailLaunch>>>(1, 30);
    mark<<<1, 1, 0, cudaStreamTailLaunch>>>(3, 0);
}
/* The child's tail belongs to the child: what follows the child in its stream waits for it. */
__global__ void tail_of_child()
{
    tails<<<1, 1>>>(1, 30);
    mark<<<1, 1>>>(3, 0);
}
__global__ void child_of_child()
{
    forgets<<<1, 1>>>(1, 30);
    mark<<<1, 1>>>(2, 0);
}
__global__ void tail_of_blocks()
{
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0)
            mark<<<1, 1, 0, cudaStreamTailLaunch>>>(9, 0);
        SPIN_MS(blockIdx.x * 10);
        put(1);
    }
}
__global__ void named_order()
{
    cudaStream_t s;

    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    mark<<<1, 1, 0, s>>>(1, 20);
    mark<<<1, 1, 0, s>>>(2, 0);
    cudaStreamDestroy(s);
}
__device__ cudaStream_t volatile shared_stream;
__global__ void named_of_blocks()
{
    if (blockIdx.x == 0) {
        cudaStream_t s;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        mark<<<1, 1, 0, s>>>(1, 20);
        __threadfence();
        shared_stream = s;
    } else {
        int i = 0;
        while (!shared_stream && i++ < 20000)
            SPIN_MS(1);
        if (shared_stream)
            mark<<<1, 1, 0, shared_stream>>>(2, 0);
        NOTE(0, cudaGetLastError());
    }
}
__global__ void event_order()
{
    cudaStream_t s, t;
    cudaEvent_t e;

    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    mark<<<1, 1, 0, s>>>(1, 30);
    cudaEventRecord(e, s);
    mark<<<1, 1, 0, s>>>(2, 0);
    cudaStreamWaitEvent(t, e, 0);
    mark<<<1, 1, 0, t>>>(2, 0);
    cudaEventDestroy(e);
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
}
__global__ void event_to_null()
{
    cudaStream_t s;
    cudaEvent_t e;

    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    mark<<<1, 1, 0, s>>>(1, 30);
    cudaEventRecord(e, s);
    cudaStreamWaitEvent(0, e, 0);
    mark<<<1, 1>>>(2, 0);
    NOTE(0, cudaGetLastError());
    cudaEventDestroy(e);
    cudaStreamDestroy(s);
}
/* Bytes that children find: what copies and memsets in front of them have left. */
__global__ void find_byte(const char *p)
{
    put(*(const volatile char *)p);
}
__global__ void slow_byte(char *p, int value)
{
    SPIN_MS(20);
    *p = value;
}
__global__ void memset_alone(char *p)
{
    cudaMemsetAsync(p, 0, 64, 0);
    NOTE(0, cudaGetLastError());
}
/* (A GPU sets zeros, whatever the value is.) */
__global__ void memset_value(char *p)
{
    cudaMemsetAsync(p, 3, 64, 0);
    NOTE(0, cudaGetLastError());
}
__global__ void memset_2d(char *p)
{
    cudaMemset2DAsync(p + 512, 512, 0, 8, 2, 0);
    NOTE(0, cudaGetLastError());
}
__global__ void memset_child(char *p)
{
    cudaMemsetAsync(p, 0, 64, 0);
    find_byte<<<1, 1>>>(p);
}
__global__ void beside_memset_later_child(char *p)
{
    cudaMemsetAsync(p, 0, 64, 0);
    SPIN_MS(20);
    find_byte<<<1, 1>>>(p);
    SPIN_MS(20);
    put(*(volatile char *)p);
}
__global__ void memset_behind(char *p)
{
    slow_byte<<<1, 1>>>(p, 1);
    cudaMemsetAsync(p, 0, 64, 0);
    find_byte<<<1, 1>>>(p);
}
__global__ void memset_large(char *p)
{
    cudaMemsetAsync(p, 0, 1 << 20, 0);
    find_byte<<<1, 1>>>(p + (1 << 20) - 1);
}
__global__ void memset_named(char *p)
{
    cudaStream_t s;

    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    slow_byte<<<1, 1, 0, s>>>(p, 1);
    cudaMemsetAsync(p, 0, 64, s);
    find_byte<<<1, 1, 0, s>>>(p);
    cudaStreamDestroy(s);
}
__global__ void beside_memset_forget(char *p)
{
    cudaMemsetAsync(p, 0, 64, cudaStreamFireAndForget);
    SPIN_MS(20);
    put(*(volatile char *)p);
}
__global__ void memset_tail(char *p)
{
    find_byte<<<1, 1, 0, cudaStreamTailLaunch>>>(p);
    cudaMemsetAsync(p, 0, 64, cudaStreamTailLaunch);
    find_byte<<<1, 1, 0, cudaStreamTailLaunch>>>(p);
    SPIN_MS(20);
    put(*(volatile char *)p);
}
__global__ void memcpy_behind(char *p)
{
    slow_byte<<<1, 1>>>(p, 1);
    cudaMemcpyAsync(p + 512, p, 64, cudaMemcpyDeviceToDevice, 0);
    find_byte<<<1, 1>>>(p + 512);
}
__global__ void memcpy_behind_named(char *p)
{
    cudaStream_t s;

    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    slow_byte<<<1, 1, 0, s>>>(p, 1);
    cudaMemcpyAsync(p + 512, p, 64, cudaMemcpyDeviceToDevice, s);
    find_byte<<<1, 1, 0, s>>>(p + 512);
    cudaStreamDestroy(s);
}
__global__ void memcpy_chain(char *p)
{
    *p = 7;
    cudaMemcpyAsync(p + 512, p, 64, cudaMemcpyDeviceToDevice, 0);
    cudaMemcpyAsync(p + 1024, p + 512, 64, cudaMemcpyDeviceToDevice, 0);
    cudaMemsetAsync(p + 2048, 0, 8, 0);
    cudaMemcpy2DAsync(p + 4096, 16, p, 32, 8, 4, cudaMemcpyDeviceToDevice, 0);
    find_byte<<<1, 1>>>(p + 1024);
    find_byte<<<1, 1>>>(p + 2048);
    find_byte<<<1, 1>>>(p + 4096);
    find_byte<<<1, 1>>>(p + 4096 + 16);
    find_byte<<<1, 1>>>(p + 4096 + 8);
    find_byte<<<1, 1>>>(p + 4096 + 47);
    find_byte<<<1, 1>>>(p + 4096 + 64);
}
__global__ void read_written(int *p)
{
    put(*p);
}
__global__ void writes_before(int *p)
{
    p[threadIdx.x] = threadIdx.x + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        read_written<<<1, 1>>>(p);
        read_written<<<1, 1>>>(p + 33);
    }
}
__global__ void late_write(int *p)
{
    read_written<<<1, 1, 0, cudaStreamTailLaunch>>>(p);
    SPIN_MS(10);
    *p = 8;
}
__global__ void many_lanes(int *p) { add<<<2, 3>>>(p, 1); }
__global__ void by_pointer(int *p)
{
    chosen<<<1, 2>>>(p, 3);
    NOTE(0, cudaGetLastError());
}
__global__ void dynamic_shared(int *p)
{
    shared_of<<<2, 64, 256>>>(p);
    NOTE(0, cudaGetLastError());
}
__global__ void large_arguments(int *p)
{
    large l;

    for (int i = 0; i < 3000; i++)
        l.bytes[i] = i % 3;
    take_large<<<1, 1>>>(l, p);
    NOTE(0, cudaGetLastError());
}
__global__ void quick(int *p, int depth)
{
    atomicAdd(p, 1);
    if (depth) {
        quick<<<1, 2, 0, cudaStreamFireAndForget>>>(p, depth - 1);
        quick<<<1, 1>>>(p, 0);
    }
}
__global__ void slow_child() { mark<<<1, 1>>>(1, 50); }
__global__ void slow_tail() { mark<<<1, 1, 0, cudaStreamTailLaunch>>>(1, 50); }

/* ---- host ---- */

static void notes(int n)
{
    int v[64];

    cudaMemcpyFromSymbol(v, note, sizeof v);
    for (int i = 0; i < n; i++)
        printf(" %d", v[i]);
}
static void orders()
{
    int v[64], n = 0;

    cudaMemcpyFromSymbol(&n, at, sizeof n);
    cudaMemcpyFromSymbol(v, order, sizeof v);
    printf(" order");
    for (int i = 0; i < n && i < 64; i++)
        printf(" %d", v[i]);
}
static void value(int *p)
{
    int v = -1;

    cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost);
    printf(" value %d", v);
}
static void flags()
{
    int v[64] = {-1};

    cudaMemcpyFromSymbol(v, seen, sizeof v);
    printf(" seen %d", v[0]);
}

static int *p;
static char *bytes;

static void left()
{
    static char v[8192];

    cudaMemcpy(v, bytes, sizeof v, cudaMemcpyDeviceToHost);
    printf(" left %d %d %d %d %d", v[0], v[63], v[64], v[512], v[1024]);
}

#define PROBES(X)                                                                                  \
    X(ok_launch, (ok_launch<<<1, 1>>>()), notes(3))                                                \
    X(bad_shapes, (bad_shapes<<<1, 1>>>(0)), notes(12))                                            \
    X(sticky_thread, (sticky_thread<<<1, 64>>>(0)), notes(9))                                      \
    X(error_then_ok, (error_then_ok<<<1, 1>>>(0)), notes(3))                                       \
    X(error_inherited, (error_inherited<<<1, 1>>>(0)), notes(1))                                   \
    X(error_left, (error_left<<<1, 1>>>(0)), (void)0)                                              \
    X(child_traps, (child_traps<<<1, 1>>>()), (void)0)                                             \
    X(child_illegal, (child_illegal<<<1, 1>>>()), (void)0)                                         \
    X(tail_illegal, (tail_illegal<<<1, 1>>>()), (void)0)                                           \
    X(pending_forget, (pending<<<1, 1>>>(5000, p, 1)), (notes(3), value(p)))                       \
    X(pending_tail, (pending<<<1, 1>>>(5000, p, 2)), (notes(3), value(p)))                         \
    X(pending_null, (pending<<<1, 1>>>(5000, p, 0)), (notes(3), value(p)))                     \
    X(pending_held, (pending_held<<<1, 1>>>(5000, p)), (notes(3), value(p)))                       \
    X(pending_more, (cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 6000),              \
                     pending<<<1, 1>>>(5000, p, 2)), (notes(3), value(p)))                         \
    X(pending_less, (cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 100),               \
                     pending<<<1, 1>>>(5000, p, 2)), (notes(3), value(p)))                         \
    X(depth_null, (depth_step<<<1, 1>>>(0, 100, 0)), notes(3))                                     \
    X(depth_forget, (depth_step<<<1, 1>>>(0, 100, 1)), notes(3))                                   \
    X(depth_tail, (depth_step<<<1, 1>>>(0, 100, 2)), notes(3))                                     \
    X(depth_tail_1000, (depth_step<<<1, 1>>>(0, 1000, 2)), notes(3))                               \
    X(stream_calls, (stream_calls<<<1, 1>>>(0)), notes(11))                                        \
    X(stream_special, (stream_special<<<1, 1>>>(0)), notes(3))                                     \
    X(stream_destroyed, (stream_destroyed<<<1, 1>>>()), (notes(1), orders()))                      \
    X(streams_many, (streams_many<<<1, 1>>>(5000)), notes(2))                                      \
    X(event_calls, (event_calls<<<1, 1>>>(0)), notes(20))                                          \
    X(copy_calls, (copy_calls<<<1, 1>>>(bytes, 0)), notes(16))                                     \
    X(query_calls, (query_calls<<<1, 1>>>(0)), notes(34))                                          \
    X(function_calls, (function_calls<<<1, 1>>>(0)), notes(15))                                    \
    X(heap_calls, (heap_calls<<<1, 1>>>(0)), notes(12))                                            \
    X(error_texts, (error_texts<<<1, 1>>>(0)), (void)0)                                            \
    X(buffer_calls, (buffer_calls<<<1, 1>>>(0, p)), (notes(9), value(p)))                          \
    X(null_stream_order, (null_stream_order<<<1, 1>>>()), orders())                                \
    X(null_stream_block, (null_stream_block<<<1, 64>>>()), orders())                               \
    X(beside_blocks, (beside_blocks<<<2, 1>>>()), flags())                       \
    X(beside_forget, (beside_forget<<<1, 1>>>()), flags())                                         \
    X(beside_forget_parent, (beside_forget_parent<<<1, 1>>>()), flags())                           \
    X(beside_null_parent, (beside_null_parent<<<1, 1>>>()), flags())                               \
    X(beside_named_null, (beside_named_null<<<1, 1>>>()), flags())                                 \
    X(tail_last, (tail_last<<<1, 1>>>()), orders())                                                \
    X(tails_in_order, (tails_in_order<<<1, 1>>>()), orders())                                      \
    X(tail_waits_for_children, (tail_waits_for_children<<<1, 1>>>()), orders())                    \
    X(tail_of_tail, (tail_of_tail<<<1, 1>>>()), orders())                                          \
    X(tail_of_child, (tail_of_child<<<1, 1>>>()), orders())                                        \
    X(child_of_child, (child_of_child<<<1, 1>>>()), orders())                                      \
    X(tail_of_blocks, (tail_of_blocks<<<4, 1>>>()), orders())                                      \
    X(named_order, (named_order<<<1, 1>>>()), orders())                                            \
    X(named_of_blocks, (named_of_blocks<<<2, 1>>>()), (notes(1), orders()))                        \
    X(event_order, (event_order<<<1, 1>>>()), orders())                                            \
    X(event_to_null, (event_to_null<<<1, 1>>>()), (notes(1), orders()))                            \
    X(memset_alone, (memset_alone<<<1, 1>>>(bytes)), (notes(1), orders(), left()))                  \
    X(memset_value, (memset_value<<<1, 1>>>(bytes)), (notes(1), left()))                           \
    X(memset_2d, (memset_2d<<<1, 1>>>(bytes)), (notes(1), left()))                                 \
    X(memset_child, (memset_child<<<1, 1>>>(bytes)), (notes(1), orders(), left()))                  \
    X(beside_memset_later_child, (beside_memset_later_child<<<1, 1>>>(bytes)), (notes(1), orders(), left()))            \
    X(memset_behind, (memset_behind<<<1, 1>>>(bytes)), (notes(1), orders(), left()))                 \
    X(memset_large, (memset_large<<<1, 1>>>(bytes)), (notes(1), orders(), left()))                  \
    X(memset_named, (memset_named<<<1, 1>>>(bytes)), (notes(1), orders(), left()))                  \
    X(beside_memset_forget, (beside_memset_forget<<<1, 1>>>(bytes)), (notes(1), orders(), left()))                 \
    X(memset_tail, (memset_tail<<<1, 1>>>(bytes)), (notes(1), orders(), left()))                   \
    X(memcpy_behind, (memcpy_behind<<<1, 1>>>(bytes)), (notes(1), orders(), left()))                 \
    X(memcpy_behind_named, (memcpy_behind_named<<<1, 1>>>(bytes)), (notes(1), orders(), left()))           \
    X(memcpy_chain, (memcpy_chain<<<1, 1>>>(bytes)), (notes(1), orders(), left()))                  \
    X(writes_before, (writes_before<<<1, 64>>>(p)), orders())                                      \
    X(late_write, (late_write<<<1, 1>>>(p)), orders())                                             \
    X(many_lanes, (many_lanes<<<3, 64>>>(p)), value(p))                                            \
    X(by_pointer, (by_pointer<<<1, 1>>>(p)), (notes(1), value(p)))                                 \
    X(dynamic_shared, (dynamic_shared<<<1, 1>>>(p)), (notes(1), value(p)))                         \
    X(large_arguments, (large_arguments<<<1, 1>>>(p)), (notes(1), value(p)))                       \
    X(quick, (quick<<<1, 2>>>(p, 6)), value(p))                                                    \
    X(next_waits, (slow_child<<<1, 1>>>(), mark<<<1, 1>>>(2, 0)), orders())                        \
    X(next_waits_tail, (slow_tail<<<1, 1>>>(), mark<<<1, 1>>>(2, 0)), orders())

template <typename T> static void clear(T &symbol)
{
    static char zeros[sizeof note];
    cudaMemcpyToSymbol(symbol, zeros, sizeof(T));
}

static void host_limits()
{
    size_t v;

    cudaDeviceGetLimit(&v, cudaLimitDevRuntimePendingLaunchCount);
    printf(" pending %zu", v);
    printf(" code %d", cudaDeviceGetLimit(&v, cudaLimitDevRuntimeSyncDepth));
    printf(" set %d", cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 5000));
    cudaDeviceGetLimit(&v, cudaLimitDevRuntimePendingLaunchCount);
    printf(" pending %zu", v);
    printf(" set %d", cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 4));
    cudaGetLastError();
}

static void in_graph()
{
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t x;

    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    slow_child<<<1, 1, 0, s>>>();
    mark<<<1, 1, 0, s>>>(2, 0);
    slow_tail<<<1, 1, 0, s>>>();
    mark<<<1, 1, 0, s>>>(3, 0);
    cudaStreamEndCapture(s, &g);
    printf(" instantiate %d", cudaGraphInstantiate(&x, g, 0));
    cudaGraphLaunch(x, s);
    cudaGraphLaunch(x, s);
    printf(" sync %d", cudaStreamSynchronize(s));
    orders();
}

static void run(const char *name)
{
    clear(note);
    clear(seen);
    clear(order);
    clear(at);
    clear(flag);
    clear(shared_stream);
    cudaMemset(p, 0, 4096);
    cudaMemset(bytes, 9, 1 << 20);
    cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 2048);
    printf("%s:", name);
#define RUN(probe, launch, after)                                                                  \
    if (strcmp(name, #probe) == 0) {                                                               \
        launch;                                                                                    \
        printf(" launch %d", cudaGetLastError());                                                  \
        printf(" sync %d", cudaDeviceSynchronize());                                               \
        after;                                                                                     \
    }
    PROBES(RUN)
    if (strcmp(name, "host_limits") == 0)
        host_limits();
    if (strcmp(name, "in_graph") == 0)
        in_graph();
    printf(" end %d\n", cudaGetLastError());
}

int main(int argc, char **argv)
{
#define NAME(name, launch, after) printf("%s\n", #name);
    if (argc < 2) {
        PROBES(NAME)
        printf("host_limits\nin_graph\n");
        return 0;
    }
    cudaMalloc(&p, 4096);
    cudaMalloc(&bytes, 1 << 20);
    for (int i = 1; i < argc; i++)
        run(argv[i]);
    return 0;
}
