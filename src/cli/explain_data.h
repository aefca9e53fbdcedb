/* The texts of `weir explain`: api/explain/errors.txt and others.txt, and the rules of docs/rules,
 * all inside the binary.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CLI_EXPLAIN_DATA_H
#define WEIR_CLI_EXPLAIN_DATA_H

#include <stdbool.h>
#include <stddef.h>

/* A piece of a text inside the binary; not terminated. */
struct weir_explain_text {
    const char *at;
    size_t size;
};

/* What stands behind the line "@ number"; .at is NULL when there is none. */
struct weir_explain_text weir_explain_error(int code);

/* Of the look-alikes the one of which a pattern is in `text`, which is in small letters. */
struct weir_explain_text weir_explain_other(const char *text);

/* The rule ORD-021 and the like: its title (the heading behind the id) and its text. */
bool weir_explain_rule(const char *id, struct weir_explain_text *title,
                       struct weir_explain_text *text);

/* Prints what the function cuda... or cu... does to its caller; false when there is no such. */
bool weir_explain_function(const char *name);

/* The functions' names, from 0; NULL behind the last. */
const char *weir_explain_function_name(size_t i);

/* Prints what a finding of weir check or weir advise is, of its word or a text that has it, in
 * small letters; false when there is none. */
bool weir_explain_finding(const char *text);

/* "ORD-001 ORD-021": prints a line for each, with its title. */
void weir_explain_print_rules(const char *ids);

/* Takes the next line off a text, without its end; false at the end of the text. */
bool weir_explain_line(struct weir_explain_text *rest, struct weir_explain_text *line);

#endif
