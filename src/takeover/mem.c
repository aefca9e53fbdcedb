/* memcpy and memset for the auditor, which has no C library: compilers call them for structs and
 * arrays.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int c, size_t n);

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    unsigned char *t = to;
    const unsigned char *f = from;

    while (n--)
        *t++ = *f++;
    return to;
}

void *memset(void *to, int c, size_t n)
{
    unsigned char *t = to;

    while (n--)
        *t++ = (unsigned char)c;
    return to;
}
