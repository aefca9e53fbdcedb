/* What a trace costs: nanoseconds and bytes for one launch with all that it leaves behind (call,
 * operation, completion), written by the recorder alone; and how long the reader takes.
 *   bench_trace_record [FILE [OPERATIONS]]
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "trace/record.h"
#include "weir/trace.h"

static _Atomic uint32_t name_launch, name_kernel[3];

static void launch(uint64_t stream, uint64_t seq)
{
    static const char *const names[] = {"_Z5scalePff", "_Z6reducePKfPf", "_Z4blurPKhPhii"};
    struct weir_trace_id id = {.stream = stream, .seq = seq};
    uint64_t pointers[] = {0x7f0000001000 + (stream << 32), 0x7f0000200000 + (stream << 32)};
    struct weir_trace_kernel k = {.name = names[seq % 3],
                                  .name_id = &name_kernel[seq % 3],
                                  .grid = (uint32_t[]){4096, 1, 1},
                                  .block = (uint32_t[]){256, 1, 1},
                                  .pointers = pointers,
                                  .pointer_count = 2};

    weir_trace_enter(__builtin_return_address(0));
    weir_trace_op_kernel(&id, &k);
    weir_trace_leave("cudaLaunchKernel", &name_launch, 0);
}

#define BATCH 10000

struct cost {
    double median, best;
};

static int compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return a < b ? -1 : a > b;
}

/* Operations of 8 streams, each some microseconds long, as fast as they can be written. */
static struct cost write_all(uint64_t count)
{
    uint64_t batches = count / BATCH, t = weir_clock_ns(), i = 0;
    double *ns = malloc((batches + 1) * sizeof *ns);
    struct cost c = {0};

    for (uint64_t b = 0; ns && b < batches; b++) {
        uint64_t start = weir_clock_ns();

        for (int k = 0; k < BATCH; k++, i++) {
            uint64_t stream = 42 + i % 8, seq = i / 8 + 1;

            launch(stream, seq);
            t += 150 + i * 7919 % 400;
            weir_trace_done(stream, seq, t, t + 400 + i * 104729 % 3000, 0, 0);
        }
        ns[b] = (double)(weir_clock_ns() - start) / BATCH;
    }
    if (ns && batches) {
        qsort(ns, batches, sizeof *ns, compare);
        c = (struct cost){ns[batches / 2], ns[0]};
    }
    free(ns);
    return c;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "/tmp/weir-bench.weir", *message;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000, start;
    struct weir_trace_file *f;
    struct stat st;
    struct cost cost;

    weir_trace_start(path, false);
    weir_trace_device(0, 0, "Bench device", 8, 8, 0);
    for (uint64_t i = 0; i < 8; i++)
        weir_trace_stream(42 + i, 0, 0, 3, 0, NULL);
    cost = write_all(count);
    weir_trace_stop();
    start = weir_clock_ns();
    f = weir_trace_file_read(path, &message);
    if (!f || stat(path, &st) != 0) {
        fprintf(stderr, "%s: %s\n", path, f ? "gone" : message);
        return 1;
    }
    printf("%-24s %9.1f ns an operation  (best %.1f)\n", "trace_write", cost.median, cost.best);
    printf("%-24s %9.1f bytes an operation\n", "trace_size",
           (double)f->record_bytes / (double)f->ops_count);
    printf("%-24s %9.1f ns an operation\n", "trace_read",
           (double)(weir_clock_ns() - start) / (double)f->ops_count);
    weir_trace_file_free(f);
    if (argc < 2)
        unlink(path);
    return 0;
}
