/* Cooperative groups: tiles of every size, coalesced, labelled and binary groups, reductions and
 * scans, tiles of several warps, the grid.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include <cuda/atomic>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
template <int N> __global__ void tiles(int *out)
{
    auto b = cg::this_thread_block();
    auto t = cg::tiled_partition<N>(b);
    int x = (int)b.thread_rank() * 5 % 37;
    int *o = out + b.thread_rank() * 16;
    o[0] = cg::reduce(t, x, cg::plus<int>());
    o[1] = cg::inclusive_scan(t, x);
    o[2] = cg::exclusive_scan(t, x, cg::plus<int>());
    o[3] = t.shfl(x, N - 1);
    o[4] = t.shfl_xor(x, N / 2);
    o[5] = t.ballot(x & 1);
    o[6] = t.any(x == 7);
    o[7] = t.match_any(x % 3);
    o[8] = cg::reduce(t, (long long)x << 33, cg::greater<long long>()) >> 33;
    o[9] = (int)cg::reduce(t, (double)x, cg::less<double>());
    o[10] = t.meta_group_rank() * 100 + t.meta_group_size();
    o[11] = cg::reduce(t, (unsigned)x, cg::bit_xor<unsigned>());
    o[12] = t.shfl_down(x, 1);
    o[13] = t.all(x >= 0);
    int pr;
    o[14] = t.match_all(b.thread_rank() / N, pr) + pr;
    t.sync();
    o[15] = t.thread_rank();
}
template <int N> void check_tiles(int *out)
{
    memset(out, 0xee, 256 * 16 * 4);
    tiles<N><<<1, 256>>>(out);
    SYNC();
    for (int r = 0; r < 256; r++) {
        int base = r / N * N, k = r - base, sum = 0, inc = 0, exc = 0, bal = 0, any = 0, m = 0,
            mx = 0, mn = 1000, x = 0;
        auto v = [](int q) { return q * 5 % 37; };
        for (int q = 0; q < N; q++) {
            int y = v(base + q);
            sum += y;
            if (q <= k)
                inc += y;
            if (q < k)
                exc += y;
            bal |= (y & 1) << q;
            any |= y == 7;
            m |= (y % 3 == v(r) % 3) << q;
            mx = y > mx ? y : mx;
            mn = y < mn ? y : mn;
            x ^= y;
        }
        int *o = out + r * 16;
        OK(o[0] == sum);
        OK(o[1] == inc);
        OK(o[2] == exc);
        OK(o[3] == v(base + N - 1));
        OK(o[4] == v(N / 2 ? r ^ N / 2 : r));
        OK(o[5] == bal);
        OK(o[6] == any);
        OK(o[7] == m);
        OK(o[8] == mx);
        OK(o[9] == mn);
        OK(o[10] == r / N * 100 + 256 / N);
        OK(o[11] == x);
        OK(o[12] == v(k + 1 < N ? r + 1 : r));
        OK(o[13] == 1);
        OK(o[14] == (int)((N == 32 ? 0xffffffffu : (1u << N) - 1)) + 1);
        OK(o[15] == k);
    }
}
__global__ void coalesced(int *out)
{
    int t = threadIdx.x;
    out[t] = -1;
    if (t % 3 == 1) {
        auto g = cg::coalesced_threads();
        int x = cg::reduce(g, t, cg::plus<int>());
        x += g.size() * 10000 + g.shfl(t, 2) * 100000;
        x += cg::inclusive_scan(g, 1) * 10000000;
        auto s = cg::tiled_partition(g, 4);
        out[t] = x;
        out[128 + t] = s.size() * 100 + s.thread_rank();
        if (g.thread_rank() == 0)
            out[256 + t / 32] = g.num_threads();
    }
}
__global__ void labeled(int *out)
{
    auto b = cg::this_thread_block();
    auto w = cg::tiled_partition<32>(b);
    auto g = cg::labeled_partition(w, (int)(w.thread_rank() % 5));
    out[threadIdx.x] = cg::reduce(g, (int)threadIdx.x, cg::plus<int>()) * 100 + g.size();
    auto h = cg::binary_partition(w, threadIdx.x % 7 < 2);
    out[64 + threadIdx.x] = cg::reduce(h, 1, cg::plus<int>());
    auto lab2 = cg::labeled_partition(g, (int)(threadIdx.x & 1));
    out[128 + threadIdx.x] = lab2.size();
}
__global__ void __launch_bounds__(256) big_tiles(int *out)
{
    __shared__ cg::block_tile_memory<256> sm;
    auto b = cg::this_thread_block(sm);
    auto t = cg::tiled_partition<128>(b);
    int x = cg::reduce(t, (int)b.thread_rank(), cg::plus<int>());
    x += t.shfl((int)b.thread_rank(), 5) * 100000;
    t.sync();
    out[threadIdx.x] = x + t.any(threadIdx.x == 200);
    auto u = cg::tiled_partition<64>(b);
    out[256 + threadIdx.x] = cg::inclusive_scan(u, 1);
}
__global__ void grid(int *v, int rounds)
{
    auto g = cg::this_grid();
    int n = g.size(), t = g.thread_rank();
    for (int r = 0; r < rounds; r++) {
        int x = v[(t + 1) % n];
        g.sync();
        v[t] = x + 1;
        g.sync();
    }
    if (t == 0)
        v[n] = g.is_valid() * 1000 + g.num_blocks();
}
__global__ void grid_arrive(int *v)
{
    auto g = cg::this_grid();
    int n = g.size(), t = g.thread_rank();
    v[t] = t * 2;
    auto tok = g.barrier_arrive();
    int local = t * 3;
    g.barrier_wait(std::move(tok));
    v[n + t] = v[n - 1 - t] + local;
}
__global__ void invoke(int *out)
{
    auto b = cg::this_thread_block();
    auto w = cg::tiled_partition<32>(b);
    cg::invoke_one(w, [&] { atomicAdd(out, 1); });
    int x = cg::invoke_one_broadcast(w, [&] { return (int)threadIdx.x / 32 * 7 + 1; });
    out[1 + threadIdx.x] = x;
    cg::reduce_update_async(w, *(cuda::atomic<int, cuda::thread_scope_device> *)(out + 300), 1,
                            cg::plus<int>());
    b.barrier_wait(b.barrier_arrive());
}
int main()
{
    int *out = mem<int>(8192);
    check_tiles<32>(out);
    check_tiles<16>(out);
    check_tiles<8>(out);
    check_tiles<4>(out);
    check_tiles<2>(out);
    coalesced<<<1, 128>>>(out);
    SYNC();
    for (int w = 0; w < 4; w++) {
        int n = 0, sum = 0, third = 0;
        for (int t = w * 32; t < w * 32 + 32; t++)
            if (t % 3 == 1) {
                if (n == 2)
                    third = t;
                n++;
                sum += t;
            }
        int k = 0;
        for (int t = w * 32; t < w * 32 + 32; t++) {
            if (t % 3 != 1) {
                OK(out[t] == -1);
                continue;
            }
            OK(out[t] == sum + n * 10000 + third * 100000 + (k + 1) * 10000000);
            int sz = k / 4 * 4 + 4 <= n ? 4 : n % 4;
            OK(out[128 + t] == sz * 100 + k % 4);
            k++;
        }
        OK(out[256 + w] == n);
    }
    labeled<<<1, 64>>>(out);
    SYNC();
    for (int t = 0; t < 64; t++) {
        int n = 0, s = 0, h = 0, l2 = 0;
        for (int q = t / 32 * 32; q < t / 32 * 32 + 32; q++) {
            bool same = q % 32 % 5 == t % 32 % 5;
            if (same) {
                n++;
                s += q;
            }
            h += (q % 7 < 2) == (t % 7 < 2);
            l2 += same && (q & 1) == (t & 1);
        }
        OK(out[t] == s * 100 + n);
        OK(out[64 + t] == h);
        OK(out[128 + t] == l2);
    }
    big_tiles<<<1, 256>>>(out);
    SYNC();
    for (int t = 0; t < 256; t++) {
        int b = t / 128 * 128, s = 0;
        for (int q = 0; q < 128; q++)
            s += b + q;
        OK(out[t] == s + (b + 5) * 100000 + (b == 128));
        OK(out[256 + t] == t % 64 + 1);
    }
    memset(out, 0, 8192 * 4);
    int rounds = 6;
    void *args[] = {&out, &rounds};
    int nb = 0;
    CU(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&nb, grid, 96, 0));
    OK(nb > 0);
    CU(cudaLaunchCooperativeKernel((void *)grid, 8, 96, args, 0, 0));
    SYNC();
    for (int t = 0; t < 768; t++)
        OK(out[t] == rounds);
    OK(out[768] == 1008);
    void *args2[] = {&out};
    CU(cudaLaunchCooperativeKernel((void *)grid_arrive, 4, 64, args2, 0, 0));
    SYNC();
    for (int t = 0; t < 256; t++)
        OK(out[256 + t] == (255 - t) * 2 + t * 3);
    memset(out, 0, 4096);
    invoke<<<1, 128>>>(out);
    SYNC();
    OK(out[0] == 4);
    for (int t = 0; t < 128; t++)
        OK(out[1 + t] == t / 32 * 7 + 1);
    OK(out[300] == 128);
    return done("groups");
}
