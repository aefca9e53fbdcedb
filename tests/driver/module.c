/* Modules, libraries, functions, launches, the linker.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#define N 1000

static void check_load_errors(void)
{
    static const char bad[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry k()\n{\n nonsense.u32 %r1;\n ret;\n}\n";
    static const unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    char info[256] = "x", error[256] = "x";
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER,    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_ERROR_LOG_BUFFER,   CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_WALL_TIME};
    void *values[] = {info,      (void *)sizeof info,        error, (void *)sizeof error,
                      (void *)4, (void *)(uintptr_t)0xffffff};
    CUmodule m = NULL;
    float ms;

    EXPECT(cuModuleLoadData(NULL, driver_ptx), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuModuleLoadData(&m, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuModuleLoadData(&m, elf), CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT(cuModuleLoadFatBinary(NULL, driver_ptx), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuModuleLoadFatBinary(&m, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuModuleLoadFatBinary(&m, elf), CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT(cuModuleLoad(&m, "/there/is/no/such.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
    EXPECT(cuModuleLoadDataEx(&m, bad, 6, options, values), CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(error, "6") != NULL); /* the line */
    CHECK((size_t)(uintptr_t)values[3] == strlen(error));
    CHECK(info[0] == 0 && values[1] == NULL);
    memcpy(&ms, &values[5], sizeof ms);
    CHECK(ms >= 0 && ms < 60000);
    EXPECT(cuModuleLoadDataEx(&m, bad, 1, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    options[0] = (CUjit_option)777;
    EXPECT(cuModuleLoadDataEx(&m, driver_ptx, 1, options, values), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuModuleUnload(NULL), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuModuleUnload((CUmodule)&m), CUDA_ERROR_INVALID_HANDLE);
}

static void run_scale(CUfunction f, CUstream stream, bool as_buffer)
{
    float host[N], factor = 2;
    CUdeviceptr p;
    unsigned n = N;
    struct {
        CUdeviceptr p;
        float factor;
        unsigned n;
    } packed;
    size_t bytes = sizeof packed;
    void *args[] = {&p, &factor, &n};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};

    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    OK(cuMemAlloc(&p, sizeof host));
    packed.p = p, packed.factor = factor, packed.n = n;
    OK(cuMemcpyHtoD(p, host, sizeof host));
    OK(cuLaunchKernel(f, (N + 127) / 128, 1, 1, 128, 1, 1, 0, stream, as_buffer ? NULL : args,
                      as_buffer ? extra : NULL));
    EXPECT(cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, stream, args, extra), CUDA_ERROR_INVALID_VALUE);
    bytes = 8;
    EXPECT(cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, stream, NULL, extra), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(host, p, sizeof host));
    for (int i = 0; i < N; i++)
        CHECK(host[i] == 2 * (float)i + 1);
    OK(cuMemFree(p));
}

