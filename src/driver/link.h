/* Inside src/driver: units of device code on their way to being linked, for the driver's linker
 * (link.c) and for what stands in for nvJitLink (nvjitlink.c).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DRIVER_LINK_H
#define WEIR_DRIVER_LINK_H

#include <stdint.h>

#include "base/vec.h"
#include "driver/drv.h"

struct drv_link_unit {
    char *text, *name;
    size_t bytes;
};

/* Zero-initialised but for sm is empty. One thread's at a time. */
struct drv_link {
    uint32_t sm;       /* of the device, as 89: which PTX of a fat binary */
    int max_registers; /* 0: none */
    WEIR_VEC(struct drv_link_unit) units;
    unsigned char *result; /* once complete: a container of core/linked.h */
    size_t result_bytes;
};

/* CUDA's device run time, as far as we have it: PTX that is linked where a unit names it (devrt.c).
 */
extern const char weir_drv_devrt[];

/* Text, ended by zero or by its size. A unit that cannot be parsed is refused here, where its line
 * can be told. Errors: INVALID_PTX, UNSUPPORTED_PTX_VERSION, MEMORY_ALLOCATION. */
enum weir_err weir_drv_link_ptx(struct drv_link *l, const void *data, size_t bytes,
                                const char *name) WEIR_MUST_CHECK;
/* The PTX of a container. Errors: also NO_KERNEL_IMAGE_FOR_DEVICE, INVALID_KERNEL_IMAGE. */
enum weir_err weir_drv_link_fatbin(struct drv_link *l, const void *data, size_t bytes,
                                   const char *name) WEIR_MUST_CHECK;
/* Fills result. A symbol that nothing defines is an error here, not only of the kernels that reach
 * it. Errors: INVALID_VALUE (no units), INVALID_PTX, MEMORY_ALLOCATION. */
enum weir_err weir_drv_link_complete(struct drv_link *l) WEIR_MUST_CHECK;
void weir_drv_link_finish(struct drv_link *l);

#endif
