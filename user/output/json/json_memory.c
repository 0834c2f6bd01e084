// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon memory --format json`; user/schema/memory.schema.json. */
#include "base/cleanup.h"
#include "output/json/json.h"
#include "output/output.h"
#include "report/memory_report.h"
#include "report/memory_split.h"

static void share_json(struct json_writer *json, const struct memory_share *share)
{
	json_put_number(json, "size_bytes", share->size);
	json_put_number(json, "resident_bytes", share->resident);
	json_put_number(json, "pss_bytes", share->pss);
	json_put_number(json, "swap_bytes", share->swapped);
}

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
		share_json(json, &item->share);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void parts_json(struct json_writer *json, const struct memory_process *process)
{
	json_open(json, "parts", '{');
	for (size_t part = 0; part < MEMORY_PART_MAX_; part++) {
		json_open(json, memory_part_name(part), '{');
		share_json(json, &process->parts[part]);
		json_close(json, '}');
	}
	json_close(json, '}');
	json_put_signed(json, "difference_bytes", process->difference);
}

static void stacks_json(struct json_writer *json, const struct memory_process *process)
{
	json_open(json, "stacks", '{');
	json_put_number(json, "live", process->live_stacks);
	json_put_number(json, "ended", process->ended_stacks);
	json_put_number(json, "joined", process->joined_stacks);
	json_put_number(json, "live_resident_bytes", process->parts[MEMORY_STACKS].resident);
	json_put_number(json, "ended_resident_bytes", process->parts[MEMORY_ENDED_STACKS].resident);
	json_close(json, '}');
}

static void files_json(struct json_writer *json, const struct memory_process *process)
{
	json_open(json, "files", '{');
	json_put_number(json, "resident_bytes", process->parts[MEMORY_FILES].resident);
	json_put_number(json, "written_bytes", process->parts[MEMORY_FILES_WRITTEN].resident);
	json_close(json, '}');
}

