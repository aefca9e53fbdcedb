/* CUDA arrays: what they say about themselves, copies of rows, boxes and bytes, what leaves them;
 * texture and surface objects as descriptions. Oracle memcpy_2d3d, blocks_vs_*.cudaFreeArray.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

static cudaError_t free_array(void *arg)
{
    return cudaFreeArray(arg);
}

static void test_life(cudaStream_t s)
{
    struct cudaChannelFormatDesc d = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat),
                                 bad = cudaCreateChannelDesc(32, 32, 32, 0,
                                                             cudaChannelFormatKindFloat),
                                 got;
    struct cudaExtent e = {0, 0, 0};
    unsigned flags = 99;
    struct hold h;
    cudaArray_t a;

    EXPECT(cudaMallocArray(&a, &d, 0, 0, 0), cudaErrorInvalidValue);
    EXPECT(cudaMallocArray(&a, &d, 1 << 20, 1 << 20, 0), cudaErrorInvalidValue);
    EXPECT(cudaMallocArray(&a, &bad, 8, 8, 0), cudaErrorInvalidChannelDescriptor);
    OK(cudaMallocArray(&a, &d, 64, 32, cudaArraySurfaceLoadStore));
    OK(cudaArrayGetInfo(&got, &e, &flags, a));
    CHECK(got.x == 32 && got.f == cudaChannelFormatKindFloat && e.width == 64 && e.height == 32 &&
          e.depth == 0 && flags == cudaArraySurfaceLoadStore);
    hold_stream(&h, s);
    CHECK(blocks_until_released(&h, free_array, a, 50));
    EXPECT(cudaFreeArray(a), cudaErrorInvalidResourceHandle);
    OK(cudaFreeArray(NULL));
}

static void test_copies(cudaStream_t s)
{
    struct cudaChannelFormatDesc d =
        cudaCreateChannelDesc(8, 8, 0, 0, cudaChannelFormatKindUnsigned);
    unsigned char in[3 * 5 * 8], out[3 * 5 * 8], *device;
    cudaArray_t a, b;

    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)(i + 1);
    OK(cudaMallocArray(&a, &d, 4, 5, 0)); /* rows of 8 bytes */
    OK(cudaMallocArray(&b, &d, 4, 5, 0));
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaMemcpy2DToArray(a, 0, 0, in, 8, 8, 5, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(b, 0, 1, a, 2, 0, 6, 4, cudaMemcpyDeviceToDevice));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy2DFromArrayAsync(out, 6, b, 0, 1, 6, 4, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    CHECK(out[0] == in[2] && out[6] == in[10] && out[23] == in[31]);
    EXPECT(cudaMemcpy2DToArray(a, 4, 0, in, 8, 8, 5, cudaMemcpyHostToDevice),
           cudaErrorInvalidValue);
    EXPECT(cudaMemcpy2DToArray(a, 0, 1, in, 8, 8, 5, cudaMemcpyHostToDevice),
           cudaErrorInvalidValue);
    /* bytes in a row go on in the next one */
    OK(cudaMemcpyToArray(b, 5, 0, in, 20, cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromArray(out, b, 5, 0, 20, cudaMemcpyDeviceToHost));
    CHECK(memcmp(in, out, 20) == 0);
    OK(cudaMemcpyFromArray(out, b, 0, 1, 8, cudaMemcpyDeviceToHost));
    CHECK(out[0] == in[3]);
    EXPECT(cudaMemcpyToArray(b, 5, 0, in, 36, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT(cudaMemcpyToArray((cudaArray_t)(void *)in, 0, 0, in, 1, cudaMemcpyHostToDevice),
           cudaErrorInvalidResourceHandle);
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
    OK(cudaFree(device));
}

static void test_boxes(void)
{
    struct cudaChannelFormatDesc d =
        cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindSigned);
    struct cudaMemcpy3DParms p = {0};
    short in[2][3][4], out[2][3][4];
    cudaArray_t a;

    for (int i = 0; i < 24; i++)
        (&in[0][0][0])[i] = (short)(100 + i);
    memset(out, 0, sizeof out);
    OK(cudaMalloc3DArray(&a, &d, (struct cudaExtent){4, 3, 2}, 0));
    p.srcPtr = (struct cudaPitchedPtr){in, 8, 8, 3};
    p.dstArray = a;
    p.extent = (struct cudaExtent){4, 3, 2}; /* elements */
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    memset(&p, 0, sizeof p);
    p.srcArray = a;
    p.srcPos = (struct cudaPos){1, 1, 1};
    p.dstPtr = (struct cudaPitchedPtr){out, 8, 8, 3};
    p.extent = (struct cudaExtent){2, 2, 1};
    p.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&p));
    CHECK(out[0][0][0] == in[1][1][1] && out[0][1][1] == in[1][2][2] && out[0][0][2] == 0);
    p.extent.width = 4;
    EXPECT(cudaMemcpy3D(&p), cudaErrorInvalidValue);
    OK(cudaFreeArray(a));
}

