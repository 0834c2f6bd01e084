// SPDX-License-Identifier: GPL-2.0-or-later
/* Follows the rows of a recording from snapshot to snapshot. */
#include <errno.h>

#include "base/cleanup.h"
#include "store/recording_state.h"

#define NS_PER_MS UINT64_C(1000000)

void state_clear(struct state *state)
{
	vec_free(&state->sites);
	vec_free(&state->processes);
	hash_free(&state->site_positions);
	hash_free(&state->process_positions);
	vec_free(&state->threads);
	vec_free(&state->dead);
	vec_free(&state->mappings);
	hash_free(&state->thread_positions);
	hash_free(&state->dead_positions);
	hash_free(&state->mapping_positions);
}

void state_free(struct state *state)
{
	state_clear(state);
}

static struct site_state *site_put(struct state *state, uint64_t row)
{
	bool fresh;
	uint64_t *position = hash_put(&state->site_positions, row, &fresh);
	struct site_state *site;

	if (!position)
		return NULL;
	if (!fresh)
		return &state->sites.items[*position];
	*position = state->sites.count;
	site = vec_push(&state->sites);
	if (site)
		site->numbers.index = (uint32_t)row;
	return site;
}

static void point_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
		       int *error)
{
	uint64_t row = database_unsigned(statement, 1, error), *known;
	struct site_state *site;
	struct site *numbers;

	known = hash_get(&recording->site_rows, row);
	if (*error || !known) {
		*error = -EUCLEAN;
		return;
	}
	site = site_put(state, row);
	if (!site) {
		*error = -ENOMEM;
		return;
	}
	numbers = &site->numbers;
	numbers->bytes = database_unsigned(statement, 2, error);
	numbers->count = database_unsigned(statement, 3, error);
	numbers->allocated_bytes = database_unsigned(statement, 4, error);
	numbers->allocated_count = database_unsigned(statement, 5, error);
	numbers->freed_bytes = database_unsigned(statement, 6, error);
	numbers->freed_count = database_unsigned(statement, 7, error);
	numbers->oldest_ns = 0;
	if (sqlite3_column_type(statement, 8) != SQLITE_NULL)
		numbers->oldest_ns = database_unsigned(statement, 8, error) * NS_PER_MS;
	site->monotonic_ns = database_unsigned(statement, 9, error);
}

static void ages_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
		      int *error)
{
	uint64_t row = database_unsigned(statement, 0, error);
	const uint64_t *position = hash_get(&state->site_positions, row);

	(void)recording;
	/* Of a site that has no point, nothing is shown. */
	for (int i = 0; position && i < SITE_AGES_MAX_; i++)
		state->sites.items[*position].numbers.ages[i] =
			database_unsigned(statement, 1 + i, error);
}

static void by_dead_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
			 int *error)
{
	const uint64_t *position =
		hash_get(&state->site_positions, database_unsigned(statement, 0, error));
	struct site *numbers;

	(void)recording;
	/* As with ages. */
	if (!position)
		return;
	numbers = &state->sites.items[*position].numbers;
	numbers->by_dead_bytes = database_unsigned(statement, 1, error);
	numbers->by_dead_count = database_unsigned(statement, 2, error);
}

static struct process_state_at *process_put(struct state *state, uint64_t row)
{
	bool fresh;
	uint64_t *position = hash_put(&state->process_positions, row, &fresh);
	struct process_state_at *process;

	if (!position)
		return NULL;
	if (!fresh)
		return &state->processes.items[*position];
	*position = state->processes.count;
	process = vec_push(&state->processes);
	if (process)
		process->row = row;
	return process;
}

