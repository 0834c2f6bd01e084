// SPDX-License-Identifier: GPL-2.0-or-later
/* Follows the rows of a recording from snapshot to snapshot. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/store/recording_state.h"

#define NS_PER_MS UINT64_C(1000000)

void state_clear(struct state *state)
{
	vec_free(&state->sites);
	vec_free(&state->processes);
	hash_free(&state->site_positions);
	hash_free(&state->process_positions);
	vec_free(&state->dead);
	hash_free(&state->dead_positions);
	memset(state->has_figures, 0, sizeof(state->has_figures));
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

/* Returns the site in a row's first column; NULL: it has no point, and is not shown. */
static struct site *numbers_of(struct state *state, sqlite3_stmt *statement, int *error)
{
	const uint64_t *position =
		hash_get(&state->site_positions, database_unsigned(statement, 0, error));

	return position ? &state->sites.items[*position].numbers : NULL;
}

static void ages_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
		      int *error)
{
	struct site *numbers = numbers_of(state, statement, error);

	(void)recording;
	for (int i = 0; numbers && i < SITE_AGES_MAX_; i++)
		numbers->ages[i] = database_unsigned(statement, 1 + i, error);
}

static void by_dead_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
			 int *error)
{
	struct site *numbers = numbers_of(state, statement, error);

	(void)recording;
	if (!numbers)
		return;
	numbers->by_dead_bytes = database_unsigned(statement, 1, error);
	numbers->by_dead_count = database_unsigned(statement, 2, error);
}

/* Finite, and not negative. */
static double real_read(sqlite3_stmt *statement, int column, int *error)
{
	double value = sqlite3_column_double(statement, column);

	if (isfinite(value) && value >= 0)
		return value;
	*error = -EUCLEAN;
	return 0;
}

static void estimate_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
			  int *error)
{
	struct site *numbers = numbers_of(state, statement, error);

	(void)recording;
	if (!numbers)
		return;
	numbers->hit_bytes = real_read(statement, 1, error);
	numbers->count_variance = real_read(statement, 2, error);
	numbers->hit_count = real_read(statement, 3, error);
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
	struct snapshot_process *seen;

	if (row && !hash_get(&recording->process_rows, row)) {
		*error = -EUCLEAN;
		return;
	}
	process = process_put(state, row);
	if (!process) {
		*error = -ENOMEM;
		return;
	}
	seen = &process->seen;
	process->state = (int64_t)database_unsigned(statement, 1, error);
	seen->exact = database_unsigned(statement, 2, error) != 0;
	seen->outstanding_bytes = database_unsigned(statement, 3, error);
	seen->outstanding_count = database_unsigned(statement, 4, error);
	process->snapshot = database_unsigned(statement, 5, error);
	/* Its losses follow. */
	seen->inexact = seen->hidden_tasks = seen->hidden_pid = 0;
	seen->ledger = (struct ledger){0};
	figures_read(statement, 6, family_get(FAMILY_HEAP), &seen->ledger, error);
}

static void doubt_read(struct snapshot_process *seen, const char *cause, uint64_t count)
{
	for (unsigned i = 0; i < INEXACT_MAX_; i++) {
		if (strcmp(cause, inexact_name(i)) != 0)
			continue;
		seen->inexact |= 1u << i;
		if (i == INEXACT_SHARED_MEMORY)
			seen->hidden_tasks = (uint32_t)MIN(count, UINT32_MAX);
	}
}

static void cause_read(struct ledger *ledger, const struct figure *figure, const char *cause,
		       uint64_t count)
{
	uint64_t *counts = (void *)((char *)ledger + figure->offset);

	for (unsigned i = figure->causes->first; i < figure->causes->count; i++) {
		if (!strcmp(figure->causes->name(i), cause))
			counts[i] = count;
	}
}

