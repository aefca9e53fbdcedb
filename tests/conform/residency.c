/* Under a GPU's profile as many blocks and kernels are on the device as the GPU holds: what does
 * not fit beside kernels that go on waits, and runs when there is room. (Kernels that wait for
 * others beyond that hang there.) The test runs under the profile h200.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "kernels.h"

enum { KERNELS = 128, SMS = 132, STREAMS = KERNELS + 1 };

static cudaKernel_t spin, store;
static cudaStream_t streams[STREAMS];
static unsigned *flags, *target; /* pinned */

static void launch_spin(cudaStream_t s, unsigned *flag, unsigned blocks, unsigned threads,
                        size_t shared)
{
    void *args[] = {&flag};

    OK(cudaLaunchKernel((void *)spin, (dim3){blocks, 1, 1}, (dim3){threads, 1, 1}, args, shared,
                        s));
}

static void launch_store(cudaStream_t s, unsigned value, unsigned threads, size_t shared)
{
    void *args[] = {&target, &value};

    OK(cudaLaunchKernel((void *)store, (dim3){1, 1, 1}, (dim3){threads, 1, 1}, args, shared, s));
}

static void release(unsigned *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

/* Code for these shapes is at hand for the next launches: nothing is compiled, so that kernels
 * become resident in their order. */
static void warm(unsigned spin_threads, unsigned store_threads)
{
    flags[0] = 1;
    launch_spin(streams[0], &flags[0], 1, spin_threads, 0);
    launch_store(streams[0], 0, store_threads, 0);
    OK(cudaStreamSynchronize(streams[0]));
    flags[0] = 0;
}

/* `waits`: until `flag` is set. */
static void beside(unsigned *flag, bool waits, unsigned threads, size_t shared)
{
    cudaStream_t s = streams[KERNELS];

    launch_store(s, 1, threads, shared);
    if (waits) {
        sleep_ms(50);
        EXPECT(cudaStreamQuery(s), cudaErrorNotReady);
        release(flag);
    }
    OK(cudaStreamSynchronize(s));
    release(flag);
    OK(cudaDeviceSynchronize());
    memset(flags, 0, sizeof *flags * KERNELS);
}

static void kernels_that_are_resident(void)
{
    warm(1, 1);
    for (int i = 0; i < KERNELS; i++)
        launch_spin(streams[i], &flags[i], 1, 1, 0);
    launch_store(streams[KERNELS], 7, 1, 0);
    sleep_ms(50);
    EXPECT(cudaStreamQuery(streams[KERNELS]), cudaErrorNotReady);
    release(&flags[77]);
    OK(cudaStreamSynchronize(streams[KERNELS]));
    EXPECT(cudaStreamQuery(streams[0]), cudaErrorNotReady);
    for (int i = 0; i < KERNELS; i++)
        release(&flags[i]);
    OK(cudaDeviceSynchronize());
    memset(flags, 0, sizeof *flags * KERNELS);
}

/* One kernel of more blocks than fit: the others come when the first have ended. */
static void more_blocks_than_fit(void)
{
    warm(1024, 32);
    launch_spin(streams[0], &flags[0], 3 * SMS, 1024, 0);
    beside(&flags[0], true, 32, 0);
}

int main(void)
{
    const size_t most = 200 << 10;
    cudaLibrary_t lib;
    int engines;

    OK(cudaDeviceGetAttribute(&engines, cudaDevAttrAsyncEngineCount, 0));
    CHECK(engines == 3); /* the GPU's, when no --strict limits them (device_attributes) */
    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&spin, lib, "spin"));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    OK(cudaFuncSetAttribute((void *)spin, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most));
    OK(cudaMallocHost((void **)&flags, sizeof *flags * KERNELS));
    OK(cudaMallocHost((void **)&target, sizeof *target));
    memset(flags, 0, sizeof *flags * KERNELS);
    for (int i = 0; i < STREAMS; i++)
        OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    kernels_that_are_resident();
    /* Threads: 2048 a multiprocessor. */
    warm(1024, 32);
    launch_spin(streams[0], &flags[0], 2 * SMS, 1024, 0);
    beside(&flags[0], true, 32, 0);
    warm(1024, 1024);
    launch_spin(streams[0], &flags[0], 2 * SMS - 1, 1024, 0);
    beside(&flags[0], false, 1024, 0);
    /* Shared memory: one such block leaves 27 KB of its multiprocessor, less what each reserves. */
    warm(32, 32);
    launch_spin(streams[0], &flags[0], SMS, 32, most);
    beside(&flags[0], true, 32, 32 << 10);
    launch_spin(streams[0], &flags[0], SMS, 32, most);
    beside(&flags[0], false, 32, 24 << 10);
    more_blocks_than_fit();
    return CONFORM_END();
}
