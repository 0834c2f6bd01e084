/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines above a list: what is held in all, whether the ledger balances, what it costs. */
#ifndef LEAKMON_TOP_HEADING_H
#define LEAKMON_TOP_HEADING_H

#include "report/report.h"
#include "report/profile_report.h"
#include "report/triage_report.h"

/* The machine's memory, then what is asked about. */
enum top_heading_line {
	HEADING_MACHINE,
	HEADING_TOTAL,
	HEADING_LEDGER,
	HEADING_COST,
	HEADING_LINES_
};

struct top_heading {
	char clock[16];
	char *lines[HEADING_LINES_]; /* owned; NULL: there is none */
	bool inexact;		     /* the ledger's line is to be noticed */
};

/* 0 or -ENOMEM (then it is as it was). */
int top_heading_of_report(struct top_heading *heading, const struct report *report);
int top_heading_of_profile(struct top_heading *heading, const struct profile_report *report);
int top_heading_of_triage(struct top_heading *heading, const struct triage_report *report);
void top_heading_free(struct top_heading *heading);

#endif
