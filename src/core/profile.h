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
};

/* Fills *out from the built-in profile of that name (profiles/NAME.profile in the source), or, for
 * a name with a slash or a dot in it, from the file. Errors: INVALID_VALUE with a message that
 * names file and line: no such profile, a line that cannot be read, a missing value. */
enum weir_err weir_profile_load(const char *name, struct weir_profile *out) WEIR_MUST_CHECK;
/* The name of the n-th built-in profile, NULL past the end. */
const char *weir_profile_name(size_t n);

/* The value of an attribute in the profile's own table; false when it is not there. */
bool weir_profile_attribute(const struct weir_profile *p, int id, int *value);

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
};

#endif
