/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a field of an answer holds the text that it should. */
#ifndef LEAKMON_WORKER_DECODE_TEXT_H
#define LEAKMON_WORKER_DECODE_TEXT_H

#include <stdbool.h>
#include <string.h>

static inline bool is_terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static inline bool is_hex(const char *text, size_t size)
{
	return is_terminated(text, size) && text[strspn(text, "0123456789abcdef")] == '\0';
}

#endif
