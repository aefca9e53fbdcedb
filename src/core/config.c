/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/race.h"
#include "core/core.h"
#include "core/late.h"
#include "core/watch.h"

#define DEFAULT_SPIN_NS 20000 /* no busy waiting beyond some tens of microseconds (DESIGN 4) */

static long read_number(const char *name, long low, long high, long fallback)
{
    const char *text = getenv(name);
    char *end;
    long n;

    if (!text || !*text)
        return fallback;
    n = strtol(text, &end, 10);
    if (*end || n < low || n > high) {
        weir_log(WEIR_LOG_WARN, "%s=%s is not a number from %ld to %ld, using %ld", name, text, low,
                 high, fallback);
        return fallback;
    }
    return n;
}

/* Bytes with an optional K, M, G or T (powers of 1024). */
static size_t read_size(const char *name)
{
    const char *text = getenv(name);
    const char *units = "KMGT", *unit;
    char *end;
    unsigned long long n;
    int shift = 0;

    if (!text || !*text)
        return 0;
    n = strtoull(text, &end, 10);
    if (*end && (unit = strchr(units, *end & ~0x20)) != NULL) {
        shift = 10 * (int)(unit - units + 1);
        end++;
        if (*end == 'i')
            end++;
        if (*end == 'B' || *end == 'b')
            end++;
    }
    if (*end || end == text || n == 0 || n > (1ull << 47 >> shift)) {
        weir_log(WEIR_LOG_WARN, "%s=%s is not a size (such as 8G), ignored", name, text);
        return 0;
    }
    return (size_t)n << shift;
}

/* CUDA_VISIBLE_DEVICES: numbers up to the first that is no device. All devices are alike, so only
 * how many there are matters. */
static int visible_devices(int devices)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    int count = 0;

    if (!text)
        return devices;
    while (*text) {
        char *end;
        long n = strtol(text, &end, 10);

        if (end == text || n < 0 || n >= devices || (*end && *end != ','))
            break;
        count++;
        text = *end ? end + 1 : end;
    }
    return count < devices ? count : devices;
}

/* Seconds, such as 10 or 0.5, as nanoseconds. */
static uint64_t read_seconds(const char *name, double low, double high)
{
    const char *text = getenv(name);
    char *end;
    double n;

    if (!text || !*text)
        return 0;
    n = strtod(text, &end);
    if (*end || !(n >= low && n <= high)) {
        weir_log(WEIR_LOG_WARN, "%s=%s is not a number of seconds from %g to %g, ignored", name,
                 text, low, high);
        return 0;
    }
    return (uint64_t)(n * 1e9);
}

enum weir_err weir_config_read(struct weir_config *config)
{
    const char *device = getenv("WEIR_DEVICE"), *stats = getenv("WEIR_STATS");
    const char *strict = getenv("WEIR_STRICT"), *late = getenv("WEIR_LATE_DMA");

#if defined(WEIR_CHECKS)
    weir_race_random((uint64_t)read_number("WEIR_RACE", 0, LONG_MAX, 0));
#endif
    config->devices = visible_devices((int)read_number("WEIR_DEVICES", 0, WEIR_MAX_DEVICES, 1));
    config->memory_bytes = read_size("WEIR_MEMORY");
    /* A schedule repeats exactly: one block after the other, on an engine's thread. */
    config->workers = (int)read_number("WEIR_WORKERS", 0, 1024, weir_explore_enabled());
    config->help = read_number("WEIR_HELP", 0, 1, 1) != 0 && !weir_explore_enabled();
    config->spin_ns = (int)read_number("WEIR_SPIN_NS", 0, 1000000, DEFAULT_SPIN_NS);
    config->stats = stats && *stats && strcmp(stats, "0") != 0;
    config->stats_file = getenv("WEIR_STATS_FILE");
    config->launch_blocking = read_number("CUDA_LAUNCH_BLOCKING", 0, INT_MAX, 0) != 0;
    config->hang_ns = read_seconds("WEIR_HANG", WEIR_HANG_MIN, WEIR_HANG_MAX);
    if (late && strcmp(late, "default") == 0)
        config->late_ns = WEIR_LATE_NS;
    else
        config->late_ns = read_seconds("WEIR_LATE_DMA", WEIR_LATE_MIN, WEIR_LATE_MAX);
    if (weir_strict_read(&config->strict) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "WEIR_STRICT=%s: %s; ignored", strict, weir_err_message());
    device = device && *device ? device : "cpu";
    if (weir_profile_load(device, &config->profile) == WEIR_OK)
        return WEIR_OK;
    weir_log(WEIR_LOG_WARN, "%s, using cpu", weir_err_message());
    return weir_profile_load("cpu", &config->profile);
}
