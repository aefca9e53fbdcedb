/* Where a trace's calls stand: one text for each call site.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "trace/read_int.h"

void weir_trace_file_resolve(struct weir_trace_file *f)
{
    bool *done = weir_calloc(f->sites_count + 1, sizeof *done);

    for (size_t i = 0; done && i < f->sites_count; i++) {
        const char *path = f->sites[i].module;
        struct weir_trace_module *m;

        if (done[i] || !(m = weir_trace_module_open(path)))
            continue;
        for (size_t k = i; k < f->sites_count; k++) {
            char text[640];
            const char *kept;

            if (done[k] || strcmp(f->sites[k].module, path) != 0)
                continue;
            done[k] = true;
            weir_trace_module_describe(m, f->sites[k].address, text, sizeof text);
            kept = weir_trace_keep(f, weir_strdup(text));
            if (kept)
                f->sites[k].text = kept;
        }
        weir_trace_module_close(m);
    }
    weir_free(done);
}
