/* The fixed list of functions that compiled objects may call: what LLVM makes calls to by itself
 * (block copies, and mathematics without an instruction). Sorted by name.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "codegen/image.h"

struct external {
    const char *name;
    void (*address)(void);
};

/* Both precisions of one function. The cast to a common function type is undone by the object's
 * call. */
#define EXTERN1(fn)                                                                                \
    {                                                                                              \
#fn, (void (*)(void))(fn)                                                                  \
    }
#define EXTERN2(fn) EXTERN1(fn), EXTERN1(fn##f)

static const struct external externals[] = {
    EXTERN2(acos),      EXTERN2(acosh),   EXTERN2(asin),   EXTERN2(asinh),     EXTERN2(atan),
    EXTERN2(atan2),     EXTERN2(atanh),   EXTERN2(cbrt),   EXTERN2(ceil),      EXTERN2(copysign),
    EXTERN2(cos),       EXTERN2(cosh),    EXTERN2(erf),    EXTERN2(erfc),      EXTERN2(exp),
    EXTERN2(exp2),      EXTERN2(expm1),   EXTERN2(fabs),   EXTERN2(floor),     EXTERN2(fma),
    EXTERN2(fmax),      EXTERN2(fmin),    EXTERN2(fmod),   EXTERN2(hypot),     EXTERN2(ldexp),
    EXTERN2(log),       EXTERN2(log10),   EXTERN2(log1p),  EXTERN2(log2),      EXTERN1(memcmp),
    EXTERN1(memcpy),    EXTERN1(memmove), EXTERN1(memset), EXTERN2(nearbyint), EXTERN2(pow),
    EXTERN2(remainder), EXTERN2(rint),    EXTERN2(round),  EXTERN2(sin),       EXTERN2(sinh),
    EXTERN2(sqrt),      EXTERN2(tan),     EXTERN2(tanh),   EXTERN2(trunc),
};

void *weir_image_external(const char *name)
{
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(externals); i++) {
        if (strcmp(externals[i].name, name) == 0)
            return (void *)(uintptr_t)externals[i].address;
    }
    return NULL;
}
