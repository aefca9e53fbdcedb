/* A broken capture says which call broke it, where in the program that stands, and in which thread;
 * work that runs at once beside a capture leaves a note. Started with WEIR_LOG=info, messages in a
 * file. Rules: CAP-010, CAP-014, CAP-016.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>

#include "conform.h"

static cudaStream_t s, other;
static void *sink;
static int broken_at; /* a line of this file */

static void break_it_here(void)
{
    broken_at = __LINE__ + 1;
    EXPECT(cudaMalloc(&sink, 64), cudaErrorStreamCaptureUnsupported);
}

static void *break_elsewhere(void *arg)
{
    (void)arg;
    break_it_here();
    return NULL;
}

/* What the calls since `from` left in the log of errors. */
static const char *logged(cudaLogIterator from)
{
    static char text[8192];
    size_t size = sizeof text;

    OK(cudaLogsDumpToMemory(&from, text, &size, 0));
    return text;
}

/* libdw knows lines; without it the function is named. */
static bool names_place(const char *text)
{
    char line[64];
    void *libdw = dlopen("libdw.so.1", RTLD_LAZY);

    snprintf(line, sizeof line, "graph_blame.c:%d", broken_at);
    return libdw ? strstr(text, line) != NULL : strstr(text, "break_it_here") != NULL;
}

static void check_blame(bool elsewhere)
{
    cudaLogIterator from;
    cudaGraph_t g;
    pthread_t t;

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(sink, 0, 64, s));
    if (elsewhere) {
        pthread_create(&t, NULL, break_elsewhere, NULL);
        pthread_join(t, NULL);
    } else {
        break_it_here();
    }
    OK(cudaLogsCurrent(&from, 0));
    EXPECT(cudaMemsetAsync(sink, 0, 64, s), cudaErrorStreamCaptureInvalidated);
    CHECK(strstr(logged(from), "broken by cudaMalloc at "));
    CHECK(names_place(logged(from)));
    OK(cudaLogsCurrent(&from, 0));
    EXPECT(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
    CHECK(strstr(logged(from), "broken by cudaMalloc at "));
    CHECK(names_place(logged(from)));
    CHECK(strstr(logged(from), "in thread "));
    cudaGetLastError();
}

/* Which of the calls in a capture of `s` ran at once. */
static void check_notes(FILE *messages)
{
    static const char *const expected[] = {
        "note: cudaMalloc runs at once", "note: a copy runs at once",
        "note: cudaMallocAsync runs at once", "note: cudaFree runs at once"};
    char text[8192], host[64] = {0};
    cudaGraph_t g;
    void *more;
    size_t n;

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    OK(cudaMemsetAsync(sink, 0, 64, s)); /* a node: no note */
    OK(cudaMalloc(&more, 64));
    OK(cudaMemcpy(sink, host, 64, cudaMemcpyHostToDevice));
    OK(cudaFree(more));
    OK(cudaMallocAsync(&more, 64, other));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaFreeAsync(more, other));
    OK(cudaMalloc(&more, 64)); /* no capture: no note */
    fflush(stderr);
    rewind(messages);
    n = fread(text, 1, sizeof text - 1, messages);
    text[n] = '\0';
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const char *at = strstr(text, expected[i]);

        if (!at || strstr(at + 1, expected[i])) {
            printf("not once: %s\n", expected[i]);
            conform_failures++;
        }
    }
    CHECK(!strstr(text, "note: a memset"));
    OK(cudaGraphDestroy(g));
}

int main(void)
{
    FILE *messages = tmpfile();
    int before = dup(2);

    if (!messages || dup2(fileno(messages), 2) < 0)
        return 77;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaMalloc(&sink, 64));
    check_notes(messages);
    dup2(before, 2);
    check_blame(false);
    check_blame(true);
    return CONFORM_END();
}
