/* CUB on the whole device (radix sort, scan by look-back, reductions, a histogram) and in a block.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include <algorithm>
#include <numeric>
#include <vector>
#include <cub/cub.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
template <class F> void with_temp(F f)
{
    size_t b = 0;
    CU(f(nullptr, b));
    void *t;
    CU(cudaMalloc(&t, b ? b : 1));
    CU(f(t, b));
    SYNC();
    CU(cudaFree(t));
}
template <int T, cub::BlockReduceAlgorithm A> __global__ void block_reduce(const int *in, int *out)
{
    typedef cub::BlockReduce<int, T, A> R;
    __shared__ typename R::TempStorage s;
    int v[4];
    cub::LoadDirectBlocked(threadIdx.x, in, v);
    int r = R(s).Sum(v);
    if (threadIdx.x == 0)
        out[0] = r;
    __syncthreads();
    r = R(s).Reduce(v[0], cuda::maximum<>{});
    if (threadIdx.x == 0)
        out[1] = r;
}
template <int T, cub::BlockScanAlgorithm A> __global__ void block_scan(const int *in, int *out)
{
    typedef cub::BlockScan<int, T, A> S;
    typedef cub::BlockLoad<int, T, 4, cub::BLOCK_LOAD_TRANSPOSE> L;
    typedef cub::BlockStore<int, T, 4, cub::BLOCK_STORE_WARP_TRANSPOSE> W;
    __shared__ union {
        typename S::TempStorage s;
        typename L::TempStorage l;
        typename W::TempStorage w;
    } u;
    int v[4], a;
    L(u.l).Load(in, v);
    __syncthreads();
    S(u.s).ExclusiveSum(v, v, a);
    __syncthreads();
    W(u.w).Store(out, v);
    if (threadIdx.x == 0)
        out[4 * T] = a;
}
__global__ void warp_things(const int *in, int *out)
{
    typedef cub::WarpReduce<int, 16> R;
    typedef cub::WarpScan<int> S;
    __shared__ R::TempStorage r[8];
    __shared__ S::TempStorage s[4];
    int t = threadIdx.x, x = in[t], y, z;
    int m = R(r[t / 16]).Sum(x);
    S(s[t / 32]).InclusiveSum(x, y);
    S(s[t / 32]).ExclusiveScan(x, z, -1000000, cuda::maximum<>{});
    out[t] = y;
    out[128 + t] = z;
    if (t % 16 == 0)
        out[256 + t / 16] = m;
}
__global__ void block_sort(const int *in, int *out)
{
    typedef cub::BlockRadixSort<int, 128, 4> S;
    __shared__ S::TempStorage s;
    int v[4];
    cub::LoadDirectBlocked(threadIdx.x, in, v);
    S(s).Sort(v);
    cub::StoreDirectBlocked(threadIdx.x, out, v);
}
__global__ void block_hist(const int *in, unsigned *h)
{
    typedef cub::BlockHistogram<unsigned char, 128, 4, 64> H;
    __shared__ H::TempStorage s;
    __shared__ unsigned hs[64];
    unsigned char v[4];
    for (int i = 0; i < 4; i++)
        v[i] = (unsigned)in[threadIdx.x * 4 + i] % 64;
    H(s).Histogram(v, hs);
    __syncthreads();
    if (threadIdx.x < 64)
        h[threadIdx.x] = hs[threadIdx.x];
}
int main()
{
    const int n = 20011;
    std::vector<int> h(n);
    unsigned x = 1;
    for (auto &e : h) {
        x = x * 1664525 + 1013904223;
        e = (int)(x >> 12) - 500000;
    }
    int *in = mem<int>(n), *out = mem<int>(n + 1000), *vin = mem<int>(n), *vout = mem<int>(n);
    std::copy(h.begin(), h.end(), in);
    for (int i = 0; i < n; i++)
        vin[i] = i;
    {
        with_temp(
            [&](void *t, size_t &b) { return cub::DeviceRadixSort::SortKeys(t, b, in, out, n); });
        auto r = h;
        std::sort(r.begin(), r.end());
        OK(std::equal(r.begin(), r.end(), out));
    }
    {
        with_temp(
            [&](void *t, size_t &b) { return cub::DeviceScan::InclusiveSum(t, b, in, out, n); });
        std::vector<int> r(n);
        std::partial_sum(h.begin(), h.end(), r.begin());
        OK(std::equal(r.begin(), r.end(), out));
        with_temp([&](void *t, size_t &b) {
            return cub::DeviceScan::ExclusiveScan(t, b, in, out, cuda::maximum<>{}, -1000000, n);
        });
        int m = -1000000;
        bool ok = true;
        for (int i = 0; i < n; i++) {
            ok &= out[i] == m;
            m = std::max(m, h[i]);
        }
        OK(ok);
    }
    {
        with_temp([&](void *t, size_t &b) { return cub::DeviceReduce::Sum(t, b, in, out, n); });
        OK(out[0] == std::accumulate(h.begin(), h.end(), 0));
        auto *am = mem<cub::KeyValuePair<int, int>>(1);
        with_temp([&](void *t, size_t &b) { return cub::DeviceReduce::ArgMin(t, b, in, am, n); });
        OK(am->key == std::min_element(h.begin(), h.end()) - h.begin());
    }
    {
        with_temp([&](void *t, size_t &b) {
            return cub::DeviceHistogram::HistogramEven(t, b, in, out, 65, -500000, 550000, n);
        });
        std::vector<int> r(64);
        for (int e : h)
            if (e >= -500000 && e < 550000)
                r[(long long)(e + 500000) * 64 / 1050000]++;
        int sum = 0, dif = 0;
        for (int i = 0; i < 64; i++) {
            sum += out[i];
            dif += std::abs(out[i] - r[i]);
        }
        OK(sum == std::accumulate(r.begin(), r.end(), 0));
        OK(dif == 0);
    }
    {
        with_temp([&](void *t, size_t &b) {
            return cub::DeviceFor::ForEachN(t, b, vout, n, [] __device__(int &a) { a = 17; });
        });
        OK(vout[n - 1] == 17);
    }
    {
        block_reduce<128, cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, 128>>>(in, out);
        SYNC();
        OK(out[0] == std::accumulate(h.begin(), h.begin() + 512, 0));
        block_reduce<128, cub::BLOCK_REDUCE_RAKING><<<1, 128>>>(in, out);
        SYNC();
        OK(out[0] == std::accumulate(h.begin(), h.begin() + 512, 0));
        block_reduce<128, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY><<<1, 128>>>(in, out);
        SYNC();
        OK(out[0] == std::accumulate(h.begin(), h.begin() + 512, 0));
        std::vector<int> r(512);
        std::exclusive_scan(h.begin(), h.begin() + 512, r.begin(), 0);
        block_scan<128, cub::BLOCK_SCAN_WARP_SCANS><<<1, 128>>>(in, out);
        SYNC();
        OK(std::equal(r.begin(), r.end(), out));
        block_scan<128, cub::BLOCK_SCAN_RAKING><<<1, 128>>>(in, out);
        SYNC();
        OK(std::equal(r.begin(), r.end(), out));
        block_scan<128, cub::BLOCK_SCAN_RAKING_MEMOIZE><<<1, 128>>>(in, out);
        SYNC();
        OK(std::equal(r.begin(), r.end(), out));
        warp_things<<<1, 128>>>(in, out);
        SYNC();
        for (int w = 0; w < 4; w++) {
            int s = 0, m = -1000000;
            for (int i = 0; i < 32; i++) {
                OK(out[128 + w * 32 + i] == m);
                s += h[w * 32 + i];
                m = std::max(m, h[w * 32 + i]);
                OK(out[w * 32 + i] == s);
            }
        }
        for (int i = 0; i < 8; i++)
            OK(out[256 + i] == std::accumulate(h.begin() + i * 16, h.begin() + i * 16 + 16, 0));
        block_sort<<<1, 128>>>(in, out);
        SYNC();
        std::vector<int> q(h.begin(), h.begin() + 512);
        std::sort(q.begin(), q.end());
        OK(std::equal(q.begin(), q.end(), out));
        block_hist<<<1, 128>>>(in, (unsigned *)out);
        SYNC();
        std::vector<int> c(64);
        for (int i = 0; i < 512; i++)
            c[(unsigned)h[i] % 64]++;
        OK(std::equal(c.begin(), c.end(), out));
    }
    return done("cub");
}
