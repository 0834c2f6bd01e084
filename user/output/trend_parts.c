// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/trend_parts.h"

#include "analyze/history.h"
#include "analyze/site_trend.h"

/* A sparkline of fewer points shows nothing. */
#define SPARKLINE_POINTS 3
#define SPARKLINE_WIDTH 24

void output_text_trend_write(FILE *out, const struct report *report, const struct report_site *site)
{
	char sparkline[SPARKLINE_SIZE], evidence[EVIDENCE_SIZE];
	struct site_trend trend;

	if (!report->history || !site->series || report->history->times.count < SPARKLINE_POINTS)
		return;
	history_sparkline(report->history, &site->series->series, SPARKLINE_WIDTH, sparkline);
	site_trend_of(&trend, report->history, site->series);
	fprintf(out, "\t\t%s", sparkline);
	if (trend.verdict != TREND_TOO_EARLY)
		fprintf(out, " %s: %s", trend_verdict_name(trend.verdict),
			site_trend_evidence(&trend, evidence));
	fputc('\n', out);
}

static void ages_write(struct json_writer *json, const struct site_trend *trend)
{
	json_open(json, "older_share", '[');
	for (size_t i = 0; trend->has_ages && i < SITE_AGES_MAX_; i++) {
		json_open(json, NULL, '{');
		json_put_number(json, "seconds", site_age_limits_ns[i] / 1000000000u);
		json_put_real(json, "share", trend->older_share[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void output_json_trend_fields(struct json_writer *json, const char *key,
			      const struct site_trend *trend)
{
	char evidence[EVIDENCE_SIZE];

	json_open(json, key, '{');
	json_put_string(json, "verdict", trend_verdict_name(trend->verdict));
	json_put_string(json, "evidence", site_trend_evidence(trend, evidence));
	json_put_number(json, "snapshots", trend->trend.points);
	json_put_real(json, "span_s", trend->trend.span_s);
	json_put_real(json, "bytes_per_s", trend->trend.slope);
	json_put_real(json, "bytes_per_s_low", trend->trend.slope_low);
	json_put_real(json, "bytes_per_s_high", trend->trend.slope_high);
	json_put_real(json, "confidence", trend->trend.confidence);
	json_put_real(json, "r_squared", trend->trend.r_squared);
	json_put_real(json, "integral_byte_s", trend->integral_byte_s);
	if (trend->survival >= 0)
		json_put_real(json, "survival", trend->survival);
	else
		json_put_null(json, "survival");
	json_put_real(json, "turnover", trend->turnover);
	ages_write(json, trend);
	json_close(json, '}');
}

void output_json_trend_write(struct json_writer *json, const struct report *report,
			     const struct report_site *site)
{
	struct site_trend trend;

	if (!report->history || !site->series)
		return;
	site_trend_of(&trend, report->history, site->series);
	output_json_trend_fields(json, "trend", &trend);
}
