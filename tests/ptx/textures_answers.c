/* What a GPU answered to t_ptx_textures: a line a run, its name and of each lane four digits that
 * its results give (FNV-1a, halved). A lane with ~ before them is known to differ, and must.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "textures_run.h"

static FILE *file;
static bool recording;
static int rows, lanes, known, differing;

bool answers_open(const char *path, bool record)
{
    file = fopen(path, record ? "w" : "r");
    recording = record;
    if (!file)
        perror(path);
    return file != NULL;
}

static unsigned digits_of(int lane)
{
    uint32_t h = 2166136261u;

    for (int k = 0; k < 4; k++)
        for (int byte = 0; byte < 4; byte++)
            h = (h ^ (kernel_out[k][lane] >> 8 * byte & 255)) * 16777619u;
    return (h ^ h >> 16) & 0xffff;
}

static void differs(const char *name, int lane, const char *want)
{
    if (differing++ < 20)
        fprintf(stderr, "%s, run %d: lane %d gives %08x %08x %08x %08x: a GPU gave %s\n", name,
                rows, lane, kernel_out[0][lane], kernel_out[1][lane], kernel_out[2][lane],
                kernel_out[3][lane], want);
}

void answers_row(const char *name)
{
    char got[8], want[64] = "";

    if (!file)
        return;
    rows++;
    if (recording)
        fprintf(file, "%s", name);
    else if (fscanf(file, "%63s", want) != 1 || strcmp(want, name) != 0)
        differs(name, 0, want);
    for (int lane = 0; lane < LANES; lane++) {
        if (!runs(lane))
            continue;
        snprintf(got, sizeof got, "%04x", digits_of(lane));
        if (recording) {
            fprintf(file, " %s", got);
            continue;
        }
        lanes++;
        if (fscanf(file, "%63s", want) == 1 && *want == '~')
            known++;
        if (*want == '~' ? strcmp(want + 1, got) == 0 : strcmp(want, got) != 0)
            differs(name, lane, want);
    }
    if (recording)
        fputc('\n', file);
}

int answers_close(void)
{
    if (!file)
        return 0;
    if (!recording)
        printf("%d lanes of %d runs as a GPU answered but %d, %d known to differ\n", lanes, rows,
               differing, known);
    return (fclose(file) != 0) + differing;
}
