// Clusters of blocks: shared memory of other blocks, the cluster's barrier, places, launches and their errors.
// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#include <utility>

namespace cg = cooperative_groups;

static void must(cudaError_t e)
{
    if (e != cudaSuccess) {
        printf("error %s\n", cudaGetErrorName(e));
        exit(1);
    }
}

template <class T> struct buffer {
    T *p;
    explicit buffer(int n) { must(cudaMallocManaged(&p, n * sizeof(T))); for (int i = 0; i < n; i++) p[i] = T(); }
    ~buffer() { cudaFree(p); }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define CLUSTERS      1
#define OF_FOUR_BLOCKS __cluster_dims__(4, 1, 1)
#else
#define OF_FOUR_BLOCKS
#endif

enum { BINS = 64, THREADS = 96 };

// Each block of a cluster keeps a part of the bins; all blocks count into all parts.
__global__ void OF_FOUR_BLOCKS histogram(const unsigned *in, int n, unsigned *out)
{
#ifdef CLUSTERS
    __shared__ unsigned part[BINS / 4];
    cg::cluster_group c = cg::this_cluster();
    for (int i = threadIdx.x; i < BINS / 4; i += blockDim.x)
        part[i] = 0;
    c.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned bin = in[i] % BINS;
        atomicAdd(c.map_shared_rank(part, bin / (BINS / 4)) + bin % (BINS / 4), 1u);
    }
    c.sync();
    for (int i = threadIdx.x; i < BINS / 4; i += blockDim.x)
        atomicAdd(out + c.block_rank() * (BINS / 4) + i, part[i]);
#endif
}

static int test_histogram()
{
    const int n = 10000;
    buffer<unsigned> in(n), out(BINS);
    int bad = 0;
    unsigned want[BINS] = {0};
    for (int i = 0; i < n; i++) {
        in.p[i] = unsigned(i) * 2654435761u >> 8;
        want[in.p[i] % BINS]++;
    }
    histogram<<<12, THREADS>>>(in.p, n, out.p);
    must(cudaDeviceSynchronize());
    for (int i = 0; i < BINS; i++)
        bad += out.p[i] != want[i];
    return bad;
}

// What special registers say; a value from the next block of the cluster.
__global__ void places(int *out)
{
#ifdef CLUSTERS
    extern __shared__ int mine[];
    cg::cluster_group c = cg::this_cluster();
    unsigned id[3], n[3], explicit_;
    asm("mov.u32 %0, %%clusterid.x; mov.u32 %1, %%clusterid.y; mov.u32 %2, %%clusterid.z;" : "=r"(id[0]), "=r"(id[1]), "=r"(id[2]));
    asm("mov.u32 %0, %%nclusterid.x; mov.u32 %1, %%nclusterid.y; mov.u32 %2, %%nclusterid.z;" : "=r"(n[0]), "=r"(n[1]), "=r"(n[2]));
    asm("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(explicit_));
    dim3 at = c.block_index(), of = c.dim_blocks();
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    mine[threadIdx.x] = block * 100 + threadIdx.x;
    c.sync();
    unsigned next = (c.block_rank() + 1) % c.num_blocks();
    int *theirs = c.map_shared_rank(mine, next);
    int value = theirs[threadIdx.x], rank = c.query_shared_rank(theirs);
    bool inside = __isClusterShared(theirs) && __isShared(mine) && !__isGlobal(theirs) && !__isClusterShared(out);
    c.sync();
    if (threadIdx.x == 7) {
        int *o = out + block * 16;
        int put[16] = {int(at.x), int(at.y), int(at.z), int(of.x), int(of.y), int(of.z), int(id[0]), int(id[1]), int(id[2]),
                       int(n[0]), int(n[1]), int(n[2]), int(explicit_), value, rank, inside};
        for (int i = 0; i < 16; i++)
            o[i] = put[i];
    }
#endif
}

static cudaError_t launch(dim3 grid, dim3 cluster, size_t shared, cudaStream_t s, void (*kernel)(int *), int *out)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute a = {};
    config.gridDim = grid;
    config.blockDim = 64;
    config.dynamicSmemBytes = shared;
    config.stream = s;
    config.attrs = &a;
    config.numAttrs = 1;
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = cluster.x;
    a.val.clusterDim.y = cluster.y;
    a.val.clusterDim.z = cluster.z;
    return cudaLaunchKernelEx(&config, kernel, out);
}

static int check_places(const int *out, dim3 grid, dim3 c)
{
    int bad = 0, count = c.x * c.y * c.z;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                int block = (z * grid.y + y) * grid.x + x;
                unsigned rank = (z % c.z * c.y + y % c.y) * c.x + x % c.x, next = (rank + 1) % count;
                unsigned nx = x / c.x * c.x + next % c.x, ny = y / c.y * c.y + next / c.x % c.y, nz = z / c.z * c.z + next / c.x / c.y;
                int other = (nz * grid.y + ny) * grid.x + nx;
                int want[16] = {int(x % c.x), int(y % c.y), int(z % c.z), int(c.x), int(c.y), int(c.z), int(x / c.x), int(y / c.y), int(z / c.z),
                                int(grid.x / c.x), int(grid.y / c.y), int(grid.z / c.z), 1, other * 100 + 7, int(next), 1};
                for (int i = 0; i < 16; i++)
                    bad += out[block * 16 + i] != want[i];
            }
    return bad;
}

