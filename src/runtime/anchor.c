/* libweir.so has no source of its own: it is the layers' archives (CMakeLists.txt). A linker wants
 * one object.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/compiler.h"

WEIR_EXPORT extern const char weir_api_version[];
const char weir_api_version[] = WEIR_VERSION;
