/* What a launch by a kernel costs, beside one by the host: ns each, until all are complete, the best
 * of some rounds. Usage: nested [ROUNDS].
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <cstdlib>
#include <ctime>

#define LAUNCHES 2000

__global__ void nothing() {}

__global__ void block_stream()
{
    for (int i = 0; i < LAUNCHES; i++)
        nothing<<<1, 32>>>();
}
__global__ void forget()
{
    for (int i = 0; i < LAUNCHES; i++)
        nothing<<<1, 32, 0, cudaStreamFireAndForget>>>();
}
__global__ void tails()
{
    for (int i = 0; i < LAUNCHES; i++)
        nothing<<<1, 32, 0, cudaStreamTailLaunch>>>();
}
/* One by each block. */
__global__ void of_blocks()
{
    nothing<<<1, 32>>>();
}
/* Each launches the next. */
__global__ void chain(int n)
{
    if (n > 1)
        chain<<<1, 1, 0, cudaStreamTailLaunch>>>(n - 1);
}

static double now_ns()
{
    timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int rounds = 10;

template <typename F> static void measure(const char *name, F f)
{
    double best = 1e30;

    for (int i = 0; i <= rounds; i++) {
        double start = now_ns(), ns;

        f();
        if (cudaDeviceSynchronize() != cudaSuccess) {
            printf("%s failed\n", name);
            exit(1);
        }
        ns = now_ns() - start;
        if (i && ns < best)
            best = ns;
    }
    printf("nested.%s %.0f ns\n", name, best / LAUNCHES);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = atoi(argv[1]);
    measure("host", [] {
        for (int i = 0; i < LAUNCHES; i++)
            nothing<<<1, 32>>>();
    });
    measure("block_stream", [] { block_stream<<<1, 1>>>(); });
    measure("fire_and_forget", [] { forget<<<1, 1>>>(); });
    measure("tails", [] { tails<<<1, 1>>>(); });
    measure("of_blocks", [] { of_blocks<<<LAUNCHES, 1>>>(); });
    measure("chain", [] { chain<<<1, 1>>>(LAUNCHES); });
    return 0;
}
