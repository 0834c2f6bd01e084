/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line on a terminal during long work: the share done, and the estimated time left. It appears
 * after two seconds, changes twice a second, and is erased at the end.
 */
#ifndef LEAKMON_BASE_PROGRESS_H
#define LEAKMON_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
	FILE *out; /* borrowed; NULL: no output */
	uint64_t began_ns, shown_ns;
	bool shown;
};

/* Shows progress on standard error, if it is a terminal and the log level is the default. */
void progress_begin(struct progress *progress);
/* Reports that `share` of the work, 0 to 1, is done. May be called often. progress may be NULL. */
void progress_at(struct progress *progress, const char *what, double share);
/* Clears the line. */
void progress_end(struct progress *progress);

/* Formats "following references: 46 %, about 5 s left". The time left is omitted below 5 %. */
void progress_text(char *text, size_t size, const char *what, double share, uint64_t elapsed_ns);

#endif
