/* For programs that include the toolkit's inner header by name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "../host_defines.h"
