/* Batches of copies and prefetches, what is said about managed memory, attributes of streams,
 * events of launches, driver entry points. Oracle mixed_batch, managed, mixed_stream,
 * pdl_event_attr, stream_mem_ops.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

#include <cuda.h>

static unsigned char *device, *pinned, pageable[4096];

struct batch {
    cudaStream_t s;
    const void *src;
    enum cudaMemcpySrcAccessOrder order;
};

static cudaError_t copy_batch(void *arg)
{
    struct batch *b = arg;
    void *dsts[2] = {device, device + 64};
    const void *srcs[2] = {b->src, b->src};
    size_t sizes[2] = {16, 16}, first = 0;
    struct cudaMemcpyAttributes attrs = {.srcAccessOrder = b->order};

    return cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &attrs, &first, 1, b->s);
}

/* Does the call wait for a held stream, and what does it copy when the source changes afterwards?
 */
static void check_order(cudaStream_t s, unsigned char *src, enum cudaMemcpySrcAccessOrder order,
                        bool blocks, unsigned char value)
{
    struct batch b = {s, src, order};
    unsigned char got = 0;
    struct hold h;

    src[0] = 1;
    hold_stream(&h, s);
    if (blocks) {
        CHECK(blocks_until_released(&h, copy_batch, &b, 50));
        src[0] = 2;
    } else {
        OK(copy_batch(&b));
        src[0] = 2;
        hold_release(&h);
    }
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(&got, device, 1, cudaMemcpyDeviceToHost));
    CHECK(got == value);
}

static void test_copy_batch(cudaStream_t s)
{
    void *dsts[3] = {device, NULL, device + 64};
    const void *srcs[3] = {pinned, pinned, pinned};
    size_t sizes[3] = {16, 16, 16}, first[2] = {0, 0};
    struct cudaMemcpyAttributes attrs[2] = {{.srcAccessOrder = cudaMemcpySrcAccessOrderStream},
                                            {.srcAccessOrder = cudaMemcpySrcAccessOrderAny}};
    unsigned char got[2] = {0};

    check_order(s, pinned, cudaMemcpySrcAccessOrderStream, false, 2);
    check_order(s, pageable, cudaMemcpySrcAccessOrderStream, true, 1);
    check_order(s, pinned, cudaMemcpySrcAccessOrderDuringApiCall, true, 1);
    check_order(s, pageable, cudaMemcpySrcAccessOrderDuringApiCall, false, 1);
    check_order(s, pinned, cudaMemcpySrcAccessOrderAny, false, 2);
    check_order(s, pageable, cudaMemcpySrcAccessOrderAny, false, 1);

    /* A bad entry ends the batch behind those before it. */
    OK(cudaMemset(device, 0, 4096));
    OK(cudaDeviceSynchronize()); /* s does not wait for the legacy stream */
    pinned[0] = 7;
    EXPECT(cudaMemcpyBatchAsync(dsts, srcs, sizes, 3, attrs, first, 1, s), cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(&got[0], device, 1, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&got[1], device + 64, 1, cudaMemcpyDeviceToHost));
    CHECK(got[0] == 7 && got[1] == 0);

    dsts[1] = device + 32;
    EXPECT(cudaMemcpyBatchAsync(dsts, srcs, sizes, 3, attrs, first, 2, s), cudaErrorInvalidValue);
    first[1] = 1;
    OK(cudaMemcpyBatchAsync(dsts, srcs, sizes, 3, attrs, first, 2, s));
    EXPECT(cudaMemcpyBatchAsync(dsts, srcs, sizes, 3, attrs, first, 1, NULL),
           cudaErrorInvalidValue);
    EXPECT(cudaMemcpyBatchAsync(dsts, srcs, sizes, 0, attrs, first, 1, s), cudaErrorInvalidValue);
    attrs[0].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    EXPECT(cudaMemcpyBatchAsync(dsts, srcs, sizes, 3, attrs, first, 1, s), cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(s)); /* before pinned and device are used again */
}

