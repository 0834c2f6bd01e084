// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/json_writer.h"

#include <inttypes.h>

#include "base/text.h"

static void json_begin(struct json_writer *json, const char *key)
{
	if (json->follows)
		fputc(',', json->out);
	json->follows = true;
	if (key)
		fprintf(json->out, "\"%s\":", key);
}

void json_open(struct json_writer *json, const char *key, char bracket)
{
	json_begin(json, key);
	fputc(bracket, json->out);
	json->follows = false;
}

void json_close(struct json_writer *json, char bracket)
{
	fputc(bracket, json->out);
	json->follows = true;
}

void json_number(struct json_writer *json, const char *key, uint64_t value)
{
	json_begin(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void json_bool(struct json_writer *json, const char *key, bool value)
{
	json_begin(json, key);
	fputs(value ? "true" : "false", json->out);
}

void json_null(struct json_writer *json, const char *key)
{
	json_begin(json, key);
	fputs("null", json->out);
}

/* Beyond the basic plane an escape is a pair of surrogates (RFC 8259, section 7). */
static void escape_code(FILE *out, uint32_t code)
{
	if (code < 0x10000) {
		fprintf(out, "\\u%04x", code);
		return;
	}
	code -= 0x10000;
	fprintf(out, "\\u%04x\\u%04x", 0xd800 | code >> 10, 0xdc00 | (code & 0x3ff));
}

/* Writes the character at text and returns the bytes it took. */
static size_t character_write(FILE *out, const char *text)
{
	uint32_t code = 0;
	size_t length = text_decode_utf8(text, &code);

	if (!length) {
		fputs("\xef\xbf\xbd", out);
		return 1;
	}
	if (code == '"' || code == '\\')
		fputc('\\', out);
	if (text_is_printable(code))
		fwrite(text, 1, length, out);
	else
		escape_code(out, code);
	return length;
}

void json_string(struct json_writer *json, const char *key, const char *value)
{
	if (!value) {
		json_null(json, key);
		return;
	}
	json_begin(json, key);
	fputc('"', json->out);
	while (*value)
		value += character_write(json->out, value);
	fputc('"', json->out);
}
