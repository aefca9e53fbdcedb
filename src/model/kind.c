/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

const char *weir_op_kind_text(unsigned kind)
{
    static const char *const texts[] = {
        [WEIR_OP_KERNEL] = "kernel",
        [WEIR_OP_COPY] = "copy",
        [WEIR_OP_MEMSET] = "memset",
        [WEIR_OP_HOST_FUNC] = "host function",
        [WEIR_OP_CALLBACK] = "stream callback",
        [WEIR_OP_ALLOC] = "allocation",
        [WEIR_OP_FREE] = "free",
        [WEIR_OP_GRAPH] = "graph launch",
        [WEIR_OP_POLL] = "wait for a value",
    };
    const char *text = kind < sizeof texts / sizeof *texts ? texts[kind] : (const char *)0;

    return text ? text : "operation";
}
