// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/text.h"

static enum log_level current_level = LOG_INFO;
static bool had_error;
static unsigned long printed;

void log_set_level(enum log_level level)
{
	current_level = level;
}

enum log_level log_get_level(void)
{
	return current_level;
}

bool log_had_error(void)
{
	return __atomic_load_n(&had_error, __ATOMIC_RELAXED);
}

unsigned long log_printed(void)
{
	return __atomic_load_n(&printed, __ATOMIC_RELAXED);
}

void log_print(enum log_level level, const char *format, ...)
{
	char message[2048];
	va_list arguments;

	if (level == LOG_ERROR)
		__atomic_store_n(&had_error, true, __ATOMIC_RELAXED);
	if (level > current_level)
		return;
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	__atomic_add_fetch(&printed, 1, __ATOMIC_RELAXED);
	fputs("leakmon: ", stderr);
	text_print_inert(stderr, message);
	fputc('\n', stderr);
}
