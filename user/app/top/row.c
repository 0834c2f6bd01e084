// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/top/row.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/history.h"
#include "report/analyze/site_trend.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "output/text/text.h"
#include "process/proc/command_line.h"
#include "process/proc/container.h"

void top_rows_free(struct top_rows *rows)
{
	for (size_t i = 0; i < rows->list.count; i++) {
		struct top_row *row = &rows->list.items[i];

		free(row->name);
		free(row->place);
		free(row->evidence);
		free(row->numbers);
		free(row->details);
		vec_free(&row->frames.list);
	}
	vec_free(&rows->list);
}

const char *top_row_verdict(const struct top_row *row)
{
	return row->said ? row->said : trend_verdict_name(row->verdict);
}

const struct top_row *top_rows_find(const struct top_rows *rows, uint64_t identity)
{
	for (size_t i = 0; i < rows->list.count; i++) {
		if (rows->list.items[i].identity == identity)
			return &rows->list.items[i];
	}
	return NULL;
}

static bool holds(const char *text, const char *words)
{
	return text && strcasestr(text, words);
}

bool top_row_holds(const struct top_row *row, const char *words)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", row->pid);
	if (!*words || holds(row->name, words) || holds(row->place, words))
		return true;
	if (row->name && row->pid && !strcmp(pid, words))
		return true;
	for (size_t i = 0; i < row->frames.list.count; i++) {
		const struct frame *frame = &row->frames.list.items[i];

		if (holds(frame->function, words) || holds(frame->file, words) ||
		    holds(frame->module, words))
			return true;
	}
	return !strcasecmp(top_row_verdict(row), words);
}

/* -------- rows of a report: its processes, and all their call stacks */

#define NS_PER_S 1e9

static struct top_row *row_new(struct top_rows *rows)
{
	struct top_row *row = vec_push(&rows->list);

	for (size_t i = 0; row && i < TOP_FIELD_MAX_; i++)
		row->fields[i] = NAN;
	return row;
}

static void put_trend(struct top_row *row, const struct site_trend *trend)
{
	char evidence[EVIDENCE_SIZE];

	row->verdict = trend->verdict;
	if (trend->verdict == TREND_TOO_EARLY)
		return;
	row->fields[TOP_GROWTH] = site_trend_growth(trend);
	row->fields[TOP_CONFIDENCE] =
		trend_is_suspect(trend->verdict) ? trend->trend.confidence : NAN;
	row->evidence = strdup(site_trend_evidence(trend, evidence));
}

static void put_series(struct top_row *row, const struct report *report,
		       const struct history_series *series)
{
	row->fields[TOP_INTEGRAL] = series->integral_byte_s;
	row->spark_count = history_heights(report->history, series, TOP_SPARK_POINTS, row->spark);
}

/* Include the family: each counts its sites from 0. */
static uint64_t site_identity(lm_process_key process, const struct site *site)
{
	return hash_mix(process ^ hash_mix((uint64_t)site->family << 32 | site->index));
}

static int frames_copy(struct frames *copy, const struct frames *frames)
{
	if (!frames->list.count)
		return 0;
	copy->list.items = calloc(frames->list.count, sizeof(*copy->list.items));
	if (!copy->list.items)
		return -ENOMEM;
	memcpy(copy->list.items, frames->list.items,
	       frames->list.count * sizeof(*copy->list.items));
	copy->list.count = copy->list.capacity = frames->list.count;
	return 0;
}

static int site_row(const struct report *report, const struct snapshot_process *process,
		    const struct report_site *ranked, bool judged, struct top_rows *rows)
{
	const struct site *site = ranked->site;
	struct top_row *row = row_new(rows);
	struct site_trend trend;

	if (!row)
		return -ENOMEM;
	row->identity = site_identity(process->key, site);
	row->process = process->key;
	row->pid = (pid_t)process->pid;
	row->inexact = !process->exact;
	row->site = *site;
	row->site.addresses = NULL;
	row->site.depth = 0;
	row->has_ages = report->snapshot->has_ages;
	row->fields[TOP_BYTES] = (double)site->bytes;
	row->fields[TOP_COUNT] = (double)site->count;
	if (row->has_ages)
		row->fields[TOP_AGE] = (double)site->oldest_ns / NS_PER_S;
	if (ranked->series) {
		put_series(row, report, &ranked->series->series);
		if (judged) {
			site_trend_of(&trend, report->history, ranked->series);
			put_trend(row, &trend);
		}
	}
	return frames_copy(&row->frames, &ranked->frames);
}

/* Returns NAMESPACE/POD/NAME as far as known, else the container's id. */
static char *container_text(const struct container *container)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	container_print_name(out, container);
	fclose(out);
	return text;
}

