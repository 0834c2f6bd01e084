/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text from a target: made inert before it reaches a terminal or a file. */
#ifndef LEAKMON_BASE_TEXT_H
#define LEAKMON_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The style of text for people: short and human by default. */
struct text_form {
	bool colour;
	bool verbose; /* whole call stacks and ledgers, in lines of any length */
	bool bytes;   /* sizes in bytes: 2262000, not 2.16 MiB */
};

/*
 * Decodes one UTF-8 sequence at text (NUL-terminated) and returns its length in bytes, or 0 if it
 * is invalid (overlong, surrogate, above U+10FFFF, truncated; RFC 3629) or the end of the text.
 * *code gets the code point; untouched on 0.
 */
size_t text_decode_utf8(const char *text, uint32_t *code);

/*
 * Encodes a code point, at most U+10FFFF: fills `bytes` (of 4, not terminated) and returns their
 * number.
 */
size_t text_encode_utf8(uint32_t code, char *bytes);

/*
 * Turns "pool-3-thread-17" into "pool-#-thread-#", in place, so that names of one kind are equal.
 */
void text_collapse_digits(char *name);

/*
 * Returns whether a code point may reach a terminal: no C0/C1 control, no bidi or other format
 * control.
 */
int text_is_printable(uint32_t code);

/*
 * Writes text as valid UTF-8 without control characters: bytes that are not valid UTF-8 become
 * U+FFFD, unprintable characters become \xNN or \u{NNNN}. Newline and tab are escaped, too.
 */
void text_print_inert(FILE *out, const char *text);

/* Returns what text_print_inert() prints; the caller frees. NULL: out of memory. */
char *text_inert(const char *text);

bool text_begins(const char *text, const char *beginning);
/* Returns whether `text` begins with any of these. */
bool text_begins_with_any(const char *text, const char *const *beginnings, size_t count);

/*
 * Returns the position of `wanted` in a class name, or NULL. Its dots also match the separators of
 * nested classes: Outer$Inner (JVM), Outer+Inner (.NET).
 */
const char *text_find_class(const char *name, const char *wanted);

/*
 * Returns the part after the last slash; the whole path if that part is empty. Points into `path`.
 */
const char *text_path_base(const char *path);

/*
 * Returns the short name of a source file: "server.js"; with the package's name in an installed
 * package ("mem/index.js" after node_modules/, "lxml/etree.py" after site-packages/);
 * "node:internal/timers" unchanged. Points into `path`.
 */
const char *text_path_in_package(const char *path);

#endif
