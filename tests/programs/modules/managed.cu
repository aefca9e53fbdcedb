/* __managed__ variables on several devices: one storage, initialised once, whoever touches it
 * first.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <cstdlib>

#include "../ok.h"

__managed__ int counter = 5, zero, array[3] = {1, 2, 3};
__device__ int per_device = 10;
struct list {
    int value;
    list *next;
};
__managed__ list head = {7, NULL};

__global__ void add(int n)
{
    counter += n;
    array[n % 3] += n;
    zero++;
    per_device += n;
    for (list *l = &head; l; l = l->next)
        l->value *= 2;
}

int main()
{
    int devices = 0, value, bad = 0;
    list *second;
    void *address;
    size_t bytes;
    cudaPointerAttributes a;

    OK(cudaGetDeviceCount(&devices));
    counter += 100; /* before any device was asked for */
    OK(cudaMallocManaged(&second, sizeof *second));
    second->value = 1;
    second->next = NULL;
    head.next = second;
    for (int d = 0; d < devices; d++) {
        OK(cudaSetDevice(d));
        add<<<1, 1>>>(d + 1);
        OK(cudaGetLastError());
        OK(cudaDeviceSynchronize());
        OK(cudaMemcpyFromSymbol(&value, per_device, sizeof value));
        bad += value != 10 + d + 1;
        OK(cudaGetSymbolAddress(&address, counter));
        bad += address != &counter;
        OK(cudaGetSymbolSize(&bytes, array));
        bad += bytes != sizeof array;
        OK(cudaPointerGetAttributes(&a, &counter));
        bad += a.type != cudaMemoryTypeManaged;
        counter *= 10;
    }
    value = 1;
    OK(cudaMemcpyToSymbol(zero, &value, sizeof value)); /* by symbol, too */
    printf("%d devices, %d bad: %d, %d %d %d, %d, %d %d\n", devices, bad, counter, array[0],
           array[1], array[2], zero, head.value, second->value);
    return 0;
}
