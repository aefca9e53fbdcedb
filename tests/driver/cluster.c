/* Clusters of blocks by the driver API: a value goes from block to block through their shared
 * memories, atomics on another block's, threads that have gone before the barrier; launches that a
 * device of capability 9.0 refuses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#define THREADS 64
#define ROUNDS  10

/* Each thread writes its value to the next block's box, ROUNDS times round; block 0 counts. The
 * last lanes of odd blocks leave at once. */
static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry ring(.param .u64 out)\n{\n"
    " .reg .pred %p<4>; .reg .b32 %r<24>; .reg .b64 %d<8>;\n"
    " .shared .align 4 .b8 box[256]; .shared .align 4 .u32 sum;\n"
    " ld.param.u64 %d1, [out];\n"
    " mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctarank;\n"
    " and.b32 %r4, %r2, 1; setp.ne.u32 %p1, %r4, 0; setp.ge.and.u32 %p1, %r1, 60, %p1;\n"
    " @%p1 bra done;\n"
    " setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.u32 [sum], 0;\n"
    " mov.u32 %r5, box; mad.lo.u32 %r6, %r1, 4, %r5;\n"
    " add.u32 %r7, %r2, 1; rem.u32 %r7, %r7, %r3;\n"
    " mapa.shared::cluster.u32 %r8, %r6, %r7;\n"
    " mov.u32 %r9, sum; cvt.u64.u32 %d2, %r9; cvta.shared.u64 %d2, %d2; mapa.u64 %d2, %d2, 0;\n"
    " mov.u32 %r10, %r2; mov.u32 %r11, 0;\n"
    " barrier.cluster.arrive; barrier.cluster.wait;\n"
    "again:\n"
    " st.shared::cluster.u32 [%r8], %r10;\n"
    " barrier.cluster.arrive.release; barrier.cluster.wait.acquire;\n"
    " ld.shared.u32 %r10, [%r6]; add.u32 %r10, %r10, 100;\n"
    " atom.add.u32 %r12, [%d2], 1;\n"
    " barrier.cluster.arrive; barrier.cluster.wait;\n"
    " add.u32 %r11, %r11, 1; setp.lt.u32 %p3, %r11, 10; @%p3 bra again;\n"
    " ld.u32 %r13, [%d2]; getctarank.u64 %r14, %d2;\n"
    " barrier.cluster.arrive; barrier.cluster.wait;\n"
    " mov.u32 %r15, %ctaid.x; mov.u32 %r16, %ntid.x; mad.lo.u32 %r17, %r15, %r16, %r1;\n"
    " mul.wide.u32 %d3, %r17, 16; add.s64 %d1, %d1, %d3;\n"
    " mov.u32 %r18, %clusterid.x;\n"
    " st.global.v4.u32 [%d1], {%r10, %r13, %r14, %r18};\n"
    "done:\n ret;\n}\n";

static CUresult launch(CUfunction f, unsigned blocks, unsigned cluster, CUdeviceptr out)
{
    CUlaunchAttribute a = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    CUlaunchConfig c = {.gridDimX = blocks,
                        .gridDimY = 1,
                        .gridDimZ = 1,
                        .blockDimX = THREADS,
                        .blockDimY = 1,
                        .blockDimZ = 1,
                        .attrs = &a,
                        .numAttrs = 1};
    void *args[] = {&out};

    a.value.clusterDim.x = cluster;
    a.value.clusterDim.y = a.value.clusterDim.z = 1;
    return cuLaunchKernelEx(&c, f, args, NULL);
}

static void check_ring(const uint32_t *o, unsigned blocks, unsigned n)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < blocks * THREADS; i++) {
        unsigned rank = i / THREADS % n, lane = i % THREADS, gone = n / 2 * 4;

        if (rank % 2 && lane >= 60)
            continue; /* not written */
        /* lanes that nobody of the block before writes keep what is there: not looked at */
        if (lane < 60)
            wrong += o[4 * i] != (rank + n * ROUNDS - ROUNDS) % n + 100 * ROUNDS;
        wrong += o[4 * i + 1] != (n * THREADS - gone) * ROUNDS || o[4 * i + 2] != 0 ||
                 o[4 * i + 3] != i / THREADS / n;
    }
    CHECK(wrong == 0);
}

int main(void)
{
    static uint32_t o[48 * THREADS * 4];
    CUcontext ctx;
    CUmodule m;
    CUfunction f;
    CUdeviceptr out;

    OK(cuInit(0));
    OK(cuCtxCreate(&ctx, NULL, 0, 0));
    OK(cuModuleLoadData(&m, ptx));
    OK(cuModuleGetFunction(&f, m, "ring"));
    OK(cuMemAlloc(&out, sizeof o));
    for (unsigned n = 1; n <= 8; n = n < 4 ? n + 1 : n * 2) {
        OK(launch(f, 48, n, out));
        OK(cuMemcpyDtoH(o, out, sizeof o));
        check_ring(o, 48, n);
    }
    EXPECT(launch(f, 48, 5, out), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    EXPECT(launch(f, 48, 16, out), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    EXPECT(launch(f, 48, 0, out), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    OK(launch(f, 48, 16, out));
    OK(cuMemcpyDtoH(o, out, sizeof o));
    check_ring(o, 48, 16);
    OK(cuMemFree(out));
    OK(cuModuleUnload(m));
    OK(cuCtxDestroy(ctx));
    return DRIVER_END();
}
