/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON: a writer for each kind of report, and parts shared with other objects, which write members.
 * The contract of writers is in output.h.
 */
#ifndef LEAKMON_OUTPUT_JSON_JSON_H
#define LEAKMON_OUTPUT_JSON_JSON_H

#include "output/json/json_writer.h"
#include "process/proc/container.h"
#include "report/diff.h"
#include "report/figures.h"
#include "report/profile_report.h"
#include "report/report.h"
#include "report/retain_diff.h"
#include "report/runtime_figures.h"
#include "report/triage_report.h"
#include "report/trend.h"
#include "report/memory_split.h"

int json_diff_write(FILE *out, const void *data);
int json_triage_write(FILE *out, const void *data);
int json_retain_write(FILE *out, const void *data);
int json_retain_diff_write(FILE *out, const void *data);
int json_threads_write(FILE *out, const void *data);
int json_profile_write(FILE *out, const void *data);
int json_profile_diff_write(FILE *out, const void *data);
int json_memory_write(FILE *out, const void *data);
int json_diagnosis_write(FILE *out, const void *data);

struct stored_diagnoses;
/* Writes "diagnoses" of a recording, if any. */
void json_stored_diagnoses_write(struct json_writer *json,
				 const struct stored_diagnoses *diagnoses);

struct leak_event;
/* Writes an event of --webhook: user/schema/event.schema.json. */
int json_event_write(FILE *out, const struct leak_event *event);

/* Write the members of these reports without the schema's number; pages use them, too. */
void json_threads_members(struct json_writer *json, const void *report);
void json_triage_members(struct json_writer *json, const void *report);
void json_profile_members(struct json_writer *json, const void *report);
void json_diagnosis_members(struct json_writer *json, const void *report);

/* Write the figures of a struct that JSON shows, as members; or one of them. */
void json_figures_write(struct json_writer *json, const struct figures *figures, const void *row);
/* `known`: whether conditional figures are known; if not, they are null. */
void json_figures_write_if(struct json_writer *json, const struct figures *figures, const void *row,
			   bool known);
void json_figure_write(struct json_writer *json, const struct figure *figure, const void *row,
		       bool known);

/* Writes a member named after the runtime. */
void json_runtime_write(struct json_writer *json, const struct runtime_figures *figures);

struct task_group;
/* Writes a group of goroutines as an object: user/schema/threads.schema.json. */
void json_goroutine_group_write(struct json_writer *json, const char *key,
				const struct task_group *group);

/* Writes an id as 16 hex digits. */
void json_id_write(struct json_writer *json, const char *key, uint64_t id);

/*
 * Writes "address". Readers reject numbers from 2^63 on, so a kernel address loses its highest bit.
 */
void json_address_write(struct json_writer *json, uint64_t address);

/* Writes a time in UTC, to the millisecond. */
void json_time_write(struct json_writer *json, const char *key, const struct timespec *time);

/*
 * Writes "container":{"id","namespace","pod","name"}, or null outside of any. Unknown names are
 * null, as are unproven ones, which add "proven":false and "claims".
 */
void json_container_write(struct json_writer *json, const struct container *container);

/* Writes "lost_reports" if the count is not zero. */
void json_lost_reports_write(struct json_writer *json, uint64_t count);
/* Writes the place of a kill: its control group, its container, and the limit there. */
void json_kill_place_write(struct json_writer *json, const struct oom_kill *kill);
/* Writes "oom_kills" if there are any; NULL: none. */
void json_kills_write(struct json_writer *json, const struct oom_kills *kills);

/* Writes "pid", "comm", "exe", "host" (of a fleet), "container", "exact", "exited". */
void json_process_write(struct json_writer *json, const struct snapshot_process *process);
/* Writes "managed", memory outside malloc; nothing without a runtime. */
void json_managed_share_write(struct json_writer *json, pid_t pid,
			      const struct managed_share *share);

/*
 * Writes "ledger", the ledgers of other families, and "mappings". `process`: only the figures known
 * by process, of this one; NULL: all.
 */
void json_ledgers_write(struct json_writer *json, const struct snapshot *snapshot,
			const struct snapshot_process *process);

/* Writes an object in an array. */
void json_site_write(struct json_writer *json, const struct report *report,
		     const struct report_site *ranked);

/* Write "frames" of a site, and of a stack named by other means. */
void json_frames_write(struct json_writer *json, const struct report_site *site);
void json_stack_write(struct json_writer *json, const uint64_t *addresses, size_t depth,
		      const struct frames *frames);

/* Writes "threads": null means unknown, unlike zero. */
void json_process_threads_write(struct json_writer *json, const struct snapshot *snapshot,
				const struct report_process *ranked);

/* For a fleet, writes "hosts" (names) and "builds"; otherwise nothing. */
void json_fleet_write(struct json_writer *json, const struct report *report);

/*
 * Write a trend as an object; and the trend of a site as the member "trend", nothing without a
 * history.
 */
void json_trend_fields(struct json_writer *json, const char *key, const struct site_trend *trend);
void json_trend_write(struct json_writer *json, const struct report *report,
		      const struct report_site *site);

/* Write {"before", "after", "difference"}; and "dead_threads" of a difference. */
void json_amounts_write(struct json_writer *json, const char *key, uint64_t before, uint64_t after);
void json_diff_dead_write(struct json_writer *json, const struct diff *diff);

/* Writes "profile" of a process suspected by a triage. */
void json_profile_suspect_write(struct json_writer *json,
				const struct profile_report_process *process);

/* Writes the whole report, as an element of an array or a separate document. */
void json_retain_object(struct json_writer *json, const struct retain_report *report);
/* Writes "root" and the first `steps` of "steps". */
void json_retain_way(struct json_writer *json, const struct retain_result *result,
		     const struct retained_path *path, size_t steps);

/* Writes "memory", the breakdown, as an object. NULL: nothing. */
void json_split_write(struct json_writer *json, const struct memory_series *series);
/* Writes "memory" of a page: "times" and "parts", of equal length; then the members as in JSON. */
void html_split_write(struct json_writer *json, const struct memory_series *series);
/* Writes "memory" of a difference as an array. */
void json_split_changes_write(struct json_writer *json, const struct memory_changes *changes);

#endif
