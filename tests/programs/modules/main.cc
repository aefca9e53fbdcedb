/* Modules in one process, linked and opened by name. No device code here; the program's own module
 * (number 0) is an object of its own, or (-DNO_MODULE) there is none: then the runtime comes and
 * goes with the libraries.
 *   main linked                 those linked to the program, 1 and 2
 *   main open FLAGS TIMES N=LIBRARY...   opens, uses, leaves work behind, closes, TIMES times
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" int module_run_0(void), module_run_1(void), module_run_2(void);
#ifdef NO_MODULE
#define module_run_0() 0
#endif

/* Pages in memory, and mappings. */
static void measure(long *pages, long *maps)
{
    long total;
    FILE *f = fopen("/proc/self/statm", "r");

    if (!f || fscanf(f, "%ld %ld", &total, pages) != 2)
        exit(2);
    fclose(f);
    f = fopen("/proc/self/maps", "r");
    *maps = 0;
    for (int c; (c = fgetc(f)) != EOF;)
        *maps += c == '\n';
    fclose(f);
}

static int call(void *library, const char *what, int number)
{
    char name[64];

    snprintf(name, sizeof name, "module_%s_%d", what, number);
    int (*f)(void) = reinterpret_cast<int (*)(void)>(dlsym(library, name));
    if (!f) {
        printf("%s\n", dlerror());
        exit(2);
    }
    return f();
}

static int use(const char *spec, int flags)
{
    int number = atoi(spec), failures;
    void *library = dlopen(strchr(spec, '=') + 1, flags);

    if (!library) {
        printf("%s\n", dlerror());
        exit(2);
    }
    failures = call(library, "run", number) + call(library, "leave", number);
    return failures + (dlclose(library) != 0);
}

int main(int argc, char **argv)
{
    int failures = module_run_0();

    if (argc == 2) {
#ifdef LINKED
        failures += module_run_1() + module_run_2() + module_run_0();
#endif
    } else if (argc > 4) {
        int flags = strcmp(argv[2], "deep") ? RTLD_NOW : RTLD_NOW | RTLD_DEEPBIND;
        int times = atoi(argv[3]);
        long pages[2], maps[2];

        for (int i = 0; i < times; i++) {
            if (i == times / 4)
                measure(&pages[0], &maps[0]);
            for (int k = 4; k < argc; k++)
                failures += use(argv[k], flags);
            failures += module_run_0();
        }
        measure(&pages[1], &maps[1]);
        if (times >= 20 && (pages[1] - pages[0] > 400 || maps[1] - maps[0] > 8))
            printf("from %d to %d times: %ld pages, %ld mappings\n", times / 4, times,
                   pages[1] - pages[0], maps[1] - maps[0]);
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
