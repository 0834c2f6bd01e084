/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the text format that other reports use, too. */
#ifndef LEAKMON_OUTPUT_REPORT_TEXT_H
#define LEAKMON_OUTPUT_REPORT_TEXT_H

#include <stdio.h>

#include "report/family.h"
#include "report/report.h"

/* The frames of a stack, the caller of the allocator first, and why it has none, or no more. */
void output_text_stack_write(FILE *out, bool colour, const struct report_site *ranked);
void output_text_frames_write(FILE *out, bool colour, const struct frames *frames);

/* A line for each kill that a report is made for; NULL: none. */
/* Nothing if all were written. */
void output_text_lost_reports_write(FILE *out, uint64_t count);
/* ", limit BYTES", and of which control group, if it is not its own. Nothing if there is none. */
void output_text_kill_limit_write(FILE *out, const struct oom_kill *kill);
void output_text_kills_write(FILE *out, const struct oom_kills *kills);

/* Function, file and line of the innermost one, or the address where it has no name. */
void output_text_place_write(FILE *out, const struct frames *frames, uint64_t address);

/* " allocations = ... + N dropped": what balances in a family's figures, up to that term. */
void output_text_balance_write(FILE *out, const struct family *family, const void *figures,
			       enum figure_term last);

/* A site: what it holds, and its stack. */
void output_text_site_write(FILE *out, const struct report *report,
			    const struct report_site *ranked);

#endif