static void check_module(void)
{
    CUfunction f, count, all[8] = {0};
    CUlaunchConfig config = {.gridDimX = 2,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 64,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    CUmodule m, got;
    CUdeviceptr p;
    CUstream s;
    CUfunctionLoadingState state;
    const char *name;
    unsigned n, value;
    size_t bytes, offset;
    int answer, blocks, size;

    OK(cuModuleLoadData(&m, driver_ptx));
    OK(cuModuleGetFunctionCount(&n, m));
    CHECK(n == 4);
    OK(cuModuleEnumerateFunctions(all, 8, m));
    CHECK(all[3] && !all[4]);
    OK(cuModuleGetFunction(&f, m, "scale"));
    EXPECT(cuModuleGetFunction(&count, m, "nothing"), CUDA_ERROR_NOT_FOUND);
    EXPECT(cuModuleGetFunction(&count, NULL, "scale"), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuModuleGetFunction(NULL, m, "scale"), CUDA_ERROR_INVALID_VALUE);
    OK(cuModuleGetFunction(&count, m, "count"));
    OK(cuFuncGetName(&name, f));
    CHECK(strcmp(name, "scale") == 0);
    OK(cuFuncGetModule(&got, f));
    CHECK(got == m);
    OK(cuFuncGetParamInfo(f, 1, &offset, &bytes));
    CHECK(offset == 8 && bytes == 4);
    EXPECT(cuFuncGetParamInfo(f, 3, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncGetAttribute(&answer, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    CHECK(answer == 1024);
    OK(cuFuncGetAttribute(&answer, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
    CHECK(answer == 70);
    EXPECT(cuFuncGetAttribute(&answer, (CUfunction_attribute)99, f), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuFuncGetAttribute(&answer, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL),
           CUDA_ERROR_INVALID_HANDLE);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
    OK(cuFuncGetAttribute(&answer, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    CHECK(answer == 65536);
    EXPECT(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 30),
           CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_L1));
    OK(cuFuncLoad(f));
    OK(cuFuncIsLoaded(&state, f));
    CHECK(state == CU_FUNCTION_LOADING_STATE_LOADED);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 256, 0));
    CHECK(blocks >= 1);
    OK(cuOccupancyMaxPotentialBlockSize(&blocks, &size, f, NULL, 0, 0));
    CHECK(blocks >= 1 && size >= 32 && size <= 1024);
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 1, 128));
    CHECK(bytes > 0);

    run_scale(f, 0, false);
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    run_scale(f, s, true);
    EXPECT(cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, s, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, s, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuLaunchKernel((CUfunction)&f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL),
           CUDA_ERROR_INVALID_HANDLE);

    OK(cuModuleGetGlobal(&p, &bytes, m, "counter"));
    CHECK(bytes == 4);
    EXPECT(cuModuleGetGlobal(&p, &bytes, m, "nothing"), CUDA_ERROR_NOT_FOUND);
    config.hStream = s;
    OK(cuLaunchKernelEx(&config, count, NULL, NULL));
    OK(cuLaunchCooperativeKernel(count, 1, 1, 1, 32, 1, 1, 0, s, NULL));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(&value, p, 4));
    CHECK(value == 5 + 128 + 32);
    OK(cuStreamDestroy(s));
    OK(cuModuleUnload(m));
    EXPECT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
}

/* A module loaded twice has its variables twice. */
static void check_two(void)
{
    CUmodule a, b;
    CUdeviceptr pa, pb;

    OK(cuModuleLoadData(&a, driver_ptx));
    OK(cuModuleLoadData(&b, driver_ptx));
    OK(cuModuleGetGlobal(&pa, NULL, a, "counter"));
    OK(cuModuleGetGlobal(&pb, NULL, b, "counter"));
    CHECK(a != b && pa != pb);
    OK(cuModuleUnload(a));
    OK(cuModuleUnload(b));
}

static void check_library(void)
{
    CUlibrary lib, got;
    CUkernel k, all[8] = {0};
    CUfunction f;
    CUmodule m;
    CUdeviceptr p;
    const char *name;
    unsigned n;
    size_t bytes;
    int answer;
    char *copy = strdup(driver_ptx);

    EXPECT(cuLibraryLoadData(NULL, copy, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuLibraryLoadData(&lib, copy, NULL, NULL, 0, NULL, NULL, 0));
    memset(copy, '?', strlen(copy)); /* the library has what it needs */
    free(copy);
    OK(cuLibraryGetKernelCount(&n, lib));
    CHECK(n == 4);
    OK(cuLibraryEnumerateKernels(all, 8, lib));
    CHECK(all[3] && !all[4]);
    OK(cuLibraryGetKernel(&k, lib, "scale"));
    EXPECT(cuLibraryGetKernel(&k, lib, "nothing"), CUDA_ERROR_NOT_FOUND);
    OK(cuKernelGetName(&name, k));
    CHECK(strcmp(name, "scale") == 0);
    OK(cuKernelGetLibrary(&got, k));
    CHECK(got == lib);
    OK(cuKernelGetAttribute(&answer, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k, 0));
    CHECK(answer == 1024);
    OK(cuKernelGetFunction(&f, k));
    run_scale(f, 0, false);
    run_scale((CUfunction)k, 0, false); /* as documented, a kernel is good for a launch */
    OK(cuLibraryGetGlobal(&p, &bytes, lib, "counter"));
    CHECK(bytes == 4);
    OK(cuLibraryGetModule(&m, lib));
    OK(cuModuleGetFunction(&f, m, "count"));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL));
    OK(cuCtxSynchronize());
    EXPECT(cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
    OK(cuLibraryUnload(lib));
    EXPECT(cuLibraryUnload(lib), CUDA_ERROR_INVALID_HANDLE);
}

static const char caller[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".extern .func (.param .u32 r) twice(.param .u32 x);\n"
                             ".visible .entry use(.param .u64 out, .param .u32 x)\n{\n"
                             " .reg .b32 %r<3>; .reg .b64 %d<2>;\n"
                             " ld.param.u32 %r1, [x]; ld.param.u64 %d1, [out];\n"
                             " { .param .u32 a; .param .u32 b; st.param.u32 [a], %r1;\n"
                             " call (b), twice, (a); ld.param.u32 %r2, [b]; }\n"
                             " st.global.u32 [%d1], %r2; ret;\n}\n";
static const char callee[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".visible .func (.param .u32 r) twice(.param .u32 x)\n{\n"
                             " .reg .b32 %r<3>;\n ld.param.u32 %r1, [x]; add.u32 %r2, %r1, %r1;\n"
                             " st.param.u32 [r], %r2; ret;\n}\n";

static void check_link(void)
{
    char error[512] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {error, (void *)sizeof error};
    void *out = NULL, *copy;
    CUlinkState link;
    CUfunction f;
    CUmodule m;
    CUdeviceptr p;
    unsigned x = 21, got = 0;
    size_t bytes = 0;
    void *args[] = {&p, &x};

    EXPECT(cuLinkCreate(0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuLinkDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuLinkCreate(2, options, values, &link));
    EXPECT(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t) "what", 5, "bad.ptx", 0, NULL,
                         NULL),
           CUDA_ERROR_INVALID_PTX);
    CHECK(error[0] != 0);
    EXPECT(cuLinkAddData(link, CU_JIT_INPUT_CUBIN, error, 5, "c", 0, NULL, NULL),
           CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT(cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/there/is/none.ptx", 0, NULL, NULL),
           CUDA_ERROR_FILE_NOT_FOUND);
    EXPECT(cuLinkComplete(link, &out, &bytes), CUDA_ERROR_INVALID_VALUE); /* nothing in it */
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)caller, sizeof caller, "caller", 0,
                     NULL, NULL));
    values[1] = (void *)sizeof error;
    EXPECT(cuLinkComplete(link, &out, &bytes), CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(error, "twice") != NULL);
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)callee, sizeof callee, "callee", 0,
                     NULL, NULL));
    OK(cuLinkComplete(link, &out, &bytes));
    CHECK(out != NULL && bytes > sizeof caller);
    EXPECT(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)callee, sizeof callee, "late",
                         0, NULL, NULL),
           CUDA_ERROR_INVALID_VALUE);
    copy = malloc(bytes);
    memcpy(copy, out, bytes);
    OK(cuLinkDestroy(link));
    EXPECT(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
    OK(cuModuleLoadData(&m, copy));
    OK(cuModuleUnload(m));
    OK(cuModuleLoadFatBinary(&m, copy));
    free(copy);
    OK(cuModuleGetFunction(&f, m, "use"));
    OK(cuMemAlloc(&p, 4));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, NULL));
    OK(cuMemcpyDtoH(&got, p, 4));
    CHECK(got == 42);
    OK(cuMemFree(p));
    OK(cuModuleUnload(m));
}

