/* Error codes inside Weir. The numbers are cudaError_t's, so that the runtime returns them as they
 * are; names and texts come from api/errors.def. WEIR_FAIL is the only place where an error is
 * born: it notes file, line and a message for the thread, which `--verbose` and the log show.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_ERR_H
#define WEIR_BASE_ERR_H

#include "base/compiler.h"

enum weir_err {
#define WEIR_ERR(name, cuda_name, code, cu_code, flags, text) WEIR_ERR_##name = (code),
#include "errors.def"
#undef WEIR_ERR
    WEIR_OK = 0,
};

/* Names and texts; NULL for a number that is no error code of CUDA's. Thread: any. */
const char *weir_err_name(int code); /* "cudaErrorInvalidValue" */
const char *weir_err_text(int code); /* "invalid argument" */

/* The driver API's number for it (CUresult), 999 when it has none. */
int weir_err_driver_code(int code);

/* True for errors after which the device stays failed (illegal address, trap, assert ...). */
int weir_err_is_sticky(int code);

/* Records where and why, returns `code`. Thread: any; keeps the last message per thread. */
enum weir_err weir_err_raise(enum weir_err code, const char *file, int line, const char *fmt, ...)
    WEIR_PRINTF(4, 5);
#define WEIR_FAIL(code, ...) weir_err_raise((code), __FILE__, __LINE__, __VA_ARGS__)

/* The calling thread's last message, "" if none. Valid until the thread's next WEIR_FAIL. */
const char *weir_err_message(void);

#endif
