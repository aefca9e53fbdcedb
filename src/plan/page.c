/* The page: web/plan.* with the simulator and the device profiles inside.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/page.h"

#include <string.h>

#include "base/compiler.h"
#include "base/text.h"
#include "core/profile.h"
#include "plan/table.h"

/* Made by the build from web/ and wasm.c. */
extern const char weir_plan_web_html[], weir_plan_web_css[], weir_plan_web_js[];
extern const char weir_plan_web_theme[], weir_plan_web_draw[];
extern const unsigned char weir_plan_web_wasm[], weir_plan_web_wasm_end[];

bool weir_plan_has_page(void)
{
    return (uintptr_t)weir_plan_web_wasm_end > (uintptr_t)weir_plan_web_wasm;
}

static void put_base64(const unsigned char *p, size_t n, FILE *to)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (; n > 0; p += 3, n -= WEIR_MIN(n, (size_t)3)) {
        unsigned a = p[0], b = n > 1 ? p[1] : 0, c = n > 2 ? p[2] : 0;
        char out[4] = {digits[a >> 2], digits[(a & 3) << 4 | b >> 4],
                       n > 1 ? digits[(b & 15) << 2 | c >> 6] : '=', n > 2 ? digits[c & 63] : '='};

        fwrite(out, 1, sizeof out, to);
    }
}

/* The numbers from IN_COPY_ENGINES to IN_SYNC_RETURN (wasm.c), and how much longer a copy of
 * pageable memory takes. */
static void put_machine(const struct weir_plan_machine *m, FILE *to)
{
    const struct weir_plan_device *d = &m->device;
    const struct weir_plan_host *h = &m->host;
    const double values[] = {
        d->copy_engines,  d->units,       d->hw_queues,        d->kernels_max, d->duplex,
        d->launch_ns,     d->same_ns,     d->handover_ns,      d->copy_gap_ns, h->submit_kernel,
        h->submit_switch, h->submit_copy, h->submit_host_func, h->sync,        h->sync_return};

    fputs("{\"name\": ", to);
    weir_text_put_json_in_page(to, m->name);
    fprintf(to, ", \"pageable\": [%.17g, %.17g], \"values\": [",
            weir_plan_copy_ns(m, WEIR_PLAN_H2D, true, 1e9, 0) /
                weir_plan_copy_ns(m, WEIR_PLAN_H2D, false, 1e9, 0),
            weir_plan_copy_ns(m, WEIR_PLAN_D2H, true, 1e9, 0) /
                weir_plan_copy_ns(m, WEIR_PLAN_D2H, false, 1e9, 0));
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(values); i++)
        fprintf(to, "%s%.17g", i ? ", " : "", values[i]);
    fputs("]}", to);
}

static void put_machines(const struct weir_plan_machine *first, FILE *to)
{
    const char *name;

    fputs("[", to);
    put_machine(first, to);
    for (size_t i = 0; (name = weir_profile_name(i)) != NULL; i++) {
        struct weir_profile profile;
        struct weir_plan_machine m;

        if (weir_profile_load(name, &profile) != WEIR_OK)
            continue;
        if (weir_plan_machine_init(&m, &profile) && strcmp(m.name, first->name) != 0) {
            fputs(",\n", to);
            put_machine(&m, to);
        }
        weir_profile_finish(&profile);
    }
    fputs("]", to);
}

static void put_data(const struct weir_plan_pipeline *p, const struct weir_plan_machine *m,
                     FILE *to)
{
    fputs("<script>const PLAN = {machines: ", to);
    put_machines(m, to);
    fputs(",\nlimits: [", to);
    for (int i = 0; i <= WEIR_PLAN_LIMIT_HOST; i++)
        fprintf(to, "%s\"%s\"", i ? ", " : "", weir_plan_limit_text((enum weir_plan_limit)i));
    fprintf(to, "],\nchunks: %u, streams: %u, breadth: %s, pageable: %s, stages: [", p->chunks,
            p->streams, p->breadth ? "true" : "false", p->pageable ? "true" : "false");
    for (uint32_t i = 0; i < p->stage_count; i++)
        fprintf(to, "%s{engine: %u, ns: %.17g, fill: %.17g}", i ? ", " : "", p->stages[i].engine,
                p->stages[i].ns, p->stages[i].fill);
    fputs("]};\nPLAN.wasm = \"", to);
    put_base64(weir_plan_web_wasm, (size_t)(weir_plan_web_wasm_end - weir_plan_web_wasm), to);
    fputs("\";</script>\n", to);
}

void weir_plan_page(const struct weir_plan_pipeline *p, const struct weir_plan_machine *m, FILE *to)
{
    fprintf(to,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<meta name=\"viewport\" content=\"width=device-width\"><title>weir plan</title>"
            "<style>%s%s</style></head><body>%s\n",
            weir_plan_web_theme, weir_plan_web_css, weir_plan_web_html);
    put_data(p, m, to);
    fprintf(to, "<script>%s%s</script></body></html>\n", weir_plan_web_draw, weir_plan_web_js);
}