static void test_box_batch(cudaStream_t s)
{
    struct cudaMemcpy3DBatchOp op = {.extent = {4, 2, 1},
                                     .srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    unsigned char got[12];

    op.src.type = op.dst.type = cudaMemcpyOperandTypePointer;
    op.src.op.ptr.ptr = pinned;
    op.src.op.ptr.rowLength = 16;
    op.dst.op.ptr.ptr = device;
    op.dst.op.ptr.rowLength = 8;
    for (int i = 0; i < 64; i++)
        pinned[i] = (unsigned char)i;
    OK(cudaMemset(device, 255, 64));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy3DBatchAsync(1, &op, 0, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got[3] == 3 && got[4] == 255 && got[8] == 16 && got[11] == 19);
    EXPECT(cudaMemcpy3DBatchAsync(1, &op, 1, s), cudaErrorInvalidValue);
    op.extent.width = 0;
    EXPECT(cudaMemcpy3DBatchAsync(1, &op, 0, s), cudaErrorInvalidValue);
}

/* Boxes of arrays are measured in their elements, memory's rows too. */
static void test_array_batch(cudaStream_t s)
{
    struct cudaChannelFormatDesc d =
        cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindUnsigned); /* 4 bytes */
    struct cudaMemcpy3DBatchOp op[2] = {
        {.extent = {3, 2, 1}, .srcAccessOrder = cudaMemcpySrcAccessOrderStream},
        {.extent = {3, 2, 1}, .srcAccessOrder = cudaMemcpySrcAccessOrderStream}};
    unsigned *in = (unsigned *)(void *)pinned, *out = in + 64;
    struct cudaChannelFormatDesc bytes =
        cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
    cudaArray_t a, other;

    OK(cudaMallocArray(&a, &d, 8, 4, 0));
    OK(cudaMallocArray(&other, &bytes, 8, 4, 0));
    for (unsigned i = 0; i < 64; i++)
        in[i] = i + 1;
    memset(out, 0, 64 * sizeof *out);
    op[0].src.type = op[1].dst.type = cudaMemcpyOperandTypePointer;
    op[0].dst.type = op[1].src.type = cudaMemcpyOperandTypeArray;
    op[0].src.op.ptr.ptr = in;
    op[0].src.op.ptr.rowLength = 5;
    op[0].dst.op.array.array = op[1].src.op.array.array = a;
    op[0].dst.op.array.offset = (struct cudaOffset3D){4, 1, 0};
    op[1].src.op.array.offset = (struct cudaOffset3D){4, 1, 0};
    op[1].dst.op.ptr.ptr = out;
    OK(cudaMemcpy3DBatchAsync(2, op, 0, s));
    OK(cudaStreamSynchronize(s));
    CHECK(out[0] == 1 && out[2] == 3 && out[3] == 6 && out[5] == 8 && out[6] == 0);
    op[0].dst.op.array.offset.x = 6; /* leaves the array */
    EXPECT(cudaMemcpy3DBatchAsync(1, op, 0, s), cudaErrorInvalidValue);
    op[1].dst.type = cudaMemcpyOperandTypeArray;
    op[1].dst.op.array.array = other;
    op[1].dst.op.array.offset = (struct cudaOffset3D){0, 0, 0};
    EXPECT(cudaMemcpy3DBatchAsync(1, &op[1], 0, s), cudaErrorInvalidValue);
    op[1].dst.op.array.array = NULL;
    EXPECT(cudaMemcpy3DBatchAsync(1, &op[1], 0, s), cudaErrorInvalidResourceHandle);
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(other));
}

static int range_number(const void *p, size_t bytes, enum cudaMemRangeAttribute attribute)
{
    int v = -9;

    OK(cudaMemRangeGetAttribute(&v, sizeof v, attribute, p, bytes));
    return v;
}