static void huge_json(struct json_writer *json, const struct memory_huge *huge)
{
	json_open(json, "huge_pages", '{');
	json_put_number(json, "bytes", huge->bytes);
	json_put_number(json, "checked_bytes", huge->checked);
	json_put_number(json, "zero_bytes", huge->zero);
	json_close(json, '}');
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

static void go_json(struct json_writer *json, const struct go_memory *go)
{
	bool known = go && !go->why;

	if (!go)
		return;
	json_open(json, "go", '{');
	json_put_string(json, "version", go->version[0] ? go->version : NULL);
	json_put_string(json, "cannot_tell", go->why);
	json_put_known(json, "live_bytes", known, go->live);
	json_put_known(json, "allocated_since_bytes", known, go->allocated);
	json_put_known(json, "in_use_bytes", known, go->in_use);
	json_put_known(json, "free_bytes", known, go->free);
	json_put_known(json, "released_bytes", known, go->released);
	json_put_known(json, "stack_bytes", known && go->has_stats, go->stacks);
	json_put_known(json, "own_bytes", known && go->has_stats, go->own);
	json_put_known(json, "goal_bytes", known && go->goal, go->goal);
	if (known)
		json_put_signed(json, "gogc", go->percent);
	else
		json_put_null(json, "gogc");
	json_put_known(json, "gomemlimit_bytes", known && go->limit != GO_NO_LIMIT,
		       (uint64_t)go->limit);
	json_put_known(json, "collections", go->collections, go->collections);
	json_put_known(json, "collected_ms", go->collected_ns, go->collected_ns / 1000000);
	json_put_bool(json, "within_goal", go_memory_is_within_goal(go));
	json_close(json, '}');
}

static void python_json(struct json_writer *json, const struct python_memory *python)
{
	bool known = python && !python->why;

	if (!python)
		return;
	json_open(json, "python", '{');
	json_put_string(json, "version", python->version[0] ? python->version : NULL);
	json_put_string(json, "cannot_tell", python->why);
	json_put_known(json, "arenas", known, python->arenas);
	json_put_known(json, "arena_bytes", known, python->bytes);
	json_put_known(json, "used_bytes", known, python->used);
	json_put_known(json, "pool_free_bytes", known, python->pool_free);
	json_put_known(json, "free_bytes", known, python->free);
	json_put_known(json, "changed_pools", known, python->nonsense);
	json_put_known(json, "sparse_arenas", known, python->sparse);
	json_put_known(json, "sparse_free_bytes", known, python->sparse_free);
	json_open(json, "pins", '[');
	for (size_t i = 0; i < python->pins.count; i++) {
		const struct python_pin *pin = &python->pins.items[i];

		json_open(json, NULL, '{');
		json_put_string(json, "class", pin->name);
		json_put_number(json, "objects", pin->objects);
		json_put_number(json, "bytes", pin->bytes);
		json_put_number(json, "arenas", pin->arenas);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void java_buffers_json(struct json_writer *json, const char *name,
			      const struct java_buffers *buffers)
{
	if (!buffers->known) {
		json_put_null(json, name);
		return;
	}
	json_open(json, name, '{');
	json_put_number(json, "count", buffers->count);
	json_put_number(json, "bytes", buffers->bytes);
	json_close(json, '}');
}

static void java_loaders_json(struct json_writer *json, const struct java_memory *java)
{
	json_open(json, "loaders", '[');
	for (size_t i = 0; i < java->loaders.count; i++) {
		const struct java_loaders *loaders = &java->loaders.items[i];

		json_open(json, NULL, '{');
		json_put_string(json, "name", loaders->name);
		json_put_number(json, "loaders", loaders->loaders);
		json_put_number(json, "classes", loaders->classes);
		json_put_known(json, "metaspace_bytes", java->has_metaspace, loaders->committed);
		json_put_known(json, "metaspace_used_bytes", java->has_metaspace, loaders->used);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void js_json(struct json_writer *json, const struct js_memory *js)
{
	if (!js)
		return;
	json_open(json, "v8", '{');
	json_put_string(json, "version", js->version[0] ? js->version : NULL);
	json_put_string(json, "cannot_tell", js->why);
	json_put_known(json, "heaps", !js->why, js->heaps);
	json_put_known(json, "external_bytes", !js->why, js->external);
	json_put_known(json, "array_buffer_bytes", !js->why && js->has_buffers, js->array_buffers);
	json_close(json, '}');
}

static void java_json(struct json_writer *json, const struct java_memory *java)
{
	bool known = java && !java->why;

	if (!java)
		return;
	json_open(json, "java", '{');
	json_put_string(json, "version", java->version[0] ? java->version : NULL);
	json_put_string(json, "cannot_tell", java->why);
	json_put_string(json, "collector", java->collector);
	json_put_known(json, "used_bytes", known, java->used);
	json_put_known(json, "committed_bytes", known, java->committed);
	json_put_known(json, "limit_bytes", known && java->maximum, java->maximum);
	json_put_known(json, "kept_bytes", known, java->kept);
	json_put_known(json, "collections", java->has_counts, java->collections);
	json_put_known(json, "full_collections", java->has_counts, java->full_collections);
	json_put_known(json, "metaspace_bytes", java->has_metaspace, java->metaspace);
	json_put_known(json, "metaspace_used_bytes", java->has_metaspace, java->metaspace_used);
	json_put_known(json, "class_space_bytes", java->has_metaspace, java->class_space);
	json_put_known(json, "classes", known, java->classes);
	java_loaders_json(json, java);
	json_put_known(json, "code_cache_bytes", known && java->code, java->code);
	json_put_known(json, "code_cache_limit_bytes", known && java->code_limit, java->code_limit);
	json_put_known(json, "threads", known, java->threads);
	json_put_known(json, "thread_stack_bytes", known, java->thread_stacks);
	java_buffers_json(json, "direct_buffers", &java->direct);
	json_put_known(json, "direct_buffers_limit_bytes", java->direct_limit, java->direct_limit);
	java_buffers_json(json, "mapped_buffers", &java->mapped);
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
	json_put_number(json, "since_ms", conclusion->growth.since_ms);
	json_put_signed(json, "growth_bytes", conclusion->growth.total);
	json_open(json, "growth", '{');
	for (size_t i = 0; i < GROUP_MAX_; i++)
		json_put_signed(json, memory_group_name(i), conclusion->growth.groups[i]);
	json_close(json, '}');
	json_close(json, '}');
}

static void process_json(struct json_writer *json, const struct memory_report *report,
			 const struct memory_process *process)
{
	json_open(json, NULL, '{');
	json_put_number(json, "pid", (uint64_t)process->pid);
	json_put_string(json, "comm", process->comm);
	json_put_string(json, "core", process->core);
	json_put_number(json, "rss_bytes", process->sum.rss);
	json_put_number(json, "pss_bytes", process->sum.pss);
	json_put_number(json, "swap_bytes", process->sum.swap);
	json_put_number(json, "locked_bytes", process->status.locked);
	json_put_number(json, "page_table_bytes", process->status.page_tables);
	json_put_number(json, "hugetlb_bytes", process->sum.hugetlb);
	parts_json(json, process);
	for (enum allocator_kind kind = 0; kind < ALLOCATOR_KIND_MAX_; kind++)
		allocator_json(json, process, kind);
	managed_json(json, process);
	go_json(json, process->go);
	python_json(json, process->python);
	java_json(json, process->java);
	js_json(json, process->js);
	json_put_string(json, "not_known", process->why);
	gaps_json(json, process);
	stacks_json(json, process);
	files_json(json, process);
	huge_json(json, &process->huge);
	items_json(json, report, process);
	if (process->has_conclusion)
		json_put_string(json, "verdict", memory_verdict_name(process->conclusion.verdict));
	conclusion_json(json, process->has_conclusion ? &process->conclusion : NULL);
	json_put_number(json, "read_us", process->read_ns / 1000);
	json_put_number(json, "pause_us", process->pause_ns / 1000);
	json_close(json, '}');
}

static void figure_json(struct json_writer *json, const char *key,
			const struct cgroup_memory *group, uint64_t value)
{
	json_put_known(json, key, group->known && value != CGROUP_NOT_KNOWN, value);
}

static void group_figures_json(struct json_writer *json, const struct cgroup_memory *group)
{
	const struct cgroup_figures *figures = &group->figures;

	figure_json(json, "current_bytes", group, figures->current);
	figure_json(json, "limit_bytes", group, figures->limit);
	figure_json(json, "swap_bytes", group, figures->swap);
	figure_json(json, "working_set_bytes", group, figures->working_set);
	figure_json(json, "anon_bytes", group, figures->anon);
	figure_json(json, "file_bytes", group, figures->file);
	figure_json(json, "inactive_file_bytes", group, figures->inactive_file);
	figure_json(json, "shmem_bytes", group, figures->shmem);
	figure_json(json, "kernel_bytes", group, figures->kernel);
	figure_json(json, "slab_bytes", group, figures->slab);
	figure_json(json, "sock_bytes", group, figures->sock);
	figure_json(json, "page_table_bytes", group, figures->page_tables);
	figure_json(json, "kernel_stack_bytes", group, figures->kernel_stack);
	figure_json(json, "oom_kills", group, figures->oom_kills);
}

static void pressure_json(struct json_writer *json, const struct cgroup_pressure *pressure)
{
	if (!pressure->known) {
		json_put_null(json, "pressure");
		return;
	}
	json_open(json, "pressure", '{');
	json_put_real(json, "some_10s", pressure->some_10s);
	json_put_real(json, "some_60s", pressure->some_60s);
	json_put_real(json, "full_10s", pressure->full_10s);
	json_put_real(json, "full_60s", pressure->full_60s);
	json_close(json, '}');
}

static void causes_json(struct json_writer *json, const struct cgroup_conclusion *conclusion)
{
	json_open(json, "causes", '[');
	for (size_t i = 0; i < conclusion->cause_count; i++) {
		const struct cgroup_cause *cause = &conclusion->causes[i];

		json_open(json, NULL, '{');
		json_put_string(json, "cause", cause->name);
		json_put_known(json, "pid", cause->pid, (uint64_t)cause->pid);
		json_put_string(json, "comm", cause->pid ? cause->comm : NULL);
		json_put_signed(json, "growth_bytes", cause->bytes);
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
	group_figures_json(json, group);
	pressure_json(json, &group->pressure);
	json_put_number(json, "processes", group->members.count);
	json_put_number(json, "processes_pss_bytes", group->processes_pss);
	json_put_number(json, "processes_anon_bytes", group->processes_anon);
	if (group->has_conclusion) {
		json_open(json, "conclusion", '{');
		json_put_string(json, "verdict", cgroup_verdict_name(conclusion->verdict));
		json_put_string(json, "text", conclusion->text);
		json_put_signed(json, "growth_bytes", conclusion->total);
		json_put_signed(json, "anon_growth_bytes", conclusion->anon);
		json_put_signed(json, "file_growth_bytes", conclusion->file);
		json_put_signed(json, "shmem_growth_bytes", conclusion->shmem);
		json_put_signed(json, "kernel_growth_bytes", conclusion->kernel);
		causes_json(json, conclusion);
		json_close(json, '}');
	} else {
		json_put_null(json, "conclusion");
	}
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
	for (size_t part = 0; part < MEMORY_PART_MAX_; part++) {
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
		for (size_t group = 0; group < GROUP_MAX_; group++)
			json_amounts_write(json, memory_group_name(group),
					   change->groups_before[group], change->groups[group]);
		json_close(json, '}');
		conclusion_json(json, change->has_conclusion ? &change->conclusion : NULL);
		json_close(json, '}');
	}
	json_close(json, ']');
}
