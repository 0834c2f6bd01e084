/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes JSON (RFC 8259) to a stream, on one line. The caller opens and closes in pairs; the writer
 * adds commas. `key` is NULL for elements of an array, and never comes from a target.
 */
#ifndef LEAKMON_OUTPUT_JSON_JSON_WRITER_H
#define LEAKMON_OUTPUT_JSON_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_writer {
	FILE *out;
	bool follows;  /* a value precedes in the open object or array */
	bool embedded; /* in an HTML page: see json_put_string() */
};

void json_open(struct json_writer *json, const char *key, char bracket);
void json_close(struct json_writer *json, char bracket);

void json_put_number(struct json_writer *json, const char *key, uint64_t value);
/* Writes null if not known. */
void json_put_known(struct json_writer *json, const char *key, bool known, uint64_t value);
void json_put_signed(struct json_writer *json, const char *key, int64_t value);
/* Writes nine significant digits; null if not finite. */
void json_put_real(struct json_writer *json, const char *key, double value);
void json_put_bool(struct json_writer *json, const char *key, bool value);
void json_put_null(struct json_writer *json, const char *key);

/*
 * Writes a string of any bytes; NULL gives null. Invalid UTF-8 becomes U+FFFD. Control characters
 * and others that text_is_printable() rejects become \uXXXX escapes: nothing is lost, and the line
 * is safe on a terminal. In an HTML page they become the output of text_print_inert(), because the
 * page displays the string; and no `<` is left that could begin or end an element.
 */
void json_put_string(struct json_writer *json, const char *key, const char *value);

/*
 * Writes a value that is already JSON, without control characters, unchanged. Not for HTML pages.
 */
void json_put_verbatim(struct json_writer *json, const char *key, const char *value);

#endif
