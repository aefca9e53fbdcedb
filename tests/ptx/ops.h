/* Rows of the opcode table: one PTX form, and what it must give, written in C from the PTX ISA's
 * text, independent of the compiler.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_PTX_OPS_H
#define WEIR_TESTS_PTX_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum op_compare {
    EX,     /* the same bits */
    FL,     /* the same bits; NaN is the canonical 0x7fffffff (f32), any NaN (other float types) */
    ANYNAN, /* the same bits; any NaN for a NaN */
    APPROX, /* within `ulps` units or `abs_error`, whichever is larger */
};

struct op {
    const char *name;
    const char *sig;  /* "s32:s32,u32": destination, sources */
    const char *code; /* NULL: "NAME $d, $a, $b, $c, $e;" */
    enum op_compare compare;
    double ulps, abs_error;
    bool (*ok)(uint64_t a, uint64_t b, uint64_t c, uint64_t e); /* defined for these inputs? */
    /* raw bits in, raw bits out (higher bits ignored); APPROX: bits of the exact result as a double
     */
    uint64_t (*want)(uint64_t a, uint64_t b, uint64_t c, uint64_t e);
};

extern const struct op ops_int[], ops_cvt[], ops_float[];
extern const size_t ops_int_count, ops_cvt_count, ops_float_count;

/* ---- helpers for the tables (reference.c) ---- */
__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

enum rounding { RN, RZ, RM, RP };

double f64_of(uint64_t bits);
uint64_t bits_of_f64(double x);
float f32_of(uint64_t bits);
uint64_t bits_of_f32(float x);
bool is_nan32(uint64_t bits);
bool is_nan64(uint64_t bits);
uint64_t flush32(uint64_t bits); /* subnormals to zero of the same sign */
uint64_t saturate32(uint64_t bits);

enum arith { ADD, SUB, MUL, DIV, FMA, SQRT };
uint64_t arith32(enum arith op, enum rounding r, bool ftz, bool sat, uint64_t a, uint64_t b,
                 uint64_t c);
uint64_t arith64(enum arith op, enum rounding r, uint64_t a, uint64_t b, uint64_t c);
uint64_t minmax32(bool max, bool nan, bool ftz, uint64_t a, uint64_t b);
uint64_t minmax64(bool max, uint64_t a, uint64_t b);

/* Float (already a double, exact) to an integer of `bits`; wide: the source is f64 or the
 * destination 64 bits. */
uint64_t to_int(double x, enum rounding r, unsigned bits, bool is_signed, bool wide);
/* To an integral value, as a double. */
double to_integral(double x, enum rounding r);
uint64_t int_to_f32(i128 x, enum rounding r);
uint64_t int_to_f64(i128 x, enum rounding r);
uint64_t f64_to_f32(double x, enum rounding r, bool ftz);
double f64_of_half(uint64_t bits);
uint64_t half_of(double x, enum rounding r);
double f64_of_bf16(uint64_t bits);
uint64_t bf16_of(double x, enum rounding r);
/* x + y rounded to odd: rounding that again to a shorter format is right. */
double odd_sum(double x, double y);
/* infinite: the format's bits of infinity. */
uint64_t minmax16(bool max, bool nan, uint64_t infinite, uint64_t a, uint64_t b);

enum cmp {
    C_EQ,
    C_NE,
    C_LT,
    C_LE,
    C_GT,
    C_GE,
    C_EQU,
    C_NEU,
    C_LTU,
    C_LEU,
    C_GTU,
    C_GEU,
    C_NUM,
    C_NAN
};
bool compare_int(enum cmp c, i128 a, i128 b);
bool compare_float(enum cmp c, double a, double b);

i128 clamp_int(i128 x, unsigned bits, bool is_signed);

#endif
