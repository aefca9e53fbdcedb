/* t_ptx [-t quick|best|gpu|parse|interp]... [-s ops|kernels|random] [-p PART/PARTS] [-a] [-n] [-v]
 * [-l] [-d] [-w FILE | -c FILE] [-f FILE] [FILTER]: opcode and kernel tests.
 *   -p of the opcode suite every PARTSth kernel, from number PART on (from 0): for several
 * processes.
 *   -s one suite; -a every block shape and random program (slow); -n code for AVX2
 *   only.
 *   -w writes what was answered (on a GPU), -c compares with what such a file has (answers.h).
 *   -f writes the forms of all instructions that the tests have (forms.txt of t_ptx_rows).
 *   FILTER  runs only tests whose name contains it; -l lists the names; -v prints every result; -d
 * prints the PTX. Without -t both tiers run. Exit code 77 when there is no compiler library.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/answers.h"
#include "ptx/harness.h"

#define FAILURES_SHOWN 200u

bool run_wants(const struct run *r, const char *name)
{
    return !r->filter || strstr(name, r->filter) != NULL;
}

void run_pass(struct run *r, enum target t, const char *name)
{
    r->passed++;
    if (r->verbose)
        printf("pass %-5s %s\n", target_names[t], name);
}

void run_fail(struct run *r, enum target t, const char *name, const char *fmt, ...)
{
    va_list ap;

    r->failed++;
    if (r->failed > FAILURES_SHOWN)
        return;
    printf("FAIL %-5s %s: ", target_names[t], name);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
}

void run_skip(struct run *r, enum target t, const char *name, const char *why)
{
    r->skipped++;
    if (r->verbose)
        printf("skip %-5s %s: %s\n", target_names[t], name, why);
}

static bool parse(struct run *r, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0) {
            r->verbose = true;
        } else if (strcmp(argv[i], "-l") == 0) {
            r->list = true;
        } else if (strcmp(argv[i], "-n") == 0) {
            r->narrow = true;
            target_narrow(true);
        } else if (strcmp(argv[i], "-a") == 0) {
            r->all = true;
        } else if (strcmp(argv[i], "-s") == 0 && i + 1 < argc) {
            r->suite = argv[++i];
        } else if (strcmp(argv[i], "-p") == 0 && i + 1 < argc) {
            if (sscanf(argv[++i], "%u/%u", &r->part, &r->parts) != 2 || r->part >= r->parts)
                return false;
        } else if ((strcmp(argv[i], "-w") == 0 || strcmp(argv[i], "-c") == 0) && i + 1 < argc) {
            if (!answers_open(argv[i + 1], argv[i][1] == 'w'))
                return false;
            i++;
        } else if (strcmp(argv[i], "-f") == 0 && i + 1 < argc) {
            if (!program_forms_to(argv[++i]))
                return false;
        } else if (strcmp(argv[i], "-d") == 0) {
            r->dump = true;
        } else if (strcmp(argv[i], "-t") == 0 && i + 1 < argc && r->target_count < TARGET_COUNT) {
            r->targets[r->target_count] = target_named(argv[++i]);
            if (r->targets[r->target_count++] == TARGET_COUNT)
                return false;
        } else if (argv[i][0] == '-' || r->filter) {
            return false;
        } else {
            r->filter = argv[i];
        }
    }
    if (r->target_count == 0) {
        r->targets[0] = TARGET_QUICK;
        r->targets[1] = TARGET_BEST;
        r->target_count = 2;
    }
    return true;
}

static bool in_suite(const struct run *r, const char *name)
{
    return !r->suite || strcmp(r->suite, name) == 0;
}

int main(int argc, char **argv)
{
    struct run r = {0};
    char message[400];
    uint64_t ns, instructions;

    if (!parse(&r, argc, argv)) {
        fprintf(
            stderr,
            "usage: %s [-t quick|best|gpu|parse|interp]... [-s ops|kernels|random] [-p PART/PARTS] "
            "[-a] [-n] [-v] [-l] [-d] [-w FILE | -c FILE] [-f FILE] [FILTER]\n",
            argv[0]);
        return 2;
    }
    for (int i = 0; i < r.target_count && !r.list; i++) {
        if (!target_open(r.targets[i], message, sizeof message)) {
            printf("skipped: %s\n", message);
            return 77;
        }
    }
    if (in_suite(&r, "ops"))
        ops_run(&r);
    if (in_suite(&r, "kernels"))
        kernels_run(&r);
    if (in_suite(&r, "random"))
        random_run(&r);
    if (r.list)
        return 0;
    answers_report();
    program_costs(&ns, &instructions);
    printf("%u passed, %u failed, %u not supported; %llu PTX instructions compiled, %.3f ms each\n",
           r.passed, r.failed, r.skipped, (unsigned long long)instructions,
           instructions ? (double)ns / 1e6 / (double)instructions : 0.0);
    if (r.passed + r.failed + r.skipped == 0) {
        printf("no test ran\n");
        return 1;
    }
    return r.failed ? 1 : 0;
}
