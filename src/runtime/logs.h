/* Inside src/runtime: the log of errors that programs may read (cudaLogs*).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_RUNTIME_LOGS_H
#define WEIR_RUNTIME_LOGS_H

#include "base/err.h"

/* A call failed; why is the thread's last message. Calls the program's callbacks. */
void weir_rt_log_failure(const char *call, const char *error);

#endif
