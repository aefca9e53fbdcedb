/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>

#define LINE_BYTES ((size_t)64)

void weir_bytes_copy_streaming(void *dst, const void *src, size_t bytes)
{
    char *to = dst;
    const char *from = src;
    size_t head = (LINE_BYTES - (uintptr_t)to % LINE_BYTES) % LINE_BYTES;

    head = head < bytes ? head : bytes;
    memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= LINE_BYTES; bytes -= LINE_BYTES, to += LINE_BYTES, from += LINE_BYTES) {
        __m128i a = _mm_loadu_si128((const __m128i *)from);
        __m128i b = _mm_loadu_si128((const __m128i *)(from + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(from + 32));
        __m128i d = _mm_loadu_si128((const __m128i *)(from + 48));

        _mm_stream_si128((__m128i *)to, a);
        _mm_stream_si128((__m128i *)(to + 16), b);
        _mm_stream_si128((__m128i *)(to + 32), c);
        _mm_stream_si128((__m128i *)(to + 48), d);
    }
    _mm_sfence();
    memcpy(to, from, bytes);
}

#else

void weir_bytes_copy_streaming(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}

#endif
