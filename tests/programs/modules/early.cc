/* Behind module.cu in a library: a constructor that runs kernels, when the library's device code is
 * registered, and so inside dlopen. What it needs first of all is the compiler.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

extern "C" int module_run_5(void);

static __attribute__((constructor)) void construct(void)
{
    if (module_run_5() != 0)
        abort();
}
