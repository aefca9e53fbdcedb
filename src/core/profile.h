/* Device profiles: what a device says about itself and how much runs on it at a time (DESIGN 4).
 * They are text files (profiles/), the built-in ones as bytes in the library.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_PROFILE_H
#define WEIR_CORE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define WEIR_PROFILE_ATTRIBUTES 160 /* numbers of attributes are below this */

/* What things cost on the device and its host, `cost NAME VALUE` in a profile: what weir plan and
 * --clock model compute with. X(enumerator, name): names end in their unit. */
#define WEIR_PROFILE_COSTS(X)                                                                      \
    X(HW_QUEUES, "hw-queues") /* streams share so many, by number */                               \
    X(KERNELS, "kernels")     /* that run at a time */                                             \
    X(H2D_GBPS, "h2d-gbps")   /* pinned memory, large copies, one direction */                     \
    X(D2H_GBPS, "d2h-gbps")                                                                        \
    X(DUPLEX, "duplex")                       /* a direction's share of that beside the other */   \
    X(COPY_US, "copy-us")                     /* the least that a copy takes */                    \
    X(PAGEABLE_H2D_GBPS, "pageable-h2d-gbps") /* copies of pageable memory, as the host sees */    \
    X(PAGEABLE_D2H_GBPS, "pageable-d2h-gbps")                                                      \
    X(PAGEABLE_SMALL_H2D_GBPS, "pageable-small-h2d-gbps") /* up to 16 MiB, used again and again */ \
    X(PAGEABLE_SMALL_D2H_GBPS, "pageable-small-d2h-gbps")                                          \
    X(PAGEABLE_MID_H2D_GBPS, "pageable-mid-h2d-gbps") /* 64 MiB; between both when not said */     \
    X(PAGEABLE_MID_D2H_GBPS, "pageable-mid-d2h-gbps")                                              \
    X(DEVICE_GBPS, "device-gbps")           /* device memory, read and written together */         \
    X(LAUNCH_US, "launch-us")               /* from submission to the start, idle device */        \
    X(KERNEL_US, "kernel-us")               /* the least that a kernel takes */                    \
    X(SAME_US, "same-us")                   /* from a kernel to the next in its stream */          \
    X(HANDOVER_US, "handover-us")           /* from one engine to another, in order */             \
    X(COPY_GAP_US, "copy-gap-us")           /* a copy engine, between two that waited */           \
    X(SUBMIT_KERNEL_US, "submit-kernel-us") /* the host, a call */                                 \
    X(SUBMIT_SWITCH_US, "submit-switch-us") /* more, when the stream is another one */             \
    X(SUBMIT_COPY_US, "submit-copy-us")                                                            \
    X(RECORD_US, "record-us") /* events without timing */                                          \
    X(RECORD_TIMING_US, "record-timing-us")                                                        \
    X(WAIT_US, "wait-us")                                                                          \
    X(SYNC_US, "sync-us")               /* nothing to wait for */                                  \
    X(SYNC_RETURN_US, "sync-return-us") /* from the end of the work to the call's end */           \
    X(HOST_FUNC_US, "host-func-us")     /* from its turn to its start */                           \
    X(GRAPH_LAUNCH_US, "graph-launch-us")                                                          \
    X(GRAPH_NODE_US, "graph-node-us") /* on the device, from a node to the next */

enum weir_profile_cost {
#define WEIR_PROFILE_COST_ENUM(id, name) WEIR_COST_##id,
    WEIR_PROFILE_COSTS(WEIR_PROFILE_COST_ENUM)
#undef WEIR_PROFILE_COST_ENUM
        WEIR_PROFILE_COST_COUNT
};

/* `kernel NAME US [BLOCKS]`: what a launch of so many blocks was measured to take; 0: any. */
struct weir_profile_kernel {
    char *name; /* mangled, or the short one of traces */
    double us;
    uint64_t blocks;
};

