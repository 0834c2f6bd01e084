// SPDX-License-Identifier: GPL-2.0-or-later
/* Triage for people: one row per process, what grows on top, with its evidence below the row. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "output/triage_format.h"

#define KIB 1024.0

struct style {
	const char *bold, *dim, *red, *yellow, *plain;
};

static const struct style styles[] = {
	[false] = {"", "", "", "", ""},
	[true] = {"\033[1m", "\033[2m", "\033[31m", "\033[33m", "\033[0m"},
};

/* "120.4 MiB", of at most 10 characters; the sign is for rates. */
static void bytes_format(char text[16], double bytes, const char *sign)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double size = fabs(bytes);
	size_t unit = 0;

	while (size >= 1000 && unit + 1 < ARRAY_SIZE(units)) {
		size /= KIB;
		unit++;
	}
	snprintf(text, 16, "%s%.*f %s", bytes < 0 ? "-" : sign, unit ? (size < 10 ? 2 : 1) : 0,
		 size, units[unit]);
}

/* At most `width` characters of what a target calls itself, filled up with blanks. */
static void column_write(FILE *out, const char *text, size_t width)
{
	_cleanup_free_ char *inert = text_inert(text);
	const char *at = inert ? inert : "?";
	size_t used = 0, length;
	uint32_t code;

	while (used < width && (length = text_decode_utf8(at, &code))) {
		fwrite(at, 1, length, out);
		at += length;
		used++;
	}
	fprintf(out, "%*s", (int)(width - used), "");
}

/* Where it runs, as shortly as it can be told: pod/container, container id, service. */
static void place_format(char text[128], const struct triage_entry *entry)
{
	const struct container *container = entry->container;
	const char *slash = entry->cgroup ? strrchr(entry->cgroup, '/') : NULL;

	if (container && container->pod)
		snprintf(text, 128, "%s/%s", container->pod,
			 container->name ? container->name : "");
	else if (container && container->name)
		snprintf(text, 128, "%s", container->name);
	else if (container)
		snprintf(text, 128, "%.12s", container->id);
	else
		snprintf(text, 128, "%s", slash && slash[1] ? slash + 1 : "-");
}

static void count_write(FILE *out, double count, int width)
{
	if (isnan(count))
		fprintf(out, " %*s", width, "-");
	else
		fprintf(out, " %*.0f", width, count);
}

static void rate_format(char text[32], const struct growth *growth, double per_s)
{
	static const char *const units[] = {
		[QUANTITY_HEAP] = NULL,
		[QUANTITY_MAPPING] = "maps",
		[QUANTITY_THREADS] = "threads",
		[QUANTITY_FILES] = "files",
	};
	_Static_assert(ARRAY_SIZE(units) == QUANTITY_MAX_, "a unit for every kind");

	if (growth->kind == QUANTITY_HEAP)
		bytes_format(text, 60 * per_s, "+");
	else
		snprintf(text, 32, "%+.*f %s", fabs(60 * per_s) < 10, 60 * per_s,
			 units[growth->kind]);
}

/* Between the lowest and the highest point: what moves is what matters. */
static void spark_write(FILE *out, const struct triage_entry *entry)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	float low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < entry->spark_count; i++) {
		low = fminf(low, entry->spark[i]);
		high = fmaxf(high, entry->spark[i]);
	}
	for (size_t i = 0; i < entry->spark_count; i++) {
		float share = high > low ? (entry->spark[i] - low) / (high - low) : 0;

		fputs(blocks[(size_t)(share * 7.99F)], out);
	}
}

static const char *colour_of(const struct style *style, enum trend_verdict verdict)
{
	if (verdict == TREND_LEAKING)
		return style->red;
	return verdict == TREND_GROWING ? style->yellow : "";
}

static void verdict_write(FILE *out, const struct style *style, const struct growth *growth)
{
	const char *colour = colour_of(style, growth->verdict);

	fprintf(out, "  %s%-9s%s", colour, trend_verdict_name(growth->verdict),
		*colour ? style->plain : "");
	if (trend_is_suspect(growth->verdict))
		fprintf(out, " %4.0f %%  ", 100 * growth->confidence);
	else
		fputs("      -  ", out);
}

static void time_format(char text[24], double seconds)
{
	if (seconds < 90)
		snprintf(text, 24, "%.0f s", seconds);
	else if (seconds < 90 * 60)
		snprintf(text, 24, "%.1f min", seconds / 60);
	else
		snprintf(text, 24, "%.1f h", seconds / 3600);
}

/* Why it is called so. */
static void evidence_write(FILE *out, const struct style *style, const struct growth *growth)
{
	const struct trend *evidence = &growth->evidence;
	char low[32], high[32], span[24], total[32];

	rate_format(low, growth, growth->low_per_s);
	rate_format(high, growth, growth->high_per_s);
	time_format(span, evidence->span_s);
	rate_format(total, growth, evidence->growth / 60);
	fprintf(out,
		"         %s%s: %s in %s, 95 %% sure of %s to %s a minute; R² %.2f, rose in %.0f "
		"%% "
		"of its parts%s%s\n",
		style->dim, growth_kind_name(growth->kind), total, span, low, high,
		evidence->r_squared, 100 * evidence->consistency,
		evidence->by_troughs ? ", below ups and downs" : "", style->plain);
}

