/* Texture and surface objects by the driver API: descriptions and what a kernel reads through them.
 * How a fetch is filtered is tests/ptx/textures.c's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

static const char fetch_ptx[] =
    ".version 7.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry fetch(.param .u64 object, .param .u64 out)\n{\n"
    ".reg .b32 %r<8>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<8>;\n"
    "ld.param.u64 %rd1, [object];\nld.param.u64 %rd2, [out];\n"
    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 16;\nadd.u64 %rd2, %rd2, %rd3;\n"
    "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];\n"
    "st.global.v4.f32 [%rd2], {%f1, %f2, %f3, %f4};\nret;\n}\n"
    ".visible .entry fetch2(.param .u64 object, .param .u64 out)\n{\n"
    ".reg .b32 %r<8>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<8>;\n"
    "ld.param.u64 %rd1, [object];\nld.param.u64 %rd2, [out];\n"
    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 16;\nadd.u64 %rd2, %rd2, %rd3;\n"
    "and.b32 %r2, %r1, 3;\nshr.u32 %r3, %r1, 2;\ncvt.rn.f32.u32 %f5, %r2;\n"
    "cvt.rn.f32.u32 %f6, %r3;\n"
    "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];\n"
    "st.global.v4.f32 [%rd2], {%f1, %f2, %f3, %f4};\nret;\n}\n";

static float got[16][4];

static void run(CUmodule m, const char *name, CUtexObject object, CUdeviceptr out)
{
    void *params[] = {&object, &out};
    CUfunction f;

    OK(cuModuleGetFunction(&f, m, name));
    OK(cuLaunchKernel(f, 1, 1, 1, 16, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(got, out, sizeof got));
}

static void linear(CUmodule m, CUdeviceptr out)
{
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_LINEAR}, told;
    CUDA_TEXTURE_DESC d = {.flags = CU_TRSF_SRGB, .mipmapLevelBias = 2, .borderColor = {0, 0, 5}},
                      sampler;
    CUDA_RESOURCE_VIEW_DESC view;
    signed char in[16];
    CUtexObject t;

    for (int k = 0; k < 16; k++)
        in[k] = (signed char)(k * 16 - 128);
    OK(cuMemAlloc(&r.res.linear.devPtr, 4096));
    OK(cuMemcpyHtoD(r.res.linear.devPtr, in, sizeof in));
    r.res.linear.format = CU_AD_FORMAT_SIGNED_INT8;
    r.res.linear.numChannels = 2;
    r.res.linear.sizeInBytes = sizeof in;
    OK(cuTexObjectCreate(&t, &r, &d, NULL));
    OK(cuTexObjectGetResourceDesc(&told, t));
    CHECK(told.resType == CU_RESOURCE_TYPE_LINEAR && told.res.linear.devPtr == r.res.linear.devPtr);
    CHECK(told.res.linear.format == CU_AD_FORMAT_SIGNED_INT8 && told.res.linear.numChannels == 2 &&
          told.res.linear.sizeInBytes == sizeof in);
    OK(cuTexObjectGetTextureDesc(&sampler, t));
    CHECK(sampler.flags == CU_TRSF_SRGB && sampler.mipmapLevelBias == 2 &&
          sampler.borderColor[2] == 5 && sampler.filterMode == CU_TR_FILTER_MODE_POINT);
    EXPECT(cuTexObjectGetResourceViewDesc(&view, t), CUDA_ERROR_INVALID_VALUE);
    run(m, "fetch", t, out);
    CHECK(got[0][0] == -1 && got[1][1] == -80.0f / 127 && got[7][1] == 112.0f / 127);
    CHECK(got[8][0] == 0 && got[15][1] == 0 && got[3][2] == 0);
    OK(cuTexObjectDestroy(t));
    EXPECT(cuTexObjectDestroy(t), CUDA_ERROR_INVALID_VALUE);
    r.res.linear.numChannels = 3;
    EXPECT(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE);
    r.res.linear.numChannels = 1; /* 32-bit integers stay integers */
    r.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
    OK(cuTexObjectCreate(&t, &r, &d, NULL));
    run(m, "fetch", t, out);
    CHECK(memcmp(&got[1][0], in + 4, 4) == 0);
    OK(cuTexObjectDestroy(t));
    OK(cuMemFree(r.res.linear.devPtr));
}

static void pitch(CUmodule m, CUdeviceptr out)
{
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_PITCH2D}, told;
    CUDA_TEXTURE_DESC d = {.filterMode = CU_TR_FILTER_MODE_LINEAR,
                           .addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP,
                                           CU_TR_ADDRESS_MODE_CLAMP}};
    CUDA_RESOURCE_VIEW_DESC v = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = 4, .height = 4},
                            view;
    float in[4][128] = {{0, 1, 2, 3}, {8, 9, 10, 11}, {16, 17, 18, 19}, {24, 25, 26, 27}};
    CUtexObject t;
    CUsurfObject s;

    OK(cuMemAlloc(&r.res.pitch2D.devPtr, sizeof in));
    OK(cuMemcpyHtoD(r.res.pitch2D.devPtr, in, sizeof in));
    r.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
    r.res.pitch2D.numChannels = 1;
    r.res.pitch2D.width = r.res.pitch2D.height = 4;
    r.res.pitch2D.pitchInBytes = sizeof in[0];
    OK(cuTexObjectCreate(&t, &r, &d, &v));
    OK(cuTexObjectGetResourceViewDesc(&view, t));
    CHECK(view.format == v.format && view.width == 4 && view.lastLayer == 0);
    OK(cuTexObjectGetResourceDesc(&told, t));
    CHECK(told.res.pitch2D.pitchInBytes == sizeof in[0] && told.res.pitch2D.height == 4);
    run(m, "fetch2", t, out); /* at whole coordinates: the mean of four */
    CHECK(got[0][0] == 0 && got[1][0] == 0.5f && got[5][0] == 4.5f && got[15][0] == 22.5f);
    OK(cuTexObjectDestroy(t));
    EXPECT(cuSurfObjectCreate(&s, &r), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuSurfObjectGetResourceDesc(&told, t), CUDA_ERROR_INVALID_VALUE);
    OK(cuSurfObjectDestroy(0));
    OK(cuMemFree(r.res.pitch2D.devPtr));
}

int main(void)
{
    CUcontext c;
    CUdevice dev;
    CUdeviceptr out;
    CUmodule m;

    OK(cuInit(0));
    OK(cuDeviceGet(&dev, 0));
    OK(cuDevicePrimaryCtxRetain(&c, dev));
    OK(cuCtxSetCurrent(c));
    OK(cuModuleLoadData(&m, fetch_ptx));
    OK(cuMemAlloc(&out, sizeof got));
    linear(m, out);
    pitch(m, out);
    return DRIVER_END();
}