static void loss_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
		      int *error)
{
	uint64_t row = database_unsigned(statement, 0, error);
	uint64_t count = database_unsigned(statement, 3, error);
	const uint64_t *position = hash_get(&state->process_positions, row);
	const char *kind = database_text(statement, 1), *cause = database_text(statement, 2);
	uint64_t snapshot = database_unsigned(statement, 4, error);
	const struct family *heap = family_get(FAMILY_HEAP);
	struct process_state_at *process;

	(void)recording;
	if (!position || !kind || !cause)
		return;
	process = &state->processes.items[*position];
	/* A loss of an earlier ledger row. */
	if (snapshot != process->snapshot)
		return;
	if (!strcmp(kind, LOSS_INEXACT))
		doubt_read(&process->seen, cause, count);
	if (!strcmp(kind, LOSS_INEXACT_PID))
		process->seen.hidden_pid = (uint32_t)MIN(count, UINT32_MAX);
	for (size_t i = 0; i < heap->figures.count; i++) {
		if (heap->figures.items[i].causes &&
		    !strcmp(heap->figures.items[i].causes->recorded, kind))
			cause_read(&process->seen.ledger, &heap->figures.items[i], cause, count);
	}
}

static enum family_id family_of_rows(const struct recording *recording,
				     const sqlite3_stmt *statement)
{
	enum family_id id = FAMILY_HEAP;

	while (recording->get_figures[id] != statement)
		id++;
	return id;
}

/* A process without a ledger is not shown. */
static void figures_row_read(struct recording *recording, struct state *state,
			     sqlite3_stmt *statement, int *error)
{
	enum family_id id = family_of_rows(recording, statement);
	const struct family *family = family_get(id);
	const uint64_t *position =
		hash_get(&state->process_positions, database_unsigned(statement, 0, error));
	char *seen = position ? (char *)&state->processes.items[*position].seen : NULL;

	state->has_figures[id] = true;
	if (!seen)
		return;
	memset(seen + family->of_process, 0, family->size);
	figures_read(statement, 1, family, seen + family->of_process, error);
}

typedef void row_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
		      int *error);

struct rows {
	uint64_t from, to; /* snapshots */
	struct state *state;
};

/* Without a statement, the file's schema lacks the rows. */
static int rows_read(struct recording *recording, const struct rows *rows, sqlite3_stmt *statement,
		     row_read *read, const char *what)
{
	int error = statement
			    ? database_bind(statement, "ii", (int64_t)rows->from, (int64_t)rows->to)
			    : 0;
	int more;

	while (statement && !error && (more = database_next(statement)) != 0) {
		if (more < 0)
			error = more;
		else
			read(recording, rows->state, statement, &error);
	}
	sqlite3_reset(statement);
	return error ? recording_fail(recording, error, what) : 0;
}

/* Ledgers come before the rows that depend on theirs. */
int state_advance(struct recording *recording, struct state *state, uint64_t from, uint64_t to)
{
	static const struct {
		enum recording_statement statement;
		row_read *read;
		const char *what;
	} readers[] = {
		{GET_POINTS, point_read, "the numbers of its sites"},
		{GET_AGES, ages_read, "the ages of its blocks"},
		{GET_BY_DEAD, by_dead_read, "the blocks of its ended threads"},
		{GET_ESTIMATES, estimate_read, "what its estimates rest on"},
		{GET_LOSSES, loss_read, "its losses"},
		{GET_DEAD, dead_read, "its dead threads"},
	};
	const struct rows rows = {.from = from, .to = to, .state = state};
	int error = rows_read(recording, &rows, recording->get_figures[FAMILY_HEAP], ledger_read,
			      "its ledgers");

	for (size_t i = 0; i < ARRAY_SIZE(readers) && !error; i++)
		error = rows_read(recording, &rows, recording->statements[readers[i].statement],
				  readers[i].read, readers[i].what);
	for (size_t id = FAMILY_HEAP + 1; id < FAMILY_MAX_ && !error; id++)
		error = rows_read(recording, &rows, recording->get_figures[id], figures_row_read,
				  "its figures");
	return error;
}
