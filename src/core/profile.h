/* Device profiles: what a device says about itself and how much runs on it at a time (DESIGN 4).
 * Data only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_PROFILE_H
#define WEIR_CORE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_attribute {
    uint16_t id; /* cudaDeviceAttr / CUdevice_attribute: the numbers are the same */
    int32_t value;
};

struct weir_profile {
    const char *name;        /* --device NAME */
    const char *device_name; /* cudaDeviceProp.name */
    int major, minor;        /* compute capability */
    int sm_count;            /* 0: one per usable CPU */
    size_t memory_bytes;     /* 0: half of the machine's memory */
    const struct weir_attribute
        *attributes; /* ascending by id; those computed (SM count, PCI ids ...) are not in it */
    size_t attribute_count;
    /* occupancy: allocation granularity of the capability */
    int register_unit, warp_register_unit, shared_unit;
};

/* NULL when there is no profile of this name. */
const struct weir_profile *weir_profile_find(const char *name);
/* The n-th profile, NULL past the end (`weir info`). */
const struct weir_profile *weir_profile_at(size_t n);

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
    WEIR_ATTR_SM_COUNT = 16,
    WEIR_ATTR_PCI_BUS = 33,
    WEIR_ATTR_PCI_DEVICE = 34,
    WEIR_ATTR_MAX_THREADS_PER_SM = 39,
    WEIR_ATTR_PCI_DOMAIN = 50,
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
