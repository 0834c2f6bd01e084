/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writers behind the rows of output.c; see output.h for their contract. */
#ifndef LEAKMON_OUTPUT_FORMATS_H
#define LEAKMON_OUTPUT_FORMATS_H

#include <stdint.h>
#include <stdio.h>

#include "report/diff.h"
#include "report/report.h"

struct memory_report;
struct profile_diff;
struct profile_report;
struct profile_report_process;
struct profile_report_site;
struct json_writer;
struct thread_report;

/* `leakmon memory` in each format; the contract of writers is in output.h. */

int memory_text_write(FILE *out, const struct memory_report *report);
int memory_json_write(FILE *out, const struct memory_report *report);
int memory_prom_write(FILE *out, const struct memory_report *report);
int memory_html_write(FILE *out, const struct memory_report *report);

/* How a profile is written; the contract is that of output.h. */

int profile_text_write(FILE *out, const struct profile_report *report);
/* A site's growth, verdict, births and survival, without its frames. */
void profile_text_numbers_write(FILE *out, bool colour, const struct profile_report_site *site);
/* Of one that a triage suspects: below its row, or as its "profile". */
void profile_text_suspect_write(FILE *out, bool colour,
				const struct profile_report_process *process);
void profile_json_suspect_write(struct json_writer *json,
				const struct profile_report_process *process);
int profile_json_write(FILE *out, const struct profile_report *report);
int profile_text_diff_write(FILE *out, const struct profile_diff *diff);
int profile_json_diff_write(FILE *out, const struct profile_diff *diff);
int profile_html_write(FILE *out, const struct profile_report *report);
int profile_prom_write(FILE *out, const struct profile_report *report);
int profile_folded_write(FILE *out, const struct profile_report *report);
int profile_pprof_write(FILE *out, const struct profile_report *report);

/* What a rate comes to in an hour, for formats whose numbers are whole. */
static inline uint64_t profile_hourly(double per_s)
{
	return per_s > 0 ? (uint64_t)(per_s * 3600 + 0.5) : 0;
}

int output_text_write(FILE *out, const struct report *report);
int output_json_write(FILE *out, const struct report *report);
int output_folded_write(FILE *out, const struct report *report);
int output_pprof_write(FILE *out, const struct report *report);
int output_prom_write(FILE *out, const struct report *report);
int output_html_write(FILE *out, const struct report *report);
int output_junit_write(FILE *out, const struct report *report);

int output_text_diff_write(FILE *out, const struct diff *diff);
int output_json_diff_write(FILE *out, const struct diff *diff);
int output_folded_diff_write(FILE *out, const struct diff *diff);
int output_html_diff_write(FILE *out, const struct diff *diff);

int output_text_census_write(FILE *out, const struct thread_report *report);
int output_json_census_write(FILE *out, const struct thread_report *report);

#endif
