// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/split_writers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/json/json.h"

static const struct memory_split *latest(const struct memory_series *series)
{
	return &series->splits.items[series->splits.count - 1];
}

void text_split_write(FILE *out, const struct memory_series *series)
{
	const struct memory_split *split = series ? latest(series) : NULL;
	char clock[16], bytes[16];
	struct tm local = {0};
	const char *before = ": ";

	if (!split)
		return;
	localtime_r(&split->time.tv_sec, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	fprintf(out, "memory at %s: %s resident, ", clock,
		units_bytes(bytes, (double)split->rss, ""));
	fprintf(out, "%s in swap", units_bytes(bytes, (double)split->swap, ""));
	for (size_t i = 0; i < GROUP_MAX_; i++) {
		uint64_t resident = memory_split_group(split, i);

		if (!split->rss || resident * 100 < split->rss)
			continue;
		fprintf(out, "%s%s %s (%.0f %%)", before, memory_group_words(i),
			units_bytes(bytes, (double)resident, ""),
			100 * (double)resident / (double)split->rss);
		before = ", ";
	}
	fputc('\n', out);
	if (split->why)
		fputs("\tnot known: ", out), text_print_inert(out, split->why), fputc('\n', out);
	if (series->has_conclusion)
		fprintf(out, "\t%s\n", series->conclusion.text);
}

void json_conclusion_write(struct json_writer *json, const struct memory_conclusion *conclusion)
{
	if (!conclusion) {
		json_put_null(json, "conclusion");
		return;
	}
	json_open(json, "conclusion", '{');
	json_put_string(json, "verdict", memory_verdict_name(conclusion->verdict));
	json_put_bool(json, "no_leak", conclusion->no_leak);
	json_put_string(json, "text", conclusion->text);
	json_put_number(json, "since_ms", conclusion->growth.since_ms);
	json_put_signed(json, "growth_bytes", conclusion->growth.total);
	json_open(json, "growth", '{');
	for (size_t i = 0; i < GROUP_MAX_; i++)
		json_put_signed(json, memory_group_name(i), conclusion->growth.groups[i]);
	json_close(json, '}');
	json_close(json, '}');
}

/* Members that a report and a page have. */
static void latest_json(struct json_writer *json, const struct memory_series *series)
{
	const struct memory_split *split = latest(series);

	json_time_write(json, "time", &split->time);
	json_put_number(json, "rss_bytes", split->rss);
	json_put_number(json, "pss_bytes", split->pss);
	json_put_number(json, "swap_bytes", split->swap);
	json_put_string(json, "allocator", split->allocator[0] ? split->allocator : NULL);
	json_put_number(json, "trimmable_bytes", split->trimmable);
	json_put_string(json, "not_known", split->why);
	json_conclusion_write(json, series->has_conclusion ? &series->conclusion : NULL);
}

void json_split_write(struct json_writer *json, const struct memory_series *series)
{
	if (!series)
		return;
	json_open(json, "memory", '{');
	latest_json(json, series);
	json_open(json, "parts", '{');
	for (size_t part = 0; part < MEMORY_PART_MAX_; part++) {
		json_open(json, memory_part_name(part), '{');
		json_put_number(json, "resident_bytes", latest(series)->parts[part].resident);
		json_put_number(json, "swap_bytes", latest(series)->parts[part].swapped);
		json_close(json, '}');
	}
	json_close(json, '}');
	json_close(json, '}');
}

static bool has_part(const struct memory_series *series, enum memory_part part)
{
	for (size_t i = 0; i < series->splits.count; i++) {
		if (series->splits.items[i].parts[part].resident)
			return true;
	}
	return false;
}

static void part_html(struct json_writer *json, const struct memory_series *series,
		      enum memory_part part)
{
	json_open(json, NULL, '{');
	json_put_string(json, "name", memory_part_words(part));
	json_open(json, "bytes", '[');
	for (size_t i = 0; i < series->splits.count; i++)
		json_put_number(json, NULL, series->splits.items[i].parts[part].resident);
	json_close(json, ']');
	json_close(json, '}');
}

void html_split_write(struct json_writer *json, const struct memory_series *series)
{
	if (!series)
		return;
	json_open(json, "memory", '{');
	latest_json(json, series);
	json_open(json, "times", '[');
	for (size_t i = 0; i < series->splits.count; i++)
		json_put_signed(json, NULL,
				(int64_t)series->splits.items[i].time.tv_sec * 1000 +
					series->splits.items[i].time.tv_nsec / 1000000);
	json_close(json, ']');
	json_open(json, "parts", '[');
	for (size_t part = 0; part < MEMORY_PART_MAX_; part++) {
		if (has_part(series, part))
			part_html(json, series, part);
	}
	json_close(json, ']');
	json_close(json, '}');
}

/* -------- differences */

static void change_write(FILE *out, const struct memory_change *change)
{
	char was[16], is[16], grown[16];
	const char *before = ": ";

	fputs("\t", out);
	text_print_inert(out, change->comm);
	if (change->pid)
		fprintf(out, " (%d)", (int)change->pid);
	else if (change->processes != 1 || change->processes_before != 1)
		fprintf(out, " (%zu processes -> %zu)", change->processes_before,
			change->processes);
	fprintf(out, ": %s -> %s resident, %s", units_bytes(was, (double)change->rss_before, ""),
		units_bytes(is, (double)change->rss, ""),
		units_bytes(grown, (double)(int64_t)(change->rss - change->rss_before), "+"));
	for (size_t i = 0; i < GROUP_MAX_; i++) {
		int64_t growth = (int64_t)(change->groups[i] - change->groups_before[i]);

		if (!growth)
			continue;
		fprintf(out, "%s%s %s", before, memory_group_words(i),
			units_bytes(grown, (double)growth, "+"));
		before = ", ";
	}
	fputc('\n', out);
	if (change->has_conclusion && change->conclusion.verdict != MEMORY_STEADY)
		fprintf(out, "\t\t%s\n", change->conclusion.text);
}

void text_split_changes_write(FILE *out, const struct memory_changes *changes, size_t top)
{
	size_t count = changes->list.count, shown = top ? MIN(count, top) : count;

	if (count)
		fputs("where memory is:\n", out);
	for (size_t i = 0; i < shown; i++)
		change_write(out, &changes->list.items[i]);
	if (shown < count)
		fprintf(out, "\t\xe2\x80\xa6 and %zu more\n", count - shown);
}

void json_split_changes_write(struct json_writer *json, const struct memory_changes *changes)
{
	json_open(json, "memory", '[');
	for (size_t i = 0; i < changes->list.count; i++) {
		const struct memory_change *change = &changes->list.items[i];

		json_open(json, NULL, '{');
		json_put_string(json, "comm", change->comm);
		json_put_known(json, "pid", change->pid, (uint64_t)change->pid);
		json_amounts_write(json, "processes", change->processes_before, change->processes);
		json_amounts_write(json, "rss_bytes", change->rss_before, change->rss);
		json_open(json, "groups", '{');
		for (size_t group = 0; group < GROUP_MAX_; group++)
			json_amounts_write(json, memory_group_name(group),
					   change->groups_before[group], change->groups[group]);
		json_close(json, '}');
		json_conclusion_write(json, change->has_conclusion ? &change->conclusion : NULL);
		json_close(json, '}');
	}
	json_close(json, ']');
}
