/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report with a history says of a site beyond its numbers. */
#ifndef LEAKMON_OUTPUT_TREND_PARTS_H
#define LEAKMON_OUTPUT_TREND_PARTS_H

#include "analyze/report.h"
#include "analyze/site_trend.h"
#include "output/json_writer.h"

/* A line with a sparkline, the verdict and its evidence; nothing while there are too few points. */
void output_text_trend_write(FILE *out, const struct report *report,
			     const struct report_site *site);
/* A trend as an object. */
void output_json_trend_fields(struct json_writer *json, const char *key,
			      const struct site_trend *trend);
/* That of a site, as the member "trend"; nothing without a history. */
void output_json_trend_write(struct json_writer *json, const struct report *report,
			     const struct report_site *site);

#endif
