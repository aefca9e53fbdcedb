/* Cooperative groups for weir cc: grids, blocks, tiles of a warp, the threads that happen to be
 * together, and tiles of several warps that meet in shared memory. Device code only. Reductions,
 * scans and copies stand in cooperative_groups/reduce.h, scan.h and memcpy_async.h. Not there:
 * clusters, the experimental and multi-device parts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CUDA_COOPERATIVE_GROUPS_H
#define WEIR_CUDA_COOPERATIVE_GROUPS_H
#define _COOPERATIVE_GROUPS_H_ /* programs ask whether this header was there */

#if defined(__clang__) && defined(__CUDA__)

#include "cuda_runtime.h"

namespace cooperative_groups {

namespace weir {

__device__ inline unsigned lane()
{
    return __nvvm_read_ptx_sreg_laneid();
}

__device__ inline unsigned lanes_below()
{
    return (1u << lane()) - 1;
}

__device__ inline unsigned block_rank()
{
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

__device__ inline unsigned block_size()
{
    return blockDim.x * blockDim.y * blockDim.z;
}

/* The lanes of the aligned piece of `size` (a power of two) that this thread is in. */
__device__ inline unsigned tile_mask(unsigned size)
{
    return size >= 32 ? ~0u : ((1u << size) - 1) << (lane() & ~(size - 1));
}

/* Objects larger than a register travel in words. */
template <class T, class Shuffle> __device__ inline T in_words(const T &value, Shuffle shuffle)
{
    constexpr int words = (sizeof(T) + 3) / 4;
    unsigned in[words] = {}, out[words];
    T result;
    __builtin_memcpy(in, &value, sizeof value);
#pragma unroll
    for (int i = 0; i < words; i++)
        out[i] = shuffle(in[i]);
    __builtin_memcpy(&result, out, sizeof result);
    return result;
}

} // namespace weir

/* Any group, its kind known at run time: a block, or some lanes of a warp. */
class thread_group {
  protected:
    bool block;
    unsigned mask; /* of a warp's lanes */

    __device__ thread_group(bool is_block, unsigned lanes) : block(is_block), mask(lanes) {}

    friend __device__ thread_group tiled_partition(const thread_group &parent, unsigned size);

  public:
    __device__ unsigned long long size() const { return block ? weir::block_size() : __popc(mask); }
    __device__ unsigned long long num_threads() const { return size(); }
    __device__ unsigned long long thread_rank() const
    {
        return block ? weir::block_rank() : __popc(mask & weir::lanes_below());
    }
    __device__ void sync() const
    {
        if (block)
            __syncthreads();
        else
            __syncwarp(mask);
    }
    __device__ bool is_valid() const { return true; }
};

namespace weir {

/* Where the warps of one larger tile meet: who has come, and a value of each. */
struct tile_room {
    unsigned come;
    unsigned words[33][4];
};

} // namespace weir

/* In shared memory, for tiles of more than a warp: the smallest such tile has two. */
template <unsigned MaxBlockSize = 1024> struct block_tile_memory {
    weir::tile_room rooms[MaxBlockSize > 64 ? MaxBlockSize / 64 : 1];
};

class thread_block : public thread_group {
    __device__ explicit thread_block(weir::tile_room *memory = nullptr)
        : thread_group(true, 0), rooms(memory)
    {
    }
    friend __device__ thread_block this_thread_block();
    template <unsigned Max>
    friend __device__ thread_block this_thread_block(block_tile_memory<Max> &memory);

  public:
    weir::tile_room *rooms; /* Weir's own */
    struct arrival_token {};
    static __device__ void sync() { __syncthreads(); }
    static __device__ void barrier_sync() { __syncthreads(); }
    static __device__ unsigned size() { return weir::block_size(); }
    static __device__ unsigned num_threads() { return weir::block_size(); }
    static __device__ unsigned thread_rank() { return weir::block_rank(); }
    static __device__ dim3 group_index() { return blockIdx; }
    static __device__ dim3 thread_index() { return threadIdx; }
    static __device__ dim3 group_dim() { return blockDim; }
    static __device__ dim3 dim_threads() { return blockDim; }
};

__device__ inline thread_block this_thread_block()
{
    return thread_block();
}

/* All threads of the block call it together. */
template <unsigned Max>
__device__ inline thread_block this_thread_block(block_tile_memory<Max> &memory)
{
    for (unsigned i = weir::block_rank(); i < sizeof memory.rooms / sizeof memory.rooms[0];
         i += weir::block_size())
        memory.rooms[i].come = 0;
    __syncthreads();
    return thread_block(memory.rooms);
}

namespace weir {

/* A word in which all blocks of a cooperative launch can meet, zero at start; null in other
 * launches. */
__device__ inline unsigned *grid_counter()
{
    unsigned high, low;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    const unsigned long long workspace = (unsigned long long)high << 32 | low;
    return workspace ? (unsigned *)(workspace + 4) : nullptr;
}

} // namespace weir

class grid_group {
    __device__ grid_group() {}
    friend __device__ grid_group this_grid();

