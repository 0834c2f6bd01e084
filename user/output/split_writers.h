/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where memory was, as part of reports and differences of recordings, and of pages. */
#ifndef LEAKMON_OUTPUT_SPLIT_WRITERS_H
#define LEAKMON_OUTPUT_SPLIT_WRITERS_H

#include "report/diff.h"
#include "memory/memory_split.h"
#include "output/json/json_writer.h"

/* Of a process of a report; NULL: that was not recorded. */
const struct memory_series *split_series_of(const struct report *report,
					    const struct snapshot_process *process);

/* Two lines: the latest split, and what grew since the first one. NULL: none. */
void text_split_write(FILE *out, const struct memory_series *series);
/* "memory": the same as an object. NULL: nothing. */
void json_split_write(struct json_writer *json, const struct memory_series *series);
/* "memory" of a page: "times" and "parts", each with as many values; then as in JSON. */
void html_split_write(struct json_writer *json, const struct memory_series *series);
/* "conclusion"; NULL: null. */
void json_conclusion_write(struct json_writer *json, const struct memory_conclusion *conclusion);

/*
 * What grew between the two sides: process by process within a run, else by name. Empty if neither
 * recording has it. 0 or -ENOMEM; to be freed in any case.
 */
int split_changes_of(const struct diff *diff, struct memory_changes *changes);
void text_split_changes_write(FILE *out, const struct memory_changes *changes, size_t top);
/* "memory": an array. */
void json_split_changes_write(struct json_writer *json, const struct memory_changes *changes);

#endif
