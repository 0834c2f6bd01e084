// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes `leakmon threads`: dead threads by creator. */
#include <string.h>

#include "output/json/json.h"
#include "output/output.h"
#include "report/thread_report.h"

#define NS_PER_MS UINT64_C(1000000)

static void holder_json(struct json_writer *json, const struct retain_result *result,
			const struct thread_holder *holder)
{
	const struct retained_path *path =
		holder->path == RESULT_NONE ? NULL : &result->paths.items[holder->path];

	json_open(json, NULL, '{');
	json_put_number(json, "count", holder->count);
	json_put_string(json, "verdict", verdict_name(holder->verdict));
	if (path) {
		json_put_number(json, "first_offset", holder->first);
		json_put_number(json, "last_offset", holder->last);
		json_retain_way(json, result, path, path->steps.count - 1);
	}
	json_close(json, '}');
}

static void holders_json(struct json_writer *json, const struct thread_census *census,
			 const struct thread_group *group)
{
	if (!census->holding)
		return;
	json_put_string(json, "holders_unknown_why",
			census->holding->err ? thread_holding_why(census->holding) : NULL);
	json_put_number(json, "holders_unknown",
			census->holding->err ? group->count : group->holders.unknown);
	json_open(json, "holders", '[');
	for (size_t i = 0; !census->holding->err && i < group->holders.list.count; i++)
		holder_json(json, &census->holding->result, &group->holders.list.items[i]);
	json_close(json, ']');
}

/* Writes ended threads of a managed language. */
static void ended_json(struct json_writer *json, const struct retain_result *result,
		       const struct retained_path *path)
{
	const struct retained_class *class = &result->classes.items[path->class];

	json_open(json, NULL, '{');
	json_put_string(json, "runtime", class->module);
	json_put_string(json, "class", class->name);
	json_put_number(json, "count", class->total.blocks);
	json_put_number(json, "held", class->verdicts[VERDICT_HELD].blocks);
	json_put_number(json, "bytes", class->total.bytes);
	json_put_number(json, "sharing", path->sharing);
	json_put_number(json, "sampled", path->sampled);
	json_retain_way(json, result, path, path->steps.count);
	json_close(json, '}');
}

static void all_ended_json(struct json_writer *json, const struct thread_holding *holding)
{
	const char *why = NULL;

	if (!holding)
		return;
	if (holding->err)
		why = thread_holding_why(holding);
	for (size_t i = 0; !why && i < holding->result.runtimes.count; i++)
		why = holding->result.runtimes.items[i].why;
	json_open(json, "managed", '{');
	json_put_string(json, "cannot_tell", why);
	json_open(json, "ended", '[');
	for (size_t i = holding->ended; i < holding->result.paths.count; i++)
		ended_json(json, &holding->result, &holding->result.paths.items[i]);
	json_close(json, ']');
	json_close(json, '}');
}

static void age_json(struct json_writer *json, const char *key, uint64_t now_ns, uint64_t then_ns)
{
	if (then_ns)
		json_put_number(json, key,
				(now_ns - (then_ns < now_ns ? then_ns : now_ns)) / NS_PER_MS);
	else
		json_put_null(json, key);
}

static void dead_json(struct json_writer *json, const struct thread_report *report,
		      const struct dead_thread *dead)
{
	char name[sizeof(dead->thread.name) + 1] = "";

	memcpy(name, dead->thread.name, sizeof(dead->thread.name));
	json_open(json, NULL, '{');
	json_put_number(json, "tid", dead->thread.tid);
	json_put_number(json, "pthread_t", dead->thread.handle);
	json_put_string(json, "name", dead->thread.name[0] ? name : NULL);
	age_json(json, "born_ms", report->now_ns, dead->thread.born_ns);
	age_json(json, "ended_ms", report->now_ns, dead->thread.died_ns);
	json_put_bool(json, "before_attach", dead->thread.flags & LM_THREAD_BEFORE_ATTACH);
	json_put_number(json, "stack_bytes", dead->stack_end - dead->stack_start);
	json_put_number(json, "resident_bytes", dead->resident_bytes);
	json_put_known(json, "heap_bytes", report->heap, dead->heap_bytes);
	json_put_known(json, "heap_count", report->heap, dead->heap_count);
	json_close(json, '}');
}

static void group_json(struct json_writer *json, const struct thread_report *report,
		       const struct thread_census *census, const struct thread_group *group)
{
	json_open(json, NULL, '{');
	json_put_number(json, "count", group->count);
	json_put_bool(json, "before_attach", group->before_attach);
	age_json(json, "oldest_ms", report->now_ns, group->oldest_died_ns);
	age_json(json, "newest_ms", report->now_ns, group->newest_died_ns);
	json_figures_write_if(json, &thread_group_figures, group, report->heap);
	json_open(json, "start_routine", '{');
	json_stack_write(json, &group->start_routine, 1, &group->start);
	json_close(json, '}');
	json_stack_write(json, group->addresses, group->depth, &group->stack);
	holders_json(json, census, group);
	if (report->show_threads) {
		json_open(json, "threads", '[');
		for (size_t i = 0; i < group->count; i++)
			dead_json(json, report, &census->dead.items[group->first + i]);
		json_close(json, ']');
	}
	json_close(json, '}');
}

