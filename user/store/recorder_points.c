// SPDX-License-Identifier: GPL-2.0-or-later
/* The numbers of one snapshot: only what changed, unless it is a full one. */
#include <errno.h>

#include "base/cleanup.h"
#include "store/recorder_state.h"
#include "symbol/intern.h"

#define NS_PER_MS UINT64_C(1000000)

static bool same_numbers(const struct site *a, const struct site *b)
{
	return a->bytes == b->bytes && a->count == b->count &&
	       a->allocated_bytes == b->allocated_bytes &&
	       a->allocated_count == b->allocated_count && a->freed_bytes == b->freed_bytes &&
	       a->freed_count == b->freed_count;
}

static int point_write(struct recorder *recorder, int64_t row, const struct site *site,
		       bool has_ages)
{
	const struct site *s = site;

	recorder->rows++;
	return database_do(recorder->statements[PUT_POINT], has_ages ? "iiiiiiiii" : "iiiiiiiin",
			   recorder->sequence, row, (int64_t)s->bytes, (int64_t)s->count,
			   (int64_t)s->allocated_bytes, (int64_t)s->allocated_count,
			   (int64_t)s->freed_bytes, (int64_t)s->freed_count,
			   (int64_t)(s->oldest_ns / NS_PER_MS));
}

static int ages_write(struct recorder *recorder, int64_t row, const uint64_t ages[SITE_AGES_MAX_])
{
	_Static_assert(SITE_AGES_MAX_ == 7, "a column for every age");
	return database_do(recorder->statements[PUT_AGES], "iiiiiiiii", recorder->sequence, row,
			   (int64_t)ages[0], (int64_t)ages[1], (int64_t)ages[2], (int64_t)ages[3],
			   (int64_t)ages[4], (int64_t)ages[5], (int64_t)ages[6]);
}

/* Most sites have none: no row, no cost. */
static int by_dead_write(struct recorder *recorder, int64_t row, const struct site *before,
			 const struct site *site)
{
	bool same = before->by_dead_bytes == site->by_dead_bytes &&
		    before->by_dead_count == site->by_dead_count;

	/* In a full snapshot, what has no row is not there. */
	if (recorder->full ? !site->by_dead_count : same)
		return 0;
	return database_do(recorder->statements[PUT_BY_DEAD], "iiii", recorder->sequence, row,
			   (int64_t)site->by_dead_bytes, (int64_t)site->by_dead_count);
}

static int site_write(struct recorder *recorder, int64_t process,
		      const struct snapshot_process *owner, const struct report_site *site,
		      bool has_ages)
{
	struct recorded_site *recorded;
	int error = recorder_put_site(recorder, process, owner, site, &recorded);

	if (error)
		return error;
	if (recorder->full || !same_numbers(&recorded->last, site->site))
		error = point_write(recorder, recorded->row, site->site, has_ages);
	if (!error && recorder->ages && has_ages)
		error = ages_write(recorder, recorded->row, site->site->ages);
	if (!error)
		error = by_dead_write(recorder, recorded->row, &recorded->last, site->site);
	recorded->last = *site->site;
	recorded->last.addresses = NULL;
	recorded->seen = recorder->appends;
	return error;
}

/* A site that the snapshot does not mention holds nothing any more. */
static int gone_sites_write(struct recorder *recorder)
{
	int error = 0;

	for (size_t i = 0; i < recorder->sites.count && !error; i++) {
		struct recorded_site *site = &recorder->sites.items[i];
		struct site before = site->last;

		if (site->seen == recorder->appends)
			continue;
		if (!site->last.count && !site->last.bytes)
			continue;
		site->last.bytes = site->last.count = site->last.oldest_ns = 0;
		site->last.by_dead_bytes = site->last.by_dead_count = 0;
		site->last.freed_bytes = site->last.allocated_bytes;
		site->last.freed_count = site->last.allocated_count;
		/* In a full snapshot, what has no row is not there. */
		if (!recorder->full)
			error = point_write(recorder, site->row, &site->last, false);
		if (!error)
			error = by_dead_write(recorder, site->row, &before, &site->last);
	}
	return error;
}

