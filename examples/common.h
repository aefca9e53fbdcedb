/* What all examples share: checked calls, a wall clock, command-line options. C and C++.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime.h>

/* Every CUDA call returns an error that may stem from earlier asynchronous work: look at all of them. */
#define CHECK(call)                                                                                \
    do {                                                                                           \
        const cudaError_t check_error = (call);                                                    \
        if (check_error != cudaSuccess) {                                                          \
            fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call,                     \
                    cudaGetErrorString(check_error), cudaGetErrorName(check_error));               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Milliseconds of a clock that only goes forward. */
static inline double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static inline void sleep_ms(int ms)
{
    struct timespec t;
    t.tv_sec = ms / 1000;
    t.tv_nsec = (long)(ms % 1000) * 1000000;
    nanosleep(&t, NULL);
}

/* The value after option `name`, or `fallback`. */
static inline const char *option(int argc, char **argv, const char *name, const char *fallback)
{
    int i;
    for (i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return fallback;
}

static inline int option_int(int argc, char **argv, const char *name, int fallback)
{
    const char *text = option(argc, argv, name, NULL);
    return text ? atoi(text) : fallback;
}

static inline int has_flag(int argc, char **argv, const char *name)
{
    int i;
    for (i = 1; i < argc; i++)
        if (!strcmp(argv[i], name))
            return 1;
    return 0;
}

#endif
