/* The receiving end of NVTX (nvtx.c).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TRACE_NVTX_H
#define WEIR_TRACE_NVTX_H

#include <stdint.h>

/* Takes NVTX's functions over: what the exported InitializeInjectionNvtx2 does. 1, or 0 when the
 * table is none that is known here. Thread: any; once per copy of NVTX in the process. */
int weir_trace_nvtx_init(const void *(*export_table)(uint32_t id));

#endif
