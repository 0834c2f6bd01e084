// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Triage in the schema of json.c: the same top-level object, its processes in order of rank, each
 * with what is known without a probe and its "growth". The ledger is all zeros: nothing is traced.
 */
#include <math.h>

#include "base/cleanup.h"
#include "output/json/json.h"
#include "output/json/json_writer.h"
#include "output/output.h"

static void count_write(struct json_writer *json, const char *key, double count)
{
	if (isnan(count))
		json_put_null(json, key);
	else
		json_put_number(json, key, (uint64_t)count);
}

/* Only while there is no verdict. */
static void early_write(struct json_writer *json, const struct early *early)
{
	if (!early->readings)
		return;
	json_open(json, "early", '{');
	json_put_bool(json, "grows", early->grows);
	json_put_real(json, "per_s", early->per_s);
	json_put_number(json, "readings", early->readings);
	json_put_real(json, "span_s", early->span_s);
	json_close(json, '}');
}

/* Only of a suspect with memory read. */
static void cause_write(struct json_writer *json, const struct triage_cause *cause)
{
	if (!cause)
		return;
	json_open(json, "cause", '{');
	json_put_string(json, "verdict", cause->verdict);
	json_put_bool(json, "no_leak", cause->no_leak);
	json_put_bool(json, "unproven", cause->unproven);
	json_put_string(json, "text", cause->text);
	json_put_real(json, "since_s", cause->since_s);
	json_put_signed(json, "growth_bytes", cause->grown);
	json_put_signed(json, "live_bytes", cause->live);
	json_close(json, '}');
}

static void growth_write(struct json_writer *json, const struct triage_entry *entry)
{
	const struct growth *growth = &entry->growth;
	const struct trend *evidence = &growth->evidence;

	json_open(json, "growth", '{');
	json_put_string(json, "kind", growth_kind_name(growth->kind));
	json_put_real(json, "bytes_per_s", growth->memory_per_s);
	json_put_real(json, "confidence", growth->confidence);
	json_put_string(json, "verdict", triage_entry_verdict(entry));
	json_put_real(json, "per_s", growth->per_s);
	json_put_real(json, "low_per_s", growth->low_per_s);
	json_put_real(json, "high_per_s", growth->high_per_s);
	json_put_real(json, "window_s", evidence->span_s);
	json_put_number(json, "points", evidence->points);
	json_put_real(json, "p", evidence->p);
	json_put_real(json, "r_squared", evidence->r_squared);
	json_put_real(json, "recent", evidence->recent);
	json_put_real(json, "consistency", evidence->consistency);
	early_write(json, &growth->early);
	json_put_bool(json, "warming_up", growth->warms_up);
	json_put_real(json, "age_s", growth->age_s);
	cause_write(json, entry->cause);
	json_close(json, '}');
}

/* For a runtime with a garbage collector: what of the growth is its heap's. */
static void managed_write(struct json_writer *json, const struct triage_entry *entry)
{
	const struct managed_growth *managed = entry->managed;
	char tool[RUNTIME_TOOL_SIZE];

	json_open(json, "managed", '{');
	json_put_string(json, "runtime", managed->runtime.key);
	json_put_number(json, "heap_bytes", managed->heap);
	json_put_number(json, "anonymous_bytes", managed->all);
	json_put_real(json, "since_s", managed->last_s - managed->first_s);
	json_put_signed(json, "heap_growth_bytes", managed->heap_grown);
	json_put_signed(json, "growth_bytes", managed->all_grown);
	if (managed->first.known && managed->now.known) {
		json_put_number(json, "kept_bytes", managed->now.kept);
		json_put_signed(json, "kept_growth_bytes",
				(int64_t)(managed->now.kept - managed->first.kept));
		json_put_bool(json, "unproven", triage_entry_is_unproven(entry));
	}
	json_put_string(json, "next", runtime_label_tool(&managed->runtime, entry->pid, tool));
	json_close(json, '}');
}

static void sites_write(struct json_writer *json, const struct triage_sites *sites)
{
	json_open(json, "escalation", '{');
	json_put_string(json, "kind", growth_kind_name(sites->kind));
	json_put_real(json, "window_s", sites->window_s);
	json_put_real(json, "growth_per_s", sites->growth_per_s);
	json_put_string(json, "refused", sites->refusal);
	json_open(json, "explained", '[');
	for (size_t i = 0; sites->process && i < sites->process->sites.count; i++)
		json_put_real(json, NULL,
			      triage_site_share(sites, sites->process->sites.items[i].site));
	json_close(json, ']');
	json_close(json, '}');
	json_open(json, "sites", '[');
	for (size_t i = 0; sites->process && i < sites->process->sites.count; i++)
		json_site_write(json, sites->report, &sites->process->sites.items[i]);
	json_close(json, ']');
}

