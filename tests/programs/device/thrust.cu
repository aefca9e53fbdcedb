/* Thrust on device vectors, as nvcc compiles it: sorts, scans, reductions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include <algorithm>
#include <numeric>
#include <vector>
#include <map>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sort.h>
#include <thrust/scan.h>
#include <thrust/reduce.h>
#include <thrust/unique.h>
#include <thrust/copy.h>
#include <thrust/transform_reduce.h>
#include <thrust/sequence.h>
#include <thrust/binary_search.h>
#include <thrust/inner_product.h>
#include <thrust/partition.h>
#include <thrust/set_operations.h>
#include <thrust/extrema.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/execution_policy.h>
struct rec {
    int key;
    float v;
    int id;
};
struct by_key {
    __host__ __device__ bool operator()(const rec &a, const rec &b) const { return a.key < b.key; }
};
struct sq {
    __host__ __device__ double operator()(int x) const { return (double)x * x; }
};
struct even {
    __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};
int main()
{
    const int n = 20011;
    std::vector<int> h(n);
    unsigned x = 1;
    for (auto &e : h) {
        x = x * 1664525 + 1013904223;
        e = (int)(x >> 12) - 500000;
    }
    thrust::device_vector<int> d(h.begin(), h.end());
    {
        auto v = d;
        thrust::sort(v.begin(), v.end());
        auto r = h;
        std::sort(r.begin(), r.end());
        OK(std::equal(r.begin(), r.end(), thrust::host_vector<int>(v).begin()));
    }
    {
        thrust::device_vector<float> k(n);
        thrust::device_vector<int> v(n);
        thrust::sequence(v.begin(), v.end());
        std::vector<float> hk(n);
        for (int i = 0; i < n; i++)
            hk[i] = h[i] * 0.5f;
        thrust::copy(hk.begin(), hk.end(), k.begin());
        thrust::stable_sort_by_key(k.begin(), k.end(), v.begin());
        std::vector<int> r(n);
        std::iota(r.begin(), r.end(), 0);
        std::stable_sort(r.begin(), r.end(), [&](int a, int b) { return hk[a] < hk[b]; });
        OK(std::equal(r.begin(), r.end(), thrust::host_vector<int>(v).begin()));
    }
    {
        thrust::device_vector<int> o(n);
        thrust::inclusive_scan(d.begin(), d.end(), o.begin());
        std::vector<int> r(n);
        std::partial_sum(h.begin(), h.end(), r.begin());
        OK(std::equal(r.begin(), r.end(), thrust::host_vector<int>(o).begin()));
        thrust::exclusive_scan(d.begin(), d.end(), o.begin(), 5);
        thrust::host_vector<int> g(o);
        int a = 5;
        bool ok = true;
        for (int i = 0; i < n; i++) {
            ok &= g[i] == a;
            a += h[i];
        }
        OK(ok);
    }
    {
        double s = thrust::transform_reduce(d.begin(), d.end(), sq(), 0.0, thrust::plus<double>());
        double r = 0;
        for (int e : h)
            r += (double)e * e;
        OK(std::abs(s - r) <= 1e-9 * r);
    }
    {
        auto m = thrust::minmax_element(d.begin(), d.end());
        auto r = std::minmax_element(h.begin(), h.end());
        OK(*m.first == *r.first && *m.second == *r.second);
        OK(thrust::count_if(d.begin(), d.end(), even()) ==
           std::count_if(h.begin(), h.end(), even()));
    }
    {
        thrust::device_vector<int> o(n);
        thrust::for_each(
            thrust::device, thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(n),
            [p = thrust::raw_pointer_cast(o.data())] __device__(int i) { p[i] = i * 3; });
        thrust::host_vector<int> g(o);
        OK(g[n - 1] == (n - 1) * 3);
    }
    return done("thrust");
}
