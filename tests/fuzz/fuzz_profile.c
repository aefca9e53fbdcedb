/* Device profiles as a user writes them: the parser, and a machine that plans with what it read.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/err.h"
#include "core/profile.h"
#include "fuzz/fuzz.h"
#include "plan/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct weir_profile p;
    struct weir_plan_machine m;

    if (weir_profile_parse("fuzzed", (const char *)data, bytes, &p) != WEIR_OK)
        return 0;
    if (weir_plan_machine_init(&m, &p)) {
        for (size_t i = 0; i < p.kernel_count && i < 16; i++) {
            double ns = weir_plan_kernel_table_ns(&m, p.kernels[i].name, "", i + 1);

            if (!(ns > 0) || isinf(ns))
                __builtin_trap();
        }
        if (isnan(weir_plan_copy_ns(&m, WEIR_PLAN_H2D, true, 1e6, 4e7)) ||
            !weir_plan_block_units(&m, 256, 4096))
            __builtin_trap();
    }
    weir_profile_finish(&p);
    return 0;
}
