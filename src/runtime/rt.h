/* Inside src/runtime: the bodies of the API's functions. weir_rt_NAME does what cudaNAME says; the
 * wrapper (wrap.c) has checked that the calling thread may call, that the process and, for guard
 * CALL, the current device are good, and notes the last error. Bodies that take a stream find out
 * in weir_stream_get what stream 0 means.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_RUNTIME_RT_H
#define WEIR_RUNTIME_RT_H

#include "cuda/cuda_profiler_api.h"
#include "cuda/cuda_runtime_api.h"

#include "base/err.h"
#include "core/core.h"
#include "core/stream.h"
#include "runtime/cuda12.h"

typedef void **binary; /* what __cudaRegisterFatBinary returns */

#define PROTO_DONE(ret, name, params) ret weir_rt_##name params;
#define PROTO_TODO(ret, name, params)

#define WEIR_API(chapter, status, guard, variant, host, name, params, args)                        \
    PROTO_##status(enum weir_err, name, params)
#define WEIR_API_VALUE(chapter, status, variant, ret, name, params, args)                          \
    PROTO_##status(ret, name, params)
#define WEIR_API_INTERNAL(status, guard, variant, name, params, args)                              \
    PROTO_##status(enum weir_err, internal_##name, params)
#define WEIR_API_REGISTER(status, ret, name, params, args)                                         \
    PROTO_##status(ret, internal_##name, params)
#define WEIR_API_12(chapter, status, guard, variant, name, params, args)                           \
    PROTO_##status(enum weir_err, 12_##name, params)
#define WEIR_API_12_SAME(chapter, variant, name, other)
#define WEIR_API_13(symbol)
#include "runtime.def"
#undef WEIR_API_12
#undef WEIR_API_12_SAME
#undef WEIR_API_13
#undef WEIR_API
#undef WEIR_API_VALUE
#undef WEIR_API_INTERNAL
#undef WEIR_API_REGISTER
#undef PROTO_DONE
#undef PROTO_TODO

/* An argument that must not be NULL. */
#define RT_REQUIRE(x)                                                                              \
    do {                                                                                           \
        if (!(x))                                                                                  \
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%s is null", #x);                            \
    } while (0)

/* For the checks that a chain of calls needs. */
#define RT_TRY(call)                                                                               \
    do {                                                                                           \
        enum weir_err rt_try_err = (call);                                                         \
        if (rt_try_err != WEIR_OK)                                                                 \
            return rt_try_err;                                                                     \
    } while (0)

#endif
