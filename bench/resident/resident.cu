/* SPDX-License-Identifier: Apache-2.0
 * resident.cu - what a resident block takes beyond its shared memory: blocks that wait for each other at a grid barrier
 * are all there at once, so the process is larger by so much for each of them. Prints bytes a block: the growth of the
 * process's own memory between FEW and MANY blocks, less the shared memory. */
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
namespace cg = cooperative_groups;

/* LIVE registers of each thread live across the barriers, beside the address of one word; and LOCAL words of local
 * memory, if any. Nothing picks a register by a number known only at run time: the compiler would put all of them into
 * local memory as well. */
template <int LIVE, int LOCAL> __global__ void resident(float *out, int passes)
{
    float v[LIVE], m[LOCAL + 1];
    __shared__ float s[256];
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < LIVE; k++)
        v[k] = t + k;
    for (int k = 0; LOCAL && k <= LOCAL; k++)
        m[(k * 7 + t) % (LOCAL + 1)] = k;
    for (int p = 0; p < passes; p++) {
        s[threadIdx.x % 256] = v[0];
        cg::this_grid().sync();
        float x = s[threadIdx.x % 256];
        for (int k = 0; k < LIVE; k++)
            v[k] = v[k] * 0.5f + x + (LOCAL ? m[(p + k + t) % (LOCAL + 1)] : 0.0f);
        cg::this_grid().sync();
    }
    float sum = 0;
    for (int k = 0; k < LIVE; k++)
        sum += v[k];
    out[t] = sum;
}

static long rss_kb(void)
{
    char line[256];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

/* In a process of its own: the most memory that it had. */
static long measure(const void *kernel, int blocks, int threads)
{
    int fds[2];
    long kb = -1;
    if (pipe(fds))
        return -1;
    if (fork() == 0) {
        float *out;
        int passes = 4;
        void *args[] = {&out, &passes};
        cudaError_t e = cudaMalloc(&out, 4ul << 20);
        if (!e)
            e = cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(threads), args, 0, 0);
        if (!e)
            e = cudaDeviceSynchronize();
        kb = e ? -1 : rss_kb();
        if (e)
            fprintf(stderr, "%s\n", cudaGetErrorString(e));
        (void)!write(fds[1], &kb, sizeof kb);
        _exit(0);
    }
    if (read(fds[0], &kb, sizeof kb) != sizeof kb)
        kb = -1;
    wait(nullptr);
    return kb;
}

#define FEW  16
#define MANY 128
static void line(const char *name, const void *kernel, int threads)
{
    (void)measure(kernel, FEW, threads); /* the compiler's own memory is not to count */
    long few = measure(kernel, FEW, threads), many = measure(kernel, MANY, threads);
    if (few < 0 || many < 0)
        printf("%-28s %5d threads: failed\n", name, threads);
    else
        printf("%-28s %5d threads: %9.1f KiB a block\n", name, threads, double(many - few) / (MANY - FEW));
    fflush(stdout);
}

int main()
{
    line("1 register", (const void *)resident<1, 0>, 32);
    line("1 register", (const void *)resident<1, 0>, 256);
    line("1 register", (const void *)resident<1, 0>, 1024);
    line("8 registers", (const void *)resident<8, 0>, 1024);
    line("32 registers", (const void *)resident<32, 0>, 256);
    line("32 registers", (const void *)resident<32, 0>, 1024);
    line("8 registers, 256 B local", (const void *)resident<8, 64>, 256);
    return 0;
}
