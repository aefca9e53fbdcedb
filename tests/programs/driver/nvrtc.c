/* A vector addition compiled at run time: as a program does it that asks NVRTC for PTX, and as one
 * that asks for machine code of this very device. Prints "ptx: ok", "cubin: ok".
 * SPDX-License-Identifier: Apache-2.0 */
#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

#define N 1000

#define TRY(call)                                                                                  \
    do {                                                                                           \
        int try_result = (int)(call);                                                              \
        if (try_result != 0) {                                                                     \
            printf("%s gives %d\n", #call, try_result);                                            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char source[] =
    "extern \"C\" __global__ void add(const float *a, const float *b, float *c, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        c[i] = a[i] + b[i];\n"
    "}\n";

static char *compile(const char *what, int major, int minor, int cubin)
{
    char option[64];
    const char *options[] = {option};
    nvrtcProgram program;
    size_t bytes = 0;
    char *image;

    snprintf(option, sizeof option, "--gpu-architecture=%s_%d%d", what, major, minor);
    TRY(nvrtcCreateProgram(&program, source, "add.cu", 0, NULL, NULL));
    TRY(nvrtcCompileProgram(program, 1, options));
    TRY(cubin ? nvrtcGetCUBINSize(program, &bytes) : nvrtcGetPTXSize(program, &bytes));
    image = malloc(bytes);
    TRY(cubin ? nvrtcGetCUBIN(program, image) : nvrtcGetPTX(program, image));
    TRY(nvrtcDestroyProgram(&program));
    return image;
}

/* Frees the image. */
static int run(char *image)
{
    float a[N], b[N], c[N];
    CUdeviceptr da, db, dc;
    CUfunction f;
    CUmodule m;
    int n = N, bad = 0;
    void *args[] = {&da, &db, &dc, &n};

    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = 0.5f * (float)i;
    TRY(cuModuleLoadData(&m, image));
    free(image);
    TRY(cuModuleGetFunction(&f, m, "add"));
    TRY(cuMemAlloc(&da, sizeof a));
    TRY(cuMemAlloc(&db, sizeof b));
    TRY(cuMemAlloc(&dc, sizeof c));
    TRY(cuMemcpyHtoD(da, a, sizeof a));
    TRY(cuMemcpyHtoD(db, b, sizeof b));
    TRY(cuLaunchKernel(f, 4, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
    TRY(cuMemcpyDtoH(c, dc, sizeof c));
    for (int i = 0; i < N; i++)
        bad += c[i] != a[i] + b[i];
    TRY(cuMemFree(da));
    TRY(cuMemFree(db));
    TRY(cuMemFree(dc));
    TRY(cuModuleUnload(m));
    return bad;
}

int main(void)
{
    int major, minor, bad;
    CUcontext ctx;

    TRY(cuInit(0));
    TRY(cuDevicePrimaryCtxRetain(&ctx, 0));
    TRY(cuCtxSetCurrent(ctx));
    TRY(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    TRY(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    bad = run(compile("compute", major, minor, 0));
    printf("ptx: %s\n", bad ? "wrong" : "ok");
    bad += run(compile("sm", major, minor, 1));
    printf("cubin: %s\n", bad ? "wrong" : "ok");
    TRY(cuDevicePrimaryCtxRelease(0));
    return bad != 0;
}
