// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/profile_report.h"
#include "output/json/json.h"
#include "output/json/json_writer.h"
#include "output/output.h"
#include "report/profile_diff.h"

static void survival_write(struct json_writer *json, const struct site_judgement *judgement)
{
	json_open(json, "survival", '[');
	for (size_t i = 0; i < judgement->points; i++) {
		const struct survival_point *point = &judgement->survival[i];

		json_open(json, NULL, '{');
		json_put_real(json, "age_s", point->age_s);
		json_put_real(json, "share", point->untouched.estimate);
		json_put_real(json, "low", point->untouched.low);
		json_put_real(json, "high", point->untouched.high);
		json_put_real(json, "not_known_dead", point->undead.estimate);
		json_put_real(json, "samples", point->samples);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void site_write(struct json_writer *json, const struct profile_report_site *site)
{
	const struct site_judgement *judgement = &site->judgement;
	char id[17];

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)site->id);
	json_open(json, NULL, '{');
	json_put_string(json, "id", id);
	json_put_real(json, "growth_bytes_per_s", judgement->growth_bytes_per_s.estimate);
	json_put_real(json, "low", judgement->growth_bytes_per_s.low);
	json_put_real(json, "high", judgement->growth_bytes_per_s.high);
	json_put_real(json, "most", judgement->most_bytes_per_s);
	json_put_real(json, "growth_blocks_per_s", judgement->growth_blocks_per_s.estimate);
	json_put_real(json, "births_per_s", judgement->births_per_s.estimate);
	json_put_real(json, "births_low", judgement->births_per_s.low);
	json_put_real(json, "births_high", judgement->births_per_s.high);
	json_put_real(json, "birth_bytes_per_s", judgement->birth_bytes_per_s);
	survival_write(json, judgement);
	json_put_string(json, "verdict", profile_verdict_name(judgement->verdict));
	json_put_string(json, "why", judgement->why);
	if (judgement->verdict == PROFILE_TOO_EARLY && judgement->ready_s >= 0)
		json_put_real(json, "ready_s", judgement->ready_s);
	else
		json_put_null(json, "ready_s");
	json_put_string(json, "end", walk_end_name(site->end));
	json_stack_write(json, NULL, 0, &site->frames);
	json_close(json, '}');
}

static void memory_write(struct json_writer *json, const struct profile_report_process *process)
{
	if (process->memory_bytes >= 0)
		json_put_real(json, "memory_bytes", process->memory_bytes);
	else
		json_put_null(json, "memory_bytes");
	if (process->has_memory_growth)
		json_put_real(json, "memory_growth_bytes_per_s", process->memory_growth_per_s);
	else
		json_put_null(json, "memory_growth_bytes_per_s");
	if (process->explained >= 0)
		json_put_real(json, "explained", process->explained);
	else
		json_put_null(json, "explained");
}

static void chosen_write(struct json_writer *json, const struct profile_report_process *process)
{
	if (process->chosen_confidence <= 0 && !process->chosen_near) {
		json_put_null(json, "chosen");
		return;
	}
	json_open(json, "chosen", '{');
	json_put_real(json, "heap_bytes_per_s", process->chosen_per_s);
	json_put_real(json, "confidence", process->chosen_confidence);
	json_put_bool(json, "near_limit", process->chosen_near);
	json_close(json, '}');
}

static void process_write(struct json_writer *json, const char *key,
			  const struct profile_report_process *process)
{
	const struct interval *net = &process->judgement.net_blocks_per_s;

	json_open(json, key, '{');
	json_put_number(json, "pid", process->pid);
	json_put_string(json, "comm", process->comm);
	json_put_string(json, "exe", process->exe);
	json_put_bool(json, "exited", process->exited);
	json_put_bool(json, "oom_killed", process->oom_killed);
	json_put_real(json, "spent", process->spent);
	json_put_number(json, "windows", process->judgement.windows);
	json_put_real(json, "tracked_s", process->judgement.tracked_s);
	json_put_number(json, "samples", process->samples);
	json_put_number(json, "dropped", process->dropped);
	json_put_number(json, "unfollowed", process->unfollowed);
	json_put_number(json, "missed_windows", process->missed);
	json_put_string(json, "missed_why", profile_missed_why(process));
	chosen_write(json, process);
	json_open(json, "net_growth", '{');
	json_put_real(json, "blocks_per_s", net->estimate);
	json_put_real(json, "low", net->low);
	json_put_real(json, "high", net->high);
	json_close(json, '}');
	memory_write(json, process);
	json_put_number(json, "sites_total", process->sites_total);
	json_open(json, "sites", '[');
	for (size_t i = 0; i < process->sites.count; i++)
		site_write(json, &process->sites.items[i]);
	json_close(json, ']');
	json_close(json, '}');
}