static void stack_json(struct json_writer *json, const struct triage_stack *stack)
{
	json_open(json, NULL, '{');
	json_id_write(json, "id", stack->named.id);
	json_put_real(json, "units", stack->units);
	json_put_real(json, "explained", stack->share);
	json_put_number(json, "samples", stack->samples);
	json_frames_write(json, &stack->named);
	json_close(json, '}');
}

static void files_json(struct json_writer *json, const struct triage_samples *sampled)
{
	json_open(json, "files", '[');
	for (size_t i = 0; i < sampled->files.count; i++) {
		const struct triage_file_kind *kind = &sampled->files.items[i];

		json_open(json, NULL, '{');
		json_put_string(json, "kind", kind->name);
		json_put_real(json, "open", kind->open);
		json_put_real(json, "added", kind->added);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void samples_write(struct json_writer *json, const struct triage_entry *entry)
{
	const struct triage_samples *sampled = entry->sampled;
	char next[TRIAGE_NEXT_SIZE];

	json_open(json, "sampled", '{');
	json_put_string(json, "kind", growth_kind_name(sampled->kind));
	json_put_string(json, "event", triage_samples_event(sampled->kind));
	json_put_real(json, "window_s", sampled->window_s);
	json_put_real(json, "added", sampled->added);
	json_put_real(json, "explained", sampled->share);
	json_put_number(json, "samples", sampled->taken);
	json_put_number(json, "samples_lost", sampled->lost);
	json_put_number(json, "threads_missed", sampled->missed);
	json_put_real(json, "ago_s", sampled->ago_s);
	json_put_string(json, "refused", sampled->why);
	json_put_number(json, "stacks_total", sampled->stacks_total);
	json_open(json, "stacks", '[');
	for (size_t i = 0; i < sampled->stacks.count; i++)
		stack_json(json, &sampled->stacks.items[i]);
	json_close(json, ']');
	files_json(json, sampled);
	json_put_real(json, "dead_threads", sampled->orphans);
	json_put_real(json, "dead_threads_added", sampled->orphans_added);
	json_put_string(json, "next", triage_samples_next(entry, next));
	json_close(json, '}');
}

/* For a group: what the kernel charges to it, the part that grew most first. */
static void split_write(struct json_writer *json, const struct triage_entry *entry)
{
	struct triage_part parts[TRIAGE_PARTS_MAX];
	size_t count = triage_split_parts(entry->split, parts);

	count_write(json, "charged_bytes", entry->now.values[QUANTITY_CHARGED]);
	json_open(json, "split", '{');
	json_put_real(json, "since_s", entry->split->since_s);
	json_open(json, "parts", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(json, NULL, '{');
		json_put_string(json, "part", parts[i].name);
		json_put_real(json, "bytes", parts[i].bytes);
		json_put_real(json, "growth_bytes", parts[i].grown);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void entry_write(struct json_writer *json, const struct triage_entry *entry)
{
	const double *now = entry->now.values;

	json_open(json, NULL, '{');
	if (entry->pid) {
		json_put_number(json, "pid", (uint64_t)entry->pid);
		json_put_string(json, "comm", entry->comm);
		json_put_string(json, "exe", entry->exe);
	} else {
		json_put_number(json, "processes", entry->processes);
	}
	json_put_string(json, "cgroup", entry->cgroup);
	json_container_write(json, entry->container);
	json_put_string(json, "verdict", triage_entry_verdict(entry));
	count_write(json, "memory_bytes", now[QUANTITY_HEAP]);
	json_open(json, "threads", '{');
	count_write(json, "alive", now[QUANTITY_THREADS]);
	json_close(json, '}');
	count_write(json, "file_count", now[QUANTITY_FILES]);
	count_write(json, "mapping_count", now[QUANTITY_MAPPING]);
	growth_write(json, entry);
	if (entry->split)
		split_write(json, entry);
	if (entry->managed)
		managed_write(json, entry);
	if (entry->goroutines)
		json_goroutine_group_write(json, "goroutines", entry->goroutines);
	if (entry->sampled)
		samples_write(json, entry);
	if (entry->sites)
		sites_write(json, entry->sites);
	if (entry->profiled)
		json_profile_suspect_write(json, entry->profiled);
	json_close(json, '}');
}

static void entries_write(struct json_writer *json, const char *key,
			  const struct triage_entries *entries)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < entries->count; i++)
		entry_write(json, &entries->items[i]);
	json_close(json, ']');
}

static void limit_write(struct json_writer *json, const struct triage_limit *near)
{
	const struct limit *limit = near->limit;
	const struct time_left *left = &limit->left;

	json_open(json, NULL, '{');
	json_put_string(json, "kind", limit_kind_name(limit->kind));
	json_put_string(json, "cgroup", *limit->path ? limit->path : NULL);
	json_container_write(json, near->container);
	json_put_real(json, "limit_bytes", limit->bytes);
	json_put_real(json, "used_bytes", limit->used);
	json_put_real(json, "used_share", limit->used / limit->bytes);
	json_put_real(json, "bytes_per_s", left->known ? left->per_s : NAN);
	json_put_real(json, "seconds_left", left->known ? left->seconds : NAN);
	json_put_real(json, "seconds_left_low", left->known ? left->low : NAN);
	json_put_real(json, "seconds_left_high", left->known ? left->high : NAN);
	json_put_real(json, "pressure", limit->pressure);
	json_open(json, "process", '[');
	if (near->entry.pid)
		entry_write(json, &near->entry);
	json_close(json, ']');
	json_close(json, '}');
}

static void limits_write(struct json_writer *json, const struct triage_report *report)
{
	json_open(json, "limits", '[');
	for (size_t i = 0; i < report->limits.count; i++)
		limit_write(json, &report->limits.items[i]);
	json_close(json, ']');
}

static void kill_memory_write(struct json_writer *json, const struct triage_kill_memory *memory)
{
	if (!memory->known) {
		json_put_null(json, "memory");
		return;
	}
	json_open(json, "memory", '{');
	json_put_number(json, "anonymous_bytes", memory->anonymous);
	json_put_number(json, "file_bytes", memory->file);
	json_put_number(json, "shared_bytes", memory->shared);
	json_put_number(json, "swap_bytes", memory->swap);
	json_close(json, '}');
}

static void kill_write(struct json_writer *json, const struct triage_kill *kill)
{
	json_open(json, NULL, '{');
	json_put_number(json, "pid", (uint64_t)kill->where->pid);
	json_put_string(json, "comm", kill->comm);
	json_kill_place_write(json, kill->where);
	json_put_string(json, "noticed", kill->by_counter ? "counter" : "tracepoint");
	kill_memory_write(json, &kill->memory);
	json_put_real(json, "read_s", kill->entry.pid ? kill->read_s : NAN);
	json_open(json, "last", '[');
	if (kill->entry.pid)
		entry_write(json, &kill->entry);
	json_close(json, ']');
	json_close(json, '}');
}

static void kills_write(struct json_writer *json, const struct triage_kills *kills)
{
	if (!kills)
		return;
	json_open(json, "oom_kills", '[');
	for (size_t i = 0; i < kills->list.count; i++)
		kill_write(json, &kills->list.items[i]);
	json_close(json, ']');
}

static void ledger_write(struct json_writer *json)
{
	static const char *const numbers[] = {"allocations", "frees", "outstanding", "purged",
					      "untracked_frees"};

	json_open(json, "ledger", '{');
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_put_number(json, numbers[i], 0);
	json_open(json, "dropped", '{');
	json_close(json, '}');
	json_close(json, '}');
}

static void budget_write(struct json_writer *json, const struct triage_report *report)
{
	json_open(json, "budget", '{');
	json_put_real(json, "limit", report->budget_limit);
	json_put_real(json, "used", report->budget_used);
	json_put_real(json, "cpu_s", report->cpu_s);
	json_put_real(json, "probes_s", report->probes_s);
	json_put_real(json, "running_s", report->running_s);
	json_put_number(json, "waiting", report->waiting);
	json_put_number(json, "resident_bytes", report->resident_bytes);
	json_put_real(json, "poll_interval_s", report->poll_interval_s);
	json_open(json, "shed", '[');
	if (report->shed_mappings)
		json_put_string(json, NULL, "mappings");
	if (report->shed_files)
		json_put_string(json, NULL, "files");
	if (report->stretch > 1)
		json_put_string(json, NULL, "polls");
	json_close(json, ']');
	json_close(json, '}');
}

void json_triage_members(struct json_writer *json, const void *data)
{
	const struct triage_report *report = data;

	json_time_write(json, "time", &report->time);
	json_put_number(json, "sequence", report->sequence);
	json_put_bool(json, "triage", true);
	ledger_write(json);
	budget_write(json, report);
	json_put_bool(json, "hidden", report->hidden);
	limits_write(json, report);
	kills_write(json, report->kills);
	json_lost_reports_write(json, report->lost_reports);
	json_put_number(json, "processes_total", report->processes.total);
	entries_write(json, "processes", &report->processes);
	json_put_number(json, "groups_total", report->groups.total);
	entries_write(json, "groups", &report->groups);
}

int json_triage_write(FILE *out, const void *data)
{
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	json_triage_members(&json, data);
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}
