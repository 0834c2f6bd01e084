/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writers behind the rows of output.c; see output.h for their contract. */
#ifndef LEAKMON_OUTPUT_FORMATS_H
#define LEAKMON_OUTPUT_FORMATS_H

#include <stdio.h>

#include "analyze/report.h"

int output_text_write(FILE *out, const struct report *report);
int output_json_write(FILE *out, const struct report *report);

/* Flushes. 0, or -EIO when anything written to the stream so far failed. */
int output_finish(FILE *out);

#endif
