/* Calls each function of the miniature runtime, from a constructor and later; prints what answered.
 * Compiled into the program (main) and into libraries (-DLIBRARY).
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int cudaMalloc(void), cudaGetDeviceCount(void), cudaSetDevice(void), cudaGetDevice(void),
    cudaFree(void);
int cudaDeviceSynchronize(void), cudaMemAdvise(void), cudaHelper(void), cudaFreeAlias(void);
int use_library(const char *when);

#if !defined(NO_RUNTIME)
static int use(const char *who, const char *when)
{
    int (*volatile indirect)(void) = cudaMalloc;

    printf("%s %s: %d %d %d %d %d %d %d %d %d\n", who, when, indirect(), cudaGetDeviceCount(),
           cudaSetDevice(), cudaGetDevice(), cudaDeviceSynchronize(), cudaFree(), cudaFreeAlias(),
           cudaMemAdvise(), cudaHelper());
    fflush(stdout);
    return 0;
}
#endif

#ifdef LIBRARY
__attribute__((constructor)) static void construct(void)
{
    use(LIBRARY, "constructor");
}

int use_library(const char *when)
{
    return use(LIBRARY, when);
}
#else
#ifndef NO_RUNTIME
__attribute__((constructor)) static void construct(void)
{
    use("program", "constructor");
}
#endif

static void *thread(void *arg)
{
    (void)arg;
#ifdef NO_RUNTIME
    use_library("thread");
#else
    use("program", "thread");
#endif
    return NULL;
}

#ifndef STATIC
static int count_maps(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    int lines = 0, c;

    while (f && (c = getc(f)) != EOF)
        lines += c == '\n';
    if (f)
        fclose(f);
    return lines;
}
#endif

/* Arguments: a library to open, "-" for none; then "exec": run itself again as a child, "again":
 * open it often. Exit status 3. */
int main(int argc, char **argv)
{
    pthread_t t;

#ifndef STATIC
    if (argc > 1 && strcmp(argv[1], "-") != 0) {
        void *h = dlopen(argv[1], RTLD_NOW);
        int (*f)(const char *) = h ? (int (*)(const char *))dlsym(h, "use_library") : NULL;

        if (f == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        f("main");
        if (argc > 2 &&
            strcmp(argv[2], "again") == 0) { /* 300 times: closing gives back what opening took */
            for (int i = 0; i < 300; i++) {
                dlclose(h);
                h = dlopen(argv[1], RTLD_NOW);
            }
            printf("maps %s\n", count_maps() < 100 ? "few" : "many");
        }
    }
#endif
#ifdef NO_RUNTIME
    if (argc <= 1)
        use_library("main");
#else
    use("program", "main");
#endif
    if (argc <= 1) {
        pthread_create(&t, NULL, thread, NULL);
        pthread_join(t, NULL);
    }
    if (argc > 2 && strcmp(argv[2], "exec") == 0) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            execl("/proc/self/exe", argv[0], "-", (char *)NULL);
            _exit(9);
        }
        waitpid(pid, &status, 0);
        printf("child: %d\n", WEXITSTATUS(status));
    }
    return 3;
}
#endif
