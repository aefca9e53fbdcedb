/* The contract between compiled kernels (codegen) and what runs them (device). A compiled kernel is
 * one C function that runs one thread block, from its start or from where it parked. Everything
 * that generated code reads stands here, at fixed offsets: a change bumps WEIR_KERNEL_ABI, which is
 * part of the cache key.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DEVICE_KERNEL_H
#define WEIR_DEVICE_KERNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

#define WEIR_KERNEL_ABI 13

struct weir_block;
struct weir_launch;

/* What a call of a block function ended with. */
enum weir_block_end {
    WEIR_BLOCK_DONE = 0,   /* every thread has exited */
    WEIR_BLOCK_PARKED = 1, /* polling, or waiting at a grid barrier: state is in the block; run
                              others, call again later */
    WEIR_BLOCK_FAILED = 2, /* block->error says why; the launch is over */
};

/* What services->clock tells a warp. */
enum weir_block_clock {
    WEIR_BLOCK_CYCLES = 0, /* %clock64 */
    WEIR_BLOCK_NS = 1,     /* %globaltimer */
    WEIR_BLOCK_SM = 2,     /* %smid */
    WEIR_BLOCK_ENDS = 3,   /* nothing: the block is through */
};

#define WEIR_BLOCK_WARPS 32u

typedef uint32_t (*weir_block_fn)(struct weir_block *block);

/* Services that generated code calls, by fixed slot: object code has no external symbols for them.
 * Never reorder. */
struct weir_kernel_services {
    /* An access outside the window: returns when [addr, addr+bytes) is in a registered range, else
     * ends the block with ILLEGAL_ADDRESS and does not return. kind: 0 read, 1 write, 2 atomic, 3 a
     * read that orders. */
    void (*check_address)(struct weir_block *block, uint64_t addr, uint32_t bytes, uint32_t kind);
    /* Ends the block with an error (enum weir_err); does not return. */
    WEIR_NORETURN void (*fail)(struct weir_block *block, uint32_t err, uint32_t line);
    /* device printf for the active lanes: formats[lane], args[lane] are generic addresses
     * (vprintf's ABI); results are stored per lane. */
    void (*vprintf)(struct weir_block *block, uint32_t mask, const uint64_t *formats,
                    const uint64_t *args, int32_t *results);
    /* device-side malloc/free; per lane. */
    void (*malloc)(struct weir_block *block, uint32_t mask, const uint64_t *bytes,
                   uint64_t *results);
    void (*free)(struct weir_block *block, uint32_t mask, const uint64_t *ptrs);
    /* __assertfail: prints as CUDA does and ends the block with ASSERT; does not return. */
    WEIR_NORETURN void (*assert_fail)(struct weir_block *block, uint32_t mask,
                                      const uint64_t *message, const uint64_t *file,
                                      const uint32_t *line, const uint64_t *function);
    uint64_t (*globaltimer)(void); /* ns, base/clock.h */
    void (*nanosleep)(struct weir_block *block, uint32_t ns);
    /* cudaGraphSetConditional; per lane. A handle that is none ends the block with ILLEGAL_ADDRESS.
     */
    void (*set_conditional)(struct weir_block *block, uint32_t mask, const uint64_t *handles,
                            const uint32_t *values);
    /* griddepcontrol: the block lets kernels that depend on it begin; waits until all that this
     * kernel depends on have ended. */
    void (*launch_dependents)(struct weir_block *block);
    void (*wait_dependencies)(struct weir_block *block);
    /* Code made with `touch` (weir_jit_request) says which global memory it is about to access: the
     * lanes in the mask `lanes`, lane k at base + k * stride, or at addresses[k]; code: bytes of
     * each, above bit 16 the kind (0 read, 1 write, 2 atomic, or any other that orders), above bit
     * 32 the PTX line. Generic addresses may mean shared or local memory. Neither uses a vector
     * register: generated code keeps its own in them. */
    void (*touch)(struct weir_block *block, uint64_t lanes, uint64_t code, uint64_t base,
                  int64_t stride);
    void (*touch_lanes)(struct weir_block *block, uint64_t lanes, uint64_t code,
                        const uint64_t *addresses);
    /* Textures and surfaces (device/texture.h): a fetch, query, load, store ... for the lanes in
     * the mask, of the objects in handles[lane] (one for all with WEIR_TEX_UNIFORM, at [0]). in and
     * out: rows of 32 words. What no object of that kind is, or is stored beyond its end with
     * .trap, ends the block. */
    void (*texture)(struct weir_block *block, uint32_t lanes, uint32_t code,
                    const uint64_t *handles, const uint32_t *in, uint32_t *out);
    /* Bulk copies, and stores with a barrier object (device/bulk.h), for the lanes in the mask. */
    void (*bulk)(struct weir_block *block, uint32_t lanes, uint32_t code, const uint64_t *rows);
    /* Code made with `races` says which shared and global memory its threads access, each time, and
     * what orders them (device/race.h). */
    void (*race)(struct weir_block *block, uint64_t lanes, uint64_t code, const uint64_t *rows);
    void (*order)(struct weir_block *block, uint32_t what, uint32_t lanes, uint64_t arg);
    /* Of code with `reads_clock`: the modelled clock of this warp of the block (weir_launch.clock);
     * what: enum weir_block_clock. Such code says when a block ends. */
    uint64_t (*clock)(struct weir_block *block, uint32_t what, uint32_t warp);
    /* CUDA's runtime, called by a kernel (ptx/device_calls.h), for the lanes in the mask. rows: the
     * arguments one behind the other, of each lane a word of 32 bits, or of 64; results: the same.
     */
    void (*device_call)(struct weir_block *block, uint32_t lanes, uint32_t call,
                        const uint32_t *rows, void *results);
};

