/* Version management and profiler control.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#define RUNTIME_VERSION 13000
#define DRIVER_VERSION  13000

enum weir_err weir_rt_RuntimeGetVersion(int *runtimeVersion)
{
    RT_REQUIRE(runtimeVersion);
    *runtimeVersion = RUNTIME_VERSION;
    return WEIR_OK;
}

enum weir_err weir_rt_DriverGetVersion(int *driverVersion)
{
    RT_REQUIRE(driverVersion);
    *driverVersion = DRIVER_VERSION;
    return WEIR_OK;
}

/* Without a profiler attached both do nothing, as on a GPU. */
enum weir_err weir_rt_ProfilerStart(void)
{
    return WEIR_OK;
}

enum weir_err weir_rt_ProfilerStop(void)
{
    return WEIR_OK;
}
