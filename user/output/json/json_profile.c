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
		json_open(json, NULL, '{');
		json_figures_write(json, &survival_figures, &judgement->survival[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void site_write(struct json_writer *json, const struct profile_report_site *site)
{
	json_open(json, NULL, '{');
	json_figures_write(json, &profile_site_figures, site);
	survival_write(json, &site->judgement);
	json_figures_write(json, &profile_site_verdict_figures, site);
	json_stack_write(json, NULL, 0, &site->frames);
	json_close(json, '}');
}

static void process_write(struct json_writer *json, const char *key,
			  const struct profile_report_process *process)
{
	json_open(json, key, '{');
	json_figures_write(json, &profile_process_figures, process);
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

void json_profile_members(struct json_writer *json, const void *data)
{
	const struct profile_report *report = data;

	json_put_bool(json, "profile", true);
	json_figures_write(json, &profile_report_figures, report);
	json_kills_write(json, report->oom);
	json_stored_diagnoses_write(json, report->diagnoses);
	json_lost_reports_write(json, report->lost_reports);
	json_open(json, "processes", '[');
	for (size_t i = 0; i < report->processes.count; i++)
		process_write(json, NULL, &report->processes.items[i]);
	json_close(json, ']');
}

int json_profile_write(FILE *out, const void *data)
{
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	json_profile_members(&json, data);
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

	json_open(json, NULL, '{');
	json_id_write(json, "id", site->id);
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
