/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line on a terminal during long work: how much of it is done, and about how long the rest takes.
 * It comes after two seconds, changes twice a second, and leaves nothing behind.
 */
#ifndef LEAKMON_BASE_PROGRESS_H
#define LEAKMON_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
	FILE *out; /* borrowed; NULL: nothing is shown */
	uint64_t began_ns, shown_ns;
	bool shown;
};

/* On standard error, if that is a terminal and messages are neither more nor fewer than usual. */
void progress_begin(struct progress *progress);
/* `share` of the work, 0 to 1, is done. May be called often; NULL: nobody watches. */
void progress_at(struct progress *progress, const char *what, double share);
/* Clears the line. */
void progress_end(struct progress *progress);

/* "following references: 46 %, about 5 s left". Nothing is said of the rest before a twentieth. */
void progress_text(char *text, size_t size, const char *what, double share, uint64_t elapsed_ns);

#endif