static void live_json(struct json_writer *json, const struct live_group *group)
{
	json_open(json, NULL, '{');
	json_figures_write(json, &live_group_figures, group);
	json_open(json, "start_routine", '{');
	json_stack_write(json, &group->start_routine, group->start_routine ? 1 : 0, &group->start);
	json_close(json, '}');
	json_stack_write(json, group->addresses, group->depth, &group->stack);
	json_open(json, "waits", '[');
	for (size_t i = 0; i < group->waits.count; i++) {
		const struct live_wait *wait = &group->waits.items[i];

		json_open(json, NULL, '{');
		json_put_number(json, "count", wait->count);
		json_put_bool(json, "running", !wait->depth);
		json_stack_write(json, wait->addresses, wait->depth, &wait->stack);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void task_frames_json(struct json_writer *json, const char *key, const struct frames *frames)
{
	json_open(json, key, '{');
	json_stack_write(json, NULL, 0, frames);
	json_close(json, '}');
}

static void group_members(struct json_writer *json, const struct task_group *group)
{
	json_figures_write(json, &task_group_figures, group);
	task_frames_json(json, "waits_at", &group->stack);
	task_frames_json(json, "created_by", &group->creator);
}

void json_goroutine_group_write(struct json_writer *json, const char *key,
				const struct task_group *group)
{
	json_open(json, key, '{');
	group_members(json, group);
	json_close(json, '}');
}

static void evolution_json(struct json_writer *json, const struct task_series *series, uint64_t id)
{
	const uint64_t *counts = series ? task_series_find(series, id) : NULL;

	if (!counts)
		return;
	json_open(json, "evolution", '[');
	for (size_t i = 0; i < series->times.count; i++)
		json_put_number(json, NULL, counts[i]);
	json_close(json, ']');
}

static void tasks_json(struct json_writer *json, const char *key, const struct task_report *report,
		       const struct task_series *series)
{
	if (!report)
		return;
	json_open(json, key, '{');
	json_figures_write(json, &task_report_figures, report);
	if (report->left_groups) {
		json_put_number(json, "left_groups", report->left_groups);
		json_put_number(json, "left_count", report->left_count);
	}
	if (series) {
		json_open(json, "times", '[');
		for (size_t i = 0; i < series->times.count; i++)
			json_time_write(json, NULL, &series->times.items[i]);
		json_close(json, ']');
	}
	json_open(json, "groups", '[');
	for (size_t i = 0; i < report->groups.count; i++) {
		json_open(json, NULL, '{');
		group_members(json, &report->groups.items[i]);
		evolution_json(json, series, report->groups.items[i].id);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void census_json(struct json_writer *json, const struct thread_report *report,
			const struct thread_census *census)
{
	json_open(json, NULL, '{');
	json_put_number(json, "pid", census->pid);
	json_put_string(json, "comm", census->comm);
	json_open(json, "threads", '{');
	json_figures_write_if(json, &thread_count_figures, census, report->heap);
	json_figures_write(json, &thread_ledger_figures, &census->ledger);
	json_put_string(json, "cannot_tell", census->why);
	json_put_string(json, "cannot_tell_before_attach", census->why_before);
	json_open(json, "groups", '[');
	for (size_t i = 0; i < census->groups.count; i++)
		group_json(json, report, census, &census->groups.items[i]);
	json_close(json, ']');
	json_open(json, "live", '[');
	for (size_t i = 0; i < census->live.count; i++)
		live_json(json, &census->live.items[i]);
	json_close(json, ']');
	all_ended_json(json, census->holding);
	json_close(json, '}');
	tasks_json(json, "goroutines", census->goroutines, census->goroutine_series);
	for (size_t i = 0; i < census->runtimes.count; i++)
		json_runtime_write(json, &census->runtimes.items[i]);
	tasks_json(json, "virtual_threads", census->virtual_threads, NULL);
	json_close(json, '}');
}

void json_threads_members(struct json_writer *json, const void *data)
{
	const struct thread_report *report = data;

	json_put_number(json, "schema", 1);
	json_time_write(json, "time", &report->time);
	json_put_number(json, "sequence", report->sequence);
	if (report->since)
		json_put_string(json, "since", report->since);
	json_open(json, "processes", '[');
	for (size_t i = 0; i < report->processes.count; i++)
		census_json(json, report, &report->processes.items[i]);
	json_close(json, ']');
}

int json_threads_write(FILE *out, const void *data)
{
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_threads_members(&json, data);
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}
