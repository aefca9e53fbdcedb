/* Designs as texts: the parser, and what runs of small ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "fuzz/fuzz.h"
#include "plan/text.h"

#define OPS_MAX 2000 /* of a design that runs here */

static void run(const struct weir_plan_text *t)
{
    struct weir_plan_design d;
    char message[200];
    FILE *to = fopen("/dev/null", "w");

    if (to) {
        if (weir_plan_design_run(t, NULL, 0, &d, message) && weir_plan_design_print(&d, NULL, to))
            (void)weir_plan_design_judge(&d, t->expects.items, t->expects.count, to);
        weir_plan_design_finish(&d);
        fclose(to);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct weir_plan_text t;
    char message[200];

    if (weir_plan_text_parse((const char *)data, bytes, &t, message) &&
        t.lines.count + t.item.count * t.items <= OPS_MAX)
        run(&t);
    weir_plan_text_finish(&t);
    return 0;
}
