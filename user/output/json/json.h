/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON: a writer for each kind of report, and the parts that other objects have, too; those write
 * members. The contract of writers is in output.h. */
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
/* "diagnoses" of a recording; nothing without any. */
void json_stored_diagnoses_write(struct json_writer *json,
				 const struct stored_diagnoses *diagnoses);

struct leak_event;
/* The events of --webhook: user/schema/event.schema.json. */
int json_event_write(FILE *out, const struct leak_event *event);

/* All of these reports but the schema's number, as members: pages have them, too. */
void json_threads_members(struct json_writer *json, const void *report);
void json_triage_members(struct json_writer *json, const void *report);
void json_profile_members(struct json_writer *json, const void *report);
void json_diagnosis_members(struct json_writer *json, const void *report);

/* The figures of a struct that JSON has, as members; one of them. */
void json_figures_write(struct json_writer *json, const struct figures *figures, const void *row);
/* Whether those that are conditional are known: else they are null. */
void json_figures_write_if(struct json_writer *json, const struct figures *figures, const void *row,
			   bool known);
void json_figure_write(struct json_writer *json, const struct figure *figure, const void *row,
		       bool known);

/* As a member of its runtime's name. */
void json_runtime_write(struct json_writer *json, const struct runtime_figures *figures);

struct task_group;
/* A group of goroutines, as an object: user/schema/threads.schema.json. */
void json_goroutine_group_write(struct json_writer *json, const char *key,
				const struct task_group *group);

/* As 16 hex digits. */
void json_id_write(struct json_writer *json, const char *key, uint64_t id);

/* "address". Readers refuse numbers from 2^63 on: one in the kernel loses its highest bit. */
void json_address_write(struct json_writer *json, uint64_t address);

/* UTC, to the millisecond. */
void json_time_write(struct json_writer *json, const char *key, const struct timespec *time);

/* "container":{"id","namespace","pod","name"}, or null outside any; unknown names are null, as are
 * those that are only claimed: then there are "proven":false and "claims", too. */
void json_container_write(struct json_writer *json, const struct container *container);

/* "lost_reports"; nothing if all were written. */
void json_lost_reports_write(struct json_writer *json, uint64_t count);
/* For one, where it was: its control group, its container, and the limit there. */
void json_kill_place_write(struct json_writer *json, const struct oom_kill *kill);
/* "oom_kills", if the report is made for any; NULL: nothing. */
void json_kills_write(struct json_writer *json, const struct oom_kills *kills);

/* "pid", "comm", "exe", "host" (of a fleet), "container", "exact", "exited". */
void json_process_write(struct json_writer *json, const struct snapshot_process *process);
/* "managed": memory that malloc knows nothing of; nothing without a runtime. */
void json_managed_share_write(struct json_writer *json, pid_t pid,
			      const struct managed_share *share);

/* "ledger" and those of other families, "mappings"; of a process, unless it is NULL: of these what
 * is known by process. */
void json_ledgers_write(struct json_writer *json, const struct snapshot *snapshot,
			const struct snapshot_process *process);

/* An object, in an array. */
void json_site_write(struct json_writer *json, const struct report *report,
		     const struct report_site *ranked);

/* "frames" of a site, and of a stack that has been named otherwise. */
void json_frames_write(struct json_writer *json, const struct report_site *site);
void json_stack_write(struct json_writer *json, const uint64_t *addresses, size_t depth,
		      const struct frames *frames);

/* "threads": null is not known, which is not zero. */
void json_process_threads_write(struct json_writer *json, const struct snapshot *snapshot,
				const struct report_process *ranked);

/* For a fleet: "hosts" (names) and "builds"; for anything else nothing. */
void json_fleet_write(struct json_writer *json, const struct report *report);

/* A trend as an object; that of a site as the member "trend", nothing without a history. */
void json_trend_fields(struct json_writer *json, const char *key, const struct site_trend *trend);
void json_trend_write(struct json_writer *json, const struct report *report,
		      const struct report_site *site);

/* {"before", "after", "difference"}; "dead_threads" of a difference. */
void json_amounts_write(struct json_writer *json, const char *key, uint64_t before, uint64_t after);
void json_diff_dead_write(struct json_writer *json, const struct diff *diff);

/* For one that a triage suspects: its "profile". */
void json_profile_suspect_write(struct json_writer *json,
				const struct profile_report_process *process);

/* The whole of it, as a member of an array or a document of its own. */
void json_retain_object(struct json_writer *json, const struct retain_report *report);
/* "root" and the first `steps` of "steps". */
void json_retain_way(struct json_writer *json, const struct retain_result *result,
		     const struct retained_path *path, size_t steps);

/* "memory": where memory was, as an object. NULL: nothing. */
void json_split_write(struct json_writer *json, const struct memory_series *series);
/* "memory" of a page: "times" and "parts", each with as many values; then as in JSON. */
void html_split_write(struct json_writer *json, const struct memory_series *series);
/* "memory" of a difference: an array. */
void json_split_changes_write(struct json_writer *json, const struct memory_changes *changes);

#endif