/* One launch, constant while it runs. Generated code reads it. */
struct weir_launch {
    uint32_t grid[3], block[3];
    const void *params; /* the kernel's .param space, param_bytes long */
    uint32_t param_bytes;
    uint32_t dynamic_shared_bytes;
    const struct weir_kernel_services *services;
    const void
        *module_data; /* of codegen's image: table of the addresses of the module's variables */
    uint64_t window_base, window_bytes;
    uint64_t grid_id;
    uint64_t grid_workspace; /* of a cooperative launch: 64 bytes in the window, zero at start, for
                                the program's grid barrier (%envreg1 and 2); else 0 */
    uint32_t device, sm_count;
    void *owner;   /* core's: for printf buffers, device heap, error reports */
    void *touches; /* core's: what services->touch collects; NULL: nothing */
    void *clock;   /* core's: modelled time of code with `reads_clock`; NULL: real time */
    /* Which bytes code with `touch` need not speak of again: at touched + 32 * (address >> 12) + 8
     * * kind, for addresses of the window, an offset from `untouched`; there, a bit for every byte
     * of the page, which is set when it was noted, and 48 bytes of zeros behind them. */
    uint64_t touched;
    const void *untouched;
    uint32_t cluster[3];       /* blocks of a cluster; 0 is 1 */
    uint32_t explicit_cluster; /* the launch or the kernel says so */
    /* Code made with `twin` reaches addresses from twin_base on, twin_bytes of them, twin_shift
     * further on (weir_mem_twin). */
    uint64_t twin_base, twin_bytes, twin_shift;
};

/* What the blocks of a cluster share. They run in turns on one worker, so that plain accesses do. A
 * kernel that asks for clusters has one of a single block when it is launched without. */
struct weir_cluster {
    uint64_t shared; /* address of the first block's shared memory */
    uint64_t stride; /* of the next one's */
    uint32_t blocks;
    uint32_t phase; /* of the cluster's barrier: how often it was complete */
};

#define WEIR_LOCAL_ALIGN 1024u /* the most that a .local variable can be aligned to */

/* One thread block being run. The engine allocates it once per worker (and more when blocks park)
 * and reuses it. */
struct weir_block {
    const struct weir_launch *launch;
    uint32_t ctaid[3];
    uint32_t resume;       /* 0: start; else generated code's own (set when it parks) */
    uint32_t shared_bytes; /* static + dynamic, rounded up as hardware does */
    uint32_t smid;         /* worker index: %smid */
    uint32_t warp;         /* that runs now, as generated code says it */
    char *shared;   /* shared memory of the block, 128-byte aligned, inside the window; contents
                       undefined at start */
    char *state;    /* kernel->state_bytes, 64-byte aligned: per-warp state across region splits */
    char *local;    /* kernel->local_bytes_per_thread * threads, inside the window, aligned to
                       WEIR_LOCAL_ALIGN */
    uint32_t error; /* enum weir_err when FAILED */
    uint32_t error_line;    /* PTX line, 0 unknown */
    uint64_t error_address; /* for ILLEGAL_ADDRESS */
    void *escape;           /* engine's: where a fault or services->fail leaves to */
    void *engine;           /* engine's */
    void *races;            /* core's, of code with `races`: what its threads did */
    uint32_t triggered;     /* engine's: it has let dependents begin */
    /* What it has done so far: instructions of warps, and bytes that their lanes loaded and stored
     * in global memory. Only code that was made to count (weir_jit_request.counts) touches them;
     * the engine takes them. */
    uint64_t instructions, bytes;
    struct weir_cluster
        *cluster; /* of code with `clusters`; then, as generated code counts them: */
    uint32_t cluster_rank, cluster_arrived; /* threads at the cluster's barrier */
    uint32_t cluster_live;                  /* that have not ended; set when it parks */
    /* Of a failure: the lane and 1, 0 unknown; where the machine's instruction stood that faulted,
     * 0: none did. */
    uint32_t error_lane;
    uint64_t error_pc;
    /* Of code with `reads_clock`, set by it: what each warp of this block has done, as above. */
    struct {
        uint64_t instructions, bytes;
    } warps[WEIR_BLOCK_WARPS];
    uint64_t clock_begin; /* services->clock's: its first cycle + 1; last, and zero at first as
                              warps are */
};

/* Executable code of a kernel for one block shape (codegen makes and owns it). Immutable, but for
 * `better`. */
struct weir_kernel_code {
    weir_block_fn run;
    const char *name;
    uint32_t state_bytes;            /* of weir_block.state */
    uint32_t local_bytes_per_thread; /* of weir_block.local */
    uint32_t static_shared_bytes;
    uint32_t mxcsr;   /* x86: value while a block runs (FTZ/DAZ kernels); 0 = default 0x1f80 */
    bool may_park;    /* can return PARKED: the engine keeps spare blocks */
    bool triggers;    /* has griddepcontrol.launch_dependents */
    bool launches;    /* calls services->device_call: it may outlive its blocks */
    bool cooperative; /* uses grid synchronisation: all blocks must be resident */
    bool clusters;    /* needs weir_block.cluster */
    bool reads_clock; /* made for modelled time, and asks for it: needs weir_launch.clock */
    const void *module_data;
    /* Code that was made later, to be used for blocks that start from now on; NULL: none yet. It
     * lives as long as this one. atomic: release in codegen, acquire in weir_kernel_code_newest */
    const struct weir_kernel_code *_Atomic better;
};

static inline const struct weir_kernel_code *
weir_kernel_code_newest(const struct weir_kernel_code *code)
{
    const struct weir_kernel_code *better =
        atomic_load_explicit(&((struct weir_kernel_code *)code)->better, memory_order_acquire);

    return better ? better : code;
}

#endif
