/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the JSON format, of which other objects use some. Each writes members. */
#ifndef LEAKMON_OUTPUT_JSON_PARTS_H
#define LEAKMON_OUTPUT_JSON_PARTS_H

#include "analyze/diff.h"
#include "analyze/report.h"
#include "output/json_writer.h"

/* UTC, to the millisecond. */
void output_json_time(struct json_writer *json, const char *key, const struct timespec *time);

/* "pid", "comm", "exe", "container", "exact", "exited". */
void output_json_process_write(struct json_writer *json, const struct snapshot_process *process);

/* "ledger"; "mappings". */
void output_json_ledger_write(struct json_writer *json, const struct snapshot *snapshot);
void output_json_mapping_write(struct json_writer *json, const struct mapping_ledger *ledger);

/* An object, in an array. */
void output_json_site_write(struct json_writer *json, const struct report *report,
			    const struct report_site *ranked);

/* "frames" of a site, and of a stack that has been named otherwise. */
void output_json_frames_write(struct json_writer *json, const struct report_site *site);
void output_json_named_write(struct json_writer *json, const struct frames *frames);

/* "threads": null is not known, which is not zero. */
void output_json_threads_write(struct json_writer *json, const struct report_process *ranked);

/* {"before", "after", "difference"}; "dead_threads" of a difference. */
void output_json_amounts_write(struct json_writer *json, const char *key, uint64_t before,
			       uint64_t after);
void output_json_diff_dead_write(struct json_writer *json, const struct diff *diff);

#endif
