/* Pictures of graphs: each flag of cudaGraphDebugDotPrint adds what it is named after, and nothing
 * else does. The file is a digraph with a line for each node and edge, children as clusters.
 * Rules: GRA-004.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "kernels.h"

static char text[65536], path[] = "/tmp/weir-dot-XXXXXX";

static const char *print(cudaGraph_t g, unsigned flags)
{
    FILE *f;
    size_t n = 0;

    OK(cudaGraphDebugDotPrint(g, path, flags));
    f = fopen(path, "r");
    CHECK(f);
    if (f) {
        n = fread(text, 1, sizeof text - 1, f);
        fclose(f);
    }
    text[n] = '\0';
    return text;
}

static int count_of(const char *what)
{
    int n = 0;

    for (const char *p = text; (p = strstr(p, what)) != NULL; p += strlen(what))
        n++;
    return n;
}

static void nothing(void *p)
{
    (void)p;
}

/* One node of each kind, in a chain; a kernel behind a kernel with a programmatic edge. */
static cudaGraph_t build(cudaKernel_t kernel, void *device, cudaEvent_t e)
{
    struct cudaKernelNodeParams k = {
        .func = (void *)kernel, .gridDim = {3, 1, 1}, .blockDim = {32, 1, 1}};
    struct cudaMemsetParams fill = {
        .dst = device, .value = 7, .elementSize = 4, .width = 2, .height = 1};
    struct cudaHostNodeParams host = {nothing, NULL};
    struct cudaGraphNodeParams c = {.type = cudaGraphNodeTypeConditional},
                               again = {.type = cudaGraphNodeTypeKernel};
    cudaGraphEdgeData early = {.from_port = cudaGraphKernelNodePortProgrammatic,
                               .type = cudaGraphDependencyTypeProgrammatic};
    cudaGraph_t g, child;
    cudaGraphNode_t n, in;

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphCreate(&child, 0));
    OK(cudaGraphAddEmptyNode(&in, child, NULL, 0));
    OK(cudaGraphAddKernelNode(&n, g, NULL, 0, &k));
    again.kernel.func = (void *)kernel;
    again.kernel.gridDim = (dim3){1, 1, 1};
    again.kernel.blockDim = (dim3){1, 1, 1};
    OK(cudaGraphAddNode(&n, g, &n, &early, 1, &again));
    OK(cudaGraphAddMemcpyNode1D(&n, g, &n, 1, (char *)device + 64, device, 8,
                                cudaMemcpyDeviceToDevice));
    OK(cudaGraphAddMemsetNode(&n, g, &n, 1, &fill));
    OK(cudaGraphAddHostNode(&n, g, &n, 1, &host));
    OK(cudaGraphAddEventRecordNode(&n, g, &n, 1, e));
    OK(cudaGraphAddChildGraphNode(&n, g, &n, 1, child));
    OK(cudaGraphConditionalHandleCreate(&c.conditional.handle, g, 0, cudaGraphCondAssignDefault));
    c.conditional.type = cudaGraphCondTypeWhile;
    c.conditional.size = 1;
    OK(cudaGraphAddNode(&n, g, &n, NULL, 1, &c));
    OK(cudaGraphDestroy(child));
    return g;
}

int main(void)
{
    static const struct {
        unsigned flag;
        const char *text;
        int times;
    } flags[] = {
        {cudaGraphDebugDotFlagsKernelNodeParams, "grid 3x1x1, block 32x1x1", 1},
        {cudaGraphDebugDotFlagsMemcpyNodeParams, "device to device, 8 x 1 x 1 bytes", 1},
        {cudaGraphDebugDotFlagsMemsetNodeParams, "0x7, 8 x 1 bytes, elements of 4", 1},
        {cudaGraphDebugDotFlagsHostNodeParams, "userData", 1},
        {cudaGraphDebugDotFlagsEventNodeParams, "event 0x", 1},
        {cudaGraphDebugDotFlagsKernelNodeAttributes, "priority 0, cooperative 0", 2},
        {cudaGraphDebugDotFlagsHandles, "handle 0x", 9},
        {cudaGraphDebugDotFlagsConditionalNodeParams, "while, handle", 1},
        {1u << 1, "cudaGraphNodeTypeKernel", 2}, /* the driver's RUNTIME_TYPES */
        {1u << 14, "type 1, port 1", 1},         /* the driver's EXTRA_TOPO_INFO */
    };
    cudaLibrary_t lib;
    cudaKernel_t empty;
    void *device;
    cudaEvent_t e;
    cudaGraph_t g;
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    close(fd);
    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&empty, lib, "empty"));
    OK(cudaMalloc(&device, 4096));
    OK(cudaEventCreate(&e));
    g = build(empty, device, e);
    print(g, 0);
    CHECK(strncmp(text, "digraph ", 8) == 0 && text[strlen(text) - 2] == '}');
    CHECK(count_of("shape=box") == 9 && count_of(" -> ") == 7 + 1); /* and one to the child's */
    CHECK(count_of("subgraph cluster_") == 2 && count_of("style=dashed") == 1);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) {
            print(g, flags[k].flag);
            if (flags[i].flag != cudaGraphDebugDotFlagsHandles ||
                flags[k].flag != cudaGraphDebugDotFlagsConditionalNodeParams)
                CHECK(count_of(flags[i].text) == (i == k ? flags[i].times : 0));
        }
        print(g, cudaGraphDebugDotFlagsVerbose);
        CHECK(count_of(flags[i].text) >= flags[i].times);
    }
    EXPECT(cudaGraphDebugDotPrint(g, "/nowhere/at/all", 0), cudaErrorOperatingSystem);
    OK(cudaGraphDestroy(g));
    EXPECT(cudaGraphDebugDotPrint(g, path, 0), cudaErrorInvalidValue);
    unlink(path);
    return CONFORM_END();
}
