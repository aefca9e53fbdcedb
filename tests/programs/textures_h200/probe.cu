/* What a texture unit answers: weights of linear filtering, sRGB, borders, normalised reads,
 * integer coordinates, levels, cubes, and what creation says. h200.txt has an H200's answers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <cstring>
#include <cstdint>
#include <vector>
#define OK(c)                                                                                      \
    do {                                                                                           \
        cudaError_t e_ = (c);                                                                      \
        if (e_ != cudaSuccess)                                                                     \
            printf("! %s: %s (line %d)\n", #c, cudaGetErrorName(e_), __LINE__);                    \
    } while (0)
__global__ void k1(cudaTextureObject_t t, const float *x, float *o, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        o[i] = tex1D<float>(t, x[i]);
}
__global__ void k2(cudaTextureObject_t t, const float2 *x, float *o, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        o[i] = tex2D<float>(t, x[i].x, x[i].y);
}
__global__ void k24(cudaTextureObject_t t, const float2 *x, float4 *o, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        o[i] = tex2D<float4>(t, x[i].x, x[i].y);
}
__global__ void kl(cudaTextureObject_t t, const float *l, float x, float *o, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        o[i] = tex1DLod<float>(t, x, l[i]);
}
__global__ void kc(cudaTextureObject_t t, const float *x, float *o, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        o[i] = texCubemap<float>(t, x[3 * i], x[3 * i + 1], x[3 * i + 2]);
}
__global__ void kg(cudaTextureObject_t t, const float *x, float *o, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v =
            tex2DGrad<float4>(t, .5f, .5f, make_float2(x[2 * i], 0), make_float2(0, x[2 * i + 1]));
        o[i] = v.x;
    }
}
__global__ void ki(cudaTextureObject_t t, float4 *o, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        float4 v;
        int x = i - 2, y = 0;
        asm volatile("tex.1d.v4.f32.s32 {%0,%1,%2,%3}, [%4, {%5}];"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                     : "l"(t), "r"(x));
        o[i] = v;
    }
}
__global__ void ki2(cudaTextureObject_t t, float4 *o, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        float4 v;
        int x = i - 2, y = 0;
        asm volatile("tex.2d.v4.f32.s32 {%0,%1,%2,%3}, [%4, {%5,%6}];"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                     : "l"(t), "r"(x), "r"(y));
        o[i] = v;
    }
}
template <class T> T *dev(const std::vector<T> &v)
{
    T *p;
    OK(cudaMalloc(&p, v.size() * sizeof(T)));
    OK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}
template <class T> std::vector<T> host(T *p, size_t n)
{
    std::vector<T> v(n);
    OK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    OK(cudaFree(p));
    return v;
}
static uint32_t bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static cudaTextureObject_t tex(cudaArray_t a, cudaTextureDesc d)
{
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    cudaTextureObject_t t = 0;
    OK(cudaCreateTextureObject(&t, &r, &d, 0));
    return t;
}
template <class T> cudaArray_t arr(const std::vector<T> &v, int w, int h, cudaChannelFormatDesc c)
{
    cudaArray_t a;
    OK(cudaMallocArray(&a, &c, w, h));
    OK(cudaMemcpy2DToArray(a, 0, 0, v.data(), w * sizeof(T), w * sizeof(T), h ? h : 1,
                           cudaMemcpyHostToDevice));
    return a;
}
static cudaTextureDesc desc(int norm, cudaTextureFilterMode f, cudaTextureAddressMode m,
                            cudaTextureReadMode r = cudaReadModeElementType)
{
    cudaTextureDesc d = {};
    d.normalizedCoords = norm;
    d.filterMode = f;
    d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = m;
    d.readMode = r;
    return d;
}
static std::vector<float> run1(cudaTextureObject_t t, const std::vector<float> &x)
{
    float *dx = dev(x), *o;
    OK(cudaMalloc(&o, x.size() * 4));
    k1<<<(x.size() + 127) / 128, 128>>>(t, dx, o, x.size());
    OK(cudaDeviceSynchronize());
    cudaFree(dx);
    return host(o, x.size());
}
int main()
{
    cudaTextureDesc d;
    std::vector<float> x, y;
    { // weights: f32 and normalised u8/u16, x in 0.5 .. 1.5 in steps of 1/2048
        std::vector<float> v = {0, 1, 0, 0};
        cudaArray_t a = arr(v, 4, 0, cudaCreateChannelDesc<float>());
        for (int i = 0; i <= 2048; i++)
            x.push_back(.5f + i / 2048.f);
        y = run1(tex(a, desc(0, cudaFilterModeLinear, cudaAddressModeClamp)), x);
        printf("weight_f32 (x = 0.5 + i/2048; in 1/256):");
        for (float f : y)
            printf(" %g", f * 256);
        printf("\n");
        for (auto &f : x)
            f /= 4;
        y = run1(tex(a, desc(1, cudaFilterModeLinear, cudaAddressModeClamp)), x);
        printf("weight_f32_normalized:");
        for (float f : y)
            printf(" %g", f * 256);
        printf("\n");
        std::vector<unsigned char> b = {0, 255, 0, 0};
        a = arr(b, 4, 0, cudaCreateChannelDesc<unsigned char>());
        for (auto &f : x)
            f *= 4;
        y = run1(tex(a, desc(0, cudaFilterModeLinear, cudaAddressModeClamp,
                             cudaReadModeNormalizedFloat)),
                 x);
        printf("weight_u8:");
        for (size_t i = 0; i < x.size(); i += 4)
            printf(" %08x", bits(y[i]));
        printf("\n");
        std::vector<unsigned short> s = {0, 65535, 0, 0};
        a = arr(s, 4, 0, cudaCreateChannelDesc<unsigned short>());
        y = run1(tex(a, desc(0, cudaFilterModeLinear, cudaAddressModeClamp,
                             cudaReadModeNormalizedFloat)),
                 x);
        printf("weight_u16:");
        for (size_t i = 0; i < x.size(); i += 4)
            printf(" %08x", bits(y[i]));
        printf("\n");
    }
    { // arithmetic of the blend: random texels in 1D and 2D, f32, u8, s8, u16, s16
        uint32_t r = 12345;
        auto rnd = [&] {
            r = r * 1664525 + 1013904223;
            return r >> 8;
        };
        for (int kind = 0; kind < 5; kind++)
            for (int dim = 1; dim <= 2; dim++) {
                std::vector<float> f(8 * 4);
                std::vector<unsigned char> b(32);
                std::vector<unsigned short> s(32);
                for (int i = 0; i < 32; i++) {
                    f[i] = (int)(rnd() % 20001 - 10000) / 100.f;
                    b[i] = rnd();
                    s[i] = rnd();
                }
                cudaArray_t a =
                    kind == 0   ? arr(f, 8, dim > 1 ? 4 : 0, cudaCreateChannelDesc<float>())
                    : kind == 1 ? arr(b, 8, dim > 1 ? 4 : 0, cudaCreateChannelDesc<unsigned char>())
                    : kind == 2 ? arr(b, 8, dim > 1 ? 4 : 0, cudaCreateChannelDesc<signed char>())
                    : kind == 3
                        ? arr(s, 8, dim > 1 ? 4 : 0, cudaCreateChannelDesc<unsigned short>())
                        : arr(s, 8, dim > 1 ? 4 : 0, cudaCreateChannelDesc<short>());
                cudaTextureObject_t t =
                    tex(a, desc(0, cudaFilterModeLinear, cudaAddressModeClamp,
                                kind ? cudaReadModeNormalizedFloat : cudaReadModeElementType));
                std::vector<float2> p(64);
                for (auto &q : p) {
                    q.x = rnd() % 8192 / 1024.f;
                    q.y = dim > 1 ? rnd() % 4096 / 1024.f : 0;
                }
                std::vector<float> o(64);
                if (dim == 1) {
                    std::vector<float> xx;
                    for (auto &q : p)
                        xx.push_back(q.x);
                    o = run1(t, xx);
                } else {
                    float2 *dp = dev(p);
                    float *po;
                    OK(cudaMalloc(&po, 256));
                    k2<<<1, 64>>>(t, dp, po, 64);
                    OK(cudaDeviceSynchronize());
                    cudaFree(dp);
                    o = host(po, 64);
                }
                printf("blend kind %d dim %d texels:", kind, dim);
                for (int i = 0; i < (dim > 1 ? 32 : 8); i++)
                    if (kind == 0)
                        printf(" %08x", bits(f[i]));
                    else if (kind < 3)
                        printf(" %02x", b[i]);
                    else
                        printf(" %04x", s[i]);
                printf(" | x y result:");
                for (int i = 0; i < 64; i++)
                    printf(" %g,%g,%08x", p[i].x, p[i].y, bits(o[i]));
                printf("\n");
            }
    }
    { // point filtering: on which side are exact borders; normalised, all modes
        std::vector<float> v = {0, 1, 2, 3, 4, 5};
        cudaArray_t a = arr(v, 6, 0, cudaCreateChannelDesc<float>());
        for (int m = 0; m < 4; m++) {
            x.clear();
            for (int i = -24; i <= 36; i++)
                x.push_back(i * .5f / 6);
            y = run1(tex(a, desc(1, cudaFilterModePoint, (cudaTextureAddressMode)m)), x);
            printf("point_normalized mode %d (x = i*0.5/6, i = -24..36):", m);
            for (float f : y)
                printf(" %g", f);
            printf("\n");
            x.clear();
            for (int i = -24; i <= 36; i++)
                x.push_back(i * .5f);
            y = run1(tex(a, desc(0, cudaFilterModePoint, (cudaTextureAddressMode)m)), x);
            printf("point mode %d (x = i*0.5, i = -24..36):", m);
            for (float f : y)
                printf(" %g", f);
            printf("\n");
            y = run1(tex(a, desc(0, cudaFilterModeLinear, (cudaTextureAddressMode)m)), x);
            printf("linear mode %d (the same):", m);
            for (float f : y)
                printf(" %g", f);
            printf("\n");
        }
        x.clear();
        for (int i = 0; i < 64; i++)
            x.push_back(2.f + (i - 32) / 16384.f);
        y = run1(tex(a, desc(0, cudaFilterModePoint, cudaAddressModeClamp)), x);
        printf("point near 2 (x = 2 + (i-32)/16384):");
        for (float f : y)
            printf(" %g", f);
        printf("\n");
        for (auto &f : x)
            f /= 6;
        y = run1(tex(a, desc(1, cudaFilterModePoint, cudaAddressModeClamp)), x);
        printf("point near 2 normalized:");
        for (float f : y)
            printf(" %g", f);
        printf("\n");
    }
    { // sRGB: all 256, point
        std::vector<uchar4> v(256);
        for (int i = 0; i < 256; i++)
            v[i] = make_uchar4(i, i, i, i);
        cudaArray_t a = arr(v, 256, 1, cudaCreateChannelDesc<uchar4>());
        d = desc(0, cudaFilterModePoint, cudaAddressModeClamp, cudaReadModeNormalizedFloat);
        d.sRGB = 1;
        std::vector<float2> p(256);
        for (int i = 0; i < 256; i++)
            p[i] = make_float2(i + .5f, .5f);
        float2 *dp = dev(p);
        float4 *po;
        OK(cudaMalloc(&po, 4096));
        k24<<<2, 128>>>(tex(a, d), dp, po, 256);
        OK(cudaDeviceSynchronize());
        std::vector<float4> o = host(po, 256);
        printf("srgb:");
        for (auto &q : o)
            printf(" %08x", bits(q.x));
        printf("\nsrgb alpha same as linear: %d\n", o[100].w == 100 / 255.f);
        std::vector<unsigned char> b1(256);
        for (int i = 0; i < 256; i++)
            b1[i] = i;
        a = arr(b1, 256, 0, cudaCreateChannelDesc<unsigned char>());
        x.clear();
        for (int i = 0; i < 256; i++)
            x.push_back(i + .5f);
        y = run1(tex(a, d), x);
        printf("srgb one channel:");
        for (int i = 0; i < 256; i += 15)
            printf(" %08x", bits(y[i]));
        printf("\n");
        d.sRGB = 0;
        y = run1(tex(a, d), x);
        printf("u8 normalized:");
        for (int i = 0; i < 256; i += 15)
            printf(" %08x", bits(y[i]));
        printf("\n");
        a = arr(b1, 256, 0, cudaCreateChannelDesc<signed char>());
        y = run1(tex(a, d), x);
        printf("s8 normalized:");
        for (int i = 0; i < 256; i += 15)
            printf(" %08x", bits(y[i]));
        for (int i = 126; i < 131; i++)
            printf(" %d:%08x", i, bits(y[i]));
        printf("\n");
    }
    { // border colours by format
        float colours[] = {0,  .25f, .5f, .75f, 1,   1.5f,  -.25f, -.5f,
                           -1, -2,   .1f, 3.7f, 300, 70000, 1e30f};
        for (int kind = 0; kind < 9; kind++) {
            std::vector<float> f(4, 9);
            std::vector<unsigned char> b(4, 9);
            std::vector<unsigned short> s(4, 9);
            std::vector<int> w(4, 9);
            cudaArray_t a =
                kind == 0                ? arr(f, 4, 0, cudaCreateChannelDesc<float>())
                : kind == 1 || kind == 5 ? arr(b, 4, 0, cudaCreateChannelDesc<unsigned char>())
                : kind == 2 || kind == 6 ? arr(b, 4, 0, cudaCreateChannelDesc<signed char>())
                : kind == 3              ? arr(s, 4, 0, cudaCreateChannelDesc<unsigned short>())
                : kind == 4              ? arr(s, 4, 0, cudaCreateChannelDesc<short>())
                : kind == 7              ? arr(w, 4, 0, cudaCreateChannelDesc<int>())
                                         : arr(s, 4, 0, cudaCreateChannelDescHalf());
            printf(
                "border kind %d (0 f32, 1 u8n, 2 s8n, 3 u16n, 4 s16n, 5 u8, 6 s8, 7 s32, 8 f16):",
                kind);
            for (float c : colours) {
                d = desc(0, cudaFilterModePoint, cudaAddressModeBorder,
                         kind >= 1 && kind <= 4 ? cudaReadModeNormalizedFloat
                                                : cudaReadModeElementType);
                for (float &q : d.borderColor)
                    q = c;
                x.assign(1, -3.f);
                y = run1(tex(a, d), x);
                printf(" %g:%08x", c, bits(y[0]));
            }
            printf("\n");
        }
    }
    { // integer coordinates
        std::vector<float4> v(6);
        for (int i = 0; i < 6; i++)
            v[i] = make_float4(i + 1, 10, 20, 30);
        for (int m = 0; m < 4; m++)
            for (int norm = 0; norm < 2; norm++)
                for (int dim = 1; dim <= 2; dim++) {
                    cudaArray_t a = arr(v, 6, dim > 1 ? 1 : 0, cudaCreateChannelDesc<float4>());
                    float4 *po;
                    OK(cudaMalloc(&po, 64 * 16));
                    if (dim == 1)
                        ki<<<1, 12>>>(
                            tex(a, desc(norm, cudaFilterModePoint, (cudaTextureAddressMode)m)), po,
                            12);
                    else
                        ki2<<<1, 12>>>(
                            tex(a, desc(norm, cudaFilterModePoint, (cudaTextureAddressMode)m)), po,
                            12);
                    OK(cudaDeviceSynchronize());
                    auto o = host(po, 12);
                    printf("integer coordinates dim %d mode %d normalized %d (x = -2..9):", dim, m,
                           norm);
                    for (auto &q : o)
                        printf(" %g", q.x);
                    printf("\n");
                }
    }
    { // levels: weights of mipmap linear; rounding of point
        cudaMipmappedArray_t m;
        cudaChannelFormatDesc c = cudaCreateChannelDesc<float>();
        cudaExtent e = {8, 0, 0};
        OK(cudaMallocMipmappedArray(&m, &c, e, 4));
        for (int l = 0; l < 4; l++) {
            cudaArray_t a;
            OK(cudaGetMipmappedArrayLevel(&a, m, l));
            std::vector<float> v(8 >> l, (float)l);
            OK(cudaMemcpy2DToArray(a, 0, 0, v.data(), v.size() * 4, v.size() * 4, 1,
                                   cudaMemcpyHostToDevice));
        }
        for (int f = 0; f < 2; f++)
            for (float bias : {0.f, .3f}) {
                d = desc(1, cudaFilterModePoint, cudaAddressModeClamp);
                d.mipmapFilterMode = (cudaTextureFilterMode)f;
                d.maxMipmapLevelClamp = 3;
                d.mipmapLevelBias = bias;
                cudaResourceDesc r = {};
                r.resType = cudaResourceTypeMipmappedArray;
                r.res.mipmap.mipmap = m;
                cudaTextureObject_t t;
                OK(cudaCreateTextureObject(&t, &r, &d, 0));
                x.clear();
                for (int i = -64; i <= 4 * 256; i += f ? 3 : 16)
                    x.push_back(i / 256.f + (f ? 1 / 1024.f : 0));
                float *dx = dev(x), *o;
                OK(cudaMalloc(&o, x.size() * 4));
                kl<<<(x.size() + 127) / 128, 128>>>(t, dx, .4f, o, x.size());
                OK(cudaDeviceSynchronize());
                y = host(o, x.size());
                printf("level filter %d bias %g (lod:result*256):", f, bias);
                for (size_t i = 0; i < x.size(); i++)
                    printf(" %g:%g", x[i] * 256, y[i] * 256);
                printf("\n");
            }
    }
    { // gradients
        cudaMipmappedArray_t m;
        cudaChannelFormatDesc c = cudaCreateChannelDesc<float4>();
        cudaExtent e = {16, 16, 0};
        OK(cudaMallocMipmappedArray(&m, &c, e, 5));
        for (int l = 0; l < 5; l++) {
            cudaArray_t a;
            OK(cudaGetMipmappedArrayLevel(&a, m, l));
            int n = 16 >> l;
            std::vector<float4> v(n * n, make_float4(l, 0, 0, 0));
            OK(cudaMemcpy2DToArray(a, 0, 0, v.data(), n * 16, n * 16, n, cudaMemcpyHostToDevice));
        }
        d = desc(1, cudaFilterModePoint, cudaAddressModeClamp);
        d.mipmapFilterMode = cudaFilterModeLinear;
        d.maxMipmapLevelClamp = 4;
        cudaResourceDesc r = {};
        r.resType = cudaResourceTypeMipmappedArray;
        r.res.mipmap.mipmap = m;
        cudaTextureObject_t t;
        OK(cudaCreateTextureObject(&t, &r, &d, 0));
        x.clear();
        for (int i = 0; i < 40; i++) {
            x.push_back(exp2f(i / 8.f - .5f) / 16);
            x.push_back(i % 3 ? 0.01f : exp2f(i / 8.f - 1) / 16);
        }
        float *dx = dev(x), *o;
        OK(cudaMalloc(&o, 160));
        kg<<<1, 40>>>(t, dx, o, 40);
        OK(cudaDeviceSynchronize());
        y = host(o, 40);
        printf("grad (step x, step y in elements: level*256):");
        for (int i = 0; i < 40; i++)
            printf(" %g,%g:%g", x[2 * i] * 16, x[2 * i + 1] * 16, y[i] * 256);
        printf("\n");
    }
    { // cubes: point and linear, seamless or not
        cudaChannelFormatDesc c = cudaCreateChannelDesc<float>();
        cudaArray_t a;
        OK(cudaMalloc3DArray(&a, &c, make_cudaExtent(4, 4, 6), cudaArrayCubemap));
        std::vector<float> v(96);
        for (int i = 0; i < 96; i++)
            v[i] = i;
        cudaMemcpy3DParms p = {};
        p.srcPtr = make_cudaPitchedPtr(v.data(), 16, 4, 4);
        p.dstArray = a;
        p.extent = make_cudaExtent(4, 4, 6);
        p.kind = cudaMemcpyHostToDevice;
        OK(cudaMemcpy3D(&p));
        uint32_t r = 777;
        auto rnd = [&] {
            r = r * 1664525 + 1013904223;
            return (int)(r >> 8);
        };
        x.clear();
        for (int i = 0; i < 3 * 96; i++)
            x.push_back((rnd() % 2049 - 1024) / 1024.f);
        for (int f = 0; f < 2; f++)
            for (int s = 0; s < 2; s++)
                for (int m = 0; m < 2; m++) {
                    d = desc(1, (cudaTextureFilterMode)f, (cudaTextureAddressMode)m);
                    d.seamlessCubemap = s;
                    float *dx = dev(x), *o;
                    OK(cudaMalloc(&o, 96 * 4));
                    kc<<<1, 96>>>(tex(a, d), dx, o, 96);
                    OK(cudaDeviceSynchronize());
                    y = host(o, 96);
                    printf("cube filter %d seamless %d mode %d (x,y,z:result):", f, s, m);
                    for (int i = 0; i < 96; i++)
                        printf(" %g,%g,%g:%g", x[3 * i], x[3 * i + 1], x[3 * i + 2], y[i]);
                    printf("\n");
                }
    }
    { // what creation says
        cudaChannelFormatDesc c = cudaCreateChannelDesc<float>();
        cudaArray_t a;
        struct {
            const char *n;
            cudaExtent e;
            unsigned f;
        } t[] = {{"1d gather", {4, 0, 0}, cudaArrayTextureGather},
                 {"2d gather", {4, 4, 0}, cudaArrayTextureGather},
                 {"a2d gather", {4, 4, 2}, cudaArrayTextureGather | cudaArrayLayered},
                 {"cube gather", {4, 4, 6}, cudaArrayTextureGather | cudaArrayCubemap},
                 {"3d gather", {4, 4, 4}, cudaArrayTextureGather},
                 {"a1d", {4, 0, 3}, cudaArrayLayered},
                 {"acube", {4, 4, 12}, cudaArrayLayered | cudaArrayCubemap},
                 {"cube 5", {4, 4, 5}, cudaArrayCubemap},
                 {"cube 4x5", {4, 5, 6}, cudaArrayCubemap},
                 {"surface 3d", {4, 4, 4}, cudaArraySurfaceLoadStore}};
        for (auto &q : t) {
            a = 0;
            cudaError_t e = cudaMalloc3DArray(&a, &c, q.e, q.f);
            printf("create %s: %s\n", q.n, cudaGetErrorName(e));
            cudaGetLastError();
            if (a)
                for (int s = 0; s < 2; s++) {
                    d = desc(1, cudaFilterModePoint, cudaAddressModeClamp);
                    d.seamlessCubemap = s;
                    cudaResourceDesc r = {};
                    r.resType = cudaResourceTypeArray;
                    r.res.array.array = a;
                    cudaTextureObject_t o;
                    printf("  texture seamless %d: %s\n", s,
                           cudaGetErrorName(cudaCreateTextureObject(&o, &r, &d, 0)));
                    cudaGetLastError();
                }
        }
        OK(cudaMallocArray(&a, &c, 4, 4));
        cudaResourceDesc r = {};
        r.resType = cudaResourceTypeArray;
        r.res.array.array = a;
        for (int m = 0; m < 4; m++) {
            d = desc(0, cudaFilterModePoint, (cudaTextureAddressMode)m);
            cudaTextureObject_t o;
            cudaTextureDesc g;
            printf("unnormalized mode %d: %s", m,
                   cudaGetErrorName(cudaCreateTextureObject(&o, &r, &d, 0)));
            cudaGetLastError();
            OK(cudaGetTextureObjectTextureDesc(&g, o));
            printf(" told %d\n", g.addressMode[0]);
        }
        cudaResourceViewDesc v = {};
        cudaTextureObject_t o;
        c = cudaCreateChannelDesc<uchar4>();
        OK(cudaMalloc3DArray(&a, &c, make_cudaExtent(5, 3, 4), cudaArrayLayered));
        r.res.array.array = a;
        d = desc(0, cudaFilterModePoint, cudaAddressModeClamp);
        for (int fm :
             {cudaResViewFormatUnsignedChar4, cudaResViewFormatSignedShort2,
              cudaResViewFormatUnsignedInt1, cudaResViewFormatSignedChar4, cudaResViewFormatFloat1,
              cudaResViewFormatFloat4, cudaResViewFormatUnsignedChar1})
            for (int wd = 5; wd < 7; wd++)
                for (int l = 0; l < 2; l++) {
                    v.format = (cudaResourceViewFormat)fm;
                    v.width = wd;
                    v.height = 3;
                    v.firstLayer = l;
                    v.lastLayer = l ? 2 : 3;
                    v.depth = 0;
                    printf("view format %#x width %d layers %d..%d: %s\n", fm, wd, l, l ? 2 : 3,
                           cudaGetErrorName(cudaCreateTextureObject(&o, &r, &d, &v)));
                    cudaGetLastError();
                }
        c = cudaCreateChannelDesc<int>();
        OK(cudaMallocArray(&a, &c, 4, 4));
        r.res.array.array = a;
        d = desc(0, cudaFilterModeLinear, cudaAddressModeClamp);
        printf("linear filter of int: %s\n",
               cudaGetErrorName(cudaCreateTextureObject(&o, &r, &d, 0)));
        cudaGetLastError();
        d = desc(0, cudaFilterModePoint, cudaAddressModeClamp, cudaReadModeNormalizedFloat);
        printf("normalized read of int: %s\n",
               cudaGetErrorName(cudaCreateTextureObject(&o, &r, &d, 0)));
        cudaGetLastError();
        d = desc(0, cudaFilterModePoint, cudaAddressModeClamp);
        d.sRGB = 1;
        printf("srgb of int: %s\n", cudaGetErrorName(cudaCreateTextureObject(&o, &r, &d, 0)));
        cudaGetLastError();
        char *mem;
        OK(cudaMalloc(&mem, 4096));
        r = {};
        r.resType = cudaResourceTypeLinear;
        r.res.linear.devPtr = mem + 4;
        r.res.linear.sizeInBytes = 64;
        r.res.linear.desc = c;
        d = desc(0, cudaFilterModePoint, cudaAddressModeClamp);
        printf("linear +4: %s\n", cudaGetErrorName(cudaCreateTextureObject(&o, &r, &d, 0)));
        r.res.linear.devPtr = mem;
        r.res.linear.sizeInBytes = 1 << 30;
        printf("linear too large: %s\n", cudaGetErrorName(cudaCreateTextureObject(&o, &r, &d, 0)));
        cudaGetLastError();
    }
}
