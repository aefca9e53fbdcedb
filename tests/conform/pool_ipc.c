/* A pool between two processes: the descriptor goes over a socket, an allocation as data; what the
 * importer writes the exporter reads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

static void send_fd(int to, int fd)
{
    char byte = 'f', control[CMSG_SPACE(sizeof(int))];
    struct iovec v = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    CHECK(sendmsg(to, &m, 0) == 1);
}

static int receive_fd(int from)
{
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec v = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    int fd = -1;

    if (recvmsg(from, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

static int exporter(int other)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor};
    struct cudaMemPoolPtrExportData data;
    unsigned char value = 0;
    cudaMemPool_t p;
    void *a, *plain;
    int fd = -1;

    props.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&p, &props));
    OK(cudaMallocFromPoolAsync(&a, 1 << 20, p, NULL));
    OK(cudaMemset(a, 7, 1 << 20));
    OK(cudaDeviceSynchronize());
    OK(cudaMallocAsync(&plain, 64, NULL));
    EXPECT(cudaMemPoolExportPointer(&data, plain), cudaErrorInvalidValue);
    OK(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0));
    OK(cudaMemPoolExportPointer(&data, a));
    send_fd(other, fd);
    CHECK(write(other, &data, sizeof data) == (ssize_t)sizeof data);
    CHECK(read(other, &value, 1) == 1 && value == 'd');
    OK(cudaMemcpy(&value, (char *)a + 5, 1, cudaMemcpyDeviceToHost));
    CHECK(value == 9);
    OK(cudaFreeAsync(a, NULL));
    OK(cudaMemPoolDestroy(p));
    return CONFORM_END();
}

static int importer(int other)
{
    struct cudaMemPoolPtrExportData data;
    unsigned char value = 0;
    cudaMemPool_t p;
    void *a, *b;
    int fd = receive_fd(other);

    CHECK(read(other, &data, sizeof data) == (ssize_t)sizeof data);
    EXPECT(cudaMemPoolImportFromShareableHandle(&p, (void *)(intptr_t)other,
                                                cudaMemHandleTypePosixFileDescriptor, 0),
           cudaErrorInvalidValue);
    OK(cudaMemPoolImportFromShareableHandle(&p, (void *)(intptr_t)fd,
                                            cudaMemHandleTypePosixFileDescriptor, 0));
    EXPECT(cudaMallocFromPoolAsync(&a, 64, p, NULL), cudaErrorInvalidValue);
    EXPECT(cudaDeviceSetMemPool(0, p), cudaErrorInvalidValue);
    OK(cudaMemPoolImportPointer(&a, p, &data));
    EXPECT(cudaMemPoolImportPointer(&b, p, &data), cudaErrorInvalidValue);
    OK(cudaMemcpy(&value, (char *)a + (1 << 20) - 1, 1, cudaMemcpyDeviceToHost));
    CHECK(value == 7);
    OK(cudaMemset((char *)a + 5, 9, 1));
    OK(cudaDeviceSynchronize());
    OK(cudaFreeAsync(a, NULL));
    OK(cudaMemPoolDestroy(p));
    CHECK(write(other, "d", 1) == 1);
    data.reserved[0] ^= 1;
    return CONFORM_END();
}

int main(void)
{
    return pair_run(exporter, importer);
}