  public:
    static __device__ unsigned long long num_blocks()
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static __device__ unsigned long long block_rank()
    {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    static __device__ unsigned long long size() { return num_blocks() * weir::block_size(); }
    static __device__ unsigned long long num_threads() { return size(); }
    static __device__ unsigned long long thread_rank()
    {
        return block_rank() * weir::block_size() + weir::block_rank();
    }
    static __device__ dim3 group_dim() { return gridDim; }
    static __device__ dim3 dim_blocks() { return gridDim; }
    static __device__ dim3 block_index() { return blockIdx; }
    /* Only in a launch by cudaLaunchCooperativeKernel; elsewhere sync() is an error of the launch.
     */
    static __device__ bool is_valid() { return weir::grid_counter() != nullptr; }
    /* The blocks count who has come; the count never goes back, so a round ends at a multiple of
     * their number. */
    static __device__ void sync()
    {
        unsigned *const counter = weir::grid_counter();
        if (!counter)
            __trap();
        __syncthreads();
        if (weir::block_rank() == 0) {
            const unsigned blocks = (unsigned)num_blocks();
            __threadfence();
            const unsigned end = (atomicAdd(counter, 1u) / blocks + 1) * blocks;
            while ((int)(*(volatile unsigned *)counter - end) < 0)
                ;
            __threadfence();
        }
        __syncthreads();
    }
};

__device__ inline grid_group this_grid()
{
    return grid_group();
}

namespace weir {

/* What all groups inside a warp share: `Self` gives its lanes, lane_of(rank), and packed(set),
 * a set of lanes as a set of ranks. */
template <class Self> struct warp_part {
    __device__ const Self &self() const { return static_cast<const Self &>(*this); }

    __device__ void sync() const { __syncwarp(self().weir_mask()); }
    __device__ unsigned thread_rank() const { return __popc(self().weir_mask() & lanes_below()); }
    __device__ int any(int predicate) const { return __any_sync(self().weir_mask(), predicate); }
    __device__ int all(int predicate) const { return __all_sync(self().weir_mask(), predicate); }
    __device__ unsigned ballot(int predicate) const
    {
        return self().packed(__ballot_sync(self().weir_mask(), predicate));
    }
    template <class T> __device__ unsigned match_any(T value) const
    {
        return self().packed(__match_any_sync(self().weir_mask(), value));
    }
    template <class T> __device__ unsigned match_all(T value, int &predicate) const
    {
        return self().packed(__match_all_sync(self().weir_mask(), value, &predicate));
    }
    /* From an absolute lane. */
    template <class T> __device__ T from_lane(const T &value, unsigned source) const
    {
        const unsigned mask = self().weir_mask();
        return in_words(value, [=](unsigned w) { return __shfl_sync(mask, w, (int)source); });
    }
    template <class T> __device__ T shfl(const T &value, int rank) const
    {
        return from_lane(value, self().lane_of((unsigned)rank % self().size()));
    }
    template <class T> __device__ T shfl_down(const T &value, unsigned delta) const
    {
        const unsigned rank = self().thread_rank() + delta;
        return from_lane(value, rank < self().size() ? self().lane_of(rank) : lane());
    }
    template <class T> __device__ T shfl_up(const T &value, unsigned delta) const
    {
        const unsigned rank = self().thread_rank();
        return from_lane(value, rank >= delta ? self().lane_of(rank - delta) : lane());
    }
};

} // namespace weir

/* An aligned piece of a warp whose size is known when compiling, or (below) several warps. */
template <unsigned Size, class Parent = void, bool OneWarp = (Size <= 32)>
class thread_block_tile : public thread_group,
                          public weir::warp_part<thread_block_tile<Size, Parent, OneWarp>> {
    static_assert(Size > 0 && (Size & (Size - 1)) == 0, "a tile has a power of two of threads");
    typedef weir::warp_part<thread_block_tile> part;
    friend part;

    __device__ unsigned lane_of(unsigned rank) const { return (weir::lane() & ~(Size - 1)) + rank; }
    __device__ unsigned packed(unsigned lanes) const
    {
        return (lanes & tile_mask()) >> (weir::lane() & ~(Size - 1));
    }
    static __device__ unsigned tile_mask() { return weir::tile_mask(Size); }

  public:
    __device__ thread_block_tile() : thread_group(false, weir::tile_mask(Size)) {}
    template <class Other>
    __device__ thread_block_tile(const thread_block_tile<Size, Other, true> &)
        : thread_group(false, weir::tile_mask(Size))
    {
    }
    static __device__ constexpr unsigned size() { return Size; }
    static __device__ constexpr unsigned num_threads() { return Size; }
    static __device__ unsigned thread_rank() { return weir::lane() & (Size - 1); }
    static __device__ unsigned meta_group_size() { return (weir::block_size() + Size - 1) / Size; }
    static __device__ unsigned meta_group_rank() { return weir::block_rank() / Size; }
    static __device__ void sync() { __syncwarp(tile_mask()); }
    __device__ unsigned weir_mask() const { return tile_mask(); }
    template <class T> __device__ T shfl_xor(const T &value, unsigned lane_mask) const
    {
        return part::from_lane(value, lane_of(thread_rank() ^ lane_mask));
    }
};

/* Several warps. They count in the tile's room who has come; a round ends at a multiple of their
 * number. Values go through the room as well, one thread's to all. */
template <unsigned Size, class Parent> class thread_block_tile<Size, Parent, false> {
    static_assert((Size & (Size - 1)) == 0 && Size <= 1024, "a tile has a power of two of threads");
    weir::tile_room *room;

  public:
    explicit __device__ thread_block_tile(weir::tile_room *rooms)
        : room(rooms + weir::block_rank() / Size)
    {
    }
    static __device__ constexpr unsigned size() { return Size; }
    static __device__ constexpr unsigned num_threads() { return Size; }
    static __device__ unsigned thread_rank() { return weir::block_rank() & (Size - 1); }
    static __device__ unsigned meta_group_size() { return (weir::block_size() + Size - 1) / Size; }
    static __device__ unsigned meta_group_rank() { return weir::block_rank() / Size; }
    static __device__ unsigned weir_warps()
    {
        const unsigned left = weir::block_size() - meta_group_rank() * Size;
        return ((left < Size ? left : Size) + 31) / 32;
    }
    __device__ void sync() const
    {
        __syncwarp();
        if (weir::lane() == 0) {
            const unsigned warps = weir_warps();
            __threadfence_block();
            const unsigned end = (atomicAdd(&room->come, 1u) / warps + 1) * warps;
            while ((int)(*(volatile unsigned *)&room->come - end) < 0)
                ;
            __threadfence_block();
        }
        __syncwarp();
    }
    /* The value of rank `from` to place `at` of the room; after a sync() anybody reads it. */
    template <class T> __device__ void weir_put(const T &value, unsigned at) const
    {
        static_assert(sizeof(T) <= sizeof room->words[0], "values of up to 16 bytes");
        __builtin_memcpy(room->words[at], &value, sizeof value);
    }
    template <class T> __device__ T weir_get(unsigned at) const
    {
        T value;
        __builtin_memcpy(&value, room->words[at], sizeof value);
        return value;
    }
    template <class T> __device__ T shfl(const T &value, int rank) const
    {
        if (thread_rank() == (unsigned)rank % Size)
            weir_put(value, 32);
        sync();
        const T got = weir_get<T>(32);
        sync();
        return got;
    }
    __device__ int any(int predicate) const
    {
        const int mine = __any_sync(__activemask(), predicate);
        if (weir::lane() == 0)
            weir_put(mine, thread_rank() / 32);
        sync();
        int all_of_them = 0;
        for (unsigned i = 0; i < weir_warps(); i++)
            all_of_them |= weir_get<int>(i);
        sync();
        return all_of_them;
    }
    __device__ int all(int predicate) const { return !any(!predicate); }
};

/* The threads of a warp that are active together. */
class coalesced_group : public thread_group, public weir::warp_part<coalesced_group> {
    typedef weir::warp_part<coalesced_group> part;
    friend part;

