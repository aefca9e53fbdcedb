/* reports ID|GROUP...: runs those, one line each; the status is 1 when one of them failed. A
 * report that stands still ends the process after a minute and a half.
 * SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "report.h"

static const struct report_group *const groups[] = {
    &report_streams, &report_late,    &report_order,  &report_hangs, &report_capture,
    &report_events,  &report_errors,  &report_fault,  &report_pools, &report_managed,
    &report_strict,  &report_devices, &report_claims,
};

static const char *current = "";

static void on_alarm(int signal)
{
    static const char text[] = " stands still\n";

    (void)signal;
    (void)!write(2, current, strlen(current));
    (void)!write(2, text, sizeof text - 1);
    _exit(3);
}

static int run_matching(const char *name)
{
    int ran = 0, failed = 0;

    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        for (const struct report *r = groups[g]->reports; r->id; r++) {
            int before = *groups[g]->failures;

            if (strcmp(name, r->id) != 0 && strcmp(name, groups[g]->name) != 0)
                continue;
            current = r->id;
            alarm(90);
            r->run();
            alarm(0);
            printf("%s: %s\n", r->id, *groups[g]->failures == before ? "ok" : "FAILED");
            fflush(stdout);
            failed |= *groups[g]->failures != before;
            ran++;
        }
    }
    if (ran == 0)
        printf("%s: there is no such report\n", name);
    return failed || ran == 0;
}

int main(int argc, char **argv)
{
    int failed = 0;

    signal(SIGALRM, on_alarm);
    for (int i = 1; i < argc; i++)
        failed |= run_matching(argv[i]);
    return failed;
}
