/* Clocks inside kernels under --clock model: they are those of the modelled GPU, and agree with its events.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check(cudaError_t err, int line)
{
    if (err != cudaSuccess) {
        fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(err));
        exit(1);
    }
}
#define CHECK(x) check((x), __LINE__)

enum { SMS = 8, GHZ1000 = 1980, BLOCKS = 40 };

struct stamp {
    unsigned long long from_ns, to_ns, from_cycle, to_cycle;
    unsigned sm, low, high, value;
};

static __device__ unsigned long long now(void)
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

static __device__ unsigned sm(void)
{
    unsigned n;
    asm volatile("mov.u32 %0, %smid;" : "=r"(n));
    return n;
}

/* Every thread works; a block's first one takes the times. */
__global__ void work(struct stamp *out, int steps)
{
    struct stamp s = {now(), 0, (unsigned long long)clock64(), 0, sm(), 0, 0, threadIdx.x};

    for (int i = 0; i < steps; i++)
        s.value = 1664525u * s.value + 1013904223u;
    __syncthreads();
    asm volatile("mov.u32 %0, %globaltimer_lo;" : "=r"(s.low));
    asm volatile("mov.u32 %0, %globaltimer_hi;" : "=r"(s.high));
    s.to_cycle = (unsigned long long)clock64();
    s.to_ns = now();
    if (threadIdx.x == 0)
        out[blockIdx.x] = s;
}

/* What samples use as a kernel of a given length. */
__global__ void spin(struct stamp *out, long long cycles)
{
    struct stamp s = {now(), 0, (unsigned long long)clock64(), 0, sm(), 0, 0, 0};
    const long long from = clock64();

    while (clock64() - from < cycles)
        ;
    s.to_cycle = (unsigned long long)clock64();
    s.to_ns = now();
    *out = s;
}

static struct stamp *got;
static bool wrong;

static void expect(bool right, const char *what)
{
    printf("%s: %s\n", what, right ? "yes" : "NO");
    wrong = wrong || !right;
}

static bool near(double a, double b, double share)
{
    return fabs(a - b) <= share * b;
}

/* Each stamp is of its own SM's clock, which all tell the same time. */
static bool consistent(const struct stamp *s, int count)
{
    for (int i = 0; i < count; i++) {
        const double ns = (double)(s[i].to_ns - s[i].from_ns), cycles = (double)(s[i].to_cycle - s[i].from_cycle);

        if (s[i].to_ns <= s[i].from_ns || s[i].to_cycle <= s[i].from_cycle || fabs(ns * GHZ1000 / 1000 - cycles) > 200 ||
            fabs((double)s[i].from_cycle - (double)s[i].from_ns * GHZ1000 / 1000) > 200)
            return false;
    }
    return true;
}

static float between(cudaEvent_t from, cudaEvent_t to)
{
    float ms;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventElapsedTime(&ms, from, to));
    return ms;
}

static void waves(cudaEvent_t from, cudaEvent_t to)
{
    bool sms = true, behind = true, halves = true;

    /* 1024 threads: two blocks an SM, 16 at a time. */
    CHECK(cudaEventRecord(from));
    work<<<BLOCKS, 1024>>>(got, 20000);
    CHECK(cudaEventRecord(to));
    const double ms = between(from, to);
    for (int i = 0; i < BLOCKS; i++) {
        sms = sms && got[i].sm == (unsigned)i % SMS;
        behind = behind && (i < 16 ? got[i].from_cycle - got[0].from_cycle < 1000 : got[i].from_ns >= got[i - 16].to_ns);
        halves = halves && ((unsigned long long)got[i].high << 32 | got[i].low) <= got[i].to_ns &&
                 ((unsigned long long)got[i].high << 32 | got[i].low) > got[i].from_ns;
    }
    expect(sms, "blocks go round the SMs");
    expect(behind, "a block begins when the one at its place has ended");
    expect(halves, "the halves of globaltimer");
    expect(consistent(got, BLOCKS), "clock64 and globaltimer agree");
    const double span = (double)(got[BLOCKS - 1].to_ns - got[0].from_ns) * 1e-6;
    printf("%d blocks: %.4f ms by the events, %.4f by the blocks\n", BLOCKS, ms, span);
    expect(span <= ms && near(span, ms, 0.15), "the blocks' time is the kernel's");
}

static void lengths(cudaEvent_t from, cudaEvent_t to)
{
    /* In one stream: each between its events, and behind the one before. */
    CHECK(cudaEventRecord(from));
    spin<<<1, 1>>>(got, 200 * GHZ1000);
    spin<<<1, 1>>>(got + 1, 100 * GHZ1000);
    CHECK(cudaEventRecord(to));
    const double ms = between(from, to);
    printf("spinning 200 and 100 us: %.4f ms\n", ms);
    expect(near((double)(got[0].to_ns - got[0].from_ns), 200e3, 0.01) && near((double)(got[1].to_ns - got[1].from_ns), 100e3, 0.01),
           "spinning takes as long as asked");
    expect(ms > 0.3 && ms < 0.33, "and as long by events");
    expect(got[1].from_ns >= got[0].to_ns && got[1].from_ns < got[0].to_ns + 20000, "one behind the other");
}

static void graph(void)
{
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t exec;

    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 3; i++)
        spin<<<1, 1, 0, s>>>(got + i, 50 * GHZ1000);
    CHECK(cudaStreamEndCapture(s, &g));
    CHECK(cudaGraphInstantiate(&exec, g, 0));
    for (int i = 0; i < 2; i++) {
        const unsigned long long before = got[2].to_ns;

        CHECK(cudaGraphLaunch(exec, s));
        CHECK(cudaStreamSynchronize(s));
        expect(got[0].from_ns > before && got[1].from_ns >= got[0].to_ns && got[2].from_ns >= got[1].to_ns &&
                   got[2].to_ns - got[0].from_ns < 160000,
               "nodes of a graph, one behind the other");
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(g));
}

int main(void)
{
    cudaEvent_t from, to;

    CHECK(cudaMallocManaged(&got, BLOCKS * sizeof *got));
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    waves(from, to);
    lengths(from, to);
    graph();
    CHECK(cudaDeviceSynchronize());
    printf("the last cycle: %llu\n", got[2].to_cycle);
    return wrong;
}
