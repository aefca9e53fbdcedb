/* For the tests of the driver API: plain C over the public interface, so that the same source also
 * runs on a GPU.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_DRIVER_H
#define WEIR_TESTS_DRIVER_H

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int driver_failures;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #cond);                     \
            driver_failures++;                                                                     \
        }                                                                                          \
    } while (0)

/* The call gives this result. */
#define EXPECT(call, code)                                                                         \
    do {                                                                                           \
        CUresult driver_got = (call);                                                              \
        if (driver_got != (code)) {                                                                \
            const char *driver_name = "?";                                                         \
            cuGetErrorName(driver_got, &driver_name);                                              \
            fprintf(stderr, "%s:%d: %s gives %s, expected %s\n", __FILE__, __LINE__, #call,        \
                    driver_name, #code);                                                           \
            driver_failures++;                                                                     \
        }                                                                                          \
    } while (0)
#define OK(call) EXPECT(call, CUDA_SUCCESS)

#define DRIVER_END() (driver_failures ? (fprintf(stderr, "%d failed\n", driver_failures), 1) : 0)

/* scale: a[i] = a[i] * factor + add for i < n; a variable, a constant. */
static const char driver_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter = 5;\n"
    ".visible .const .align 4 .f32 add = 0f3F800000;\n"
    ".visible .entry scale(.param .u64 scale_a, .param .f32 scale_f, .param .u32 scale_n)\n{\n"
    " .reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<5>; .reg .b64 %d<4>;\n"
    " ld.param.u64 %d1, [scale_a]; ld.param.f32 %f1, [scale_f]; ld.param.u32 %r1, [scale_n];\n"
    " mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    " mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    " setp.ge.u32 %p, %r5, %r1;\n @%p bra done;\n"
    " cvta.to.global.u64 %d2, %d1; mul.wide.u32 %d3, %r5, 4; add.s64 %d2, %d2, %d3;\n"
    " ld.const.f32 %f4, [add];\n"
    " ld.global.f32 %f2, [%d2]; fma.rn.f32 %f3, %f2, %f1, %f4; st.global.f32 [%d2], %f3;\n"
    "done:\n ret;\n}\n"
    /* count: counter += 1, one thread */
    ".visible .entry count()\n{\n .reg .b32 %r<3>;\n"
    " atom.global.add.u32 %r1, [counter], 1;\n ret;\n}\n"
    /* wait: until *flag, in mapped memory */
    ".visible .entry wait(.param .u64 wait_flag)\n{\n .reg .pred %p; .reg .b32 %r<2>; .reg .b64 "
    "%d<2>;\n"
    " ld.param.u64 %d1, [wait_flag];\nagain:\n ld.volatile.u32 %r1, [%d1];\n"
    " setp.eq.u32 %p, %r1, 0;\n @%p bra again;\n ret;\n}\n"
    /* fault: stores to address 16 */
    ".visible .entry fault()\n{\n .reg .b64 %d<2>; .reg .b32 %r<2>;\n"
    " mov.u64 %d1, 16; mov.u32 %r1, 1; st.global.u32 [%d1], %r1;\n ret;\n}\n";

#endif
