/* Memory and events of another process: cudaIpc*. The exporter's memory is shared while a copy
 * works on it; the importer sees and changes it; its streams wait for the exporter's record. Oracle
 * multi_ipc, memory_peer_ipc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

#define BYTES (4u << 20)

struct message {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
};

static int exporter(int other)
{
    unsigned char *d, value = 0, go;
    struct message m;
    cudaStream_t s;
    cudaEvent_t e, plain;
    struct hold h;
    void *self;

    OK(cudaMalloc((void **)&d, BYTES));
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMemset(d, 7, BYTES));
    OK(cudaDeviceSynchronize());
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming | cudaEventInterprocess));
    OK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
    for (int i = 0; i < 20; i++) /* writes that are going on meanwhile */
        OK(cudaMemsetAsync(d + 4096, 8, BYTES - 4096, s));
    OK(cudaIpcGetMemHandle(&m.memory, d));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(&value, d + BYTES - 1, 1, cudaMemcpyDeviceToHost));
    CHECK(value == 8);
    OK(cudaIpcGetEventHandle(&m.event, e));
    EXPECT(cudaIpcGetEventHandle(&m.event, plain), cudaErrorInvalidResourceHandle);
    EXPECT(cudaIpcOpenMemHandle(&self, m.memory, cudaIpcMemLazyEnablePeerAccess),
           cudaErrorDeviceUninitialized);
    hold_stream(&h, s);
    OK(cudaEventRecord(e, s));
    CHECK(write(other, &m, sizeof m) == (ssize_t)sizeof m);
    CHECK(read(other, &go, 1) == 1);
    hold_release(&h);
    CHECK(read(other, &go, 1) == 1); /* the importer has recorded it again */
    OK(cudaEventSynchronize(e));
    OK(cudaMemcpy(&value, d, 1, cudaMemcpyDeviceToHost));
    CHECK(value == 9);
    OK(cudaFree(d));
    OK(cudaEventDestroy(e));
    return CONFORM_END();
}

static int importer(int other)
{
    unsigned char *d, *same, value = 0;
    struct message m;
    cudaStream_t s;
    cudaEvent_t e;

    CHECK(read(other, &m, sizeof m) == (ssize_t)sizeof m);
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    EXPECT(cudaIpcOpenMemHandle((void **)&d, m.memory, 0), cudaErrorInvalidValue);
    OK(cudaIpcOpenMemHandle((void **)&d, m.memory, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaIpcOpenMemHandle((void **)&same, m.memory, cudaIpcMemLazyEnablePeerAccess));
    CHECK(d == same);
    OK(cudaIpcOpenEventHandle(&e, m.event));
    OK(cudaMemcpy(&value, d, 1, cudaMemcpyDeviceToHost));
    CHECK(value == 7);
    EXPECT(cudaEventQuery(e), cudaErrorNotReady);
    OK(cudaStreamWaitEvent(s, e, 0));
    OK(cudaMemsetAsync(d, 9, 1, s));
    OK(cudaEventRecord(e, s));
    sleep_ms(20);
    OK(cudaMemcpy(&value, d, 1, cudaMemcpyDeviceToHost));
    CHECK(value == 7); /* the memset waits for the other process */
    CHECK(write(other, "r", 1) == 1);
    OK(cudaEventSynchronize(e));
    OK(cudaMemcpy(&value, d, 1, cudaMemcpyDeviceToHost));
    CHECK(value == 9);
    CHECK(write(other, "d", 1) == 1);
    EXPECT(cudaFree(d), cudaErrorInvalidValue);
    OK(cudaIpcCloseMemHandle(d));
    OK(cudaIpcCloseMemHandle(d));
    EXPECT(cudaIpcCloseMemHandle(d), cudaErrorInvalidValue);
    EXPECT(cudaMemset(d, 0, 1), cudaErrorInvalidValue);
    memset(&m, 0, sizeof m);
    EXPECT(cudaIpcOpenMemHandle((void **)&d, m.memory, cudaIpcMemLazyEnablePeerAccess),
           cudaErrorInvalidValue);
    return CONFORM_END();
}

int main(void)
{
    return pair_run(exporter, importer);
}
