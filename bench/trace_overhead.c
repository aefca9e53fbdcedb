/* What a trace costs two programs: a launch-bound one, 500 empty kernels and a wait; and one whose
 * copies and kernels overlap, sixteen chunks of 1 MiB in four streams. Rounds with the recorder on
 * and off lie beside each other inside one process, as the machine has slow and fast minutes; which
 * of a pair comes first is random. Printed are the median of the pairs' ratios and, for the noise,
 * that of pairs of which neither is recorded.
 *   bench_trace_overhead FILE [PAIRS]
 * SPDX-License-Identifier: Apache-2.0 */
#define cudaGetErrorName          weir_api_cudaGetErrorName
#define cudaLaunchKernel          weir_api_cudaLaunchKernel
#define cudaLibraryGetKernel      weir_api_cudaLibraryGetKernel
#define cudaLibraryLoadData       weir_api_cudaLibraryLoadData
#define cudaMalloc                weir_api_cudaMalloc
#define cudaMallocHost            weir_api_cudaMallocHost
#define cudaMemcpyAsync           weir_api_cudaMemcpyAsync
#define cudaStreamCreateWithFlags weir_api_cudaStreamCreateWithFlags
#define cudaStreamSynchronize     weir_api_cudaStreamSynchronize
#include <stdbool.h>
#include <unistd.h>

#include "measure.h"
#include "trace/record.h"

#define LAUNCHES 500 /* below the depth of a stream's queue */
#define PAIRS    400
#define CHUNKS   16
#define STREAMS  4
#define BYTES    ((size_t)1 << 20) /* of a chunk */
#define THREADS  256
#define SHARE    5 /* of so many pairs one is of overlap */

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty()\n{\n\tret;\n}\n"
    ".visible .entry work(.param .u64 at)\n{\n"
    ".reg .pred %q; .reg .b32 %r<5>; .reg .f32 %f<2>; .reg .b64 %d<5>;\n"
    "ld.param.u64 %d1, [at]; cvta.to.global.u64 %d2, %d1;\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "mad.lo.s32 %r4, %r1, %r2, %r3; mul.wide.u32 %d3, %r4, 4; add.s64 %d4, %d2, %d3;\n"
    "ld.global.f32 %f1, [%d4]; mov.u32 %r1, 0;\n"
    "again: fma.rn.f32 %f1, %f1, 0f3F000000, 0f3F000000; add.u32 %r1, %r1, 1;\n"
    "setp.lt.u32 %q, %r1, 20; @%q bra again;\n"
    "st.global.f32 [%d4], %f1; ret;\n}\n";

static cudaKernel_t empty, work;
static cudaStream_t stream[STREAMS];
static char *device, *pinned;

/* Submits a round, and says in how many streams and, for its figures, of how many items. */
static int launch_all(int *items)
{
    for (int i = 0; i < LAUNCHES; i++)
        CHECK(cudaLaunchKernel((const void *)empty, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0,
                               stream[0]));
    *items = LAUNCHES;
    return 1;
}

static int overlap(int *items)
{
    for (size_t i = 0; i < CHUNKS; i++) {
        char *at = device + i * BYTES;
        cudaStream_t s = stream[i % STREAMS];

        CHECK(cudaMemcpyAsync(at, pinned + i * BYTES, BYTES, cudaMemcpyHostToDevice, s));
        CHECK(cudaLaunchKernel((const void *)work, (dim3){BYTES / 4 / THREADS, 1, 1},
                               (dim3){THREADS, 1, 1}, (void *[]){&at}, 0, s));
        CHECK(cudaMemcpyAsync(pinned + i * BYTES, at, BYTES, cudaMemcpyDeviceToHost, s));
    }
    *items = CHUNKS;
    return STREAMS;
}

/* ns an item; *submitted: of these, the calls. */
static double run(int (*round)(int *), bool recorded, double *submitted)
{
    double start, end;
    int items, streams;

    atomic_store(&weir_trace_on, recorded);
    start = now_ns();
    streams = round(&items);
    end = now_ns();
    for (int i = 0; i < streams; i++)
        CHECK(cudaStreamSynchronize(stream[i]));
    *submitted = (end - start) / items;
    return (now_ns() - start) / items;
}

struct pairs {
    double *ratio, *call_ratio, *off, *on;
    size_t count;
};

static bool pairs_init(struct pairs *p, size_t room)
{
    *p = (struct pairs){malloc(room * sizeof(double)), malloc(room * sizeof(double)),
                        malloc(room * sizeof(double)), malloc(room * sizeof(double)), 0};
    return p->ratio && p->call_ratio && p->off && p->on;
}

static void add_pair(struct pairs *p, int (*round)(int *), bool recorded)
{
    const bool first = rand() & 1;
    double off, on, off_call, on_call;

    if (first)
        on = run(round, recorded, &on_call);
    off = run(round, false, &off_call);
    if (!first)
        on = run(round, recorded, &on_call);
    p->ratio[p->count] = on / off;
    p->call_ratio[p->count] = on_call / off_call;
    p->off[p->count] = off;
    p->on[p->count++] = on;
}

static double median(double *v, size_t count)
{
    qsort(v, count, sizeof *v, compare);
    return v[count / 2];
}

static void print(const char *name, struct pairs *p)
{
    const double ratio = median(p->ratio, p->count);

    printf(
        "%-20s %6.3f  (half of the pairs: %.3f to %.3f)  %.1f ns to %.1f; the calls alone %.3f\n",
        name, ratio, p->ratio[p->count / 4], p->ratio[p->count * 3 / 4], median(p->off, p->count),
        median(p->on, p->count), median(p->call_ratio, p->count));
}

static void compare_rounds(const char *name, int (*round)(int *), size_t count)
{
    struct pairs traced, noise;
    double unused;

    if (!pairs_init(&traced, count) || !pairs_init(&noise, count))
        exit(1);
    for (int i = 0; i < 20; i++)
        run(round, i & 1, &unused);
    for (size_t i = 0; i < count; i++) {
        add_pair(&traced, round, true);
        add_pair(&noise, round, false);
    }
    puts(name);
    print("  traced / untraced", &traced);
    print("  untraced / untraced", &noise);
}

int main(int argc, char **argv)
{
    const size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : PAIRS;
    cudaLibrary_t lib;

    if (argc < 2 || count < SHARE) {
        fprintf(stderr, "usage: %s FILE [PAIRS]\n", argv[0]);
        return 2;
    }
    if (!getenv("WEIR_TRACE")) { /* recording begins before main */
        setenv("WEIR_TRACE", argv[1], 1);
        execv("/proc/self/exe", argv);
        return 1;
    }
    CHECK(cudaLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernel(&empty, lib, "empty"));
    CHECK(cudaLibraryGetKernel(&work, lib, "work"));
    for (int i = 0; i < STREAMS; i++)
        CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&device, CHUNKS * BYTES));
    CHECK(cudaMallocHost((void **)&pinned, CHUNKS * BYTES));
    compare_rounds("launch-bound, a launch", launch_all, count);
    compare_rounds("overlap, a chunk", overlap, count / SHARE);
    atomic_store(&weir_trace_on, true);
    return 0;
}