static void ledger_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
			int *error)
{
	uint64_t row = database_unsigned(statement, 0, error);
	struct process_state_at *process;

	if (row && !hash_get(&recording->process_rows, row)) {
		*error = -EUCLEAN;
		return;
	}
	process = process_put(state, row);
	if (!process) {
		*error = -ENOMEM;
		return;
	}
	*process = (struct process_state_at){.row = row};
	process->state = (int64_t)database_unsigned(statement, 1, error);
	process->exact = database_unsigned(statement, 2, error) != 0;
	process->bytes = database_unsigned(statement, 3, error);
	process->count = database_unsigned(statement, 4, error);
	for (int i = 0; i < LEDGER_COLUMNS; i++) {
		uint64_t *field = (void *)((char *)&process->ledger + ledger_columns[i]);

		*field = database_unsigned(statement, 5 + i, error);
	}
	process->snapshot = database_unsigned(statement, 5 + LEDGER_COLUMNS, error);
}

static void doubt_read(struct process_state_at *process, const char *cause, uint64_t count)
{
	for (unsigned i = 0; i < INEXACT_MAX_; i++) {
		if (strcmp(cause, inexact_name(i)) != 0)
			continue;
		process->inexact |= 1u << i;
		if (i == INEXACT_SHARED_MEMORY)
			process->hidden_tasks = (uint32_t)MIN(count, UINT32_MAX);
	}
}

static void loss_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
		      int *error)
{
	uint64_t row = database_unsigned(statement, 0, error);
	uint64_t count = database_unsigned(statement, 3, error), *counts;
	const uint64_t *position = hash_get(&state->process_positions, row);
	const char *kind = database_text(statement, 1), *cause = database_text(statement, 2);
	uint64_t snapshot = database_unsigned(statement, 4, error);
	struct process_state_at *process;

	(void)recording;
	if (!position || !kind || !cause)
		return;
	process = &state->processes.items[*position];
	/* Of an earlier row of its ledger. */
	if (snapshot != process->snapshot)
		return;
	if (!strcmp(kind, LOSS_INEXACT))
		doubt_read(process, cause, count);
	if (!strcmp(kind, LOSS_INEXACT_PID))
		process->hidden_pid = (uint32_t)MIN(count, UINT32_MAX);
	for (size_t k = 0; k < LOSS_KINDS; k++) {
		if (strcmp(loss_kinds[k].name, kind) != 0)
			continue;
		counts = (void *)((char *)&process->ledger + loss_kinds[k].offset);
		for (unsigned i = 0; i < loss_kinds[k].max; i++) {
			if (!strcmp(loss_kinds[k].cause(i), cause))
				counts[i] = count;
		}
	}
}

static const struct {
	enum recording_statement statement;
	void (*read)(struct recording *, struct state *, sqlite3_stmt *, int *);
	const char *what;
} readers[] = {
	{GET_POINTS, point_read, "the numbers of its sites"},
	{GET_AGES, ages_read, "the ages of its blocks"},
	{GET_BY_DEAD, by_dead_read, "the blocks of its ended threads"},
	{GET_LEDGERS, ledger_read, "its ledgers"},
	/* Behind the ledgers: they belong to their rows. */
	{GET_LOSSES, loss_read, "its losses"},
	{GET_THREADS, threads_read, "its threads"},
	{GET_DEAD, dead_read, "its dead threads"},
	{GET_MAPPING_LEDGERS, mapping_read, "its mapping ledgers"},
};

int state_advance(struct recording *recording, struct state *state, uint64_t from, uint64_t to)
{
	int error = 0, more = 0;

	for (size_t i = 0; i < ARRAY_SIZE(readers) && !error; i++) {
		sqlite3_stmt *statement = recording->statements[readers[i].statement];

		/* Not in a file of this schema. */
		if (!statement)
			continue;
		error = database_bind(statement, "ii", (int64_t)from, (int64_t)to);
		while (!error && (more = database_next(statement)) != 0) {
			if (more < 0)
				error = more;
			else
				readers[i].read(recording, state, statement, &error);
		}
		sqlite3_reset(statement);
		if (error)
			return recording_fail(recording, error, readers[i].what);
	}
	return 0;
}
