/* For programs that include it by name: under weir cc the device side is always there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "vector_types.h"
