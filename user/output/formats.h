/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writers behind the rows of output.c; see output.h for their contract. */
#ifndef LEAKMON_OUTPUT_FORMATS_H
#define LEAKMON_OUTPUT_FORMATS_H

#include <stdio.h>

#include "analyze/diff.h"
#include "analyze/report.h"

struct thread_report;

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
