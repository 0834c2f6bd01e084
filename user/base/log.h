/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for the operator. All go to stderr, so that stdout carries data only. An error is logged
 * once, where it stops travelling, and names the failure, its cause and the remedy.
 */
#ifndef LEAKMON_BASE_LOG_H
#define LEAKMON_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* The default is LOG_INFO; -v gives LOG_DEBUG. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* Returns whether log_error() was ever called. */
bool log_had_error(void);

/*
 * Returns the number of messages printed so far: a caller that redraws a terminal must not
 * overwrite one.
 */
unsigned long log_printed(void);

/* Prints "leakmon: MESSAGE\n". Control characters and invalid UTF-8 in MESSAGE are replaced. */
void log_print(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_print(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_print(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_print(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_print(LOG_DEBUG, __VA_ARGS__)

#endif
