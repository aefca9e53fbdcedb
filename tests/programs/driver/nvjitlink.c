/* Two units of PTX through nvJitLink, and what it calls a cubin into the driver; wrong input and
 * the error log; the same two units as code for link-time optimisation. Prints "linked: ok",
 * "refused: ok", "lto: ok".
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#include <cuda.h>
#include <nvJitLink.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        int try_result = (int)(call);                                                              \
        if (try_result != 0) {                                                                     \
            printf("%s gives %d\n", #call, try_result);                                            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char caller[] =
    "extern \"C\" __device__ int twice(int);\n"
    "extern \"C\" __global__ void use(int *out, int x) { *out = twice(x); }\n";
static const char callee[] = "extern \"C\" __device__ int twice(int x) { return 2 * x; }\n";

static char arch[32];

static char *compile(const char *source, int lto, size_t *bytes)
{
    const char *options[] = {arch, "-rdc=true", "-dlto"};
    nvrtcProgram program;
    char *code;

    TRY(nvrtcCreateProgram(&program, source, "unit.cu", 0, NULL, NULL));
    TRY(nvrtcCompileProgram(program, lto ? 3 : 2, options));
    TRY(lto ? nvrtcGetLTOIRSize(program, bytes) : nvrtcGetPTXSize(program, bytes));
    code = malloc(*bytes);
    TRY(lto ? nvrtcGetLTOIR(program, code) : nvrtcGetPTX(program, code));
    TRY(nvrtcDestroyProgram(&program));
    return code;
}

static int run(const void *image)
{
    CUdeviceptr p;
    CUfunction f;
    CUmodule m;
    int x = 21, got = 0;
    void *args[] = {&p, &x};

    TRY(cuModuleLoadData(&m, image));
    TRY(cuModuleGetFunction(&f, m, "use"));
    TRY(cuMemAlloc(&p, 4));
    TRY(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    TRY(cuMemcpyDtoH(&got, p, 4));
    TRY(cuModuleUnload(m));
    return got;
}

static int link_and_run(int lto)
{
    const char *sources[] = {caller, callee};
    const char *options[] = {arch, "-lto"};
    nvJitLinkHandle link;
    size_t bytes;
    char *code;
    int got;

    TRY(nvJitLinkCreate(&link, lto ? 2 : 1, options));
    for (int i = 0; i < 2; i++) {
        code = compile(sources[i], lto, &bytes);
        TRY(nvJitLinkAddData(link, lto ? NVJITLINK_INPUT_LTOIR : NVJITLINK_INPUT_PTX, code, bytes,
                             "unit"));
        free(code);
    }
    TRY(nvJitLinkComplete(link));
    TRY(nvJitLinkGetLinkedCubinSize(link, &bytes));
    code = malloc(bytes);
    TRY(nvJitLinkGetLinkedCubin(link, code));
    TRY(nvJitLinkDestroy(&link));
    got = run(code);
    free(code);
    return got;
}

static int refused(void)
{
    const char *options[] = {arch};
    nvJitLinkHandle link;
    char log[1024] = "";
    size_t bytes;
    int ok;

    ok = nvJitLinkCreate(&link, 0, NULL) == NVJITLINK_ERROR_MISSING_ARCH;
    TRY(nvJitLinkCreate(&link, 1, options));
    ok = ok && nvJitLinkAddData(link, NVJITLINK_INPUT_PTX, "nonsense", 9, "bad") ==
                   NVJITLINK_ERROR_PTX_COMPILE;
    TRY(nvJitLinkGetErrorLogSize(link, &bytes));
    ok = ok && bytes > 1 && bytes < sizeof log;
    TRY(nvJitLinkGetErrorLog(link, log));
    ok = ok && strlen(log) + 1 == bytes;
    TRY(nvJitLinkDestroy(&link));
    return ok && link == NULL;
}

int main(void)
{
    CUcontext ctx;
    int major, minor;

    TRY(cuInit(0));
    TRY(cuDevicePrimaryCtxRetain(&ctx, 0));
    TRY(cuCtxSetCurrent(ctx));
    TRY(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    TRY(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    snprintf(arch, sizeof arch, "-arch=sm_%d%d", major, minor);
    printf("linked: %s\n", link_and_run(0) == 42 ? "ok" : "wrong");
    printf("refused: %s\n", refused() ? "ok" : "wrong");
    printf("lto: %s\n", link_and_run(1) == 42 ? "ok" : "wrong");
    return 0;
}
