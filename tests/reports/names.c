/* P67: programs that did not load, or aborted, because a replacement of the runtime lacked names.
 * Every name is there (tests/conform/exports.sh); here each one that the table calls not supported
 * is called, with zeros, and says so by its error. argv: our libcudart.so.13 and libcuda.so.1.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "driver/api.h"
#include "runtime/api.h"

typedef int (*any_fn)(long, long, long, long, long, long, long, long);

static int bad, called;

static void call(void *library, const char *name)
{
    union {
        void *object;
        any_fn call;
    } f = {dlsym(library, name)};
    int err = f.object ? f.call(0, 0, 0, 0, 0, 0, 0, 0) : -1;

    called++;
    if (err != 801) {
        printf("%s: %d\n", name, err);
        bad++;
    }
}

int main(int argc, char **argv)
{
    void *runtime = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *driver = argc == 3 ? dlopen(argv[2], RTLD_NOW) : NULL;
    const struct weir_driver_entry *d;
    const struct weir_api_entry *t;
    union {
        void *object;
        int (*call)(unsigned);
    } init;
    size_t n;

    if (runtime == NULL || driver == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    t = weir_api_table(&n);
    for (size_t i = 0; i < n; i++) {
        if (!t[i].done)
            call(runtime, t[i].name);
    }
    init.object = dlsym(driver, "cuInit");
    if (init.object == NULL || init.call(0) != 0)
        bad++;
    d = weir_api_driver_table(&n);
    for (size_t i = 0; i < n; i++) {
        if (!d[i].done)
            call(driver, d[i].name);
    }
    printf("%d names that are not supported, %d bad\n", called, bad);
    return bad || called == 0;
}
