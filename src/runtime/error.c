/* Error handling.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include "check/check.h"

cudaError_t weir_rt_GetLastError(void)
{
    enum weir_err err = weir_thread.last_error;

    if (weir_check_enabled())
        weir_check_error_read(err, true);
    weir_thread.last_error = WEIR_OK;
    return (cudaError_t)err;
}

cudaError_t weir_rt_PeekAtLastError(void)
{
    if (weir_check_enabled())
        weir_check_error_read(weir_thread.last_error, false);
    return (cudaError_t)weir_thread.last_error;
}

const char *weir_rt_GetErrorName(cudaError_t error)
{
    const char *name = error == cudaSuccess ? "cudaSuccess" : weir_err_name((int)error);

    return name ? name : "unrecognized error code";
}

const char *weir_rt_GetErrorString(cudaError_t error)
{
    const char *text = error == cudaSuccess ? "no error" : weir_err_text((int)error);

    return text ? text : "unrecognized error code";
}
