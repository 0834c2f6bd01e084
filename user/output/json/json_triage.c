// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Triage in the schema of json_report.c: the same top-level object, its processes in order of rank,
 * each with the figures known without probes, and its "growth". The ledger is all zeros: nothing is
 * traced.
 */
#include <math.h>

#include "base/cleanup.h"
#include "output/json/json.h"
#include "output/json/json_writer.h"
#include "output/output.h"

static void growth_write(struct json_writer *json, const struct triage_entry *entry)
{
	json_open(json, "growth", '{');
	json_figures_write(json, &triage_growth_figures, entry);
	/* Only for a suspect whose memory was read. */
	if (entry->cause) {
		json_open(json, "cause", '{');
		json_figures_write(json, &triage_cause_figures, entry->cause);
		json_close(json, '}');
	}
	json_close(json, '}');
}

/* Writes how much of the growth is in a garbage-collected heap. */
static void managed_write(struct json_writer *json, const struct triage_entry *entry)
{
	const struct managed_growth *managed = entry->managed;
	char tool[RUNTIME_TOOL_SIZE];

	json_open(json, "managed", '{');
	json_figures_write(json, &triage_managed_figures, managed);
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
	json_figures_write(json, &triage_sites_figures, sites);
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
	json_figures_write(json, &triage_stack_figures, stack);
	json_frames_write(json, &stack->named);
	json_close(json, '}');
}

static void files_json(struct json_writer *json, const struct triage_samples *sampled)
{
	json_open(json, "files", '[');
	for (size_t i = 0; i < sampled->files.count; i++) {
		json_open(json, NULL, '{');
		json_figures_write(json, &triage_file_figures, &sampled->files.items[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void samples_write(struct json_writer *json, const struct triage_entry *entry)
{
	const struct triage_samples *sampled = entry->sampled;
	char next[TRIAGE_NEXT_SIZE];

	json_open(json, "sampled", '{');
	json_figures_write(json, &triage_samples_figures, sampled);
	json_open(json, "stacks", '[');
	for (size_t i = 0; i < sampled->stacks.count; i++)
		stack_json(json, &sampled->stacks.items[i]);
	json_close(json, ']');
	files_json(json, sampled);
	json_figures_write(json, &triage_orphan_figures, sampled);
	json_put_string(json, "next", triage_samples_next(entry, next));
	json_close(json, '}');
}

/* Writes the kernel's charges to a group, the part that grew most first. */
static void split_write(struct json_writer *json, const struct triage_entry *entry)
{
	struct triage_part parts[TRIAGE_PARTS_MAX];
	size_t count = triage_split_parts(entry->split, parts);

	json_figures_write(json, &triage_charge_figures, entry);
	json_open(json, "split", '{');
	json_put_real(json, "since_s", entry->split->since_s);
	json_open(json, "parts", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(json, NULL, '{');
		json_figures_write(json, &triage_part_figures, &parts[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void entry_write(struct json_writer *json, const struct triage_entry *entry)
{
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
	json_figures_write(json, &triage_entry_figures, entry);
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

	json_open(json, NULL, '{');
	json_put_string(json, "kind", limit_kind_name(limit->kind));
	json_put_string(json, "cgroup", *limit->path ? limit->path : NULL);
	json_container_write(json, near->container);
	json_figures_write(json, &triage_limit_figures, limit);
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
	if (report->limits_more)
		json_put_number(json, "limits_more", report->limits_more);
}

static void kill_write(struct json_writer *json, const struct triage_kill *kill)
{
	json_open(json, NULL, '{');
	json_put_number(json, "pid", (uint64_t)kill->where->pid);
	json_put_string(json, "comm", kill->comm);
	json_kill_place_write(json, kill->where);
	json_figures_write(json, &triage_kill_figures, kill);
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
	json_figures_write(json, &triage_cost_figures, report);
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

static void machine_write(struct json_writer *json, const struct triage_machine *machine)
{
	json_open(json, "machine", '[');
	for (size_t i = 0; i < MACHINE_PART_MAX_; i++) {
		const struct machine_figure *figure = &machine->parts[i];

		if (isnan(figure->now))
			continue;
		json_open(json, NULL, '{');
		json_put_string(json, "part", triage_machine_name(i));
		json_put_real(json, "now", figure->now);
		json_put_real(json, "per_s", figure->per_s);
		json_put_string(json, "verdict", trend_verdict_name(figure->verdict));
		json_close(json, '}');
	}
	json_close(json, ']');
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
	if (report->machine)
		machine_write(json, report->machine);
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
