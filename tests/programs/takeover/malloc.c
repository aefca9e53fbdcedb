/* An allocator as people preload it (jemalloc and its kind): in front of everything, and itself a
 * user of the calls that Weir interposes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);

static unsigned long calls;

/* As much static thread-local memory as such allocators take. */
static _Thread_local __attribute__((tls_model("initial-exec"))) char cache[9000];

void *malloc(size_t bytes)
{
    sigset_t all, old;
    void *p;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    p = __libc_malloc(bytes);
    calls++;
    cache[bytes % sizeof cache]++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return p;
}

__attribute__((destructor)) static void report(void)
{
    fprintf(stderr, "malloc used %d\n", calls > 0);
}
