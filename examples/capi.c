/* No .cu file and no device compiler: a C program with a kernel as PTX text, loaded and launched through the runtime API.
 * SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

/* out[i] = factor * in[i] for i < n */
static const char ptx[] = ".version 7.0\n"
                          ".target sm_80\n"
                          ".address_size 64\n"
                          ".visible .entry scale(\n"
                          "    .param .u64 in,\n"
                          "    .param .u64 out,\n"
                          "    .param .f32 factor,\n"
                          "    .param .u32 n\n"
                          ")\n"
                          "{\n"
                          "    .reg .pred %p;\n"
                          "    .reg .b32 %i, %n, %block, %size;\n"
                          "    .reg .b64 %from, %to, %offset;\n"
                          "    .reg .f32 %x, %factor;\n"
                          "    mov.u32 %i, %tid.x;\n"
                          "    mov.u32 %block, %ctaid.x;\n"
                          "    mov.u32 %size, %ntid.x;\n"
                          "    mad.lo.u32 %i, %block, %size, %i;\n"
                          "    ld.param.u32 %n, [n];\n"
                          "    setp.ge.u32 %p, %i, %n;\n"
                          "    @%p bra done;\n"
                          "    ld.param.u64 %from, [in];\n"
                          "    ld.param.u64 %to, [out];\n"
                          "    ld.param.f32 %factor, [factor];\n"
                          "    cvta.to.global.u64 %from, %from;\n"
                          "    cvta.to.global.u64 %to, %to;\n"
                          "    mul.wide.u32 %offset, %i, 4;\n"
                          "    add.u64 %from, %from, %offset;\n"
                          "    add.u64 %to, %to, %offset;\n"
                          "    ld.global.f32 %x, [%from];\n"
                          "    mul.rn.f32 %x, %x, %factor;\n"
                          "    st.global.f32 [%to], %x;\n"
                          "done:\n"
                          "    ret;\n"
                          "}\n";

enum { N = 100000, THREADS = 256 };

int main(void)
{
    static float host[N];
    float *in, *out, factor = 3.0f;
    unsigned int n = N;
    int i, wrong = 0;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    cudaStream_t stream;
    dim3 grid = {(N + THREADS - 1) / THREADS, 1, 1}, block = {THREADS, 1, 1};
    void *args[] = {&in, &out, &factor, &n};

    for (i = 0; i < N; i++)
        host[i] = (float)i;
    CHECK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernel(&kernel, library, "scale"));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc((void **)&in, sizeof host));
    CHECK(cudaMalloc((void **)&out, sizeof host));
    CHECK(cudaMemcpyAsync(in, host, sizeof host, cudaMemcpyHostToDevice, stream));
    CHECK(cudaLaunchKernel((const void *)kernel, grid, block, args, 0, stream));
    CHECK(cudaMemcpyAsync(host, out, sizeof host, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));

    for (i = 0; i < N; i++)
        wrong += host[i] != 3.0f * (float)i;
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaLibraryUnload(library));
    printf("RESULT %s %d of %d wrong\n", wrong ? "FAIL" : "PASS", wrong, N);
    return wrong != 0;
}
