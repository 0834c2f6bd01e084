// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/trend.h"

#include <stdio.h>

#include "base/cleanup.h"

const char *trend_verdict_name(enum trend_verdict verdict)
{
	static const char *const names[] = {
		[TREND_TOO_EARLY] = "too-early", [TREND_STEADY] = "steady",
		[TREND_ONE_OFF] = "one-off",	 [TREND_PLATEAU] = "plateau",
		[TREND_CHURNING] = "churning",	 [TREND_GROWING] = "growing",
		[TREND_LEAKING] = "leaking",
	};
	_Static_assert(ARRAY_SIZE(names) == TREND_MAX_, "a name for every verdict");

	return names[verdict];
}

bool trend_is_suspect(enum trend_verdict verdict)
{
	return verdict == TREND_GROWING || verdict == TREND_LEAKING;
}

bool site_trend_is_young(const struct site_trend *trend)
{
	return trend->process_age_s > 0 && trend->process_age_s < TREND_WARM_UP_S;
}

double site_trend_growth(const struct site_trend *trend)
{
	/* Shrinking and churning ones rank below growing ones, however slow these are. */
	if (!trend_is_suspect(trend->verdict))
		return 0;
	return MAX(trend->merged.stacks ? trend->merged.per_s : trend->trend.slope, 0);
}

/* Prints "1.2 KiB": three significant digits, powers of 1024. */
static void size_print(FILE *out, double size)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t unit = 0;

	while (size >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		size /= 1024;
		unit++;
	}
	fprintf(out, "%.3g %s", size, units[unit]);
}

static void bytes_print(FILE *out, double bytes)
{
	fputc(bytes < 0 ? '-' : '+', out);
	size_print(out, bytes < 0 ? -bytes : bytes);
}

/* Prints the most informative age: the greatest that at least half of the blocks have reached. */
static void age_print(FILE *out, const struct site_trend *trend)
{
	static const char *const ages[SITE_AGES_MAX_] = {"1 s", "10 s", "1 min", "10 min",
							 "1 h", "6 h",	"1 day"};
	size_t i = SITE_AGES_MAX_;

	while (i && trend->older_share[i - 1] < 0.5)
		i--;
	if (trend->has_ages && i)
		fprintf(out, ", %.0f%% of its blocks are over %s old",
			100 * trend->older_share[i - 1], ages[i - 1]);
}

static void hits_print(FILE *out, const struct site_trend *trend)
{
	if (!trend->too_few_hits && !(trend->hits > 0 && trend_is_suspect(trend->verdict)))
		return;
	fprintf(out, ", by %.3g samples (95%%: ", trend->hits);
	bytes_print(out, trend->growth_limits.low);
	fputs(" to ", out);
	bytes_print(out, trend->growth_limits.high);
	fputs(trend->too_few_hits ? "): too few to tell" : ")", out);
}

static void merged_print(FILE *out, const struct merged_trend *merged)
{
	if (!merged->stacks)
		return;
	fprintf(out, ", in %zu call stacks through compiled code that hold ", merged->stacks);
	size_print(out, (double)merged->bytes);
}

static void evidence_print(FILE *out, const struct site_trend *trend)
{
	const struct trend *shown = trend->merged.stacks ? &trend->merged.trend : &trend->trend;

	if (trend->verdict == TREND_TOO_EARLY) {
		if (trend->early.readings && trend->early.per_s != 0) {
			fputc('~', out);
			bytes_print(out, 60 * trend->early.per_s);
			fputs("/min so far, ", out);
		}
		fprintf(out, "only %zu snapshots yet", trend->trend.points);
		return;
	}
	bytes_print(out, shown->slope);
	fputs("/s (95%: ", out);
	bytes_print(out, shown->slope_low);
	fputs(" to ", out);
	bytes_print(out, shown->slope_high);
	fprintf(out, "), R\xc2\xb2 %.2f", shown->r_squared);
	merged_print(out, &trend->merged);
	if (trend->survival >= 0)
		fprintf(out, ", %.3g%% of the blocks it allocated since are still there",
			100 * trend->survival);
	age_print(out, trend);
	if (trend->verdict == TREND_GROWING && trend->low_points_rise)
		fputs(", its low points rise all the time", out);
	if (trend->too_little)
		fputs(", rises, but by too little yet", out);
	hits_print(out, trend);
	if (trend_is_suspect(trend->verdict) && trend->blocks_grow)
		fputs(", its blocks are replaced by larger ones", out);
	if (trend->too_short)
		fprintf(out, ", too short to tell (%.3g s)", shown->span_s);
	if (trend->too_small) {
		fputs(", too little to tell (", out);
		bytes_print(out, trend->gained);
		fputc(')', out);
	}
	if (trend->replaces)
		fputs(", as many untracked blocks were freed", out);
	if (trend_is_suspect(trend->verdict) && site_trend_is_young(trend))
		fprintf(out, ", warming up (started %.0f s ago)", trend->process_age_s);
}

char *site_trend_evidence(const struct site_trend *trend, char text[EVIDENCE_SIZE])
{
	FILE *out = fmemopen(text, EVIDENCE_SIZE, "w");

	*text = '\0';
	if (!out)
		return text;
	evidence_print(out, trend);
	fclose(out);
	text[EVIDENCE_SIZE - 1] = '\0';
	return text;
}