static void test_objects(void)
{
    struct cudaChannelFormatDesc d = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    struct cudaResourceDesc r = {.resType = cudaResourceTypeLinear}, got;
    struct cudaTextureDesc t = {.normalizedCoords = 1}, told;
    struct cudaResourceViewDesc view;
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    cudaArray_t a;
    void *p;

    OK(cudaMalloc(&p, 256));
    r.res.linear.devPtr = p;
    r.res.linear.desc = d;
    r.res.linear.sizeInBytes = 512; /* more than there is: accepted (textures_h200) */
    OK(cudaCreateTextureObject(&texture, &r, &t, NULL));
    OK(cudaDestroyTextureObject(texture));
    r.res.linear.sizeInBytes = 256;
    OK(cudaCreateTextureObject(&texture, &r, &t, NULL));
    OK(cudaGetTextureObjectResourceDesc(&got, texture));
    OK(cudaGetTextureObjectTextureDesc(&told, texture));
    CHECK(got.res.linear.devPtr == p && told.normalizedCoords == 1);
    EXPECT(cudaGetTextureObjectResourceViewDesc(&view, texture), cudaErrorInvalidValue);
    EXPECT(cudaCreateSurfaceObject(&surface, &r), cudaErrorInvalidValue);
    OK(cudaMallocArray(&a, &d, 8, 8, cudaArraySurfaceLoadStore));
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    OK(cudaCreateSurfaceObject(&surface, &r));
    EXPECT(cudaDestroyTextureObject(surface), cudaErrorInvalidValue);
    OK(cudaGetSurfaceObjectResourceDesc(&got, surface));
    CHECK(got.res.array.array == a);
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaDestroyTextureObject(texture));
    EXPECT(cudaDestroyTextureObject(texture), cudaErrorInvalidValue);
    OK(cudaFreeArray(a));
    OK(cudaFree(p));
}

/* A node that copies between arrays and memory gives back what it was given, arrays as such. */
static void test_nodes(cudaStream_t s)
{
    struct cudaChannelFormatDesc d =
        cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindSigned);
    struct cudaMemcpy3DParms to = {.kind = cudaMemcpyHostToDevice}, from = {0}, got;
    short in[4 * 3], out[4 * 3] = {0};
    cudaGraphNode_t node, second;
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    cudaArray_t a;

    for (size_t i = 0; i < 12; i++)
        in[i] = (short)(i + 1);
    OK(cudaMalloc3DArray(&a, &d, (struct cudaExtent){8, 5, 2}, 0));
    to.srcPtr = (struct cudaPitchedPtr){in, 8, 4, 3};
    to.dstArray = a;
    to.dstPos = (struct cudaPos){2, 1, 1};
    to.extent = (struct cudaExtent){4, 3, 1};
    from.srcArray = a;
    from.srcPos = to.dstPos;
    from.dstPtr = (struct cudaPitchedPtr){out, 8, 4, 3};
    from.extent = to.extent;
    from.kind = cudaMemcpyDeviceToHost;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &to));
    OK(cudaGraphAddMemcpyNode(&second, graph, &node, 1, &from));
    OK(cudaGraphMemcpyNodeGetParams(node, &got));
    CHECK(got.dstArray == a && got.dstPos.x == 2 && got.dstPos.y == 1 && got.dstPos.z == 1 &&
          got.dstPtr.ptr == NULL && got.srcArray == NULL && got.srcPtr.ptr == in &&
          got.srcPtr.pitch == 8 && got.extent.width == 4 && got.extent.height == 3 &&
          got.extent.depth == 1);
    OK(cudaGraphMemcpyNodeSetParams(node, &got));
    OK(cudaGraphMemcpyNodeGetParams(second, &got));
    CHECK(got.srcArray == a && got.srcPos.x == 2 && got.dstArray == NULL && got.dstPtr.ptr == out);
    OK(cudaGraphMemcpyNodeSetParams(second, &got));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    CHECK(memcmp(in, out, sizeof in) == 0);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFreeArray(a));
}

int main(void)
{
    cudaStream_t s;

    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    test_life(s);
    test_copies(s);
    test_boxes();
    test_objects();
    test_nodes(s);
    return CONFORM_END();
}
