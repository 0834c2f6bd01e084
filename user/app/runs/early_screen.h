/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text reports of a triage before its first verdict, which repeat themselves for two minutes. On a
 * terminal each replaces the one before; elsewhere one is written only if the set of growing
 * processes has changed. From the first verdict on, every report is written.
 */
#ifndef LEAKMON_RUNS_EARLY_SCREEN_H
#define LEAKMON_RUNS_EARLY_SCREEN_H

#include "app/monitor/emit.h"
#include "report/triage_report.h"

struct early_screen {
	bool wanted;		/* the reports are text, without COUNT */
	bool terminal;		/* they go to a terminal */
	bool over;		/* there has been a verdict */
	uint64_t grows;		/* hash of the growing processes in the latest written report */
	size_t lines;		/* its lines on the terminal; 0: it cannot be replaced */
	unsigned long messages; /* messages printed when that report was written */
};

void early_screen_init(struct early_screen *screen, const struct output_options *output,
		       uint64_t count);

/*
 * Writes a triage report as emit() does. `asked`: write the report in any case, and keep it on the
 * screen.
 */
int early_screen_emit(struct early_screen *screen, struct emitter *emitter,
		      struct triage_report *report, bool asked, bool last);

/* Returns the number of lines that a text takes on a terminal of that width. */
size_t early_screen_lines(const char *text, size_t columns);

#endif
