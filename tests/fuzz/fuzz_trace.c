/* The reader of traces, and what walks over all that it gives: exports, page, advice.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advise.h"
#include "fuzz/fuzz.h"
#include "plan/elsewhere.h"
#include "view/view.h"

/* Modelled time. */
static const struct weir_plan_machine machine = {
    .device = {.units = 4 * 64, .copy_engines = 1, .hw_queues = 2, .launch_ns = 2500},
    .host = {.submit_kernel = 4400, .submit_copy = 2000, .record = 300, .sync = 400},
    .rates =
        {.h2d = 10, .d2h = 10, .pageable_h2d = 1, .device = 100, .kernel_ns = 1100, .clock = 2},
    .sms = 4,
    .threads_per_sm = 64,
    .blocks_per_sm = 8,
    .name = "a device"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *message;
    struct weir_trace_file *f = weir_trace_file_parse(data, bytes, &message);
    struct weir_advise_report report;
    FILE *to;

    if (!f)
        return 0;
    to = fopen("/dev/null", "w");
    if (to) {
        (void)!weir_view_summary(f, WEIR_VIEW_TEXT, to);
        (void)!weir_view_diff(f, f, WEIR_VIEW_JSON, to);
        (void)!weir_view_csv(f, to);
        (void)!weir_view_json(f, to);
        (void)!weir_view_chrome(f, to);
        (void)!weir_view_perfetto(f, to);
        (void)!weir_view_svg(f, &(struct weir_view_picture){.title = "fuzz"}, to);
        (void)!weir_view_page(f, "fuzz", to);
        if (weir_advise(f, NULL, &report)) {
            weir_advise_print(f, &report, true, to);
            weir_advise_print_json(f, &report, true, to);
            weir_advise_finish(&report);
        }
        (void)!weir_plan_elsewhere_print(f,
                                         &(struct weir_plan_elsewhere){.kernels = 0.5,
                                                                       .chunks_from = 1,
                                                                       .chunks_to = 3,
                                                                       .streams_from = 1,
                                                                       .streams_to = 2},
                                         to);
        if (weir_plan_elsewhere_move(f, &(struct weir_plan_elsewhere){.kernels = 0.5}))
            (void)!weir_view_page(f, "moved", to);
        if (weir_plan_elsewhere_move(f, &(struct weir_plan_elsewhere){.machine = &machine,
                                                                      .kernels = 1,
                                                                      .model_clock = true}) &&
            weir_advise(f, &(struct weir_advise_options){.machine = &machine, .model_clock = true},
                        &report)) {
            weir_advise_print(f, &report, true, to);
            weir_advise_finish(&report);
        }
        fclose(to);
    }
    weir_trace_file_free(f);
    return 0;
}
