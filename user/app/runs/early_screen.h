/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports of a triage in text before its first verdict, which say the same for two minutes. On a
 * terminal each takes the place of the one before; elsewhere only one that differs in what seems to
 * grow is written. From the first verdict on, every report is.
 */
#ifndef LEAKMON_RUNS_EARLY_SCREEN_H
#define LEAKMON_RUNS_EARLY_SCREEN_H

#include "app/monitor/emit.h"
#include "report/triage_report.h"

struct early_screen {
	bool wanted;		/* the reports are text, and nobody counts them */
	bool terminal;		/* they go to one */
	bool over;		/* there has been a verdict */
	uint64_t grows;		/* what seemed to grow in the report that was written last */
	size_t lines;		/* of it on the terminal; 0: it cannot be drawn over */
	unsigned long messages; /* that were printed by then */
};

void early_screen_init(struct early_screen *screen, const struct output_options *output,
		       uint64_t count);

/*
 * emit() for a triage. `asked`: it is written in any case, and stays.
 */
int early_screen_emit(struct early_screen *screen, struct emitter *emitter,
		      struct triage_report *report, bool asked, bool last);

/* The lines that a text takes on a terminal of so many columns. */
size_t early_screen_lines(const char *text, size_t columns);

#endif
