/* Blocks that wait for each other in a cooperative launch, more of them than CPUs; and what a failed assertion in a kernel
 * prints and returns. Also compiles with nvcc.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cassert>
#include <cstring>
#include <unistd.h>
#include <vector>

#include <cooperative_groups.h>

#include "../../../examples/common.h"

namespace cg = cooperative_groups;

#define THREADS 96
#define ROUNDS  6

static int failures;

static void expect(bool good, const char *what)
{
    if (good)
        return;
    failures++;
    printf("not as expected: %s\n", what);
}

/* Each round, a block writes what its neighbour on the left wrote in the round before, plus one. */
__global__ void exchange(int *cells)
{
    cg::grid_group grid = cg::this_grid();
    const int blocks = gridDim.x, me = blockIdx.x, left = (me + blocks - 1) % blocks, t = threadIdx.x;
    int *now = cells, *next = cells + blocks * THREADS;
    now[me * THREADS + t] = me;
    grid.sync();
    for (int round = 0; round < ROUNDS; round++) {
        next[me * THREADS + t] = now[left * THREADS + (t + 1) % THREADS] + 1;
        int *other = now;
        now = next;
        next = other;
        grid.sync();
    }
}

static void check_grid()
{
    int per_sm = 0, sms = 0, blocks;
    int *cells;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, exchange, THREADS, 0));
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    blocks = per_sm * sms < 40 ? per_sm * sms : 40;
    std::vector<int> host(blocks * THREADS);
    CHECK(cudaMalloc(&cells, 2 * host.size() * sizeof(int)));
    for (int launch = 0; launch < 3; launch++) {
        void *args[] = {&cells};
        CHECK(cudaLaunchCooperativeKernel((const void *)exchange, dim3(blocks), dim3(THREADS), args, 0, 0));
        CHECK(cudaMemcpy(host.data(), cells + ROUNDS % 2 * host.size(), host.size() * sizeof(int), cudaMemcpyDeviceToHost));
        for (int b = 0; b < blocks; b++)
            for (int t = 0; t < THREADS; t++)
                expect(host[b * THREADS + t] == (b + ROUNDS * (blocks - 1)) % blocks + ROUNDS, "a cell after the rounds");
    }
    CHECK(cudaFree(cells));
}

__global__ void failing(int limit)
{
    const int i = blockIdx.x * 64 + threadIdx.y * 16 + threadIdx.x;
    assert(i < limit);
}

/* Last: the device is lost after it. */
static void check_assert()
{
    char text[4096] = "";
    FILE *file = tmpfile();
    const int saved = dup(2);
    int lines = 0;
    fflush(stderr);
    dup2(fileno(file), 2);
    failing<<<2, dim3(16, 4)>>>(125);
    const cudaError_t err = cudaDeviceSynchronize();
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        lines++;
    expect(err == cudaErrorAssert, "cudaErrorAssert");
    expect(lines == 3, "a line for each of three threads");
    expect(strstr(text, "block: [1,0,0], thread: [13,3,0] Assertion `i < limit` failed."), "block, thread and condition");
    expect(strstr(text, "thread: [15,3,0]"), "the last thread");
    if (failures)
        printf("%s", text);
}

int main()
{
    check_grid();
    check_assert();
    printf("RESULT %s %d failures\n", failures ? "FAIL" : "PASS", failures);
    return failures != 0;
}
