// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes one object on one line per snapshot: schema 1. Fields may be added; none changes its
 * meaning.
 */
#include "output/json/json.h"

#include "report/family.h"
#include "report/fleet.h"
#include "report/history.h"
#include "report/analyze/site_trend.h"
#include "base/cleanup.h"
#include "output/output.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

/* -------- processes and ledgers, shared by all kinds of objects */

/* Writes causes, which older recordings lack. */
static void inexact_write(struct json_writer *json, const struct snapshot_process *process)
{
	if (!process->inexact)
		return;
	json_open(json, "inexact", '[');
	for (size_t i = 0; i < INEXACT_MAX_; i++) {
		if (process->inexact & 1u << i)
			json_put_string(json, NULL, inexact_name(i));
	}
	json_close(json, ']');
	if (!process->hidden_tasks)
		return;
	json_open(json, "shared_memory", '{');
	json_put_number(json, "count", process->hidden_tasks);
	json_put_number(json, "pid", process->hidden_pid);
	json_close(json, '}');
}

static void bounds_write(struct json_writer *json, const struct estimate *estimate)
{
	json_put_real(json, "samples", estimate->samples);
	json_put_real(json, "bytes_low", estimate->bytes.low);
	json_put_real(json, "bytes_high", estimate->bytes.high);
	if (!(estimate->count.high > 0))
		return;
	json_put_real(json, "count_low", estimate->count.low);
	json_put_real(json, "count_high", estimate->count.high);
}

/* Writes the estimate of a process that samples itself. */
static void estimate_write(struct json_writer *json, const struct snapshot_process *process)
{
	struct estimate estimate = snapshot_estimate_process(process);

	if (!process->samples_itself)
		return;
	json_open(json, "estimate", '{');
	json_put_string(json, "by", "otel_memory");
	json_put_number(json, "interval_bytes", process->sample_interval);
	json_put_bool(json, "frees", !process->without_free);
	bounds_write(json, &estimate);
	json_close(json, '}');
}

void json_process_write(struct json_writer *json, const struct snapshot_process *process)
{
	json_put_number(json, "pid", process->pid);
	json_put_string(json, "comm", process->comm);
	json_put_string(json, "exe", process->exe);
	if (process->host)
		json_put_string(json, "host", process->host);
	json_container_write(json, process->container);
	json_put_bool(json, "exact", process->exact);
	inexact_write(json, process);
	estimate_write(json, process);
	json_put_bool(json, "exited", process->exited);
}

static void family_figures_write(struct json_writer *json, const struct snapshot *snapshot,
				 const struct family *family, const void *figures)
{
	for (size_t i = 0; i < family->figures.count; i++) {
		const struct figure *figure = &family->figures.items[i];

		json_figure_write(json, figure, figures,
				  figure_is_known(figure, figures) &&
					  (!figure->conditional || snapshot->has_ages));
	}
}

void json_ledgers_write(struct json_writer *json, const struct snapshot *snapshot,
			const struct snapshot_process *process)
{
	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		const struct family *family = family_get(id);
		const void *total = family_total(family, snapshot);
		const void *figures = process ? family_of_process(family, process) : total;

		if (!total || !figures || !family_is_present(family, snapshot))
			continue;
		json_open(json, family->section, '{');
		family_figures_write(json, snapshot, family, figures);
		json_close(json, '}');
	}
}

/* -------- a call stack and its outstanding blocks */

