/* What a trace costs a launch-bound program: 500 empty kernels and a wait. Rounds with the recorder
 * on and off lie beside each other inside one process, as the machine has slow and fast minutes;
 * which of a pair comes first is random. Printed are the median of the pairs' ratios and, for the
 * noise, that of pairs of which neither is recorded.
 *   bench_trace_overhead FILE [PAIRS]
 * SPDX-License-Identifier: Apache-2.0 */
#define cudaGetErrorName          weir_api_cudaGetErrorName
#define cudaLaunchKernel          weir_api_cudaLaunchKernel
#define cudaLibraryGetKernel      weir_api_cudaLibraryGetKernel
#define cudaLibraryLoadData       weir_api_cudaLibraryLoadData
#define cudaStreamCreateWithFlags weir_api_cudaStreamCreateWithFlags
#define cudaStreamSynchronize     weir_api_cudaStreamSynchronize
#include <stdbool.h>
#include <unistd.h>

#include "measure.h"
#include "trace/record.h"

#define LAUNCHES 500 /* below the depth of a stream's queue */
#define PAIRS    400

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty()\n{\n\tret;\n}\n";

static cudaKernel_t empty;
static cudaStream_t stream;

/* ns a launch; *submitted: of these, the calls. */
static double run(bool recorded, double *submitted)
{
    double start, end;

    atomic_store(&weir_trace_on, recorded);
    start = now_ns();
    for (int i = 0; i < LAUNCHES; i++)
        CHECK(cudaLaunchKernel((const void *)empty, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0,
                               stream));
    end = now_ns();
    CHECK(cudaStreamSynchronize(stream));
    *submitted = (end - start) / LAUNCHES;
    return (now_ns() - start) / LAUNCHES;
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

static void add_pair(struct pairs *p, bool recorded)
{
    const bool first = rand() & 1;
    double off, on, off_call, on_call;

    if (first)
        on = run(recorded, &on_call);
    off = run(false, &off_call);
    if (!first)
        on = run(recorded, &on_call);
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

int main(int argc, char **argv)
{
    const size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : PAIRS;
    struct pairs traced, noise;
    cudaLibrary_t lib;
    double unused;

    if (argc < 2 || !count || !pairs_init(&traced, count) || !pairs_init(&noise, count)) {
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
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 20; i++)
        run(i & 1, &unused);
    for (size_t i = 0; i < count; i++) {
        add_pair(&traced, true);
        add_pair(&noise, false);
    }
    print("traced / untraced", &traced);
    print("untraced / untraced", &noise);
    atomic_store(&weir_trace_on, true);
    return 0;
}
