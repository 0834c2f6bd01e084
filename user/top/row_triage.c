// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of a triage: processes, or containers and cgroups. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "output/triage_format.h"
#include "top/row.h"

static uint64_t text_hash(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = hash_mix(hash ^ (unsigned char)*text);
	return hash;
}

/* A PID may come again: the cgroup and the name tell its bearers apart, as far as anybody sees. */
static uint64_t entry_identity(const struct triage_entry *entry)
{
	uint64_t hash = hash_mix((uint64_t)entry->pid + 1);

	return text_hash(text_hash(hash, entry->container ? entry->container->id : entry->cgroup),
			 entry->comm);
}

static int put_texts(struct top_row *row, const struct triage_entry *entry)
{
	char place[TRIAGE_PLACE_SIZE];
	size_t size;
	FILE *out;

	row->name = strdup(entry->pid	      ? entry->comm
			   : entry->container ? "(container)"
					      : "(cgroup)");
	row->place = strdup(output_triage_place(place, entry));
	if (trend_is_suspect(entry->growth.verdict)) {
		out = open_memstream(&row->evidence, &size);
		if (!out)
			return -ENOMEM;
		output_triage_evidence_write(out, &entry->growth);
		fclose(out);
	}
	return row->name && row->place ? 0 : -ENOMEM;
}

_Static_assert(TOP_SPARK_POINTS >= TRIAGE_SPARK_POINTS, "room for a course");

static int entry_row(const struct triage_entry *entry, double urgency, struct top_rows *rows)
{
	struct top_row *row = vec_push(&rows->list);
	const double *now = entry->now.values;
	bool suspect = trend_is_suspect(entry->growth.verdict);

	if (!row)
		return -ENOMEM;
	for (size_t i = 0; i < TOP_FIELD_MAX_; i++)
		row->fields[i] = NAN;
	row->identity = row->process = entry_identity(entry);
	row->pid = entry->pid;
	row->kind = entry->growth.kind;
	row->verdict = entry->growth.verdict;
	row->fields[TOP_URGENCY] = urgency;
	row->fields[TOP_BYTES] = now[QUANTITY_HEAP];
	row->fields[TOP_THREADS] = now[QUANTITY_THREADS];
	row->fields[TOP_FILES] = now[QUANTITY_FILES];
	row->fields[TOP_MAPPINGS] = now[QUANTITY_MAPPING];
	row->fields[TOP_GROWTH] = suspect ? entry->growth.per_s : NAN;
	row->fields[TOP_SURE] = suspect ? entry->growth.confidence : NAN;
	row->fields[TOP_AGE] = entry->age_s;
	row->fields[TOP_PROCESSES] = (double)entry->processes;
	row->spark_count = output_triage_heights(entry, row->spark);
	return put_texts(row, entry);
}

int top_rows_of_triage(const struct triage_entries *entries, struct top_rows *rows)
{
	int error = 0;

	for (size_t i = 0; i < entries->count && !error; i++)
		error = entry_row(&entries->items[i], (double)(entries->count - i), rows);
	return error;
}
