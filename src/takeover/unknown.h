/* Called by the islands that the auditor makes (take.c), under this name only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TAKEOVER_UNKNOWN_H
#define WEIR_TAKEOVER_UNKNOWN_H

int weir_takeover_unknown(const char *name);

#endif
