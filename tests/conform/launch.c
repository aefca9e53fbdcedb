/* Launches (oracle launch_config, func_attributes): arguments are captured at the call, wrong
 * configurations are cudaErrorInvalidValue, kernels of streams overlap, a kernel may wait for the
 * host, a launch returns before it runs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "kernels.h"

static cudaKernel_t empty, store, count, spin, bounded;

static cudaError_t launch(cudaKernel_t k, dim3 grid, dim3 block, void **args, size_t shared,
                          cudaStream_t s)
{
    return cudaLaunchKernel((const void *)k, grid, block, args, shared, s);
}

static void check_config(void)
{
    static const struct {
        dim3 grid, block;
        size_t shared;
        cudaError_t expected;
    } cases[] = {
        {{1, 1, 1}, {1, 1, 1}, 0, cudaSuccess},
        {{0, 1, 1}, {1, 1, 1}, 0, cudaErrorInvalidValue},
        {{1, 0, 1}, {1, 1, 1}, 0, cudaErrorInvalidValue},
        {{1, 1, 1}, {0, 1, 1}, 0, cudaErrorInvalidValue},
        {{1, 1, 1}, {1, 1, 0}, 0, cudaErrorInvalidValue},
        {{1, 1, 1}, {1024, 1, 1}, 0, cudaSuccess},
        {{1, 1, 1}, {1025, 1, 1}, 0, cudaErrorInvalidValue},
        {{1, 1, 1}, {33, 32, 1}, 0, cudaErrorInvalidValue},
        {{1, 1, 1}, {1, 1, 64}, 0, cudaSuccess},
        {{1, 1, 1}, {1, 1, 65}, 0, cudaErrorInvalidValue},
        {{1, 65535, 1}, {1, 1, 1}, 0, cudaSuccess},
        {{1, 65536, 1}, {1, 1, 1}, 0, cudaErrorInvalidValue},
        {{1, 1, 65536}, {1, 1, 1}, 0, cudaErrorInvalidValue},
        {{1, 1, 1}, {1, 1, 1}, 49152, cudaSuccess},
        {{1, 1, 1}, {1, 1, 1}, 49153, cudaErrorInvalidValue},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EXPECT(launch(empty, cases[i].grid, cases[i].block, NULL, cases[i].shared, 0),
               cases[i].expected);
        EXPECT(cudaGetLastError(), cases[i].expected);
        OK(cudaDeviceSynchronize());
    }
    EXPECT(launch(NULL, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, 0),
           cudaErrorInvalidDeviceFunction);
    EXPECT(launch((cudaKernel_t)check_config, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, 0),
           cudaErrorInvalidResourceHandle);
    EXPECT(launch(store, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, 0), cudaErrorInvalidValue);
    cudaGetLastError();
}

static void check_attributes(void)
{
    struct cudaFuncAttributes a;
    size_t offset, bytes;
    const char *name;
    void *p = NULL, *args[] = {&p};
    int blocks;

    OK(cudaFuncGetAttributes(&a, (const void *)bounded));
    CHECK(a.maxThreadsPerBlock == 64);
    OK(launch(bounded, (dim3){1, 1, 1}, (dim3){64, 1, 1}, args, 0, 0));
    EXPECT(launch(bounded, (dim3){1, 1, 1}, (dim3){65, 1, 1}, args, 0, 0), cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute((const void *)empty, cudaFuncAttributeMaxDynamicSharedMemorySize,
                            60000));
    OK(launch(empty, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 60000, 0));
    EXPECT(launch(empty, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 60001, 0), cudaErrorInvalidValue);
    EXPECT(cudaFuncSetAttribute((const void *)empty, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                1 << 20),
           cudaErrorInvalidValue);
    EXPECT(cudaFuncSetAttribute((const void *)empty, cudaFuncAttributePreferredSharedMemoryCarveout,
                                101),
           cudaErrorInvalidValue);
    OK(cudaFuncGetName(&name, (const void *)store));
    CHECK(strcmp(name, "store") == 0);
    OK(cudaFuncGetParamInfo((const void *)store, 1, &offset, &bytes));
    CHECK(offset == 8 && bytes == 4);
    EXPECT(cudaFuncGetParamInfo((const void *)store, 2, &offset, &bytes), cudaErrorInvalidValue);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)empty, 256, 0));
    CHECK(blocks >= 1 && blocks <= 8);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)empty, 1025, 0));
    CHECK(blocks == 0);
    EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)empty, 0, 0),
           cudaErrorInvalidValue);
    OK(cudaDeviceSynchronize());
    cudaGetLastError();
}

/* A kernel that cannot be compiled, the first of its module: its launch says so, nothing later
 * does, and the context goes on. */
static void check_refused(void)
{
    static const char ptx[] =
        ".version 8.3\n.target sm_80\n.address_size 64\n"
        ".visible .entry refused(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n"
        "\tld.param.u64 %rd1, [p];\n"
        "\ttensormap.replace.tile.rank.global.b1024.b32 [%rd1], 4;\n\tret;\n}\n";
    cudaLibrary_t library;
    cudaKernel_t refused;
    void *p = NULL, *args[] = {&p};

    OK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&refused, library, "refused"));
    for (int i = 0; i < 2; i++) {
        EXPECT(launch(refused, (dim3){1, 1, 1}, (dim3){32, 1, 1}, args, 0, 0),
               cudaErrorNotSupported);
        EXPECT(cudaGetLastError(), cudaErrorNotSupported);
        EXPECT(cudaGetLastError(), cudaSuccess);
        OK(cudaDeviceSynchronize());
    }
    OK(launch(empty, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, 0));
    OK(cudaDeviceSynchronize());
    OK(cudaLibraryUnload(library));
}