static int test_places()
{
    dim3 grid(4, 6, 2), cluster(2, 3, 1);
    buffer<int> out(48 * 16);
    must(launch(grid, cluster, 256, 0, places, out.p));
    must(cudaDeviceSynchronize());
    return check_places(out.p, grid, cluster);
}

// A value goes round; threads 60 to 63 of odd blocks have gone before.
__global__ void barriers(int *out)
{
#ifdef CLUSTERS
    __shared__ int box[64];
    cg::cluster_group c = cg::this_cluster();
    int rank = c.block_rank(), n = c.num_blocks(), v = rank;
    if (rank % 2 && threadIdx.x >= 60)
        return;
    for (int round = 0; round < 40; round++) {
        c.map_shared_rank(box, (rank + 1) % n)[threadIdx.x] = v;
        auto token = c.barrier_arrive();
        v += round & 1;
        c.barrier_wait(std::move(token));
        v = box[threadIdx.x] + 1;
        c.sync();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
#endif
}

static int test_barriers()
{
    const int n = 5;
    buffer<int> out(n * 2 * 64);
    int bad = 0;
    must(launch(n * 2, n, 0, 0, barriers, out.p));
    must(cudaDeviceSynchronize());
    for (int i = 0; i < n * 2 * 64; i++) {
        int rank = i / 64 % n, lane = i % 64;
        if (lane < 60)
            bad += out.p[i] != (rank + n * 8 - 40) % n + 40; // after 40 steps round
    }
    return bad;
}

// The instructions by themselves: 32-bit addresses of .shared::cluster, a barrier object of another block.
__global__ void by_hand(int *out)
{
#ifdef CLUSTERS
    __shared__ __align__(8) uint64_t barrier;
    __shared__ int cell, sum;
    unsigned rank, n;
    asm volatile("mov.u32 %0, %%cluster_ctarank; mov.u32 %1, %%cluster_nctarank;" : "=r"(rank), "=r"(n));
    unsigned next = (rank + 1) % n, own_bar = (unsigned)__cvta_generic_to_shared(&barrier), own_cell = (unsigned)__cvta_generic_to_shared(&cell),
             own_sum = (unsigned)__cvta_generic_to_shared(&sum), remote, seen, owner;
    if (threadIdx.x == 0) {
        cell = sum = 0;
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(own_bar));
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(own_cell), "r"(next));
        asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(remote), "r"(rank + 100) : "memory");
    }
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(own_sum), "r"(0));
    asm volatile("atom.shared::cluster.add.u32 %0, [%1], %2;" : "=r"(seen) : "r"(remote), "r"(threadIdx.x) : "memory");
    // all threads of the block before arrive at this block's barrier
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(own_bar), "r"(next));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }" ::"r"(own_bar) : "memory");
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(owner) : "r"(remote));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(seen) : "r"(own_cell) : "memory");
    uint64_t wide;
    asm volatile("{ .reg .u64 a, b; cvt.u64.u32 a, %1; cvta.shared::cluster.u64 b, a; cvta.to.shared::cluster.u64 %0, b; }" : "=l"(wide) : "r"(remote));
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    if (threadIdx.x == 63) {
        out[blockIdx.x * 4] = seen;
        out[blockIdx.x * 4 + 1] = owner;
        out[blockIdx.x * 4 + 2] = rank == 0 ? sum : -1;
        out[blockIdx.x * 4 + 3] = unsigned(wide) == remote;
    }
#endif
}

static int test_by_hand()
{
    const int n = 8;
    buffer<int> out(2 * n * 4);
    int bad = 0;
    must(launch(2 * n, n, 0, 0, by_hand, out.p));
    must(cudaDeviceSynchronize());
    for (int i = 0; i < 2 * n; i++) {
        int rank = i % n, *o = out.p + i * 4;
        bad += o[0] != (rank + n - 1) % n + 100 || o[1] != (rank + 1) % n || o[2] != (rank ? -1 : n * 2016) || o[3] != 1;
    }
    return bad;
}

static int test_graph()
{
    dim3 grid(6, 2, 2), cluster(3, 1, 2);
    buffer<int> out(24 * 16);
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t e;
    must(cudaStreamCreate(&s));
    must(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    must(launch(grid, cluster, 256, s, places, out.p));
    must(cudaStreamEndCapture(s, &g));
    must(cudaGraphInstantiate(&e, g, 0));
    for (int i = 0; i < 3; i++)
        must(cudaGraphLaunch(e, s));
    must(cudaStreamSynchronize(s));
    int bad = check_places(out.p, grid, cluster);
    must(cudaGraphExecDestroy(e));
    must(cudaGraphDestroy(g));
    must(cudaStreamDestroy(s));
    return bad;
}

// The first cluster waits for what the last one writes.
__global__ void between(int *out)
{
#ifdef CLUSTERS
    cg::cluster_group c = cg::this_cluster();
    c.sync();
    if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 0)
        atomicExch(out, 5);
    if (blockIdx.x == 1 && threadIdx.x == 0)
        while (atomicAdd(out, 0) != 5)
            ;
    c.sync();
    if (threadIdx.x == 0)
        atomicAdd(out + 1, 1);
#endif
}

