/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the text format, of which reports that are not of a snapshot use some. */
#ifndef LEAKMON_OUTPUT_TEXT_PARTS_H
#define LEAKMON_OUTPUT_TEXT_PARTS_H

#include <stdio.h>

#include "analyze/report.h"

/* What terminals take for bold, dim and neither; empty texts without colour. */
struct text_style {
	const char *bold, *dim, *plain;
};
const struct text_style *text_style(bool colour);

/* The frames of a stack, the caller of the allocator first, and why it has none, or no more. */
void output_text_stack_write(FILE *out, bool colour, const struct report_site *ranked);
void output_text_frames_write(FILE *out, bool colour, const struct frames *frames);

/* "[HH:MM:SS] Top N stacks with outstanding ...:" */
void text_heading_write(FILE *out, const struct report *report, enum site_family family,
			size_t sites);
/* The heading, and below it the sites of that family; what is cut is summed up. */
void text_family_write(FILE *out, const struct report *report, const struct report_process *ranked,
		       enum site_family family);
void output_text_site_write(FILE *out, const struct report *report,
			    const struct report_site *ranked);

void output_text_threads_write(FILE *out, const struct report_process *ranked);

/* How the mapped bytes are accounted for, and what was missed. */
void text_mapping_write(FILE *out, const struct mapping_ledger *ledger);
/* The balance, that of the mappings too, and below it each reason why it may be inexact. */
void text_ledger_write(FILE *out, const struct snapshot *snapshot);

#endif
