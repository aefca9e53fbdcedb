// Matrix products by the classes of mma.h and by mma.sync with ldmatrix, against loops on the host. Small whole numbers, so that
// every sum is exact. SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <vector>

using namespace nvcuda;

static void must(cudaError_t e)
{
    if (e != cudaSuccess) {
        printf("error %s\n", cudaGetErrorName(e));
        exit(1);
    }
}

enum { N = 64 };

template <class T> static T number(int i) { return T(float(i)); }
template <> int8_t number(int i) { return int8_t(i); }
template <> int number(int i) { return i; }
template <> double number(int i) { return i; }

// D = 2 A B + 3 C by tiles, a warp each: fragments' elements are scaled in place.
template <class In, class Frag, class Acc, int M, int TN, int K, class LayoutA, class LayoutB>
__global__ void product(const In *a, const In *b, const Acc *c, Acc *d)
{
    int row = (blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32) * M, col = blockIdx.x * TN;
    wmma::fragment<wmma::accumulator, M, TN, K, Acc> sum, start;
    wmma::fill_fragment(sum, Acc(0));
    for (int k = 0; k < N; k += K) {
        wmma::fragment<wmma::matrix_a, M, TN, K, Frag, LayoutA> fa;
        wmma::fragment<wmma::matrix_b, M, TN, K, Frag, LayoutB> fb;
        bool arow = std::is_same<LayoutA, wmma::row_major>::value, brow = std::is_same<LayoutB, wmma::row_major>::value;
        wmma::load_matrix_sync(fa, arow ? a + row * N + k : a + k * N + row, N);
        wmma::load_matrix_sync(fb, brow ? b + k * N + col : b + col * N + k, N);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::load_matrix_sync(start, c + col * N + row, N, wmma::mem_col_major);
    for (int i = 0; i < sum.num_elements; i++)
        sum.x[i] = Acc(2) * sum.x[i] + Acc(3) * start.x[i];
    wmma::store_matrix_sync(d + row * N + col, sum, N, wmma::mem_row_major);
}

template <class T> struct buffer {
    T *p;
    buffer() { must(cudaMallocManaged(&p, N * N * sizeof(T))); }
    ~buffer() { cudaFree(p); }
};

static int value(int seed, int i, int j) { return (seed * 7 + i * 5 + j * 3 + i * j) % 5 - 2; }

template <class In, class Frag, class Acc, int M, int TN, int K, class LayoutA, class LayoutB> static int wrong()
{
    buffer<In> a, b;
    buffer<Acc> c, d;
    bool arow = std::is_same<LayoutA, wmma::row_major>::value, brow = std::is_same<LayoutB, wmma::row_major>::value;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a.p[arow ? i * N + j : j * N + i] = number<In>(value(1, i, j));
            b.p[brow ? i * N + j : j * N + i] = number<In>(value(2, i, j));
            c.p[j * N + i] = number<Acc>(value(3, i, j));
        }
    int warps = M == 32 ? 2 : 4;
    product<In, Frag, Acc, M, TN, K, LayoutA, LayoutB><<<dim3(N / TN, N / M / warps), 32 * warps>>>(a.p, b.p, c.p, d.p);
    must(cudaDeviceSynchronize());
    int bad = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int sum = 0;
            for (int k = 0; k < N; k++)
                sum += value(1, i, k) * value(2, k, j);
            bad += double(float(d.p[i * N + j])) != 2 * sum + 3 * value(3, i, j);
        }
    return bad;
}

// 16 x 8 tiles: A by ldmatrix.x4, B (by rows) by ldmatrix.x2.trans, from shared memory.
__global__ void by_hand(const half *a, const half *b, float *d)
{
    __shared__ __align__(16) half sa[16][N + 8], sb[N][8 + 8];
    int lane = threadIdx.x, row = blockIdx.y * 16, col = blockIdx.x * 8;
    for (int i = lane; i < 16 * N; i += 32)
        sa[i / N][i % N] = a[(row + i / N) * N + i % N];
    for (int i = lane; i < N * 8; i += 32)
        sb[i / 8][i % 8] = b[i / 8 * N + col + i % 8];
    __syncthreads();
    float c[4] = {0, 0, 0, 0};
    for (int k = 0; k < N; k += 16) {
        uint32_t ra[4], rb[2];
        unsigned pa = __cvta_generic_to_shared(&sa[lane % 16][k + lane / 16 * 8]);
        unsigned pb = __cvta_generic_to_shared(&sb[k + lane % 16][0]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    }
    for (int i = 0; i < 4; i++)
        d[(row + lane / 4 + i / 2 * 8) * N + col + lane % 4 * 2 + i % 2] = c[i];
}

static int wrong_by_hand()
{
    buffer<half> a, b;
    buffer<float> d;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a.p[i * N + j] = half(float(value(4, i, j)));
            b.p[i * N + j] = half(float(value(5, i, j)));
        }
    by_hand<<<dim3(N / 8, N / 16), 32>>>(a.p, b.p, d.p);
    must(cudaDeviceSynchronize());
    int bad = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int sum = 0;
            for (int k = 0; k < N; k++)
                sum += value(4, i, k) * value(5, k, j);
            bad += d.p[i * N + j] != float(sum);
        }
    return bad;
}

int main()
{
    using row = wmma::row_major;
    using col = wmma::col_major;
    using bf16 = __nv_bfloat16;
    printf("half: %d wrong\n", wrong<half, half, float, 16, 16, 16, row, col>() + wrong<half, half, float, 16, 16, 16, col, row>());
    printf("half, sums of halves: %d wrong\n", wrong<half, half, half, 16, 16, 16, row, row>());
    printf("bfloat16: %d wrong\n", wrong<bf16, bf16, float, 16, 16, 16, row, col>());
    printf("tf32: %d wrong\n", wrong<float, wmma::precision::tf32, float, 16, 16, 8, row, col>());
    printf("double: %d wrong\n", wrong<double, double, double, 8, 8, 4, col, row>());
    printf("bytes: %d wrong\n", wrong<int8_t, int8_t, int, 16, 16, 16, row, col>() + wrong<int8_t, int8_t, int, 16, 16, 16, col, row>());
    printf("wide tiles: %d wrong\n", wrong<half, half, float, 32, 8, 16, row, col>() + wrong<half, half, float, 8, 32, 16, row, col>());
    printf("ldmatrix and mma: %d wrong\n", wrong_by_hand());
    return 0;
}
