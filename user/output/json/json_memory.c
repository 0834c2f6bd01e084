// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon memory --format json`; user/schema/memory.schema.json. */
#include "base/cleanup.h"
#include "output/json/json.h"
#include "output/output.h"
#include "report/memory_report.h"
#include "report/memory_split.h"

static void arena_json(struct json_writer *json, const struct heap_arena *arena)
{
	json_open(json, NULL, '{');
	json_put_bool(json, "main", arena->main);
	json_put_number(json, "threads", arena->threads);
	json_put_number(json, "heaps", arena->heaps);
	json_put_number(json, "system_bytes", arena->system_bytes);
	json_put_number(json, "trimmable_bytes", arena->trimmable);
	for (size_t use = 0; use < HEAP_USE_MAX_; use++) {
		json_open(json, memory_part_name(use), '{');
		json_put_number(json, "bytes", arena->uses[use].bytes);
		json_put_number(json, "chunks", arena->uses[use].blocks);
		json_put_number(json, "resident_bytes", arena->uses[use].resident);
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void figure_of_json(struct json_writer *json, const struct allocator_report *report,
			   const struct allocator_figure_row *row)
{
	uint64_t value = report->figures[row->figure];

	switch (row->unit) {
	case ALLOCATOR_NUMBER:
		json_put_known(json, row->json, value != ALLOCATOR_NOT_KNOWN, value);
		break;
	case ALLOCATOR_FLAG:
		json_put_bool(json, row->json, value);
		break;
	case ALLOCATOR_REAL:
		json_put_real(json, row->json, report->fragmentation);
		break;
	}
}

static void allocator_json(struct json_writer *json, const struct memory_process *process,
			   enum allocator_kind kind)
{
	const struct allocator_report *report = allocator_report_of(&process->allocators, kind);
	const struct allocator_kind_row *row = allocator_kind_row(kind);

	if (!report) {
		json_put_null(json, row->json);
		return;
	}
	json_open(json, row->json, '{');
	json_put_string(json, "name", report->name);
	for (size_t i = 0; i < row->count; i++)
		figure_of_json(json, report, &row->figures[i]);
	if (row->has_arenas) {
		json_open(json, "arena_list", '[');
		for (size_t i = 0; i < report->arenas.count; i++)
			arena_json(json, &report->arenas.items[i]);
		json_close(json, ']');
	}
	json_close(json, '}');
}

static void items_json(struct json_writer *json, const struct memory_report *report,
		       const struct memory_process *process)
{
	size_t count = process->items.count;

	json_open(json, "items", '[');
	for (size_t i = 0; i < (report->top ? MIN(count, report->top) : count); i++) {
		const struct memory_item *item = &process->items.items[i];

		json_open(json, NULL, '{');
		json_put_string(json, "part", memory_part_name(item->part));
		json_put_string(json, "name", item->name);
		json_figures_write(json, &memory_share_figures, &item->share);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void parts_json(struct json_writer *json, const struct memory_process *process)
{
	json_open(json, "parts", '{');
	for (size_t part = 0; part < MEMORY_RESIDENT_PARTS; part++) {
		json_open(json, memory_part_name(part), '{');
		json_figures_write(json, &memory_share_figures, &process->parts[part]);
		json_close(json, '}');
	}
	json_close(json, '}');
	json_put_signed(json, "difference_bytes", process->difference);
}

static void managed_json(struct json_writer *json, const struct memory_process *process)
{
	char tool[RUNTIME_TOOL_SIZE];

	if (!process->runtime.key) {
		json_put_null(json, "managed");
		return;
	}
	json_open(json, "managed", '{');
	json_put_string(json, "runtime", process->runtime.key);
	json_put_string(json, "next", runtime_label_tool(&process->runtime, process->pid, tool));
	json_close(json, '}');
}

static void gaps_json(struct json_writer *json, const struct memory_process *process)
{
	struct memory_gap gaps[MEMORY_GAPS_MAX];
	size_t count = memory_gaps(process, gaps);

	json_open(json, "gaps", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(json, NULL, '{');
		json_put_string(json, "what", gaps[i].what);
		json_put_string(json, "why", gaps[i].why);
		json_put_known(json, "bytes", gaps[i].bytes != MEMORY_GAP_UNKNOWN, gaps[i].bytes);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void then_now_json(struct json_writer *json, const char *key,
			  const struct memory_then_now *bytes)
{
	if (bytes->before || bytes->now)
		json_amounts_write(json, key, bytes->before, bytes->now);
	else
		json_put_null(json, key);
}

static void filled_json(struct json_writer *json, const struct memory_filled *filled)
{
	if (!filled->mappings) {
		json_put_null(json, "fills");
		return;
	}
	json_open(json, "fills", '{');
	json_put_number(json, "mappings", filled->mappings);
	json_put_number(json, "address", filled->address);
	json_put_number(json, "size_bytes", filled->size);
	json_amounts_write(json, "resident_bytes", filled->before, filled->now);
	json_put_string(json, "part", memory_part_name(filled->part));
	json_put_bool(json, "shared", filled->shared);
	json_put_bool(json, "doubtful", filled->doubtful);
	json_close(json, '}');
}

/* "conclusion"; NULL: null. */
static void conclusion_json(struct json_writer *json, const struct memory_conclusion *conclusion)
{
	if (!conclusion) {
		json_put_null(json, "conclusion");
		return;
	}
	json_open(json, "conclusion", '{');
	json_put_string(json, "verdict", memory_verdict_name(conclusion->verdict));
	json_put_bool(json, "no_leak", conclusion->no_leak);
	json_put_bool(json, "unproven", conclusion->unproven);
	json_put_string(json, "text", conclusion->text);
	json_put_string(json, "why", conclusion->why);
	json_put_number(json, "since_ms", conclusion->growth.since_ms);
	json_put_signed(json, "growth_bytes", conclusion->growth.total);
	json_open(json, "growth", '{');
	for (size_t i = 0; i < GROUP_MAX_; i++)
		json_put_signed(json, memory_group_name(i), conclusion->growth.groups[i]);
	json_close(json, '}');
	then_now_json(json, "page_table_bytes", &conclusion->page_tables);
	then_now_json(json, "private_bytes", &conclusion->own);
	filled_json(json, &conclusion->filled);
	json_close(json, '}');
}

static void process_json(struct json_writer *json, const struct memory_report *report,
			 const struct memory_process *process)
{
	json_open(json, NULL, '{');
	json_figures_write(json, &memory_process_figures, process);
	parts_json(json, process);
	for (enum allocator_kind kind = 0; kind < ALLOCATOR_KIND_MAX_; kind++)
		allocator_json(json, process, kind);
	managed_json(json, process);
	for (size_t i = 0; i < process->runtimes.count; i++)
		json_runtime_write(json, &process->runtimes.items[i].figures);
	json_put_string(json, "not_known", process->why);
	gaps_json(json, process);
	json_figures_write(json, &memory_detail_figures, process);
	items_json(json, report, process);
	if (process->has_conclusion)
		json_put_string(json, "verdict", memory_verdict_name(process->conclusion.verdict));
	conclusion_json(json, process->has_conclusion ? &process->conclusion : NULL);
	json_put_number(json, "read_us", process->read_ns / 1000);
	json_put_number(json, "pause_us", process->pause_ns / 1000);
	json_close(json, '}');
}

static void causes_json(struct json_writer *json, const struct cgroup_conclusion *conclusion)
{
	json_open(json, "causes", '[');
	for (size_t i = 0; i < conclusion->cause_count; i++) {
		json_open(json, NULL, '{');
		json_figures_write(json, &cgroup_cause_figures, &conclusion->causes[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void group_json(struct json_writer *json, const struct cgroup_memory *group)
{
	const struct cgroup_conclusion *conclusion = &group->conclusion;

	json_open(json, NULL, '{');
	json_put_string(json, "path", group->path);
	json_container_write(json, group->container);
	json_put_number(json, "version", group->unified ? 2 : 1);
	json_figures_write(json, &cgroup_memory_figures, group);
	if (group->has_conclusion) {
		json_open(json, "conclusion", '{');
		json_figures_write(json, &cgroup_conclusion_figures, conclusion);
		causes_json(json, conclusion);
		json_close(json, '}');
	} else {
		json_put_null(json, "conclusion");
	}
	json_close(json, '}');
}

static void sysv_total_json(struct json_writer *json, const char *key,
			    const struct sysv_total *total)
{
	json_open(json, key, '{');
	json_put_number(json, "segments", total->segments);
	json_put_number(json, "bytes", total->bytes);
	json_close(json, '}');
}

static void sysv_json(struct json_writer *json, const struct memory_report *report)
{
	const struct sysv_report *sysv = &report->sysv;
	size_t count = sysv->list.count;

	if (!sysv->known) {
		json_put_null(json, "sysv_shm");
		return;
	}
	json_open(json, "sysv_shm", '{');
	sysv_total_json(json, "all", &sysv->all);
	sysv_total_json(json, "unattached", &sysv->unattached);
	sysv_total_json(json, "orphans", &sysv->orphans);
	if (sysv->has_growth)
		json_put_signed(json, "growth_bytes", sysv->growth);
	else
		json_put_null(json, "growth_bytes");
	json_put_bool(json, "partial", sysv->partial);
	json_open(json, "segments", '[');
	for (size_t i = 0; i < (report->top ? MIN(count, report->top) : count); i++) {
		const struct sysv_segment *segment = &sysv->list.items[i];

		json_open(json, NULL, '{');
		json_figures_write(json, &sysv_segment_figures, segment);
		json_put_string(json, "creator_comm", *segment->comm ? segment->comm : NULL);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

int json_memory_write(FILE *out, const void *data)
{
	const struct memory_report *report = data;
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	json_put_bool(&json, "memory", true);
	json_time_write(&json, "time", &report->time);
	json_put_number(&json, "sequence", report->sequence);
	json_put_number(&json, "unreadable", report->unreadable);
	json_open(&json, "processes", '[');
	for (size_t i = 0; i < report->processes.count; i++)
		process_json(&json, report, &report->processes.items[i]);
	json_close(&json, ']');
	json_open(&json, "cgroups", '[');
	for (size_t i = 0; i < report->groups.list.count; i++)
		group_json(&json, &report->groups.list.items[i]);
	json_close(&json, ']');
	sysv_json(&json, report);
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}

/* -------- recorded readings */

/* Members that a report and a page have. */
static void latest_json(struct json_writer *json, const struct memory_series *series)
{
	json_figures_write(json, &memory_split_figures, memory_series_latest(series));
	conclusion_json(json, series->has_conclusion ? &series->conclusion : NULL);
}

void json_split_write(struct json_writer *json, const struct memory_series *series)
{
	if (!series)
		return;
	json_open(json, "memory", '{');
	latest_json(json, series);
	json_open(json, "parts", '{');
	for (size_t part = 0; part < MEMORY_RESIDENT_PARTS; part++) {
		json_open(json, memory_part_name(part), '{');
		json_put_number(json, "resident_bytes",
				memory_series_latest(series)->parts[part].resident);
		json_put_number(json, "swap_bytes",
				memory_series_latest(series)->parts[part].swapped);
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
		for (size_t group = 0; group < GROUP_AMOUNT_END; group++)
			json_amounts_write(json, memory_group_name(group),
					   change->groups_before[group], change->groups[group]);
		json_close(json, '}');
		conclusion_json(json, change->has_conclusion ? &change->conclusion : NULL);
		json_close(json, '}');
	}
	json_close(json, ']');
}