static int process_row(const struct report *report, const struct report_process *ranked,
		       struct top_rows *rows)
{
	const struct snapshot_process *process = ranked->process;
	const struct history_process *series =
		report->history ? history_process_find(report->history, process->key, process->pid)
				: NULL;
	struct top_row *row = row_new(rows);
	struct site_trend trend;

	if (!row)
		return -ENOMEM;
	row->identity = row->process = process->key;
	row->pid = (pid_t)process->pid;
	row->inexact = !process->exact;
	row->fields[TOP_BYTES] = (double)process->outstanding_bytes;
	row->fields[TOP_COUNT] = (double)process->outstanding_count;
	row->fields[TOP_SITES] = (double)ranked->sites_total;
	if (series) {
		put_series(row, report, &series->series);
		site_trend_of_process(&trend, report->history, series);
		put_trend(row, &trend);
	}
	if (asprintf(&row->name, "%s%s", process->comm, process->exited ? " (ended)" : "") < 0)
		row->name = NULL;
	if (process->container)
		row->place = container_text(process->container);
	return row->name && (row->place || !process->container) ? 0 : -ENOMEM;
}

int top_rows_of_report(const struct report *report, size_t trends, struct top_rows *processes,
		       struct top_rows *sites)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count && !error; i++) {
		const struct report_process *ranked = &report->processes.items[i];

		error = process_row(report, ranked, processes);
		for (size_t j = 0; j < ranked->sites.count && !error; j++)
			error = site_row(report, ranked->process, &ranked->sites.items[j],
					 j < trends, sites);
	}
	return error;
}

/* -------- rows of a profile: profiled processes, and their call stacks */

static void put_survival(struct top_row *row, const struct site_judgement *judgement)
{
	const struct survival_point *oldest;

	if (!judgement->points)
		return;
	oldest = &judgement->survival[judgement->points - 1];
	row->fields[TOP_AGE] = oldest->age_s;
	row->fields[TOP_UNTOUCHED] = oldest->untouched.estimate;
}

static char *numbers_text(const struct profile_report_site *site)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	text_profile_numbers_write(out, &(const struct text_form){.verbose = true}, site);
	fclose(out);
	return text;
}

static int profiled_site_row(const struct profile_report_process *process,
			     const struct profile_report_site *site, double urgency,
			     struct top_rows *rows)
{
	const struct site_judgement *judgement = &site->judgement;
	struct top_row *row = row_new(rows);

	if (!row)
		return -ENOMEM;
	row->process = process->pid;
	row->identity = hash_mix((uint64_t)process->pid << 32 | site->index);
	row->pid = (pid_t)process->pid;
	row->site.index = site->index;
	row->verdict = judgement->verdict == PROFILE_LEAKING ? TREND_LEAKING : TREND_TOO_EARLY;
	row->said = profile_verdict_name(judgement->verdict);
	row->fields[TOP_URGENCY] = urgency;
	row->fields[TOP_GROWTH] = judgement->growth_bytes_per_s.estimate;
	row->fields[TOP_LEAST] = judgement->growth_bytes_per_s.low;
	row->fields[TOP_BIRTHS] = judgement->births_per_s.estimate;
	put_survival(row, judgement);
	row->evidence = strdup(judgement->why ? judgement->why : "");
	row->numbers = numbers_text(site);
	if (!row->evidence || !row->numbers)
		return -ENOMEM;
	return frames_copy(&row->frames, &site->frames);
}

int top_rows_of_profile(const struct profile_report *report, struct top_rows *processes,
			struct top_rows *sites)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count && !error; i++) {
		const struct profile_report_process *process = &report->processes.items[i];
		struct top_row *row = row_new(processes);

		if (!row)
			return -ENOMEM;
		row->identity = row->process = process->pid;
		row->pid = (pid_t)process->pid;
		row->name = strdup(process->comm);
		error = row->name ? 0 : -ENOMEM;
		for (size_t j = 0; j < process->sites.count && !error; j++)
			error = profiled_site_row(process, &process->sites.items[j],
						  -(double)sites->list.count, sites);
	}
	return error;
}

/* -------- rows of a triage: processes, or containers and cgroups */

static uint64_t text_hash(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = hash_mix(hash ^ (unsigned char)*text);
	return hash;
}

/* A PID may be reused: cgroup and name distinguish its owners well enough. */
static uint64_t entry_identity(const struct triage_entry *entry)
{
	uint64_t hash = hash_mix((uint64_t)entry->pid + 1);

	const char *container = container_proven_id(entry->container);

	return text_hash(text_hash(hash, container ? container : entry->cgroup), entry->comm);
}

