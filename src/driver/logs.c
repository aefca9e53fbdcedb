/* Logs: the runtime's log, whose callbacks differ in the name of a type only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver/drv.h"
#include "runtime/rt.h"

_Static_assert(sizeof(CUlogLevel) == sizeof(cudaLogLevel), "levels of messages");

enum weir_err weir_drv_LogsRegisterCallback(CUlogsCallback callbackFunc, void *userData,
                                            CUlogsCallbackHandle *callback_out)
{
    union {
        CUlogsCallback driver;
        cudaLogsCallback_t runtime;
    } f = {.driver = callbackFunc};

    return weir_rt_LogsRegisterCallback(f.runtime, userData, callback_out);
}