void json_profile_suspect_write(struct json_writer *json,
				const struct profile_report_process *process)
{
	process_write(json, "profile", process);
}

int json_profile_write(FILE *out, const void *data)
{
	const struct profile_report *report = data;
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	json_put_bool(&json, "profile", true);
	json_time_write(&json, "time", &report->time);
	json_put_number(&json, "sequence", report->sequence);
	json_open(&json, "overhead", '{');
	json_put_real(&json, "limit", report->limit);
	json_put_real(&json, "spent", report->spent);
	json_put_real(&json, "trap_ns", report->trap_ns);
	json_put_bool(&json, "measured", report->measured);
	json_close(&json, '}');
	json_open(&json, "monitor", '{');
	json_put_real(&json, "cpu_s", report->cpu_s);
	json_put_number(&json, "resident_bytes", report->rss_bytes);
	json_put_bool(&json, "held_back", report->held_back);
	json_close(&json, '}');
	json_put_number(&json, "windows", report->windows);
	json_put_real(&json, "tracked_s", report->tracked_s);
	json_put_number(&json, "samples", report->samples);
	if (report->choosing)
		json_put_number(&json, "watched", report->watched);
	else
		json_put_null(&json, "watched");
	json_kills_write(&json, report->oom);
	json_lost_reports_write(&json, report->lost_reports);
	json_open(&json, "processes", '[');
	for (size_t i = 0; i < report->processes.count; i++)
		process_write(&json, NULL, &report->processes.items[i]);
	json_close(&json, ']');
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}

static void side_write(struct json_writer *json, const char *key, const char *name,
		       const struct profile_report *report)
{
	json_open(json, key, '{');
	json_put_string(json, "file", name);
	json_time_write(json, "time", &report->time);
	json_put_number(json, "windows", report->windows);
	json_put_real(json, "tracked_s", report->tracked_s);
	json_close(json, '}');
}

static void growth_write(struct json_writer *json, const char *key,
			 const struct profile_report_site *site)
{
	if (!site) {
		json_put_null(json, key);
		return;
	}
	json_open(json, key, '{');
	json_put_real(json, "growth_bytes_per_s", site->judgement.growth_bytes_per_s.estimate);
	json_put_real(json, "low", site->judgement.growth_bytes_per_s.low);
	json_put_real(json, "high", site->judgement.growth_bytes_per_s.high);
	json_put_string(json, "verdict", profile_verdict_name(site->judgement.verdict));
	json_close(json, '}');
}

static void change_write(struct json_writer *json, const struct profile_change *change)
{
	const struct profile_report_process *process = profile_change_process(change);
	const struct profile_report_site *site = profile_change_site(change);
	char id[17];

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)site->id);
	json_open(json, NULL, '{');
	json_put_string(json, "id", id);
	json_put_number(json, "pid", process->pid);
	json_put_string(json, "comm", process->comm);
	json_put_real(json, "change_bytes_per_s", change->bytes_per_s);
	json_put_bool(json, "sure", change->sure);
	growth_write(json, "before", change->before);
	growth_write(json, "after", change->after);
	json_stack_write(json, NULL, 0, &site->frames);
	json_close(json, '}');
}

int json_profile_diff_write(FILE *out, const void *data)
{
	const struct profile_diff *diff = data;
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	json_put_bool(&json, "profile_diff", true);
	side_write(&json, "before", diff->before_name, diff->before);
	side_write(&json, "after", diff->after_name, diff->after);
	json_open(&json, "changes", '[');
	for (size_t i = 0; i < diff->changes.count && (!diff->top || i < diff->top); i++)
		change_write(&json, &diff->changes.items[i]);
	json_close(&json, ']');
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}