static int losses_write(struct recorder *recorder, int64_t process, const struct ledger *ledger)
{
	int error = 0;

	for (size_t kind = 0; kind < LOSS_KINDS; kind++) {
		const struct loss_kind *row = &loss_kinds[kind];
		const uint64_t *counts = (const void *)((const char *)ledger + row->offset);

		for (unsigned i = 0; i < row->max && !error; i++) {
			if (counts[i])
				error = database_do(recorder->statements[PUT_LOSS], "iitti",
						    recorder->sequence, process, row->name,
						    row->cause(i), (int64_t)counts[i]);
		}
	}
	return error;
}

struct ledger_row {
	int64_t process, state, exact, bytes, count;
	const struct ledger *ledger;
};

static int ledger_write(struct recorder *recorder, const struct ledger_row *row)
{
	sqlite3_stmt *statement = recorder->statements[PUT_LEDGER];
	int error = database_bind(statement, "iiiiii", recorder->sequence, row->process, row->state,
				  row->exact, row->bytes, row->count);

	for (int i = 0; i < LEDGER_COLUMNS && !error; i++) {
		const uint64_t *value =
			(const void *)((const char *)row->ledger + ledger_columns[i]);

		error = database_errno(sqlite3_bind_int64(statement, 7 + i, (int64_t)*value));
	}
	if (!error)
		error = database_next(statement);
	return error ? error : losses_write(recorder, row->process, row->ledger);
}

static uint64_t ledger_hash(const struct ledger_row *row)
{
	const uint64_t *words = (const void *)row->ledger;
	uint64_t hash = hash_mix((uint64_t)(row->state * 2 + row->exact + 1));

	hash = hash_mix(hash_mix(hash ^ (uint64_t)row->bytes) ^ (uint64_t)row->count);
	for (size_t i = 0; i < sizeof(*row->ledger) / sizeof(*words); i++)
		hash = hash_mix(hash ^ words[i]);
	return hash | 1;
}

static int process_write(struct recorder *recorder, const struct report_process *process,
			 const struct snapshot *snapshot)
{
	const struct snapshot_process *seen = process->process;
	struct ledger_row row = {.state = seen->exited ? PROCESS_EXITED : PROCESS_ALIVE,
				 .exact = seen->exact,
				 .bytes = (int64_t)seen->outstanding_bytes,
				 .count = (int64_t)seen->outstanding_count,
				 .ledger = &seen->ledger};
	uint64_t numbers = ledger_hash(&row);
	int error = recorder_put_process(recorder, seen, &row.process);

	if (error)
		return error;
	recorder->processes.items[row.process - 1].seen = recorder->appends;
	if (recorder->full || recorder->processes.items[row.process - 1].numbers != numbers)
		error = ledger_write(recorder, &row);
	recorder->processes.items[row.process - 1].numbers = numbers;
	for (size_t i = 0; i < process->sites.count && !error; i++)
		error = site_write(recorder, row.process, seen, &process->sites.items[i],
				   snapshot->has_ages);
	return error ? error : recorder_put_threads(recorder, row.process, process, snapshot);
}

static int gone_processes_write(struct recorder *recorder)
{
	static const struct ledger nothing;
	int error = 0;

	for (size_t i = 0; i < recorder->processes.count && !error; i++) {
		struct recorded_process *process = &recorder->processes.items[i];

		if (process->gone || process->seen == recorder->appends)
			continue;
		process->gone = true;
		process->numbers = process->threads = process->mapping = 0;
		if (!recorder->full)
			error = ledger_write(recorder,
					     &(struct ledger_row){.process = (int64_t)i + 1,
								  .state = PROCESS_GONE,
								  .ledger = &nothing});
	}
	return error;
}

int recorder_put_numbers(struct recorder *recorder, const struct report *report)
{
	const struct snapshot *snapshot = report->snapshot;
	struct ledger_row total = {.ledger = &snapshot->ledger};
	int error = 0;

	for (size_t i = 0; i < report->processes.count && !error; i++) {
		const struct report_process *process = &report->processes.items[i];

		total.bytes += (int64_t)process->process->outstanding_bytes;
		total.count += (int64_t)process->process->outstanding_count;
		error = process_write(recorder, process, snapshot);
	}
	if (!error)
		error = gone_processes_write(recorder);
	if (!error)
		error = gone_sites_write(recorder);
	if (!error)
		error = recorder_end_threads(recorder, snapshot);
	return error ? error : ledger_write(recorder, &total);
}
