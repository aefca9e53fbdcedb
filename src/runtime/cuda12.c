/* The functions that libcudart.so.12 has otherwise than libcudart.so.13: over those of 13.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "runtime/batch.h"

#define RUNTIME_VERSION_12 12090

enum weir_err weir_rt_12_RuntimeGetVersion(int *runtimeVersion)
{
    RT_REQUIRE(runtimeVersion);
    *runtimeVersion = RUNTIME_VERSION_12;
    return WEIR_OK;
}

/* ---- devices ---- */

enum weir_err weir_rt_12_GetDeviceProperties_v2(struct weir_rt_12_device_prop *prop, int device)
{
    struct cudaDeviceProp p;

    RT_TRY(weir_core_enter());
    RT_REQUIRE(prop);
    RT_TRY(weir_rt_GetDeviceProperties(&p, device));
    memset(prop, 0, sizeof *prop);
#define WEIR_PROP12(type, member)              prop->member = p.member;
#define WEIR_PROP12_ARRAY(type, member, count) memcpy(prop->member, p.member, sizeof prop->member);
#define WEIR_PROP12_OLD(member, id)                                                                \
    weir_context_attribute(&weir_core.contexts[device], (id), &prop->member);
#include "properties12.def"
#undef WEIR_PROP12
#undef WEIR_PROP12_ARRAY
#undef WEIR_PROP12_OLD
    return WEIR_OK;
}

enum weir_err weir_rt_12_ChooseDevice(int *device, const struct weir_rt_12_device_prop *prop)
{
    static const struct cudaDeviceProp any;

    RT_REQUIRE(prop);
    return weir_rt_ChooseDevice(device, &any); /* it looks at no member */
}

/* ---- memory ---- */

enum weir_err weir_rt_12_PointerGetAttributes(struct weir_rt_12_pointer_attributes *attributes,
                                              const void *ptr)
{
    struct cudaPointerAttributes a;

    RT_REQUIRE(attributes);
    RT_TRY(weir_rt_PointerGetAttributes(&a, ptr));
    *attributes =
        (struct weir_rt_12_pointer_attributes){a.type, a.device, a.devicePointer, a.hostPointer};
    return WEIR_OK;
}

/* A device's number, or cudaCpuDeviceId. */
static struct cudaMemLocation location_of(int device)
{
    return device == cudaCpuDeviceId
               ? (struct cudaMemLocation){.type = cudaMemLocationTypeHost}
               : (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = device};
}

enum weir_err weir_rt_12_MemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                                   int device)
{
    return weir_rt_MemAdvise(devPtr, count, advice, location_of(device));
}

enum weir_err weir_rt_12_MemPrefetchAsync(const void *devPtr, size_t count, int dstDevice,
                                          cudaStream_t stream)
{
    return weir_rt_MemPrefetchAsync(devPtr, count, location_of(dstDevice), 0, stream);
}

enum weir_err weir_rt_12_MemcpyBatchAsync(void **dsts, void **srcs, size_t *sizes, size_t count,
                                          struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                                          size_t numAttrs, size_t *failIdx, cudaStream_t stream)
{
    size_t at;
    enum weir_err err = weir_rt_batch_copy(dsts, (const void *const *)srcs, sizes, count, attrs,
                                           attrsIdxs, numAttrs, stream, &at);

    if (err != WEIR_OK && failIdx)
        *failIdx = at;
    return err;
}

enum weir_err weir_rt_12_Memcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
                                            size_t *failIdx, unsigned long long flags,
                                            cudaStream_t stream)
{
    size_t at;
    enum weir_err err = weir_rt_batch_boxes(numOps, opList, flags, stream, &at);

    if (err != WEIR_OK && failIdx)
        *failIdx = at;
    return err;
}

/* ---- capture ---- */

enum weir_err weir_rt_12_StreamGetCaptureInfo(cudaStream_t stream,
                                              enum cudaStreamCaptureStatus *captureStatus_out,
                                              unsigned long long *id_out)
{
    return weir_rt_StreamGetCaptureInfo(stream, captureStatus_out, id_out, NULL, NULL, NULL, NULL);
}

enum weir_err weir_rt_12_StreamGetCaptureInfo_v2(cudaStream_t stream,
                                                 enum cudaStreamCaptureStatus *captureStatus_out,
                                                 unsigned long long *id_out, cudaGraph_t *graph_out,
                                                 const cudaGraphNode_t **dependencies_out,
                                                 size_t *numDependencies_out)
{
    return weir_rt_StreamGetCaptureInfo(stream, captureStatus_out, id_out, graph_out,
                                        dependencies_out, NULL, numDependencies_out);
}

enum weir_err weir_rt_12_StreamUpdateCaptureDependencies(cudaStream_t stream,
                                                         cudaGraphNode_t *dependencies,
                                                         size_t numDependencies, unsigned int flags)
{
    return weir_rt_StreamUpdateCaptureDependencies(stream, dependencies, NULL, numDependencies,
                                                   flags);
}

