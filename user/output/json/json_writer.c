// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/json/json_writer.h"

#include <inttypes.h>
#include <string.h>
#include <math.h>

#include "base/text.h"

/*
 * A report of 10,000 stacks is 90 MB: writing each character with a lock and a format string would
 * take longer than all else.
 */
static void put(struct json_writer *json, const char *text, size_t length)
{
	fwrite_unlocked(text, 1, length, json->out);
}

static void json_begin(struct json_writer *json, const char *key)
{
	if (json->follows)
		putc_unlocked(',', json->out);
	json->follows = true;
	if (!key)
		return;
	putc_unlocked('"', json->out);
	put(json, key, strlen(key));
	put(json, "\":", 2);
}

void json_open(struct json_writer *json, const char *key, char bracket)
{
	json_begin(json, key);
	putc_unlocked(bracket, json->out);
	json->follows = false;
}

void json_close(struct json_writer *json, char bracket)
{
	putc_unlocked(bracket, json->out);
	json->follows = true;
}

void json_put_number(struct json_writer *json, const char *key, uint64_t value)
{
	char digits[20], *first = digits + sizeof(digits);

	do
		*--first = (char)('0' + value % 10);
	while (value /= 10);
	json_begin(json, key);
	put(json, first, (size_t)(digits + sizeof(digits) - first));
}

void json_put_verbatim(struct json_writer *json, const char *key, const char *value)
{
	json_begin(json, key);
	put(json, value, strlen(value));
}

void json_put_real(struct json_writer *json, const char *key, double value)
{
	if (!isfinite(value)) {
		json_put_null(json, key);
		return;
	}
	json_begin(json, key);
	fprintf(json->out, "%.9g", value);
}

void json_put_signed(struct json_writer *json, const char *key, int64_t value)
{
	json_begin(json, key);
	fprintf(json->out, "%" PRId64, value);
}

void json_put_bool(struct json_writer *json, const char *key, bool value)
{
	json_begin(json, key);
	fputs(value ? "true" : "false", json->out);
}

void json_put_known(struct json_writer *json, const char *key, bool known, uint64_t value)
{
	if (known)
		json_put_number(json, key, value);
	else
		json_put_null(json, key);
}

void json_put_null(struct json_writer *json, const char *key)
{
	json_begin(json, key);
	fputs("null", json->out);
}

/* Writes an escape; beyond the basic plane, a pair of surrogates (RFC 8259, section 7). */
static void escape_code(FILE *out, uint32_t code)
{
	if (code < 0x10000) {
		fprintf(out, "\\u%04x", code);
		return;
	}
	code -= 0x10000;
	fprintf(out, "\\u%04x\\u%04x", 0xd800 | code >> 10, 0xdc00 | (code & 0x3ff));
}

/* Writes a character such that the text read back is an escape. */
static void show_code(FILE *out, uint32_t code)
{
	fprintf(out, code < 0x100 ? "\\\\x%02x" : "\\\\u{%04x}", code);
}

/* Writes the character at `text`, and returns its bytes. */
static size_t character_write(const struct json_writer *json, const char *text)
{
	uint32_t code = 0;
	size_t length = text_decode_utf8(text, &code);

	if (!length) {
		fputs("\xef\xbf\xbd", json->out);
		return 1;
	}
	if (json->embedded && code == '<') {
		escape_code(json->out, code);
		return length;
	}
	if (code == '"' || code == '\\')
		fputc('\\', json->out);
	if (text_is_printable(code))
		fwrite(text, 1, length, json->out);
	else if (json->embedded)
		show_code(json->out, code);
	else
		escape_code(json->out, code);
	return length;
}

/* Returns the length of the part that needs no escapes: the whole of most names. */
static size_t plain_length(const char *text)
{
	size_t length = 0;

	while (text[length] >= ' ' && text[length] < 0x7f && text[length] != '"' &&
	       text[length] != '\\' && text[length] != '<')
		length++;
	return length;
}

void json_put_string(struct json_writer *json, const char *key, const char *value)
{
	if (!value) {
		json_put_null(json, key);
		return;
	}
	json_begin(json, key);
	putc_unlocked('"', json->out);
	for (size_t length; *value; value += length) {
		length = plain_length(value);
		if (length)
			put(json, value, length);
		else
			length = character_write(json, value);
	}
	putc_unlocked('"', json->out);
}
