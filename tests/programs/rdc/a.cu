/* The program's own unit: it uses what b.cu has.
 * SPDX-License-Identifier: Apache-2.0 */
#include "units.h"

int failures;

static __device__ int local_state = 5;
__device__ int in_a = 3;
__device__ operation pointer = scale; /* an address of another unit in an initial value */
__device__ int *data_pointer = &in_b;

static __device__ __noinline__ int helper(int x)
{
    return x + local_state;
}

__global__ void use(int *out)
{
    __shared__ int part[32];
    part[threadIdx.x] = helper((int)threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) {
        out[0] = scale(4) + in_b + weights[1] + part[3];
        out[1] = pointer(5);
        out[2] = operations[0](7) + operations[1](7) + operations[2](7);
        out[3] = *data_pointer;
        managed_b[2] += 100;
    }
}

static __global__ void same_name(int *out)
{
    *out = 1000 + local_state;
}

__global__ void shapes(int *out, shape **where)
{
    make_shape(where, 6);
    *out = (*where)->area();
}

static void symbols(void)
{
    int value = 0, more[4] = {10, 20, 30, 40};
    size_t bytes = 0;
    void *address = NULL;
    cudaStream_t s;

    OK(cudaStreamCreate(&s));
    OK(cudaMemcpyFromSymbol(&value, in_b, sizeof value)); /* another unit's */
    EXPECT("in_b", value, 100);
    OK(cudaMemcpyFromSymbol(&value, local_state, sizeof value));
    EXPECT("local_state of a", value, 5);
    OK(cudaGetSymbolSize(&bytes, weights));
    EXPECT("size of weights", bytes, sizeof weights);
    OK(cudaMemcpyToSymbolAsync(weights, more, sizeof more, 0, cudaMemcpyHostToDevice, s));
    OK(cudaMemcpyFromSymbolAsync(&value, weights, 4, 8, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    EXPECT("weights[2]", value, 30);
    OK(cudaGetSymbolAddress(&address, in_b));
    value = 200;
    OK(cudaMemcpy(address, &value, sizeof value, cudaMemcpyHostToDevice));
    value = 55;
    OK(cudaMemcpyToSymbol(local_state, &value, sizeof value));
    OK(cudaStreamDestroy(s));
}

int main()
{
    int *out, host[4];
    shape **where;

    OK(cudaMalloc(&out, sizeof host));
    OK(cudaMalloc(&where, sizeof *where));
    managed_b[2] = 7; /* the host's, before anything ran */
    use<<<1, 32>>>(out);
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT("use 0", host[0], (2 * 4 + 50 + 3) + 100 + 2 + 8);
    EXPECT("use 1", host[1], 2 * 5 + 50 + 3);
    EXPECT("use 2", host[2], (2 * 7 + 50 + 3) + 21 + 28);
    EXPECT("use 3", host[3], 100);
    EXPECT("managed", managed_b[2], 107);
    same_name<<<1, 1>>>(out);
    OK(cudaMemcpy(host, out, sizeof *host, cudaMemcpyDeviceToHost));
    EXPECT("same_name of a", host[0], 1005);
    both<<<1, 1>>>(out);
    run_b(out);
    OK(cudaMemcpy(host, out, sizeof *host, cudaMemcpyDeviceToHost));
    EXPECT("both, twice", host[0], 2000 + 50 + (1 + 20 + 2));
    symbols();
    use<<<1, 32>>>(out);
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT("use after symbols", host[0], (2 * 4 + 50 + 3) + 200 + 20 + 58);
    shapes<<<1, 1>>>(out, where);
    OK(cudaMemcpy(host, out, sizeof *host, cudaMemcpyDeviceToHost));
    EXPECT("shapes", host[0], 36);
    OK(cudaDeviceReset()); /* everything as at the start */
    OK(cudaMalloc(&out, sizeof host));
    use<<<1, 32>>>(out);
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT("use after reset", host[0], (2 * 4 + 50 + 3) + 100 + 2 + 8);
    printf("%d failures\n", failures);
    return failures != 0;
}