/* The number of registers that a program allows is what it is told of. */
static void check_registers(void)
{
    CUjit_option option = CU_JIT_MAX_REGISTERS;
    void *value = (void *)4, *out;
    CUlinkState link;
    CUfunction f;
    CUmodule m;
    int n = 0;

    OK(cuModuleLoadDataEx(&m, driver_ptx, 1, &option, &value));
    OK(cuModuleGetFunction(&f, m, "scale"));
    OK(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    CHECK(n > 0 && n <= 4);
    OK(cuModuleUnload(m));
    OK(cuLinkCreate(1, &option, &value, &link));
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)driver_ptx, sizeof driver_ptx, NULL,
                     0, NULL, NULL));
    OK(cuLinkComplete(link, &out, NULL));
    OK(cuModuleLoadData(&m, out));
    OK(cuLinkDestroy(link));
    OK(cuModuleGetFunction(&f, m, "scale"));
    OK(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    CHECK(n > 0 && n <= 4);
    OK(cuModuleUnload(m));
    OK(cuModuleLoadData(&m, driver_ptx));
    OK(cuModuleGetFunction(&f, m, "scale"));
    OK(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    CHECK(n > 4);
    OK(cuModuleUnload(m));
}

/* A call through a pointer that no function of the module fits: Numba's code has such calls of
 * destructors, and never comes there. */
static const char nowhere[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry maybe(.param .u64 fn, .param .u64 out)\n{\n"
    " .reg .pred %p; .reg .b32 %r<2>; .reg .b64 %d<3>;\n"
    " ld.param.u64 %d1, [fn]; ld.param.u64 %d2, [out];\n"
    " setp.eq.u64 %p, %d1, 0;\n @%p bra none;\n"
    " { .param .u64 a; st.param.u64 [a], %d2;\n"
    " proto: .callprototype _ (.param .u64 _);\n call %d1, (a), proto; }\n"
    "none:\n mov.u32 %r1, 7; st.global.u32 [%d2], %r1; ret;\n}\n";

static void check_call_nowhere(void)
{
    CUdeviceptr fn = 0, p;
    CUfunction f;
    CUmodule m;
    int got = 0;
    void *args[] = {&fn, &p};

    OK(cuModuleLoadData(&m, nowhere));
    OK(cuModuleGetFunction(&f, m, "maybe"));
    OK(cuMemAlloc(&p, 4));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, NULL));
    OK(cuMemcpyDtoH(&got, p, 4));
    CHECK(got == 7);
    OK(cuMemFree(p));
    OK(cuModuleUnload(m));
}

/* The grid's barrier of CUDA's device run time, which the linker brings. */
static const char grid[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 s);\n"
    ".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param .b32 f);\n"
    ".visible .global .align 4 .u32 before = 0;\n"
    ".visible .entry meet(.param .u64 out)\n{\n"
    " .reg .b32 %r<6>; .reg .b64 %d<5>;\n"
    " ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
    " mad.lo.u32 %r1, %r2, %r3, %r1; mul.wide.u32 %d2, %r1, 4; add.s64 %d2, %d1, %d2;\n"
    " atom.global.add.u32 %r4, [before], 1;\n"
    " { .param .b32 s; .param .b64 h; mov.u32 %r5, 1; st.param.b32 [s], %r5;\n"
    " call (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 %d3, [h]; }\n"
    " { .param .b64 h; .param .b32 f; .param .b32 r; mov.u32 %r5, 0; st.param.b64 [h], %d3;\n"
    " st.param.b32 [f], %r5; call (r), cudaCGSynchronize, (h, f); ld.param.b32 %r5, [r]; }\n"
    " ld.volatile.global.u32 %r4, [before]; mad.lo.u32 %r4, %r5, 1000, %r4;\n"
    " st.global.u32 [%d2], %r4; ret;\n}\n";

static void check_grid(void)
{
    enum { BLOCKS = 2, THREADS = 64, ALL = BLOCKS * THREADS };

    unsigned got[ALL];
    CUlinkState link;
    CUfunction f;
    CUmodule m;
    CUdeviceptr p;
    void *args[] = {&p}, *out;

    OK(cuLinkCreate(0, NULL, NULL, &link));
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)grid, sizeof grid, "grid", 0, NULL,
                     NULL));
    OK(cuLinkComplete(link, &out, NULL));
    OK(cuModuleLoadData(&m, out));
    OK(cuLinkDestroy(link));
    OK(cuModuleGetFunction(&f, m, "meet"));
    OK(cuMemAlloc(&p, sizeof got));
    OK(cuLaunchCooperativeKernel(f, BLOCKS, 1, 1, THREADS, 1, 1, 0, 0, args));
    OK(cuMemcpyDtoH(got, p, sizeof got));
    for (int i = 0; i < ALL; i++)
        CHECK(got[i] == ALL); /* all had come before any went on; no error */
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, NULL));
    OK(cuMemcpyDtoH(got, p, 4));
    CHECK(got[0] == 1000 + ALL + 1); /* not a cooperative launch: an error, and no waiting */
    OK(cuMemFree(p));
    OK(cuModuleUnload(m));
}

