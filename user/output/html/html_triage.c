// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A triage as one page: what grows on top, with its evidence and its call stacks. It needs nothing
 * else and runs no script.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/html/html.h"
#include "output/output.h"
#include "output/text/text.h"
#include "report/history.h"
#include "report/triage_report.h"

/* More would make a page that nobody reads: what does not grow comes last. */
#define ENTRIES_SHOWN 200

static void count_write(FILE *out, double count)
{
	if (isnan(count))
		fputs("<td class=\"number\">-", out);
	else
		fprintf(out, "<td class=\"number\">%.0f", count);
}

static void trend_write(FILE *out, const struct triage_entry *entry)
{
	unsigned char heights[TRIAGE_SPARK_POINTS];
	size_t count = text_triage_heights(entry, heights);

	fputs("<td>", out);
	for (size_t i = 0; i < count; i++)
		fputs(sparkline_block(heights[i]), out);
}

static int row_write(FILE *out, const struct triage_entry *entry)
{
	char place[TRIAGE_PLACE_SIZE], rate[TRIAGE_GROWTH_SIZE], memory[16] = "-";
	bool suspect = trend_is_suspect(entry->growth.verdict);
	int error;

	if (!isnan(entry->now.values[QUANTITY_HEAP]))
		units_bytes(memory, entry->now.values[QUANTITY_HEAP], "");
	if (entry->pid)
		fprintf(out, "<tr><td class=\"number\">%d<td>", entry->pid);
	else
		fprintf(out, "<tr><td class=\"number\">%zu<td>", entry->processes);
	error = html_name_write(out, entry->pid		? entry->comm
				     : entry->container ? "(container)"
							: "(cgroup)");
	fputs("<td>", out);
	if (!error)
		error = html_name_write(out, text_triage_place(place, entry));
	fprintf(out, "<td class=\"number\">%s<td class=\"number\">%s", memory,
		text_triage_growth(rate, &entry->growth));
	count_write(out, entry->now.values[QUANTITY_THREADS]);
	count_write(out, entry->now.values[QUANTITY_FILES]);
	fprintf(out, "<td class=\"%s\">%s<td class=\"number\">",
		entry->growth.verdict == TREND_LEAKING ? "leaking" : "",
		triage_entry_verdict(entry));
	if (suspect)
		fprintf(out, "%.0f %%", 100 * entry->growth.confidence);
	trend_write(out, entry);
	fputs("</tr>\n", out);
	return error;
}

/* What is known, and the command that shows more, on one line. */
static int summary_write(FILE *out, const struct triage_entry *entry)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *line = open_memstream(&text, &size);
	char *command;

	if (!line)
		return -ENOMEM;
	text_triage_suspect_print(line, entry);
	if (fclose(line))
		return -ENOMEM;
	command = strrchr(text, '\n');
	if (command)
		*command++ = '\0';
	fputs(*text ? "" : "evidence", out);
	if (html_name_write(out, text))
		return -ENOMEM;
	if (!command)
		return 0;
	fputs("; <code>", out);
	if (html_name_write(out, command))
		return -ENOMEM;
	fputs("</code>", out);
	return 0;
}

/* What text has below a row with -v, to be unfolded. */
static int details_write(FILE *out, const struct triage_entry *entry)
{
	const struct text_form form = {.verbose = true};
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *details = open_memstream(&text, &size);

	if (!details)
		return -ENOMEM;
	text_triage_details_write(details, &form, entry);
	if (fclose(details))
		return -ENOMEM;
	if (!*text)
		return 0;
	fputs("<tr><td><td colspan=\"9\"><details><summary>", out);
	if (summary_write(out, entry))
		return -ENOMEM;
	fputs("</summary><pre>", out);
	html_escaped_write(out, text);
	fputs("</pre></details></tr>\n", out);
	return 0;
}

static int entries_write(FILE *out, const struct triage_entries *entries, const char *title,
			 const char *first)
{
	size_t shown = MIN(entries->count, (size_t)ENTRIES_SHOWN);
	int error = 0;

	if (!shown)
		return 0;
	fprintf(out,
		"<h2>%s</h2>\n<table><tr><th class=\"number\">%s<th>Name<th>In"
		"<th class=\"number\">Anonymous + swap<th class=\"number\">Growth/min"
		"<th class=\"number\">Threads<th class=\"number\">Files<th>Verdict"
		"<th class=\"number\">Confidence<th>Trend</tr>\n",
		title, first);
	for (size_t i = 0; i < shown && !error; i++) {
		error = row_write(out, &entries->items[i]);
		if (!error)
			error = details_write(out, &entries->items[i]);
	}
	fputs("</table>\n", out);
	if (entries->total > shown)
		fprintf(out, "<p class=\"dim\">%zu more are not shown</p>\n",
			entries->total - shown);
	return error;
}

int html_triage_write(FILE *out, const void *data)
{
	const struct triage_report *report = data;
	const struct triage_entries *processes = &report->processes;
	char clock[32] = "?", running[16], resident[16];
	struct tm local;
	int error;

	if (localtime_r(&report->time.tv_sec, &local))
		strftime(clock, sizeof(clock), "%Y-%m-%d %H:%M:%S", &local);
	html_plain_begin(out, "leakmon triage");
	fprintf(out,
		"<h1>This machine <span class=\"dim\">%s</span></h1><p>%zu processes for %s: %zu "
		"leaking, %zu growing</p>\n<p class=\"dim\">cost: %.2g %% of a core, of %.3g %%; "
		"%s</p>\n",
		clock, processes->total, units_time(running, report->running_s),
		processes->verdicts[TREND_LEAKING], processes->verdicts[TREND_GROWING],
		report->running_s > 0 ? 100 * report->cpu_s / report->running_s : 0,
		100 * report->budget_limit,
		units_bytes(resident, (double)report->resident_bytes, ""));
	if (report->hidden)
		fputs("<p>Processes of other users are hidden (hidepid) and not judged.</p>\n",
		      out);
	error = entries_write(out, processes, "Processes", "PID");
	if (!error)
		error = entries_write(out, &report->groups, "Containers and cgroups", "Processes");
	html_plain_end(out);
	return error ? error : output_finish(out);
}
