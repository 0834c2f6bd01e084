// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* RFC 3629, section 3: lead byte, payload bits, and the least code point that needs the length. */
static const struct {
	uint8_t mask, lead;
	uint32_t least;
} forms[] = {
	[1] = {0x80, 0x00, 0x0},
	[2] = {0xe0, 0xc0, 0x80},
	[3] = {0xf0, 0xe0, 0x800},
	[4] = {0xf8, 0xf0, 0x10000},
};

size_t text_decode_utf8(const char *text, uint32_t *code)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t length = 1;
	uint32_t value;

	while (length < ARRAY_SIZE(forms) && (bytes[0] & forms[length].mask) != forms[length].lead)
		length++;
	if (length == ARRAY_SIZE(forms) || !bytes[0])
		return 0;
	value = bytes[0] & (uint8_t)~forms[length].mask;
	/* The terminating NUL is no continuation byte, so this never reads past it. */
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (bytes[i] & 0x3f);
	}
	if (value < forms[length].least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	*code = value;
	return length;
}

size_t text_encode_utf8(uint32_t code, char *bytes)
{
	size_t length = 1;

	while (length + 1 < ARRAY_SIZE(forms) && code >= forms[length + 1].least)
		length++;
	for (size_t i = length - 1; i > 0; i--) {
		bytes[i] = (char)(0x80 | (code & 0x3f));
		code >>= 6;
	}
	bytes[0] = (char)(forms[length].lead | code);
	return length;
}

/* Sorted. Those of Unicode's general categories Cc, Cf, Zl, Zp that can deceive a reader. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{0x0000, 0x001f},   /* C0 controls */
	{0x007f, 0x009f},   /* DEL, C1 controls */
	{0x00ad, 0x00ad},   /* soft hyphen */
	{0x061c, 0x061c},   /* Arabic letter mark */
	{0x180e, 0x180e},   /* Mongolian vowel separator */
	{0x200b, 0x200f},   /* zero widths, direction marks */
	{0x2028, 0x202e},   /* line and paragraph separator, bidi embeddings and overrides */
	{0x2060, 0x206f},   /* invisible operators, bidi isolates, deprecated format controls */
	{0xd800, 0xdfff},   /* surrogates */
	{0xfdd0, 0xfdef},   /* noncharacters */
	{0xfeff, 0xfeff},   /* byte order mark */
	{0xfff9, 0xfffb},   /* interlinear annotation */
	{0xe0000, 0xe007f}, /* tag characters */
};

void text_collapse_digits(char *name)
{
	char *to = name;

	for (const char *from = name; *from;) {
		if (*from < '0' || *from > '9') {
			*to++ = *from++;
			continue;
		}
		while (*from >= '0' && *from <= '9')
			from++;
		*to++ = '#';
	}
	*to = '\0';
}

int text_is_printable(uint32_t code)
{
	/* The last two code points of every plane are noncharacters. */
	if (code > 0x10ffff || (code & 0xfffe) == 0xfffe)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(hidden) && hidden[i].first <= code; i++) {
		if (code <= hidden[i].last)
			return 0;
	}
	return 1;
}

/* Returns the number of leading bytes that can be written unchanged. */
static size_t inert_prefix(const char *text)
{
	size_t length, prefix = 0;
	uint32_t code;

	while ((length = text_decode_utf8(text + prefix, &code)) && text_is_printable(code))
		prefix += length;
	return prefix;
}

void text_print_inert(FILE *out, const char *text)
{
	for (;;) {
		size_t length = inert_prefix(text);
		uint32_t code;

		/*
		 * In runs: stderr is unbuffered, so a call per character would be a write per
		 * character.
		 */
		fwrite(text, 1, length, out);
		text += length;
		if (!*text)
			return;
		length = text_decode_utf8(text, &code);
		if (!length)
			fputs(REPLACEMENT, out);
		else
			fprintf(out, code < 0x100 ? "\\x%02x" : "\\u{%04x}", code);
		text += length ? length : 1;
	}
}

char *text_inert(const char *text)
{
	char *copy = NULL;
	size_t size;
	FILE *out = open_memstream(&copy, &size);
	int failed;

	if (!out)
		return NULL;
	text_print_inert(out, text);
	failed = ferror(out);
	if (fclose(out) || failed) {
		free(copy);
		return NULL;
	}
	return copy;
}

bool text_begins(const char *text, const char *beginning)
{
	return !strncmp(text, beginning, strlen(beginning));
}

bool text_begins_with_any(const char *text, const char *const *beginnings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (text_begins(text, beginnings[i]))
			return true;
	}
	return false;
}

/* Returns the length of the common beginning. */
static size_t same_class(const char *name, const char *wanted)
{
	size_t length = 0;

	while (wanted[length] && name[length] &&
	       (name[length] == wanted[length] ||
		(wanted[length] == '.' && strchr("$+", name[length]))))
		length++;
	return length;
}

const char *text_find_class(const char *name, const char *wanted)
{
	do {
		if (!wanted[same_class(name, wanted)])
			return name;
	} while (*name++);
	return NULL;
}

const char *text_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *text_path_in_package(const char *path)
{
	static const char *const places[] = {"/node_modules/", "-packages/"};
	const char *base = text_path_base(path);

	if (text_begins(path, "node:"))
		return path;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *last = NULL, *found = strstr(path, places[i]);

		for (; found; found = strstr(found + 1, places[i]))
			last = found + strlen(places[i]);
		if (last && *last)
			return last;
	}
	return base;
}