static void older_shares_write(struct json_writer *json, const struct site_trend *trend)
{
	json_open(json, "older_share", '[');
	for (size_t i = 0; trend->has_ages && i < SITE_AGES_MAX_; i++) {
		json_open(json, NULL, '{');
		json_put_number(json, "seconds", site_age_limits_ns[i] / 1000000000u);
		json_put_real(json, "share", trend->older_share[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void merged_write(struct json_writer *json, const struct merged_trend *merged)
{
	if (!merged->stacks)
		return;
	json_open(json, "merged", '{');
	json_id_write(json, "id", merged->native);
	json_put_number(json, "stacks", merged->stacks);
	json_put_number(json, "bytes", merged->bytes);
	json_put_real(json, "bytes_per_s", merged->trend.slope);
	json_close(json, '}');
}

void json_trend_fields(struct json_writer *json, const char *key, const struct site_trend *trend)
{
	char evidence[EVIDENCE_SIZE];

	json_open(json, key, '{');
	json_put_string(json, "verdict", trend_verdict_name(trend->verdict));
	json_put_string(json, "evidence", site_trend_evidence(trend, evidence));
	json_put_number(json, "snapshots", trend->trend.points);
	json_put_real(json, "span_s", trend->trend.span_s);
	json_put_real(json, "bytes_per_s", trend->trend.slope);
	json_put_real(json, "bytes_per_s_low", trend->trend.slope_low);
	json_put_real(json, "bytes_per_s_high", trend->trend.slope_high);
	json_put_real(json, "confidence", trend->trend.confidence);
	json_put_real(json, "r_squared", trend->trend.r_squared);
	json_put_real(json, "integral_byte_s", trend->integral_byte_s);
	if (trend->survival >= 0)
		json_put_real(json, "survival", trend->survival);
	else
		json_put_null(json, "survival");
	json_put_real(json, "turnover", trend->turnover);
	older_shares_write(json, trend);
	merged_write(json, &trend->merged);
	json_close(json, '}');
}

void json_trend_write(struct json_writer *json, const struct report *report,
		      const struct report_site *site)
{
	struct site_trend trend;

	if (!report->history || !site->series)
		return;
	site_trend_of(&trend, report->history, site->series);
	json_put_string(json, "verdict", trend_verdict_name(trend.verdict));
	json_trend_fields(json, "trend", &trend);
}

static void age_write(struct json_writer *json, const char *key, bool has_ages, uint64_t age_ns)
{
	json_put_known(json, key, has_ages, age_ns / NS_PER_MS);
}

static void blocks_write(struct json_writer *json, const struct report_site *site, bool has_ages,
			 bool has_owners)
{
	json_open(json, "blocks", '[');
	for (size_t i = 0; i < site->blocks.count; i++) {
		const struct block *block = &site->blocks.items[i];

		json_open(json, NULL, '{');
		json_address_write(json, block->address);
		json_put_number(json, "size", block->size);
		age_write(json, "age_ms", has_ages, block->age_ns);
		json_put_number(json, "tid", block->tid);
		if (has_owners)
			json_put_bool(json, "by_dead", block->by_dead);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void site_owners_write(struct json_writer *json, const struct report_site *ranked)
{
	json_open(json, "owners", '[');
	for (size_t i = 0; i < ranked->owners.count; i++) {
		const struct site_owner *owner = &ranked->owners.items[i];

		json_open(json, NULL, '{');
		json_put_number(json, "pid", owner->pid);
		json_put_string(json, "comm", owner->comm);
		json_put_string(json, "cgroup", owner->cgroup);
		json_put_number(json, "bytes", owner->bytes);
		json_put_number(json, "count", owner->count);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_put_number(json, "owners_total", ranked->owners_total);
}

void json_site_write(struct json_writer *json, const struct report *report,
		     const struct report_site *ranked)
{
	const struct site *site = ranked->site;
	bool has_ages = report->snapshot->has_ages;
	bool has_owners = report->snapshot->has_owners && site->family == FAMILY_HEAP;

	json_open(json, NULL, '{');
	json_id_write(json, "id", ranked->id);
	json_put_string(json, "lost", site->lost ? lost_name(site->lost) : NULL);
	json_put_string(json, "end", walk_end_name(site->end));
	json_put_string(json, "family", family_name(site->family));
	json_put_string(json, "kind", kind_name(site->kind));
	if (site->patterns)
		json_put_string(json, "patterns", site->patterns);
	json_put_number(json, "bytes", site->bytes);
	json_put_number(json, "count", site->count);
	json_put_number(json, "allocated_bytes", site->allocated_bytes);
	json_put_number(json, "allocated_count", site->allocated_count);
	json_put_number(json, "freed_bytes", site->freed_bytes);
	json_put_number(json, "freed_count", site->freed_count);
	json_put_known(json, "by_dead_bytes", has_owners, site->by_dead_bytes);
	json_put_known(json, "by_dead_count", has_owners, site->by_dead_count);
	age_write(json, "oldest_ms", has_ages, site->oldest_ns);
	if (snapshot_hits(site).sum > 0) {
		struct estimate estimate = snapshot_estimate_site(site);

		json_open(json, "estimate", '{');
		bounds_write(json, &estimate);
		json_close(json, '}');
	}
	if (ranked->owners_total)
		site_owners_write(json, ranked);
	json_frames_write(json, ranked);
	json_trend_write(json, report, ranked);
	if (report->show_allocs)
		blocks_write(json, ranked, has_ages, has_owners);
	json_close(json, '}');
}

/* -------- the threads of one process */

static void group_write(struct json_writer *json, const struct report_dead *dead)
{
	const struct dead_group *group = dead->group;
	bool dated = group->count > group->before_attach;

	json_open(json, NULL, '{');
	json_id_write(json, "id", dead->id);
	json_put_number(json, "count", group->count);
	json_put_number(json, "before_attach", group->before_attach);
	json_put_known(json, "oldest_ms", dated, group->oldest_ns / NS_PER_MS);
	json_put_known(json, "newest_ms", dated, group->newest_ns / NS_PER_MS);
	json_put_number(json, "stack_bytes", group->stack_bytes);
	json_put_number(json, "resident_bytes", group->resident_bytes);
	json_put_number(json, "heap_bytes", group->heap_bytes);
	json_put_number(json, "heap_count", group->heap_count);
	json_open(json, "start_routine", '{');
	json_stack_write(json, &group->start_routine, group->start_routine ? 1 : 0, &dead->start);
	json_close(json, '}');
	json_stack_write(json, group->addresses, group->depth, &dead->stack);
	json_close(json, '}');
}

void json_process_threads_write(struct json_writer *json, const struct snapshot *snapshot,
				const struct report_process *ranked)
{
	const struct thread_figures *threads = &ranked->process->threads;
	const struct family *family = family_get(FAMILY_THREADS);

	json_open(json, family->section, '{');
	family_figures_write(json, snapshot, family, threads);
	if (threads->followed) {
		json_open(json, "groups", '[');
		for (size_t i = 0; i < ranked->dead.count; i++)
			group_write(json, &ranked->dead.items[i]);
		json_close(json, ']');
	}
	json_close(json, '}');
}

/* -------- the report */

static void suppressed_write(struct json_writer *json, const struct report_process *ranked)
{
	struct suppressed_total total = report_suppressed(ranked);

	if (!ranked->suppressed.count)
		return;
	json_open(json, "suppressed", '{');
	json_put_number(json, "bytes", total.bytes);
	json_put_number(json, "count", total.blocks);
	json_put_number(json, "sites", ranked->suppressed.count);
	json_close(json, '}');
}

static void process_write(struct json_writer *json, const struct report *report,
			  const struct report_process *ranked)
{
	const struct snapshot_process *process = ranked->process;

	json_open(json, NULL, '{');
	json_process_write(json, process);
	json_put_number(json, "outstanding_bytes", process->outstanding_bytes);
	json_put_number(json, "outstanding_count", process->outstanding_count);
	if (process->age_ns) {
		json_put_number(json, "age_ms", process->age_ns / 1000000);
		json_put_bool(json, "warming_up", (double)process->age_ns < TREND_WARM_UP_S * 1e9);
	}
	json_managed_share_write(json, (pid_t)process->pid, &process->managed);
	json_put_number(json, "sites_total", ranked->sites_total);
	json_ledgers_write(json, report->snapshot, process);
	json_open(json, "sites", '[');
	for (size_t i = 0; i < ranked->sites.count; i++)
		json_site_write(json, report, &ranked->sites.items[i]);
	json_close(json, ']');
	suppressed_write(json, ranked);
	json_process_threads_write(json, report->snapshot, ranked);
	json_split_write(json, memory_series_of(report, process));
	json_close(json, '}');
}

void json_lost_reports_write(struct json_writer *json, uint64_t count)
{
	if (count)
		json_put_number(json, "lost_reports", count);
}

void json_kill_place_write(struct json_writer *json, const struct oom_kill *kill)
{
	bool limited = kill->limit_bytes != UINT64_MAX;
	_cleanup_free_ char *group = limited ? oom_kill_limit_group(kill) : NULL;

	json_put_string(json, "cgroup", kill->cgroup);
	json_container_write(json, kill->container);
	if (limited)
		json_put_number(json, "limit_bytes", kill->limit_bytes);
	else
		json_put_null(json, "limit_bytes");
	json_put_string(json, "limit_cgroup", group);
}

void json_kills_write(struct json_writer *json, const struct oom_kills *kills)
{
	if (!kills || !kills->list.count)
		return;
	json_open(json, "oom_kills", '[');
	for (size_t i = 0; i < kills->list.count; i++) {
		const struct oom_kill *kill = &kills->list.items[i];

		json_open(json, NULL, '{');
		json_put_number(json, "pid", (uint64_t)kill->pid);
		json_kill_place_write(json, kill);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void fleet_site_write(struct json_writer *json, const struct fleet_site *site)
{
	json_open(json, NULL, '{');
	json_id_write(json, "id", site->site->id);
	json_put_string(json, "family", family_name(site->site->site->family));
	json_put_string(json, "kind", kind_name(site->site->site->kind));
	json_put_number(json, "hosts", site->hosts);
	json_put_number(json, "growing_hosts", site->growing_hosts);
	json_put_number(json, "bytes", site->bytes);
	json_put_number(json, "count", site->count);
	json_put_real(json, "bytes_per_s", site->bytes_per_s);
	if (site->is_new)
		json_put_bool(json, "new", true);
	json_frames_write(json, site->site);
	json_close(json, '}');
}

static void build_write(struct json_writer *json, const struct fleet_build *build)
{
	const struct timespec since = {.tv_sec = (time_t)(build->since_ns / NS_PER_S),
				       .tv_nsec = (long)(build->since_ns % NS_PER_S)};

	json_open(json, NULL, '{');
	json_put_string(json, "comm", build->comm);
	json_put_string(json, "exe", build->exe);
	json_put_string(json, "build_id", build->build_id);
	json_put_number(json, "hosts", build->hosts);
	json_put_number(json, "growing_hosts", build->growing_hosts);
	json_put_number(json, "processes", build->processes);
	json_put_number(json, "bytes", build->bytes);
	json_put_number(json, "count", build->count);
	json_put_real(json, "bytes_per_s", build->bytes_per_s);
	if (build->since_ns)
		json_time_write(json, "since", &since);
	json_open(json, "sites", '[');
	for (size_t i = 0; i < MIN(build->sites.count, (size_t)FLEET_SITES_SHOWN); i++)
		fleet_site_write(json, &build->sites.items[i]);
	json_close(json, ']');
	json_put_number(json, "sites_total", build->sites.count);
	json_close(json, '}');
}

void json_fleet_write(struct json_writer *json, const struct report *report)
{
	if (!report->fleet)
		return;
	json_open(json, "hosts", '[');
	for (size_t i = 0; i < report->host_count; i++)
		json_put_string(json, NULL, report->hosts[i].name);
	json_close(json, ']');
	json_open(json, "builds", '[');
	for (size_t i = 0; i < report->fleet->builds.count; i++)
		build_write(json, &report->fleet->builds.items[i]);
	json_close(json, ']');
}

static int json_report_write(FILE *out, const void *data)
{
	const struct report *report = data;
	const struct snapshot *snapshot = report->snapshot;
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	json_time_write(&json, "time", &snapshot->time);
	json_put_number(&json, "sequence", snapshot->sequence);
	json_put_bool(&json, "sampled", snapshot->sampled);
	json_ledgers_write(&json, snapshot, NULL);
	json_kills_write(&json, report->oom);
	json_stored_diagnoses_write(&json, report->diagnoses);
	json_lost_reports_write(&json, report->lost_reports);
	json_fleet_write(&json, report);
	json_open(&json, "processes", '[');
	for (size_t i = 0; i < report->processes.count; i++)
		process_write(&json, report, &report->processes.items[i]);
	json_close(&json, ']');
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}

const struct output_format output_json = {
	.name = "json",
	.write = {[OUTPUT_REPORT] = json_report_write,
		  [OUTPUT_DIFF] = json_diff_write,
		  [OUTPUT_TRIAGE] = json_triage_write,
		  [OUTPUT_RETAIN] = json_retain_write,
		  [OUTPUT_RETAIN_DIFF] = json_retain_diff_write,
		  [OUTPUT_THREADS] = json_threads_write,
		  [OUTPUT_PROFILE] = json_profile_write,
		  [OUTPUT_PROFILE_DIFF] = json_profile_diff_write,
		  [OUTPUT_MEMORY] = json_memory_write,
		  [OUTPUT_DIAGNOSIS] = json_diagnosis_write},
};
