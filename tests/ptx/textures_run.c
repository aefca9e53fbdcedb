/* Runs the kernels of textures_kernels.c through the runtime, which makes the objects.
 * SPDX-License-Identifier: Apache-2.0 */
#include "textures_run.h"

#include "../conform/conform.h"
#include "../support/random.h"

static uint64_t random_state;

void rnd_seed(uint64_t seed)
{
    random_state = seed;
}

uint32_t rnd(void)
{
    return random_next(&random_state);
}

int rnd_in(int lo, int hi)
{
    return lo + (int)(rnd() % (uint32_t)(hi - lo + 1));
}

float rnd_unit(void)
{
    return (float)(rnd() & 0xffff) / 65536.0f;
}

uint32_t kernel_in[ROWS][LANES], kernel_out[ROWS][LANES];
static cudaLibrary_t library;
static uint32_t *d_in, *d_out;
static unsigned long long *d_handles;

void kernels_load(void)
{
    const char *text = texture_kernels();

    CHECK(text);
    OK(cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaMalloc((void **)&d_in, sizeof kernel_in));
    OK(cudaMalloc((void **)&d_out, sizeof kernel_out));
    OK(cudaMalloc((void **)&d_handles, LANES * sizeof *d_handles));
}

cudaError_t run_kernel(const char *name, bool each, unsigned long long handle)
{
    unsigned long long handles[LANES], object = each ? (uintptr_t)d_handles : handle;
    void *params[3] = {&object, &d_in, &d_out};
    char full[96];
    cudaKernel_t k;
    cudaError_t err;

    snprintf(full, sizeof full, "%s_%s", name, each ? "each" : "one");
    err = cudaLibraryGetKernel(&k, library, full);
    if (err != cudaSuccess) {
        fprintf(stderr, "no kernel %s\n", full);
        return err;
    }
    for (int lane = 0; lane < LANES; lane++)
        handles[lane] = handle;
    memset(kernel_out, 0xa5, sizeof kernel_out);
    OK(cudaMemcpy(d_handles, handles, sizeof handles, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(d_in, kernel_in, sizeof kernel_in, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(d_out, kernel_out, sizeof kernel_out, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel((const void *)k, (dim3){1, 1, 1}, (dim3){LANES, 1, 1}, params, 0, NULL));
    err = cudaDeviceSynchronize();
    if (err == cudaSuccess)
        OK(cudaMemcpy(kernel_out, d_out, sizeof kernel_out, cudaMemcpyDeviceToHost));
    return err;
}

bool runs(int lane)
{
    return lane % 5 != 4;
}

void check_untouched(const char *name)
{
    for (int lane = 0; lane < LANES; lane++)
        if (!runs(lane) && kernel_out[0][lane] != 0xa5a5a5a5) {
            fprintf(stderr, "%s: lane %d ran\n", name, lane);
            conform_failures++;
        }
}

int runs_failed(void)
{
    return conform_failures;
}
