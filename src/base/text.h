/* Texts in files for other programs. Names come from the user's program and from file systems:
 * they may hold any byte.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_TEXT_H
#define WEIR_BASE_TEXT_H

#include <stdio.h>

/* Bytes of the UTF-8 sequence at s (Unicode 15, table 3-7), 0: it is none. The text ends with a
 * zero, which counts as a sequence of one byte. */
int weir_text_utf8_length(const char *s);

/* A JSON string with its quotes, valid whatever s holds: a byte that is no UTF-8 becomes U+FFFD.
 * Whether writing succeeded is the caller's to ask of the stream. */
void weir_text_put_json(FILE *to, const char *s);
/* "name": "value" */
void weir_text_put_json_member(FILE *to, const char *name, const char *value);
/* The same string where it stands in a page's script: nothing in it can end the script. */
void weir_text_put_json_in_page(FILE *to, const char *s);

#endif
