/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes JSON (RFC 8259) to a stream, on one line. The caller opens and closes in pairs; commas
 * are put here. `key` is NULL for the members of an array, and never comes from a target.
 */
#ifndef LEAKMON_OUTPUT_JSON_JSON_WRITER_H
#define LEAKMON_OUTPUT_JSON_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_writer {
	FILE *out;
	bool follows;  /* a value was written before in the open object or array */
	bool embedded; /* in an HTML page: see json_put_string() */
};

void json_open(struct json_writer *json, const char *key, char bracket);
void json_close(struct json_writer *json, char bracket);

void json_put_number(struct json_writer *json, const char *key, uint64_t value);
/* null if it is not known */
void json_put_known(struct json_writer *json, const char *key, bool known, uint64_t value);
void json_put_signed(struct json_writer *json, const char *key, int64_t value);
/* Nine significant digits; null if it is no finite number. */
void json_put_real(struct json_writer *json, const char *key, double value);
void json_put_bool(struct json_writer *json, const char *key, bool value);
void json_put_null(struct json_writer *json, const char *key);

/*
 * Any bytes; NULL gives null. Bytes that are not valid UTF-8 become U+FFFD. Control characters
 * and whatever else text_is_printable refuses are written as \uXXXX escapes: nothing is lost, and
 * the line is safe on a terminal. Embedded, they become what text_print_inert() makes of them, for
 * a page shows what it reads; and no `<` is left that could end or begin an element.
 */
void json_put_string(struct json_writer *json, const char *key, const char *value);

/* A value that is JSON already, without control characters: it is written as it is. Not
 * embedded. */
void json_put_verbatim(struct json_writer *json, const char *key, const char *value);

#endif