/* Shared memory is handed out in units: ptxas and NVVM load a whole vector where the array's end is
 * inside of it. */
static const char vector[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".extern .shared .align 16 .b8 room[];\n"
                             ".visible .entry tail(.param .u64 out)\n{\n"
                             " .reg .b32 %r<6>; .reg .b64 %d<2>;\n"
                             " ld.param.u64 %d1, [out]; mov.u32 %r1, 5;\n"
                             " st.shared.u32 [room+24], %r1;\n"
                             " ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [room+16];\n"
                             " st.global.u32 [%d1], %r4; ret;\n}\n";

static void check_shared_units(void)
{
    CUfunction f;
    CUmodule m;
    CUdeviceptr p;
    int got = 0;
    void *args[] = {&p};

    OK(cuModuleLoadData(&m, vector));
    OK(cuModuleGetFunction(&f, m, "tail"));
    OK(cuMemAlloc(&p, 4));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 28, 0, args, NULL));
    OK(cuMemcpyDtoH(&got, p, 4));
    CHECK(got == 5);
    OK(cuMemFree(p));
    OK(cuModuleUnload(m));
}

/* A thread's variables are aligned as they say, in every thread. */
static const char aligned[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry where(.param .u64 out)\n{\n"
                              " .local .align 256 .b8 a[20]; .local .align 4 .b8 b[4];\n"
                              " .reg .b32 %r<3>; .reg .b64 %d<4>;\n"
                              " ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x;\n"
                              " st.local.u32 [a], %r1; st.local.u32 [b], %r1;\n"
                              " mov.u64 %d2, a; cvta.local.u64 %d2, %d2; and.b64 %d2, %d2, 255;\n"
                              " cvt.u32.u64 %r2, %d2; atom.global.or.b32 %r2, [%d1], %r2;\n"
                              " ret;\n}\n";

static void check_local_alignment(void)
{
    CUfunction f;
    CUmodule m;
    CUdeviceptr p;
    int got = -1;
    void *args[] = {&p};

    OK(cuModuleLoadData(&m, aligned));
    OK(cuModuleGetFunction(&f, m, "where"));
    OK(cuMemAlloc(&p, 4));
    OK(cuMemsetD32(p, 0, 1));
    OK(cuLaunchKernel(f, 3, 1, 1, 33, 1, 1, 0, 0, args, NULL));
    OK(cuMemcpyDtoH(&got, p, 4));
    CHECK(got == 0);
    OK(cuMemFree(p));
    OK(cuModuleUnload(m));
}

int main(void)
{
    CUcontext ctx;

    OK(cuInit(0));
    OK(cuCtxCreate(&ctx, NULL, 0, 0));
    check_load_errors();
    check_module();
    check_two();
    check_library();
    check_link();
    check_call_nowhere();
    check_registers();
    check_grid();
    check_shared_units();
    check_local_alignment();
    OK(cuCtxDestroy(ctx));
    return DRIVER_END();
}
