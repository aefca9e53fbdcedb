/* The log of errors: a line for each failed call, from an iterator on, in memory and in a file;
 * callbacks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

static void count(void *user, cudaLogLevel level, char *message, size_t length)
{
    if (level == cudaLogLevelError && strlen(message) == length && strstr(message, "cudaMemset"))
        ++*(int *)user;
}

int main(void)
{
    char text[4096], small[200], path[] = "/tmp/weir-logs-XXXXXX";
    cudaLogsCallbackHandle handle;
    cudaLogIterator at, from;
    size_t size = sizeof text;
    int called = 0, fd = mkstemp(path);
    FILE *f;

    CHECK(fd >= 0);
    close(fd);
    OK(cudaLogsCurrent(&from, 0));
    at = from;
    OK(cudaLogsRegisterCallback(count, &called, &handle));
    EXPECT(cudaMemset(NULL, 0, 16), cudaErrorInvalidValue);
    EXPECT(cudaMalloc(NULL, 16), cudaErrorInvalidValue);
    OK(cudaLogsUnregisterCallback(handle));
    EXPECT(cudaLogsUnregisterCallback(handle), cudaErrorInvalidValue);
    EXPECT(cudaMemset(NULL, 0, 16), cudaErrorInvalidValue);
    CHECK(called == 1);
    OK(cudaLogsDumpToMemory(&at, text, &size, 0));
    CHECK(size == strlen(text) && strstr(text, "cudaMemset: cudaErrorInvalidValue") &&
          strstr(text, "cudaMalloc") && strstr(text, "[CUDA][E]"));
    size = sizeof text;
    OK(cudaLogsDumpToMemory(&at, text, &size, 0)); /* it has gone on */
    CHECK(size == 0 && text[0] == 0);
    size = sizeof small;
    at = from;
    OK(cudaLogsDumpToMemory(&at, small, &size, 0)); /* the newest lines */
    CHECK(size > 0 && size < sizeof small && small[0] == '[' && small[size - 1] == '\n');
    at = from;
    OK(cudaLogsDumpToFile(&at, path, 0));
    f = fopen(path, "r");
    CHECK(f && fread(text, 1, sizeof text, f) > 100);
    fclose(f);
    unlink(path);
    EXPECT(cudaLogsDumpToFile(&at, "/nowhere/at/all", 0), cudaErrorInvalidValue);
    EXPECT(cudaLogsCurrent(&at, 1), cudaErrorInvalidValue);
    for (int i = 0; i < 300; i++)
        EXPECT(cudaMalloc(NULL, 16), cudaErrorInvalidValue);
    at = from;
    size = sizeof text;
    OK(cudaLogsDumpToMemory(&at, text, &size, 0));
    CHECK(!strstr(text, "cudaMemset"));
    return CONFORM_END();
}
