/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writers behind the rows of output.c; see output.h for their contract. */
#ifndef LEAKMON_OUTPUT_FORMATS_H
#define LEAKMON_OUTPUT_FORMATS_H

#include <stdio.h>

#include "analyze/diff.h"
#include "analyze/report.h"

int output_text_write(FILE *out, const struct report *report);
int output_json_write(FILE *out, const struct report *report);
int output_folded_write(FILE *out, const struct report *report);
int output_pprof_write(FILE *out, const struct report *report);
int output_prom_write(FILE *out, const struct report *report);
int output_html_write(FILE *out, const struct report *report);

int output_text_diff_write(FILE *out, const struct diff *diff);
int output_json_diff_write(FILE *out, const struct diff *diff);
int output_folded_diff_write(FILE *out, const struct diff *diff);
int output_html_diff_write(FILE *out, const struct diff *diff);

/* Pieces of the two for reports that are not of a snapshot. */
struct json_writer;
void output_text_site_write(FILE *out, const struct report *report,
			    const struct report_site *ranked);
void output_json_site_write(struct json_writer *json, const struct report *report,
			    const struct report_site *ranked);
void output_text_stack_write(FILE *out, bool colour, const struct report_site *ranked);
void output_text_threads_write(FILE *out, const struct report_process *ranked);
void output_json_threads_write(struct json_writer *json, const struct report_process *ranked);
void output_json_frames_write(struct json_writer *json, const struct report_site *site);
/* "frames" that have been named; the stack below, as in a report. */
void output_json_named_write(struct json_writer *json, const struct frames *frames);
void output_text_frames_write(FILE *out, bool colour, const struct frames *frames);
/* A name with nothing in it that would end the frame or the line; ";" and a frame. */
void output_folded_name_write(FILE *out, const char *name);
void output_folded_frame_write(FILE *out, const struct frame *frame);
void output_folded_stack_write(FILE *out, const char *comm, const struct report_site *site);
/* The member "dead_threads". */
void output_json_diff_dead_write(struct json_writer *json, const struct diff *diff);
/* The members "ledger" and "mappings". */
void output_json_ledger_write(struct json_writer *json, const struct snapshot *snapshot);
void output_json_mapping_write(struct json_writer *json, const struct mapping_ledger *ledger);
/* {"before", "after", "difference"}. */
void output_json_amounts_write(struct json_writer *json, const char *key, uint64_t before,
			       uint64_t after);
void output_json_time(struct json_writer *json, const char *key, const struct timespec *time);

/* Flushes. 0, or -EIO when anything written to the stream so far failed. */
int output_finish(FILE *out);

#endif
