/* How compiled code asks for bulk copies and stores with a barrier object
 * (weir_kernel_services.bulk): the kind is a number put together here, the operands are rows of 32
 * words of 64 bits. They are done at once. Source: PTX ISA, cp.async.bulk, cp.reduce.async.bulk,
 * st.async, red.async, "Parallel Synchronization: mbarrier".
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DEVICE_BULK_H
#define WEIR_DEVICE_BULK_H

#include <stdint.h>

enum weir_bulk_row {
    WEIR_BULK_TO,      /* absolute addresses */
    WEIR_BULK_BARRIER, /* with WEIR_BULK_COMPLETES */
    WEIR_BULK_FROM,    /* of copies; else the first element of data, its bits */
    WEIR_BULK_BYTES,   /* of copies; else the second element */
    WEIR_BULK_MASK,    /* of copies to many blocks; else the third element */
    WEIR_BULK_ROWS = 6
};

enum weir_bulk_op {
    WEIR_BULK_SET,
    WEIR_BULK_ADD,
    WEIR_BULK_MIN,
    WEIR_BULK_MAX,
    WEIR_BULK_INC,
    WEIR_BULK_DEC,
    WEIR_BULK_AND,
    WEIR_BULK_OR,
    WEIR_BULK_XOR,
};

enum weir_bulk_type {
    WEIR_BULK_U32,
    WEIR_BULK_S32,
    WEIR_BULK_U64,
    WEIR_BULK_S64,
    WEIR_BULK_F16,
    WEIR_BULK_BF16,
    WEIR_BULK_F32,
    WEIR_BULK_F64,
};

#define WEIR_BULK_CODE(op, type) ((uint32_t)(op) | (uint32_t)(type) << 4)
#define WEIR_BULK_OP(code)       ((code)&15u)
#define WEIR_BULK_TYPE(code)     ((code) >> 4 & 15u)
#define WEIR_BULK_DATA_AT        8 /* 3 bits: elements of data, 0: a copy of memory */
#define WEIR_BULK_DATA(code)     ((code) >> WEIR_BULK_DATA_AT & 7u)
#define WEIR_BULK_COMPLETES      (1u << 11) /* a barrier object's transactions */
#define WEIR_BULK_TO_SHARED      (1u << 12)
#define WEIR_BULK_FROM_SHARED    (1u << 13)
#define WEIR_BULK_CLUSTER        (1u << 14) /* shared memory is the cluster's */
#define WEIR_BULK_MANY           (1u << 15) /* multicast: to the blocks of the mask */

/* A barrier object: bits 0-19 pending arrivals, 20-39 expected ones, 40-61 bytes of transactions
 * (signed), 63 parity of the phase. */
#define WEIR_MBARRIER_COUNT_MASK  0xfffffu
#define WEIR_MBARRIER_EXPECTED_AT 20u
#define WEIR_MBARRIER_BYTES_AT    40u
#define WEIR_MBARRIER_BYTES_MASK  0x3fffffu
#define WEIR_MBARRIER_PHASE_AT    63u

#endif
