/* A "compiled kernel" for the loader's test: calls of external functions, a jump table, pointers in
 * data, .bss.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>

double sin(double);
void *memcpy(void *, const void *, size_t);

uint32_t weir_kernel(void *block);
double object_sin(double x);
uint64_t object_switch(unsigned n, uint64_t x);
const char *object_string(unsigned n);
uint32_t object_count(void);
extern uint32_t object_counter;
double (*object_sin_pointer(void))(double);

static const char *const strings[] = {"zero", "one", "two"};
uint32_t object_counter = 7;
static uint32_t object_zero[300];

uint32_t weir_kernel(void *block)
{
    static const unsigned char pattern[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

    memcpy(block, pattern, sizeof pattern);
    return 42;
}

double object_sin(double x)
{
    return sin(x) * 2 + 0.1;
}

double (*object_sin_pointer(void))(double)
{
    return sin;
}

uint64_t object_switch(unsigned n, uint64_t x)
{
    switch (n) {
    case 0:
        return x * 3;
    case 1:
        return x ^ 0x1234;
    case 2:
        return x / 7;
    case 3:
        return x << 5;
    case 4:
        return ~x;
    case 5:
        return x + object_counter;
    case 6:
        return x % 1000;
    default:
        return 0;
    }
}

const char *object_string(unsigned n)
{
    return strings[n % 3];
}

uint32_t object_count(void)
{
    object_zero[299] += 2;
    return ++object_counter + object_zero[299];
}
