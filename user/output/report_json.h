/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the JSON format, of which other objects use some. Each writes members. */
#ifndef LEAKMON_OUTPUT_REPORT_JSON_H
#define LEAKMON_OUTPUT_REPORT_JSON_H

#include "report/diff.h"
#include "report/report.h"
#include "analyze/site_trend.h"
#include "output/json_writer.h"
#include "proc/container.h"

/* UTC, to the millisecond. */
void output_json_time(struct json_writer *json, const char *key, const struct timespec *time);

/* "container":{"id","namespace","pod","name"}, or null outside any; unknown names are null, as are
 * those that are only claimed: then there are "proven":false and "claims", too. */
void output_json_container_write(struct json_writer *json, const struct container *container);

/* "lost_reports"; nothing if all were written. */
void output_json_lost_reports_write(struct json_writer *json, uint64_t count);
/* Of one, where it was: its control group, its container, and the limit there. */
void output_json_kill_place_write(struct json_writer *json, const struct oom_kill *kill);
/* "oom_kills", if the report is made for any; NULL: nothing. */
void output_json_kills_write(struct json_writer *json, const struct oom_kills *kills);

/* "pid", "comm", "exe", "host" (of a fleet), "container", "exact", "exited". */
void output_json_process_write(struct json_writer *json, const struct snapshot_process *process);

/* "ledger" and those of other families, "mappings"; of a process, unless it is NULL: of these what
 * is known by process. */
void output_json_ledgers_write(struct json_writer *json, const struct snapshot *snapshot,
			       const struct snapshot_process *process);

/* An object, in an array. */
void output_json_site_write(struct json_writer *json, const struct report *report,
			    const struct report_site *ranked);

/* "frames" of a site, and of a stack that has been named otherwise. */
void output_json_frames_write(struct json_writer *json, const struct report_site *site);
void output_json_stack_write(struct json_writer *json, const uint64_t *addresses, size_t depth,
			     const struct frames *frames);

/* "threads": null is not known, which is not zero. */
void output_json_threads_write(struct json_writer *json, const struct snapshot *snapshot,
			       const struct report_process *ranked);

/* Of a fleet: "hosts" (names) and "builds"; of anything else nothing. */
void output_json_fleet_write(struct json_writer *json, const struct report *report);

/* A trend as an object; that of a site as the member "trend", nothing without a history. */
void output_json_trend_fields(struct json_writer *json, const char *key,
			      const struct site_trend *trend);
void output_json_trend_write(struct json_writer *json, const struct report *report,
			     const struct report_site *site);

/* {"before", "after", "difference"}; "dead_threads" of a difference. */
void output_json_amounts_write(struct json_writer *json, const char *key, uint64_t before,
			       uint64_t after);
void output_json_diff_dead_write(struct json_writer *json, const struct diff *diff);

#endif
