/* What the units of the program share.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>

#include "../ok.h"

#define EXPECT(what, got, wanted)                                                                  \
    do {                                                                                           \
        long long expect_got = (got), expect_wanted = (wanted);                                    \
        if (expect_got != expect_wanted) {                                                         \
            printf("%s: %lld, wanted %lld\n", what, expect_got, expect_wanted);                    \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

typedef int (*operation)(int);
struct shape {
    __device__ virtual int area() const { return 0; }
};

extern int failures;
extern __device__ int scale(int x); /* b.cu */
extern __device__ operation operations[3];
extern __device__ int in_b, in_a;
extern __constant__ int weights[4];
extern __managed__ int managed_b[4];
__device__ void make_shape(shape **where, int a);

/* Of both units: one stays. */
template <class T> __device__ T shared_variable = T(20);
template <class T> __device__ __noinline__ T shared_function(T x)
{
    static __device__ int calls;
    atomicAdd(&calls, 1);
    return x + shared_variable<T> + calls;
}
template <class T> __global__ void both(T *out)
{
    *out += shared_function(T(1));
}

void run_b(int *out);
