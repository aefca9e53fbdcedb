// Texture and surface functions in device code: every function once or more, for nvcc and weir cc alike. What filtering gives
// is tests/ptx/textures.c's.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

static int bad;

#define OK(call)                                                                                                                  \
    do {                                                                                                                          \
        cudaError_t e_ = (call);                                                                                                  \
        if (e_ != cudaSuccess)                                                                                                    \
            printf("%d: %s gives %s\n", __LINE__, #call, cudaGetErrorName(e_)), bad++;                                            \
    } while (0)
#define EXPECT(got, want)                                                                                                         \
    do {                                                                                                                          \
        double g_ = (double)(got), w_ = (double)(want);                                                                           \
        if (g_ != w_)                                                                                                             \
            printf("%d: %s is %g, not %g\n", __LINE__, #got, g_, w_), bad++;                                                      \
    } while (0)

// Element (x, y, z) of everything is x + 10 y + 100 z, its second channel twice that.
enum { W = 8, H = 8, D = 6 };

__global__ void one_dimension(cudaTextureObject_t line, cudaTextureObject_t layered, cudaTextureObject_t flat, float *out)
{
    float2 two;

    out[0] = tex1Dfetch<float2>(flat, 5).x;
    tex1Dfetch(&two, flat, 3);
    out[1] = two.y;
    out[2] = tex1D<float>(line, 2.5f);
    out[3] = tex1DLod<float>(line, 3.5f, 0);
    out[4] = tex1DGrad<float>(line, 4.5f, 1, 1);
    out[5] = tex1DLayered<float>(layered, 1.5f, 2);
    out[6] = tex1DLayeredLod<float>(layered, 2.5f, 3, 0);
    out[7] = tex1DLayeredGrad<float>(layered, 3.5f, 4, 1, 1);
}

__global__ void more_dimensions(cudaTextureObject_t t2, cudaTextureObject_t t3, cudaTextureObject_t a2, cudaTextureObject_t cube,
                                cudaTextureObject_t acube, float *out)
{
    float2 d2 = {0, 0};
    float4 d4 = {0, 0, 0, 0}, four;
    bool resident = false;

    out[0] = tex2D<float>(t2, 2.5f, 3.5f);
    out[1] = tex2DLod<float>(t2, 3.5f, 3.5f, 0);
    out[2] = tex2DGrad<float>(t2, 4.5f, 3.5f, d2, d2);
    out[3] = tex3D<float>(t3, 1.5f, 2.5f, 3.5f);
    out[4] = tex3DLod<float>(t3, 2.5f, 2.5f, 3.5f, 0);
    out[5] = tex3DGrad<float>(t3, 3.5f, 2.5f, 3.5f, d4, d4);
    out[6] = tex2DLayered<float>(a2, 1.5f, 2.5f, 4);
    out[7] = tex2DLayeredLod<float>(a2, 2.5f, 2.5f, 4, 0);
    out[8] = tex2DLayeredGrad<float>(a2, 3.5f, 2.5f, 4, d2, d2);
    out[9] = texCubemap<float>(cube, 0.1f, 1, 0.1f); // face 2, the middle
    out[10] = texCubemapLod<float>(cube, 0.1f, 0.1f, -1, 0);
    out[11] = texCubemapGrad<float>(cube, -1, 0.1f, 0.1f, d4, d4);
    out[12] = texCubemapLayered<float>(acube, 0.1f, 1, 0.1f, 1);
    out[13] = texCubemapLayeredLod<float>(acube, 0.1f, 1, 0.1f, 0, 0);
    out[14] = texCubemapLayeredGrad<float>(acube, 0.1f, 0.1f, 1, 1, d4, d4);
    four = tex2Dgather<float4>(t2, 3, 3, 0); // (2,3) (3,3) (3,2) (2,2)
    out[15] = four.x * 1000 + four.z;
    out[16] = tex2D<float>(t2, 1.5f, 0.5f, &resident) + resident;
}

template <class T> __global__ void elements(cudaTextureObject_t t, cudaTextureObject_t flat, cudaTextureObject_t one, T *out)
{
    out[0] = tex2D<T>(t, 3.5f, 2.5f);
    out[1] = tex1Dfetch<T>(flat, 1);
    out[2] = tex1Dfetch<T>(one, 1); // of an array: nothing, on an H200 too
}

template <class T> struct surfaces_out {
    T one, two, three, layered1, layered2, cube, beyond, clamped;
};

template <class T>
__global__ void surfaces(cudaSurfaceObject_t s1, cudaSurfaceObject_t s2, cudaSurfaceObject_t s3, cudaSurfaceObject_t l1,
                         cudaSurfaceObject_t l2, cudaSurfaceObject_t cube, surfaces_out<T> *out, T a, T b)
{
    int x = 3 * (int)sizeof(T);

    surf1Dwrite(a, s1, x);
    surf2Dwrite(a, s2, x, 2);
    surf3Dwrite(a, s3, x, 2, 1, cudaBoundaryModeClamp);
    surf1DLayeredwrite(a, l1, x, 1);
    surf2DLayeredwrite(a, l2, x, 2, 1);
    surfCubemapwrite(b, cube, x, 2, 4);
    surf2Dwrite(b, s2, 1000 * x, 2, cudaBoundaryModeZero); // nothing
    surf2Dwrite(b, s2, 1000 * x, 2, cudaBoundaryModeClamp);
    out->one = surf1Dread<T>(s1, x);
    surf2Dread(&out->two, s2, x, 2);
    out->three = surf3Dread<T>(s3, x, 2, 1);
    out->layered1 = surf1DLayeredread<T>(l1, x, 1);
    out->layered2 = surf2DLayeredread<T>(l2, x, 2, 1);
    out->cube = surfCubemapread<T>(cube, x, 2, 4);
    out->beyond = surf2Dread<T>(s2, x, -1, cudaBoundaryModeZero);
    out->clamped = surf2Dread<T>(s2, (W + 2) * (int)sizeof(T), 2, cudaBoundaryModeClamp);
}

static cudaArray_t make(const cudaChannelFormatDesc &d, int w, int h, int depth, unsigned flags, const void *host, size_t element)
{
    cudaMemcpy3DParms p = {};
    cudaArray_t a = nullptr;

    OK(cudaMalloc3DArray(&a, &d, make_cudaExtent(w, h, depth), flags));
    p.srcPtr = make_cudaPitchedPtr((void *)host, w * element, w, h ? h : 1);
    p.dstArray = a;
    p.extent = make_cudaExtent(w, h ? h : 1, depth ? depth : 1);
    p.kind = cudaMemcpyHostToDevice;
    if (host)
        OK(cudaMemcpy3D(&p));
    return a;
}

static cudaTextureObject_t texture(cudaArray_t a)
{
    cudaResourceDesc r = {};
    cudaTextureDesc d = {};
    cudaTextureObject_t t = 0;

    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = cudaAddressModeClamp;
    OK(cudaCreateTextureObject(&t, &r, &d, nullptr));
    return t;
}

static float *results(float *device, int n)
{
    static float host[32];

    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(host, device, n * sizeof *host, cudaMemcpyDeviceToHost));
    return host;
}

static void test_fetches()
{
    static float in[2 * D * H * W];
    static float2 pairs[16];
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaResourceDesc r = {};
    cudaTextureDesc d = {};
    cudaTextureObject_t flat = 0;
    float2 *linear;
    float *out, *v;

    for (int k = 0; k < 2 * D * H * W; k++)
        in[k] = (float)(k % W + 10 * (k / W % H) + 100 * (k / W / H));
    for (int k = 0; k < 16; k++)
        pairs[k] = make_float2(k, 2 * k);
    OK(cudaMalloc(&out, 128));
    OK(cudaMalloc(&linear, sizeof pairs));
    OK(cudaMemcpy(linear, pairs, sizeof pairs, cudaMemcpyHostToDevice));
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = linear;
    r.res.linear.desc = cudaCreateChannelDesc<float2>();
    r.res.linear.sizeInBytes = sizeof pairs;
    OK(cudaCreateTextureObject(&flat, &r, &d, nullptr));
    one_dimension<<<1, 1>>>(texture(make(f, W, 0, 0, 0, in, 4)), texture(make(f, W, 0, 6, cudaArrayLayered, in, 4)), flat, out);
    v = results(out, 8);
    const float line[] = {5, 6, 2, 3, 4, 21, 32, 43}; // layers are the picture's rows
    for (int k = 0; k < 8; k++)
        EXPECT(v[k], line[k]);
    more_dimensions<<<1, 1>>>(texture(make(f, W, H, 0, cudaArrayTextureGather, in, 4)), texture(make(f, W, H, D, 0, in, 4)),
                              texture(make(f, W, H, D, cudaArrayLayered, in, 4)),
                              texture(make(f, W, H, 6, cudaArrayCubemap, in, 4)),
                              texture(make(f, W, H, 12, cudaArrayCubemap | cudaArrayLayered, in, 4)), out);
    v = results(out, 17);
    // unnormalised textures of cubes count as normalised; 0.1 is element 4 of 8, -0.1 element 3
    const float more[] = {32, 33, 34, 321, 322, 323, 421, 422, 423, 244, 533, 134, 844, 244, 1034, 32023, 2};
    for (int k = 0; k < 17; k++)
        EXPECT(v[k], more[k]);
}

static volatile bool go_on;
static void CUDART_CB hold(void *)
{
    while (!go_on)
        ;
}

template <class T, class C> static void test_elements(C x, C y)
{
    static T in[H][W];
    static const T zero = {};
    T *out, *row, host[3];
    cudaChannelFormatDesc f = cudaCreateChannelDesc<T>();
    cudaResourceDesc r = {};
    cudaTextureDesc d = {};
    cudaTextureObject_t flat = 0;

    memset(in, 0, sizeof in);
    memcpy(&in[2][3], &x, sizeof x);
    memcpy((char *)&in[2][4] - sizeof y, &y, sizeof y); // its last channel, perhaps the first one, too
    memcpy(&in[0][1], &y, sizeof y);
    OK(cudaMalloc(&out, sizeof host));
    OK(cudaMalloc(&row, sizeof in[0]));
    OK(cudaMemcpy(row, in, sizeof in[0], cudaMemcpyHostToDevice));
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = row;
    r.res.linear.desc = f;
    r.res.linear.sizeInBytes = sizeof in[0];
    OK(cudaCreateTextureObject(&flat, &r, &d, nullptr));
    cudaTextureObject_t two = texture(make(f, W, H, 0, 0, in, sizeof(T))), one = texture(make(f, W, 0, 0, 0, in, sizeof(T)));
    go_on = false; // the kernel comes after its texture is destroyed
    OK(cudaLaunchHostFunc(0, hold, nullptr));
    elements<<<1, 1>>>(two, flat, one, out);
    OK(cudaDestroyTextureObject(flat));
    go_on = true;
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(memcmp(&host[0], &in[2][3], sizeof(T)), 0);
    EXPECT(memcmp(&host[1], &in[0][1], sizeof(T)), 0);
    EXPECT(memcmp(&host[2], &zero, sizeof(T)), 0);
    OK(cudaFree(row));
    OK(cudaFree(out));
}

static cudaSurfaceObject_t surface(cudaArray_t a)
{
    cudaResourceDesc r = {};
    cudaSurfaceObject_t s = 0;

    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    OK(cudaCreateSurfaceObject(&s, &r));
    return s;
}

template <class T> static void test_surfaces(T a, T b)
{
    cudaChannelFormatDesc d = cudaCreateChannelDesc<T>();
    unsigned s = cudaArraySurfaceLoadStore, l = s | cudaArrayLayered;
    surfaces_out<T> *out, host;
    T none;

    memset(&none, 0, sizeof none);
    OK(cudaMalloc(&out, sizeof host));
    surfaces<<<1, 1>>>(surface(make(d, W, 0, 0, s, nullptr, 0)), surface(make(d, W, H, 0, s, nullptr, 0)),
                       surface(make(d, W, H, D, s, nullptr, 0)), surface(make(d, W, 0, 3, l, nullptr, 0)),
                       surface(make(d, W, H, 3, l, nullptr, 0)), surface(make(d, W, H, 6, s | cudaArrayCubemap, nullptr, 0)),
                       out, a, b);
    OK(cudaMemcpy(&host, out, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(memcmp(&host.one, &a, sizeof a), 0);
    EXPECT(memcmp(&host.two, &a, sizeof a), 0);
    EXPECT(memcmp(&host.three, &a, sizeof a), 0);
    EXPECT(memcmp(&host.layered1, &a, sizeof a), 0);
    EXPECT(memcmp(&host.layered2, &a, sizeof a), 0);
    EXPECT(memcmp(&host.cube, &b, sizeof b), 0);
    EXPECT(memcmp(&host.beyond, &none, sizeof none), 0);
    EXPECT(memcmp(&host.clamped, &b, sizeof b), 0);
    OK(cudaFree(out));
}

int main()
{
    test_fetches();
    test_elements<signed char>((signed char)-3, (signed char)-5);
    test_elements<uchar4>((unsigned char)200, (unsigned char)100);
    test_elements<short2>((short)-300, (short)7);
    test_elements<unsigned short>((unsigned short)60000, (unsigned short)60000);
    test_elements<int>(-70000, -70000);
    test_elements<uint4>(4000000000u, 3u);
    test_elements<float2>(1.5f, -2.5f);
    test_elements<float4>(1.5f, -2.5f);
    test_surfaces<unsigned char>(200, 17);
    test_surfaces<short>(-300, 17);
    test_surfaces<float>(1.5f, -2.5f);
    test_surfaces(make_uchar4(1, 2, 3, 200), make_uchar4(9, 8, 7, 6));
    test_surfaces(make_float2(1.5f, 2), make_float2(3, 4));
    test_surfaces(make_int4(-1, 2, -3, 4), make_int4(5, 6, 7, 8));
#ifndef __clang__ // nvcc
    printf("textures: %d bad\n", bad);
#else
    printf("RESULT %s\n", bad ? "FAIL" : "PASS");
#endif
    return bad != 0;
}
