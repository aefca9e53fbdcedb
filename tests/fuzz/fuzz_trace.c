/* The reader of traces, and what walks over all that it gives.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "view/view.h"

/* Checksums stand in the way of mutations: chunks are taken as open ones. Chunks are small here. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *message;
    struct weir_trace_file *f = weir_trace_file_parse(data, bytes, &message);
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
        fclose(to);
    }
    weir_trace_file_free(f);
    return 0;
}