/* ---- graphs: edges without data; a query of an edge that has some is lossy ---- */

enum weir_err weir_rt_12_GraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                              const cudaGraphNode_t *to, size_t numDependencies)
{
    return weir_rt_GraphAddDependencies(graph, from, to, NULL, numDependencies);
}

enum weir_err weir_rt_12_GraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                 const cudaGraphNode_t *to, size_t numDependencies)
{
    return weir_rt_GraphRemoveDependencies(graph, from, to, NULL, numDependencies);
}

enum weir_err weir_rt_12_GraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                      const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                      struct cudaGraphNodeParams *nodeParams)
{
    return weir_rt_GraphAddNode(pGraphNode, graph, pDependencies, NULL, numDependencies,
                                nodeParams);
}

enum weir_err weir_rt_12_GraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from,
                                       cudaGraphNode_t *to, size_t *numEdges)
{
    return weir_rt_GraphGetEdges(graph, from, to, NULL, numEdges);
}

enum weir_err weir_rt_12_GraphNodeGetDependencies(cudaGraphNode_t node,
                                                  cudaGraphNode_t *pDependencies,
                                                  size_t *pNumDependencies)
{
    return weir_rt_GraphNodeGetDependencies(node, pDependencies, NULL, pNumDependencies);
}

enum weir_err weir_rt_12_GraphNodeGetDependentNodes(cudaGraphNode_t node,
                                                    cudaGraphNode_t *pDependentNodes,
                                                    size_t *pNumDependentNodes)
{
    return weir_rt_GraphNodeGetDependentNodes(node, pDependentNodes, NULL, pNumDependentNodes);
}

/* ---- doubles ---- */

/* Devices without double precision are long gone: the value stays. */
enum weir_err weir_rt_12_SetDoubleForDevice(double *d)
{
    RT_REQUIRE(d);
    return WEIR_OK;
}

enum weir_err weir_rt_12_SetDoubleForHost(double *d)
{
    RT_REQUIRE(d);
    return WEIR_OK;
}

/* ---- textures ---- */

/* Of both versions the beginnings are alike. */
static struct cudaResourceDesc resource_of_12(const struct weir_rt_12_resource_desc *d)
{
    struct cudaResourceDesc r = {.resType = d->resType};

    memcpy(&r.res, &d->res, sizeof d->res);
    return r;
}

static void resource_to_12(const struct cudaResourceDesc *r, struct weir_rt_12_resource_desc *d)
{
    d->resType = r->resType;
    memcpy(&d->res, &r->res, sizeof d->res);
}

enum weir_err
weir_rt_12_CreateTextureObject(cudaTextureObject_t *pTexObject,
                               const struct weir_rt_12_resource_desc *pResDesc,
                               const struct cudaTextureDesc *pTexDesc,
                               const struct weir_rt_12_resource_view_desc *pResViewDesc)
{
    struct cudaResourceViewDesc view = {.format = cudaResViewFormatNone};
    struct cudaResourceDesc r;

    RT_REQUIRE(pResDesc);
    r = resource_of_12(pResDesc);
    if (pResViewDesc)
        memcpy(&view, pResViewDesc, sizeof *pResViewDesc);
    return weir_rt_CreateTextureObject(pTexObject, &r, pTexDesc, pResViewDesc ? &view : NULL);
}

enum weir_err weir_rt_12_GetTextureObjectResourceDesc(struct weir_rt_12_resource_desc *pResDesc,
                                                      cudaTextureObject_t texObject)
{
    struct cudaResourceDesc r;

    RT_REQUIRE(pResDesc);
    RT_TRY(weir_rt_GetTextureObjectResourceDesc(&r, texObject));
    resource_to_12(&r, pResDesc);
    return WEIR_OK;
}

enum weir_err
weir_rt_12_GetTextureObjectResourceViewDesc(struct weir_rt_12_resource_view_desc *pResViewDesc,
                                            cudaTextureObject_t texObject)
{
    struct cudaResourceViewDesc view;

    RT_REQUIRE(pResViewDesc);
    RT_TRY(weir_rt_GetTextureObjectResourceViewDesc(&view, texObject));
    memcpy(pResViewDesc, &view, sizeof *pResViewDesc);
    return WEIR_OK;
}

enum weir_err weir_rt_12_CreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
                                             const struct weir_rt_12_resource_desc *pResDesc)
{
    struct cudaResourceDesc r;

    RT_REQUIRE(pResDesc);
    r = resource_of_12(pResDesc);
    return weir_rt_CreateSurfaceObject(pSurfObject, &r);
}

enum weir_err weir_rt_12_GetSurfaceObjectResourceDesc(struct weir_rt_12_resource_desc *pResDesc,
                                                      cudaSurfaceObject_t surfObject)
{
    struct cudaResourceDesc r;

    RT_REQUIRE(pResDesc);
    RT_TRY(weir_rt_GetSurfaceObjectResourceDesc(&r, surfObject));
    resource_to_12(&r, pResDesc);
    return WEIR_OK;
}
