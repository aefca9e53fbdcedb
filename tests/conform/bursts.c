/* Short kernels in bursts, small copies, and both, from several threads: streams in which one runs
 * behind the other without a pause, while events, other streams and host threads that sleep or ask
 * wait for numbers in between. Rules: ORD-001, ORD-020, ORD-021, ORD-040.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "kernels.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { THREADS = 6, ROUNDS = 150, BURST = 48, MARK = 20 };

static cudaKernel_t store;
static unsigned *numbers; /* pinned: each is its index */

/* *to = value, by a kernel or a copy: threads differ. */
static void submit(unsigned thread, cudaStream_t s, unsigned *to, unsigned value)
{
    void *args[] = {&to, &value};

    if (thread % 3 == 1 || (thread % 3 == 2 && value % 7 < 4))
        OK(cudaMemcpyAsync(to, &numbers[value], sizeof *to, cudaMemcpyDefault, s));
    else
        OK(cudaLaunchKernel((void *)store, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, s));
}

static unsigned seen(unsigned *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* What is at `cells` counts the operations of the first stream; the second follows its middle. */
static void *bursts(void *arg)
{
    unsigned number = (unsigned)(uintptr_t)arg, *cells;
    cudaStream_t s, follows;
    cudaEvent_t middle;

    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&follows, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&middle,
                                number % 2 ? cudaEventBlockingSync : cudaEventDisableTiming));
    OK(cudaMallocHost((void **)&cells, 256));
    cells[0] = cells[32] = 0;
    for (unsigned round = 1, n = 0; round <= ROUNDS; round++) {
        unsigned half = n + MARK;

        for (unsigned i = 0; i < BURST; i++) {
            if (i == MARK) {
                OK(cudaEventRecord(middle, s));
                OK(cudaStreamWaitEvent(follows, middle, 0));
                submit(number, follows, &cells[32], round);
            }
            submit(number, s, cells, ++n);
        }
        switch ((round + number) % 4) {
        case 0:
            OK(cudaEventSynchronize(middle));
            CHECK(seen(cells) >= half);
            break;
        case 1:
            OK(cudaStreamSynchronize(follows));
            CHECK(seen(cells) >= half && seen(&cells[32]) == round);
            break;
        case 2:
            while (cudaEventQuery(middle) == cudaErrorNotReady)
                sched_yield();
            CHECK(seen(cells) >= half);
            break;
        default:
            break;
        }
        if (round % 3 == 0) {
            while (cudaStreamQuery(s) == cudaErrorNotReady)
                sched_yield();
            CHECK(seen(cells) == n);
        } else if (round % 3 == 1) {
            OK(cudaStreamSynchronize(s));
            CHECK(seen(cells) == n);
        }
    }
    OK(cudaStreamSynchronize(follows));
    CHECK(seen(&cells[32]) == ROUNDS);
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(follows));
    OK(cudaEventDestroy(middle));
    OK(cudaFreeHost(cells));
    return NULL;
}

int main(void)
{
    pthread_t id[THREADS];
    cudaLibrary_t lib;

    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    OK(cudaMallocHost((void **)&numbers, (ROUNDS * BURST + 1) * sizeof *numbers));
    for (unsigned i = 0; i <= ROUNDS * BURST; i++)
        numbers[i] = i;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&id[i], NULL, bursts, (void *)(uintptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(id[i], NULL);
    return CONFORM_END();
}