static int test_between()
{
    buffer<int> out(2);
    must(launch(64, 2, 0, 0, between, out.p));
    must(cudaDeviceSynchronize());
    return out.p[0] != 5 || out.p[1] != 64;
}

static int expect(cudaError_t got, cudaError_t want)
{
    cudaGetLastError();
    return got != want;
}

static int test_launches()
{
    buffer<int> out(64 * 64);
    int bad = 0;
    bad += expect(launch(4, 3, 0, 0, barriers, out.p), cudaErrorInvalidClusterSize);
    bad += expect(launch(16, 16, 0, 0, barriers, out.p), cudaErrorInvalidClusterSize);
    bad += expect(launch(4, dim3(2, 0, 1), 0, 0, barriers, out.p), cudaErrorInvalidClusterSize);
    bad += expect(cudaFuncSetAttribute(barriers, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), cudaSuccess);
    bad += expect(launch(16, 16, 0, 0, barriers, out.p), cudaSuccess);
    must(cudaDeviceSynchronize());
    bad += out.p[0] != (16 * 8 - 40) % 16 + 40;
    cudaFuncAttributes a;
    must(cudaFuncGetAttributes(&a, histogram));
    bad += a.requiredClusterWidth != 4 || a.requiredClusterHeight != 1 || a.clusterDimMustBeSet != 0;
    histogram<<<6, 32>>>(0, 0, 0); // no multiple of its clusters
    bad += expect(cudaGetLastError(), cudaErrorInvalidClusterSize);
    return bad;
}

static int test_occupancy()
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attr = {};
    CUlaunchConfig driver = {};
    CUlaunchAttribute driver_attr = {};
    int bad = 0, size = 0, active = 0, again = 0;
    config.gridDim = 64;
    config.blockDim = 64;
    bad += expect(cudaOccupancyMaxPotentialClusterSize(&size, (const void *)places, &config), cudaSuccess) || size != 8;
    config.attrs = &attr;
    config.numAttrs = 1;
    attr.id = cudaLaunchAttributeClusterDimension;
    attr.val.clusterDim.x = 4;
    attr.val.clusterDim.y = attr.val.clusterDim.z = 1;
    bad += expect(cudaOccupancyMaxActiveClusters(&active, (const void *)places, &config), cudaSuccess) || active < 1;
    attr.val.clusterDim.x = 3;
    bad += expect(cudaOccupancyMaxActiveClusters(&active, (const void *)places, &config), cudaErrorInvalidClusterSize);
    // the same by the driver
    CUresult (*clusters)(int *, CUfunction, const CUlaunchConfig *), (*sizes)(int *, CUfunction, const CUlaunchConfig *);
    cudaDriverEntryPointQueryResult found;
    cudaFunction_t f;
    must(cudaGetFuncBySymbol(&f, (const void *)places));
    must(cudaGetDriverEntryPoint("cuOccupancyMaxActiveClusters", (void **)&clusters, cudaEnableDefault, &found));
    must(cudaGetDriverEntryPoint("cuOccupancyMaxPotentialClusterSize", (void **)&sizes, cudaEnableDefault, &found));
    driver.gridDimX = 64;
    driver.gridDimY = driver.gridDimZ = driver.blockDimY = driver.blockDimZ = 1;
    driver.blockDimX = 64;
    bad += sizes(&size, (CUfunction)f, &driver) != CUDA_SUCCESS || size != 8;
    driver.attrs = &driver_attr;
    driver.numAttrs = 1;
    driver_attr.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    driver_attr.value.clusterDim.x = 4;
    driver_attr.value.clusterDim.y = driver_attr.value.clusterDim.z = 1;
    bad += clusters(&again, (CUfunction)f, &driver) != CUDA_SUCCESS || again < 1;
    return bad;
}

int main()
{
    int has = 0;
    must(cudaDeviceGetAttribute(&has, cudaDevAttrClusterLaunch, 0));
    if (!has) {
        buffer<int> out(64);
        printf("no clusters: %s\n", cudaGetErrorName(launch(4, 2, 0, 0, barriers, out.p)));
        return 0;
    }
    printf("histogram: %d wrong\n", test_histogram());
    printf("places: %d wrong\n", test_places());
    printf("barriers: %d wrong\n", test_barriers());
    printf("inline: %d wrong\n", test_by_hand());
    printf("graph: %d wrong\n", test_graph());
    printf("between clusters: %d wrong\n", test_between());
    printf("launches: %d wrong\n", test_launches());
    printf("occupancy: %d wrong\n", test_occupancy());
    return 0;
}