    __device__ unsigned lane_of(unsigned rank) const
    {
        unsigned left = lanes;
        for (; rank; rank--)
            left &= left - 1;
        return (unsigned)__ffs((int)left) - 1;
    }
    __device__ unsigned packed(unsigned set) const
    {
        unsigned out = 0, at = 0;
        for (unsigned left = lanes; left; left &= left - 1, at++)
            out |= (set >> (__ffs((int)left) - 1) & 1) << at;
        return out;
    }
    unsigned lanes;

  public:
    explicit __device__ coalesced_group(unsigned set) : thread_group(false, set), lanes(set) {}
    __device__ unsigned size() const { return __popc(lanes); }
    __device__ unsigned num_threads() const { return size(); }
    __device__ unsigned thread_rank() const { return part::thread_rank(); }
    __device__ void sync() const { __syncwarp(lanes); }
    __device__ unsigned weir_mask() const { return lanes; }
};

__device__ inline coalesced_group coalesced_threads()
{
    return coalesced_group(__activemask());
}

/* --- Partitions ------------------------------------------------------------------------------ */

namespace weir {

template <unsigned Size, class Parent, bool OneWarp> struct make_tile {
    static __device__ thread_block_tile<Size, Parent> from(const Parent &)
    {
        return thread_block_tile<Size, Parent>();
    }
};
template <unsigned Size, class Parent> struct make_tile<Size, Parent, false> {
    static __device__ thread_block_tile<Size, Parent> from(const Parent &block)
    {
        if (!block.rooms) /* this_thread_block() without a block_tile_memory */
            __trap();
        return thread_block_tile<Size, Parent>(block.rooms);
    }
};

} // namespace weir

template <unsigned Size, class Parent>
__device__ inline thread_block_tile<Size, Parent> tiled_partition(const Parent &parent)
{
    return weir::make_tile<Size, Parent, Size <= 32>::from(parent);
}

__device__ inline thread_group tiled_partition(const thread_group &parent, unsigned size)
{
    const unsigned tile = weir::tile_mask(size);
    return thread_group(false, parent.block ? tile : tile & parent.mask);
}

template <class Group>
__device__ inline coalesced_group binary_partition(const Group &g, bool predicate)
{
    const unsigned set = __ballot_sync(g.weir_mask(), predicate);
    return coalesced_group(predicate ? set : g.weir_mask() & ~set);
}

template <class Group, class Label>
__device__ inline coalesced_group labeled_partition(const Group &g, Label label)
{
    return coalesced_group(__match_any_sync(g.weir_mask(), label));
}

/* --- The same as functions ------------------------------------------------------------------- */

template <class Group> __device__ inline void sync(const Group &g)
{
    g.sync();
}

template <class Group>
__device__ inline auto thread_rank(const Group &g) -> decltype(g.thread_rank())
{
    return g.thread_rank();
}

template <class Group> __device__ inline auto group_size(const Group &g) -> decltype(g.size())
{
    return g.size();
}

/* --- One thread for all ---------------------------------------------------------------------- */

template <class Group, class Function> __device__ inline void invoke_one(const Group &g, Function f)
{
    if (g.thread_rank() == 0)
        f();
}

template <class Group, class Function>
__device__ inline auto invoke_one_broadcast(const Group &g, Function f) -> decltype(f())
{
    decltype(f()) value{};
    if (g.thread_rank() == 0)
        value = f();
    return g.shfl(value, 0);
}

/* --- Operators of reductions and scans ------------------------------------------------------- */

template <class T = void> struct plus {
    __device__ T operator()(T a, T b) const { return a + b; }
};
template <class T = void> struct less {
    __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T = void> struct greater {
    __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T = void> struct bit_and {
    __device__ T operator()(T a, T b) const { return a & b; }
};
template <class T = void> struct bit_or {
    __device__ T operator()(T a, T b) const { return a | b; }
};
template <class T = void> struct bit_xor {
    __device__ T operator()(T a, T b) const { return a ^ b; }
};

} // namespace cooperative_groups

#endif
#endif
