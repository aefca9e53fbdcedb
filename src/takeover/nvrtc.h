/* NVRTC in a program: what it calls a cubin becomes the PTX that it was made from, since there is
 * no GPU that machine code could run on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TAKEOVER_NVRTC_H
#define WEIR_TAKEOVER_NVRTC_H

#include <link.h>
#include <stdbool.h>

/* By the file's name: "libnvrtc.so.13", "libnvrtc.alt.so.13", not "libnvrtc-builtins.so.13". */
bool weir_nvrtc_is(const char *base);
/* Makes nvrtcGetCUBINSize and nvrtcGetCUBIN jump to nvrtcGetPTXSize and nvrtcGetPTX, which take the
 * same arguments; PTX is there for real architectures, too. NULL, or why not. */
const char *weir_nvrtc_take(const struct link_map *map);

#endif
