/* Times, sizes and ranges as people write them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PLAN_UNITS_H
#define WEIR_PLAN_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each reads all n characters; false when they are something else. Not of the locale. */

/* "4.87ms", "290us", "1.5s", "80ns"; a bare number is milliseconds. */
bool weir_plan_read_time(const char *s, size_t n, double *ns);
/* "256MiB", "6MB", "512KB", "64B", with a unit: B, K, M, G; powers of 1024, or of 1000 with "B"
 * alone behind K, M, G. */
bool weir_plan_read_bytes(const char *s, size_t n, double *bytes);
/* "0.5", "50%". */
bool weir_plan_read_share(const char *s, size_t n, double *share);
/* "0.01", "20"; not 0. */
bool weir_plan_read_factor(const char *s, double *factor);
/* "8", "1..64"; least 1. */
bool weir_plan_read_range(const char *s, uint32_t max, uint32_t *from, uint32_t *to);

/* "1.234 ms" with the unit that fits; into out, which is returned. */
char *weir_plan_time_text(double ns, char out[32]);
char *weir_plan_bytes_text(double bytes, char out[32]);

#endif
