/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines above a list: totals, balance of the ledger, costs. */
#ifndef LEAKMON_TOP_HEADING_H
#define LEAKMON_TOP_HEADING_H

#include "report/report.h"
#include "report/profile_report.h"
#include "report/triage_report.h"

/* The machine's memory comes first, then the targets. */
enum top_heading_line {
	HEADING_MACHINE,
	HEADING_TOTAL,
	HEADING_LEDGER,
	HEADING_COST,
	HEADING_LINES_
};

struct top_heading {
	char clock[16];
	char *lines[HEADING_LINES_]; /* owned; NULL: no such line */
	bool inexact;		     /* the ledger's line needs attention */
};

/* Fill the heading from a report. Return 0, or -ENOMEM with the heading unchanged. */
int top_heading_of_report(struct top_heading *heading, const struct report *report);
int top_heading_of_profile(struct top_heading *heading, const struct profile_report *report);
int top_heading_of_triage(struct top_heading *heading, const struct triage_report *report);
void top_heading_free(struct top_heading *heading);

#endif
