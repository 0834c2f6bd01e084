/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where memory was, as part of reports and differences of recordings, and of pages. */
#ifndef LEAKMON_OUTPUT_SPLIT_WRITERS_H
#define LEAKMON_OUTPUT_SPLIT_WRITERS_H

#include "report/diff.h"
#include "report/memory_split.h"
#include "output/json/json_writer.h"

/* Two lines: the latest split, and what grew since the first one. NULL: none. */
void text_split_write(FILE *out, const struct memory_series *series);
/* "memory": the same as an object. NULL: nothing. */
void json_split_write(struct json_writer *json, const struct memory_series *series);
/* "memory" of a page: "times" and "parts", each with as many values; then as in JSON. */
void html_split_write(struct json_writer *json, const struct memory_series *series);
/* "conclusion"; NULL: null. */
void json_conclusion_write(struct json_writer *json, const struct memory_conclusion *conclusion);

void text_split_changes_write(FILE *out, const struct memory_changes *changes, size_t top);
/* "memory": an array. */
void json_split_changes_write(struct json_writer *json, const struct memory_changes *changes);

#endif