/* Returns the growing part as known to the triage, and its first call stack. */
static char *details_text(const struct triage_entry *entry)
{
	const struct triage_samples *sampled = entry->sampled;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	text_triage_suspect_print(out, entry);
	fputc('\n', out);
	if (sampled && sampled->stacks.count && !triage_entry_is_managed(entry))
		text_stack_write(out, &(const struct text_form){0},
				 &sampled->stacks.items[0].named);
	fclose(out);
	return text;
}

static int put_texts(struct top_row *row, const struct triage_entry *entry)
{
	char place[TRIAGE_PLACE_SIZE];
	size_t size;
	FILE *out;

	row->name = strdup(entry->pid	      ? entry->comm
			   : entry->container ? "(container)"
					      : "(cgroup)");
	row->place = strdup(text_triage_place(place, entry));
	if (growth_is_early(&entry->growth) || trend_is_suspect(entry->growth.verdict)) {
		out = open_memstream(&row->evidence, &size);
		if (!out)
			return -ENOMEM;
		text_triage_evidence_write(out, &entry->growth);
		if (entry->managed) {
			fputs("; ", out);
			text_triage_managed_write(out, entry);
		}
		if (entry->goroutines) {
			fputs("; ", out);
			text_goroutine_growth_write(out, entry->goroutines);
		}
		if (entry->cause)
			fprintf(out, "; %s", entry->cause->text);
		if (entry->why)
			fprintf(out, "; %s", entry->why);
		fclose(out);
		row->details = details_text(entry);
	}
	return row->name && row->place ? 0 : -ENOMEM;
}

_Static_assert(TOP_SPARK_POINTS >= TRIAGE_SPARK_POINTS, "room for a trend");

static int entry_row(const struct triage_entry *entry, double urgency, struct top_rows *rows)
{
	struct top_row *row = vec_push(&rows->list);
	const double *now = entry->now.values;
	bool suspect = trend_is_suspect(entry->growth.verdict);

	if (!row)
		return -ENOMEM;
	for (size_t i = 0; i < TOP_FIELD_MAX_; i++)
		row->fields[i] = NAN;
	row->identity = row->process = entry_identity(entry);
	row->pid = entry->pid;
	row->kind = entry->growth.kind;
	row->verdict = entry->growth.verdict;
	row->said = triage_entry_verdict(entry);
	row->fields[TOP_URGENCY] = urgency;
	row->fields[TOP_BYTES] = now[QUANTITY_HEAP];
	row->fields[TOP_THREADS] = now[QUANTITY_THREADS];
	row->fields[TOP_FILES] = now[QUANTITY_FILES];
	row->fields[TOP_MAPPINGS] = now[QUANTITY_MAPPING];
	row->fields[TOP_GROWTH] = suspect ? entry->growth.per_s : NAN;
	if (growth_is_early(&entry->growth))
		row->fields[TOP_GROWTH] = entry->growth.early.per_s;
	row->fields[TOP_CONFIDENCE] = suspect ? entry->growth.confidence : NAN;
	row->fields[TOP_AGE] = entry->age_s;
	row->fields[TOP_PROCESSES] = (double)entry->processes;
	row->spark_count = text_triage_heights(entry, row->spark);
	row->managed = triage_entry_is_managed(entry);
	return put_texts(row, entry);
}

/* Number of processes with a shared name to tell apart. */
#define SUBJECTS_MAX 64

static bool shares_its_name(const struct triage_entries *entries, const struct triage_entry *entry)
{
	for (size_t i = 0; i < entries->count; i++) {
		const struct triage_entry *other = &entries->items[i];

		if (other->pid != entry->pid && !strcmp(other->comm, entry->comm))
			return true;
	}
	return false;
}

/* Extends a name that several processes share: "java" becomes "java kafka.Kafka". */
static int tell_apart(const struct triage_entries *entries, const struct triage_entry *entry,
		      struct top_row *row)
{
	_cleanup_free_ char *subject = NULL;
	char *name;

	if (!entry->pid || !shares_its_name(entries, entry))
		return 0;
	subject = command_line_read_subject(entry->pid);
	if (!subject)
		return 0;
	if (asprintf(&name, "%s %s", row->name, subject) < 0)
		return -ENOMEM;
	free(row->name);
	row->name = name;
	return 0;
}

int top_rows_of_triage(const struct triage_entries *entries, struct top_rows *rows)
{
	int error = 0;

	for (size_t i = 0; i < entries->count && !error; i++) {
		error = entry_row(&entries->items[i], (double)(entries->count - i), rows);
		if (!error && i < SUBJECTS_MAX)
			error = tell_apart(entries, &entries->items[i],
					   &rows->list.items[rows->list.count - 1]);
	}
	return error;
}
