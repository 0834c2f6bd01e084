// SPDX-License-Identifier: GPL-2.0-or-later
/* From a recording to snapshots, names and histories. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/recording_state.h"

/* More rows than this take more than a second to read. */
#define ROWS_MAX 1500000
#define HISTORY_TIMES 600

static size_t full_before(const struct recording *recording, size_t position)
{
	while (position && !recording->snapshots.items[position].full)
		position--;
	return position;
}

int recording_read(struct recording *recording, size_t position, struct snapshot *snapshot)
{
	const struct recording_snapshot *all = recording->snapshots.items;
	_cleanup_(state_free) struct state state = {0};
	int error = state_advance(recording, &state, all[full_before(recording, position)].sequence,
				  all[position].sequence);

	return error ? error : state_to_snapshot(recording, &state, position, snapshot);
}

static void frame_read(struct recording *recording, sqlite3_stmt *statement, struct frame *frame,
		       int *error)
{
	uint64_t offset = (uint64_t)sqlite3_column_int64(statement, 1);
	int64_t line = sqlite3_column_int64(statement, 5);

	frame->function = recording_text(recording, statement, 2, error);
	frame->offset = (uint64_t)sqlite3_column_int64(statement, 3);
	frame->file = recording_text(recording, statement, 4, error);
	frame->line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
	frame->inlined = sqlite3_column_int64(statement, 6) != 0;
	frame->why = recording_text(recording, statement, 7, error);
	frame->module = recording_text(recording, statement, 8, error);
	frame->build_id = recording_text(recording, statement, 9, error);
	frame->module_offset = frame->module ? offset : 0;
	frame->address =
		offset + (frame->module ? (uint64_t)sqlite3_column_int64(statement, 10) : 0);
}

int recording_read_frame(struct recording *recording, sqlite3_stmt *statement,
			 struct frames *frames)
{
	struct frame *frame = vec_push(&frames->list);
	int error = 0;

	if (!frame)
		return -ENOMEM;
	if (frames->list.count > RECORDING_DEPTH_MAX)
		return -EUCLEAN;
	frame_read(recording, statement, frame, &error);
	return error;
}

static int stack_read(struct recording *recording, const struct known_site *site,
		      struct frames *frames)
{
	sqlite3_stmt *statement = recording->statements[GET_STACK];
	int error = database_bind(statement, "ii", (int64_t)site->row, (int64_t)site->process);
	int more;

	while (!error && (more = database_next(statement)) != 0)
		error = more < 0 ? more : recording_read_frame(recording, statement, frames);
	sqlite3_reset(statement);
	return error;
}

int recording_name(struct recording *recording, struct report *report)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count && !error; j++) {
			struct report_site *site = &process->sites.items[j];
			const uint64_t *position =
				hash_get(&recording->site_rows, site->site->index);
			const struct known_site *known;

			if (!position)
				continue;
			known = &recording->sites.items[*position];
			site->id = known->stack;
			site->frames.list.count = 0;
			error = stack_read(recording, known, &site->frames);
		}
		for (size_t j = 0; j < process->dead.count && !error; j++)
			error = recording_name_dead(recording, &process->dead.items[j]);
	}
	return error ? recording_fail(recording, error, "its stacks") : 0;
}

/* One line of a plan which snapshots go into the history. */
struct selection {
	bool full_only;
	size_t every;
	size_t last;
};

static struct selection select_snapshots(const struct recording *recording, size_t last)
{
	struct selection selection = {.last = last};
	uint64_t rows = 0;

	for (size_t i = 0; i <= last; i++)
		rows += recording->snapshots.items[i].rows;
	selection.full_only = rows > ROWS_MAX;
	selection.every = selection.full_only ? 1 : (last + HISTORY_TIMES) / HISTORY_TIMES;
	return selection;
}

static bool is_selected(const struct recording *recording, const struct selection *selection,
			size_t i)
{
	const struct recording_snapshot *snapshot = &recording->snapshots.items[i];

	if (i == selection->last || snapshot->label)
		return true;
	return selection->full_only ? snapshot->full : i % selection->every == 0;
}

static int history_take(struct recording *recording, const struct state *state, size_t i,
			struct history *history)
{
	_cleanup_(snapshot_free) struct snapshot snapshot = {0};
	int error = state_to_snapshot(recording, state, i, &snapshot);

	if (error)
		return error;
	error = history_add(history, &snapshot, recording->snapshots.items[i].label);
	return error ? recording_fail(recording, error, "its history") : 0;
}

static int history_fill(struct recording *recording, const struct selection *selection,
			struct history *history)
{
	const struct recording_snapshot *all = recording->snapshots.items;
	_cleanup_(state_free) struct state state = {0};
	size_t next = 0; /* the first whose rows are not in the state */
	int error = 0;

	for (size_t i = 0; i <= selection->last && !error; i++) {
		if (!is_selected(recording, selection, i))
			continue;
		if (full_before(recording, i) >= next) {
			next = full_before(recording, i);
			state_clear(&state);
		}
		error = state_advance(recording, &state, all[next].sequence, all[i].sequence);
		next = i + 1;
		if (!error)
			error = history_take(recording, &state, i, history);
	}
	return error;
}

/* Names all sites of the history: those of the last snapshot are not all of them. */
static int history_name_all(struct recording *recording, struct history *history)
{
	int error = 0;

	for (size_t i = 0; i < history->sites.count && !error; i++) {
		struct history_site *site = &history->sites.items[i];
		const uint64_t *position = hash_get(&recording->site_rows, site->index);

		if (!position)
			continue;
		site->id = recording->sites.items[*position].stack;
		error = stack_read(recording, &recording->sites.items[*position], &site->frames);
	}
	return error ? recording_fail(recording, error, "its stacks") : 0;
}

int recording_history(struct recording *recording, size_t position, struct history *history)
{
	struct selection selection = select_snapshots(recording, position);
	int error;

	if (!history->limits.max_times)
		history->limits.max_times = HISTORY_TIMES + 64;
	error = history_fill(recording, &selection, history);
	return error ? error : history_name_all(recording, history);
}