static void entry_write(FILE *out, const struct triage_report *report,
			const struct triage_entry *entry)
{
	const struct style *style = &styles[report->colour];
	char place[128], memory[16] = "-", rate[32] = "-";

	place_format(place, entry);
	if (!isnan(entry->now.values[QUANTITY_HEAP]))
		bytes_format(memory, entry->now.values[QUANTITY_HEAP], "");
	if (trend_is_suspect(entry->growth.verdict))
		rate_format(rate, &entry->growth, entry->growth.per_s);
	if (entry->pid) {
		fprintf(out, "%7d  ", entry->pid);
		column_write(out, entry->comm, 15);
	} else {
		fprintf(out, "%7zu  %-15s", entry->processes,
			entry->container ? "(container)" : "(cgroup)");
	}
	fputs("  ", out);
	column_write(out, place, 20);
	fprintf(out, " %10s %12s", memory, rate);
	count_write(out, entry->now.values[QUANTITY_THREADS], 7);
	count_write(out, entry->now.values[QUANTITY_FILES], 6);
	count_write(out, entry->now.values[QUANTITY_MAPPING], 6);
	verdict_write(out, style, &entry->growth);
	spark_write(out, entry);
	fputc('\n', out);
	if (trend_is_suspect(entry->growth.verdict))
		evidence_write(out, style, &entry->growth);
	if (entry->sites)
		output_triage_sites_write(out, entry->sites);
}

static void entries_write(FILE *out, const struct triage_report *report,
			  const struct triage_entries *entries, const char *first)
{
	const struct style *style = &styles[report->colour];

	if (!entries->count)
		return;
	fprintf(out, "%s%7s  %-15s  %-20s %10s %12s %7s %6s %6s  %-9s %6s  %s%s\n", style->bold,
		first, "COMM", "IN", "ANON+SWAP", "GROWTH/MIN", "THREADS", "FILES", "MAPS",
		"VERDICT", "SURE", "COURSE", style->plain);
	for (size_t i = 0; i < entries->count; i++)
		entry_write(out, report, &entries->items[i]);
	if (entries->total > entries->count)
		fprintf(out, "         … and %zu more\n", entries->total - entries->count);
}

/* Services that do not grow say nothing that their processes do not say. */
static void groups_write(FILE *out, const struct triage_report *report)
{
	struct triage_entries shown = {.count = 0};

	while (shown.count < report->groups.count &&
	       (trend_is_suspect(report->groups.items[shown.count].growth.verdict)))
		shown.count++;
	for (size_t i = 0; i < report->groups.count; i++) {
		if (report->groups.items[i].container)
			shown.count = i + 1;
	}
	shown.items = report->groups.items;
	shown.total = shown.count;
	entries_write(out, report, &shown, "PROCS");
}

static void heading_write(FILE *out, const struct triage_report *report)
{
	const struct triage_entries *processes = &report->processes;
	const struct style *style = &styles[report->colour];
	struct tm local = {0};
	char clock[16], running[24];

	localtime_r(&report->time.tv_sec, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	time_format(running, report->running_s);
	fprintf(out, "%s[%s] %zu processes for %s: %zu leaking, %zu growing%s", style->bold, clock,
		processes->total, running, processes->verdicts[TREND_LEAKING],
		processes->verdicts[TREND_GROWING], style->plain);
	if (processes->total && processes->verdicts[TREND_TOO_EARLY] == processes->total)
		fprintf(out, "; a verdict takes %d polls", GROWTH_READINGS_MIN);
	fputc('\n', out);
}

static void cost_write(FILE *out, const struct triage_report *report)
{
	char resident[16];

	bytes_format(resident, (double)report->resident_bytes, "");
	fprintf(out, "cost: %.2g %% of a core (--budget %.3g %%), %s; polled every %.3g s\n",
		100 * report->budget_used, 100 * report->budget_limit, resident,
		report->poll_interval_s);
	if (report->shed_mappings)
		fprintf(out, "shed to keep --budget: mappings are not counted%s\n",
			report->shed_files ? ", nor open files" : "");
	if (report->stretch > 1)
		fprintf(out, "shed to keep --budget: polls come %u times as rarely\n",
			report->stretch);
	if (report->hidden)
		fputs("processes of other users are hidden (hidepid) and not judged\n", out);
}

int output_triage_text_write(FILE *out, const struct triage_report *report)
{
	heading_write(out, report);
	entries_write(out, report, &report->processes, "PID");
	groups_write(out, report);
	cost_write(out, report);
	fputc('\n', out);
	return output_finish(out);
}
