/* What the writers of files for machines share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CHECK_REPORT_INT_H
#define WEIR_CHECK_REPORT_INT_H

#include <errno.h>

#include "check/check_int.h"
#include "trace/symbols.h"

void weir_json_text(FILE *to, const char *s);
/* "name": "value" */
void weir_json_member(FILE *to, const char *name, const char *value);

#endif