struct weir_profile {
    char name[64];              /* --device NAME */
    char device_name[128];      /* cudaDeviceProp.name */
    int major, minor;           /* compute capability */
    int sm_count;               /* 0: one per usable CPU */
    size_t memory_bytes;        /* 0: half of the machine's memory */
    size_t persisting_l2_bytes; /* cudaLimitPersistingL2CacheSize at first */
    /* by number; those computed (SM count when it is 0, PCI ids ...) need not be there */
    int32_t attributes[WEIR_PROFILE_ATTRIBUTES];
    bool has[WEIR_PROFILE_ATTRIBUTES];
    /* occupancy: allocation granularity of the capability */
    int register_unit, warp_register_unit, shared_unit;
    double costs[WEIR_PROFILE_COST_COUNT]; /* 0: not said */
    struct weir_profile_kernel *kernels;   /* one name's lines may stand anywhere among them */
    size_t kernel_count;
};

/* Fills *out from the built-in profile of that name (profiles/NAME.profile in the source), or, for
 * a name with a slash or a dot in it, from the file. Errors: INVALID_VALUE with a message that
 * names file and line: no such profile, a line that cannot be read, a missing value; then *out
 * holds nothing to finish. */
enum weir_err weir_profile_load(const char *name, struct weir_profile *out) WEIR_MUST_CHECK;
/* The same from a text; name: for messages, and out->name. */
enum weir_err weir_profile_parse(const char *name, const char *text, size_t bytes,
                                 struct weir_profile *out) WEIR_MUST_CHECK;
void weir_profile_finish(struct weir_profile *p);
/* The name of the n-th built-in profile, NULL past the end. */
const char *weir_profile_name(size_t n);

/* The value of an attribute in the profile's own table; false when it is not there. */
bool weir_profile_attribute(const struct weir_profile *p, int id, int *value);

/* "h2d-gbps" and so on. */
const char *weir_profile_cost_name(enum weir_profile_cost cost);

/* Numbers of the attributes that Weir itself reads or computes. */
enum weir_attribute_id {
    WEIR_ATTR_MAX_THREADS_PER_BLOCK = 1,
    WEIR_ATTR_MAX_BLOCK_DIM_X = 2,
    WEIR_ATTR_MAX_BLOCK_DIM_Y = 3,
    WEIR_ATTR_MAX_BLOCK_DIM_Z = 4,
    WEIR_ATTR_MAX_GRID_DIM_X = 5,
    WEIR_ATTR_MAX_GRID_DIM_Y = 6,
    WEIR_ATTR_MAX_GRID_DIM_Z = 7,
    WEIR_ATTR_MAX_SHARED_PER_BLOCK = 8,
    WEIR_ATTR_TOTAL_CONSTANT = 9,
    WEIR_ATTR_WARP_SIZE = 10,
    WEIR_ATTR_MAX_PITCH = 11,
    WEIR_ATTR_MAX_REGISTERS_PER_BLOCK = 12,
    WEIR_ATTR_CLOCK_RATE = 13,
    WEIR_ATTR_TEXTURE_1D = 21,
    WEIR_ATTR_TEXTURE_2D = 22, /* and 23: width, height */
    WEIR_ATTR_TEXTURE_3D = 24, /* to 26 */
    WEIR_ATTR_SM_COUNT = 16,
    WEIR_ATTR_PCI_BUS = 33,
    WEIR_ATTR_PCI_DEVICE = 34,
    WEIR_ATTR_MAX_THREADS_PER_SM = 39,
    WEIR_ATTR_ASYNC_ENGINES = 40,
    WEIR_ATTR_PAGEABLE_ACCESS = 88,
    WEIR_ATTR_CONCURRENT_MANAGED = 89,
    WEIR_ATTR_PCI_DOMAIN = 50,
    WEIR_ATTR_BOARD_GROUP = 85,
    WEIR_ATTR_MAJOR = 75,
    WEIR_ATTR_MINOR = 76,
    WEIR_ATTR_MAX_SHARED_PER_SM = 81,
    WEIR_ATTR_MAX_REGISTERS_PER_SM = 82,
    WEIR_ATTR_COOPERATIVE_LAUNCH = 95,
    WEIR_ATTR_MAX_SHARED_OPTIN = 97,
    WEIR_ATTR_MAX_BLOCKS_PER_SM = 106,
    WEIR_ATTR_RESERVED_SHARED = 111,
    WEIR_ATTR_CLUSTER_LAUNCH = 120,
};

#endif