static void check_arguments_captured(void)
{
    unsigned value = 1, *d, seen = 0;
    void *args[] = {&d, &value};
    struct hold h;

    OK(cudaMalloc((void **)&d, 4));
    hold_stream(&h, cudaStreamPerThread);
    OK(launch(store, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, cudaStreamPerThread));
    value = 2;
    hold_release(&h);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    OK(cudaMemcpy(&seen, d, 4, cudaMemcpyDeviceToHost));
    CHECK(seen == 1);
    OK(cudaFree(d));
}

static void check_every_block_once(void)
{
    unsigned *d, seen = 0;
    void *args[] = {&d};

    OK(cudaMalloc((void **)&d, 4));
    OK(cudaMemset(d, 0, 4));
    for (int i = 0; i < 20; i++)
        OK(launch(count, (dim3){7, 5, 3}, (dim3){33, 2, 1}, args, 0,
                  i & 1 ? cudaStreamPerThread : 0));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&seen, d, 4, cudaMemcpyDeviceToHost));
    CHECK(seen == 20u * 7 * 5 * 3 * 66);
    OK(cudaFree(d));
}

/* Two kernels that wait for the host: both run at once, a third stream's kernel and copies go on
 * meanwhile. */
static void check_spinning(void)
{
    unsigned *flags, *d, value = 9, seen = 0;
    cudaStream_t s[3];

    OK(cudaMallocHost((void **)&flags, 4096));
    OK(cudaMalloc((void **)&d, 4));
    flags[0] = flags[64] = 0;
    for (int i = 0; i < 3; i++)
        OK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        unsigned *flag = flags + 64 * i;
        void *args[] = {&flag};
        double start = now_ms();

        OK(launch(spin, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, s[i]));
        CHECK(now_ms() - start < 500);
        EXPECT(cudaStreamQuery(s[i]), cudaErrorNotReady);
    }
    void *args[] = {&d, &value};
    OK(launch(store, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, s[2]));
    OK(cudaMemcpyAsync(&seen, d, 4, cudaMemcpyDeviceToHost, s[2]));
    OK(cudaStreamSynchronize(s[2]));
    CHECK(seen == 9);
    EXPECT(cudaStreamQuery(s[0]), cudaErrorNotReady);
    *(volatile unsigned *)&flags[64] = 1; /* the second first */
    OK(cudaStreamSynchronize(s[1]));
    EXPECT(cudaStreamQuery(s[0]), cudaErrorNotReady);
    *(volatile unsigned *)&flags[0] = 1;
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 3; i++)
        OK(cudaStreamDestroy(s[i]));
    OK(cudaFree(d));
    OK(cudaFreeHost(flags));
}

static void check_library(cudaLibrary_t lib)
{
    unsigned values[4] = {0}, n = 0;
    cudaKernel_t kernels[9] = {0}, k;
    size_t bytes = 0;
    void *p = NULL;

    OK(cudaLibraryGetKernelCount(&n, lib));
    CHECK(n == 8);
    OK(cudaLibraryEnumerateKernels(kernels, 9, lib));
    CHECK(kernels[0] == empty && kernels[7] && !kernels[8]);
    EXPECT(cudaLibraryGetKernel(&k, lib, "nothing"), cudaErrorSymbolNotFound);
    OK(cudaLibraryGetGlobal(&p, &bytes, lib, "counter"));
    CHECK(bytes == 16);
    OK(cudaMemcpy(values, p, 16, cudaMemcpyDeviceToHost));
    CHECK(values[0] == 5 && values[3] == 8);
    EXPECT(cudaLibraryGetGlobal(&p, &bytes, lib, "nothing"), cudaErrorSymbolNotFound);
    EXPECT(cudaFree(p),
           cudaErrorInvalidValue); /* a variable's memory is not the program's to free */
    cudaGetLastError();
}

static void check_bad_code(void)
{
    cudaLibrary_t lib;

    EXPECT(cudaLibraryLoadData(
               &lib, ".version 7.0\n.target sm_70\n.address_size 64\n.entry x() { foo.bar; }\n",
               NULL, NULL, 0, NULL, NULL, 0),
           cudaErrorInvalidPtx);
    EXPECT(cudaLibraryLoadData(NULL, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0),
           cudaErrorInvalidValue);
    EXPECT(cudaLibraryUnload((cudaLibrary_t)&lib), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

int main(void)
{
    cudaLibrary_t lib;

    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&empty, lib, "empty"));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    OK(cudaLibraryGetKernel(&count, lib, "count"));
    OK(cudaLibraryGetKernel(&spin, lib, "spin"));
    OK(cudaLibraryGetKernel(&bounded, lib, "bounded"));
    check_config();
    check_attributes();
    check_refused();
    check_arguments_captured();
    check_every_block_once();
    check_spinning();
    check_library(lib);
    check_bad_code();
    OK(cudaLibraryUnload(lib));
    EXPECT(launch(empty, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, 0),
           cudaErrorInvalidResourceHandle);
    return CONFORM_END();
}
