/* Makes the functions and the rows of one .def file: include with OPS_FILE (the file) and OPS_NAME
 * defined.
 * SPDX-License-Identifier: Apache-2.0 */
#define OP_FULL(id, name, sig, code, compare, ulps, abs_error, okay, expr)                         \
    static bool ok_##id(uint64_t a, uint64_t b, uint64_t c, uint64_t e)                            \
    {                                                                                              \
        (void)a, (void)b, (void)c, (void)e;                                                        \
        return okay;                                                                               \
    }                                                                                              \
    static uint64_t want_##id(uint64_t a, uint64_t b, uint64_t c, uint64_t e)                      \
    {                                                                                              \
        (void)a, (void)b, (void)c, (void)e;                                                        \
        return (uint64_t)(expr);                                                                   \
    }
#include OPS_FILE
#undef OP_FULL

#define OPS_PASTE(a, b)  a##b
#define OPS_PASTE2(a, b) OPS_PASTE(a, b)

const struct op OPS_NAME[] = {
#define OP_FULL(id, name, sig, code, compare, ulps, abs_error, okay, expr)                         \
    {name, sig, code, compare, ulps, abs_error, ok_##id, want_##id},
#include OPS_FILE
#undef OP_FULL
};
const size_t OPS_PASTE2(OPS_NAME, _count) = sizeof OPS_NAME / sizeof OPS_NAME[0];