static void test_managed(cudaStream_t s)
{
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0},
                           host = {.type = cudaMemLocationTypeHost};
    int by[3], number;
    void *data[2] = {&number, by}, *ranges[2];
    size_t sizes[2] = {sizeof number, sizeof by}, lengths[2] = {4096, 4096}, first = 0;
    enum cudaMemRangeAttribute names[2] = {cudaMemRangeAttributeReadMostly,
                                           cudaMemRangeAttributeAccessedBy};
    char *m;

    OK(cudaMallocManaged((void **)&m, 8192, cudaMemAttachGlobal));
    CHECK(range_number(m, 8192, cudaMemRangeAttributePreferredLocation) == cudaInvalidDeviceId);
    OK(cudaMemAdvise(m, 4096, cudaMemAdviseSetPreferredLocation, here));
    CHECK(range_number(m, 4096, cudaMemRangeAttributePreferredLocation) == 0);
    CHECK(range_number(m, 8192, cudaMemRangeAttributePreferredLocation) == cudaInvalidDeviceId);
    OK(cudaMemAdvise(m + 4096, 4096, cudaMemAdviseSetPreferredLocation, host));
    CHECK(range_number(m + 4096, 4096, cudaMemRangeAttributePreferredLocation) == cudaCpuDeviceId);
    OK(cudaMemAdvise(m, 8192, cudaMemAdviseSetReadMostly, here));
    OK(cudaMemAdvise(m, 8192, cudaMemAdviseSetAccessedBy, here));
    OK(cudaMemRangeGetAttributes(data, sizes, names, 2, m, 8192));
    CHECK(number == 1 && by[0] == 0 && by[1] == cudaInvalidDeviceId);
    OK(cudaMemAdvise(m, 1, cudaMemAdviseUnsetReadMostly, here));
    CHECK(range_number(m, 8192, cudaMemRangeAttributeReadMostly) == 0);
    EXPECT(cudaMemRangeGetAttribute(&number, 3, cudaMemRangeAttributeReadMostly, m, 64),
           cudaErrorInvalidValue);
    EXPECT(cudaMemRangeGetAttribute(&number, 4, cudaMemRangeAttributeReadMostly, device, 64),
           cudaErrorInvalidValue);
    ranges[0] = m;
    ranges[1] = m + 4096;
    OK(cudaMemPrefetchBatchAsync(ranges, lengths, 2, &here, &first, 1, 0, s));
    CHECK(range_number(m, 8192, cudaMemRangeAttributeLastPrefetchLocation) == 0);
    OK(cudaMemPrefetchAsync(m, 4096, host, 0, s));
    CHECK(range_number(m, 4096, cudaMemRangeAttributeLastPrefetchLocation) == cudaCpuDeviceId);
    EXPECT(cudaMemPrefetchBatchAsync(ranges, lengths, 2, &here, &first, 1, 0, NULL),
           cudaErrorInvalidValue);
    OK(cudaMemDiscardBatchAsync(ranges, lengths, 2, 0, s));
    OK(cudaMemDiscardAndPrefetchBatchAsync(ranges, lengths, 2, &here, &first, 1, 0, s));
    ranges[1] = device;
    EXPECT(cudaMemDiscardBatchAsync(ranges, lengths, 2, 0, s), cudaErrorInvalidValue);
    EXPECT(cudaStreamAttachMemAsync(NULL, m, 0, cudaMemAttachSingle), cudaErrorInvalidValue);
    OK(cudaStreamAttachMemAsync(s, m, 0, cudaMemAttachSingle));
    OK(cudaFree(m));
}

