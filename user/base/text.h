/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that came from a target: made inert before it reaches a terminal or a file. */
#ifndef LEAKMON_BASE_TEXT_H
#define LEAKMON_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How text for people is written. Short and human, unless somebody asks for more. */
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

/* The other way round: fills `bytes` (of 4, not terminated) and returns how many; code is at most
 * U+10FFFF. */
size_t text_encode_utf8(uint32_t code, char *bytes);

/* "pool-3-thread-17" -> "pool-#-thread-#", in place: names of one kind are the same then. */
void text_collapse_digits(char *name);

/* Whether a code point may reach a terminal: no C0/C1 control, no bidi or other format control. */
int text_is_printable(uint32_t code);

/*
 * Writes text as valid UTF-8 without control characters: bytes that are not valid UTF-8 become
 * U+FFFD, what is not printable becomes \xNN or \u{NNNN}. Newline and tab are escaped too.
 */
void text_print_inert(FILE *out, const char *text);

/* The same into a string that the caller frees, or NULL when out of memory. */
char *text_inert(const char *text);

bool text_begins(const char *text, const char *beginning);
/* With one of these. */
bool text_begins_with_any(const char *text, const char *const *beginnings, size_t count);

/* Where `wanted` is in the name of a class, or NULL. Its dots also stand for the signs before a
 * nested class: Outer$Inner (JVM), Outer+Inner (.NET). */
const char *text_find_class(const char *name, const char *wanted);

/* The part behind the last slash; the whole path, if nothing is. Part of `path`. */
const char *text_path_base(const char *path);

/*
 * How a source file is called where there is little room: "server.js"; of an installed package with
 * the package's name ("mem/index.js" behind node_modules/, "lxml/etree.py" behind site-packages/);
 * "node:internal/timers" as it is. Part of `path`.
 */
const char *text_path_in_package(const char *path);

#endif