static void test_stream_attributes(cudaStream_t s)
{
    cudaLaunchAttributeValue v;
    cudaStream_t t;
    int priority;

    OK(cudaStreamCreateWithPriority(&t, cudaStreamNonBlocking, -3));
    memset(&v, 0, sizeof v);
    v.memSyncDomain = cudaLaunchMemSyncDomainRemote;
    OK(cudaStreamSetAttribute(t, cudaLaunchAttributeMemSyncDomain, &v));
    memset(&v, 0, sizeof v);
    v.accessPolicyWindow.base_ptr = device;
    v.accessPolicyWindow.num_bytes = 64;
    OK(cudaStreamSetAttribute(t, cudaLaunchAttributeAccessPolicyWindow, &v));
    OK(cudaStreamCopyAttributes(s, t));
    OK(cudaStreamGetPriority(s, &priority));
    CHECK(priority == -3);
    OK(cudaStreamGetAttribute(s, cudaLaunchAttributeMemSyncDomain, &v));
    CHECK(v.memSyncDomain == cudaLaunchMemSyncDomainRemote);
    OK(cudaStreamGetAttribute(s, cudaLaunchAttributeAccessPolicyWindow, &v));
    CHECK(v.accessPolicyWindow.base_ptr == device);
    OK(cudaStreamDestroy(t));
}

static void test_entry_points(void)
{
    enum cudaDriverEntryPointQueryResult status;
    CUresult (*version)(int *) = NULL;
    int number = 0;
    void *none = &number;

    OK(cudaGetDriverEntryPoint("cuDriverGetVersion", (void **)&version, cudaEnableDefault,
                               &status));
    CHECK(status == cudaDriverEntryPointSuccess && version && version(&number) == CUDA_SUCCESS &&
          number == 13000);
    OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &none, 12000, cudaEnableDefault, &status));
    CHECK(status == cudaDriverEntryPointSymbolNotFound && !none);
    EXPECT(cudaGetDriverEntryPointByVersion("cuInit", &none, 99000, cudaEnableDefault, &status),
           cudaErrorInvalidValue);
}

typedef CUresult (*value_fn)(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned flags);

/* Waits for a value in memory, which the host or another stream writes (oracle stream_mem_ops). */
static void test_values(cudaStream_t s)
{
    enum cudaDriverEntryPointQueryResult status;
    _Atomic unsigned *word = (_Atomic unsigned *)(void *)(pinned + 1024);
    unsigned long long addr = (uintptr_t)word;
    value_fn wait_value, write_value;
    cudaStream_t t;

    OK(cudaGetDriverEntryPoint("cuStreamWaitValue32", (void **)&wait_value, cudaEnableDefault,
                               &status));
    OK(cudaGetDriverEntryPoint("cuStreamWriteValue32", (void **)&write_value, cudaEnableDefault,
                               &status));
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    *word = 0;
    pinned[0] = 1;
    CHECK(wait_value(s, addr, 5, 0) == 0); /* at least 5 */
    OK(cudaMemsetAsync(pinned, 2, 1, s));
    *word = 4;
    sleep_ms(20);
    CHECK(pinned[0] == 1);
    EXPECT(cudaStreamQuery(s), cudaErrorNotReady);
    *word = 6;
    OK(cudaStreamSynchronize(s));
    CHECK(pinned[0] == 2);
    CHECK(wait_value(s, addr, 9, 1) == 0); /* equal */
    OK(cudaMemsetAsync(pinned, 3, 1, s));
    CHECK(write_value(t, addr, 9, 0) == 0);
    OK(cudaStreamSynchronize(s));
    CHECK(pinned[0] == 3 && *word == 9);
    CHECK(wait_value(s, addr, 0, 64) == 1 && wait_value(s, 0, 0, 0) == 1 &&
          wait_value(s, addr + 1, 0, 0) == 1);
    OK(cudaStreamDestroy(t));
}

int main(void)
{
    cudaStream_t s;

    test_entry_points(); /* needs no context */
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&device, 4096));
    OK(cudaMallocHost((void **)&pinned, 4096));
    test_copy_batch(s);
    test_box_batch(s);
    test_array_batch(s);
    test_managed(s);
    test_stream_attributes(s);
    test_values(s);
    return CONFORM_END();
}
