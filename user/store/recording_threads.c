// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads and mapping ledgers of a recording. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/recording_state.h"

/* The element of a row id, made if it is the first time; NULL: out of memory. */
#define element_of(list, positions, row)                                                           \
	({                                                                                         \
		bool fresh_;                                                                       \
		uint64_t *position_ = hash_put((positions), (row), &fresh_);                       \
		__typeof__((list)->items) element_ = NULL;                                         \
		if (position_ && !fresh_) {                                                        \
			element_ = &(list)->items[*position_];                                     \
		} else if (position_) {                                                            \
			*position_ = (list)->count;                                                \
			element_ = vec_push(list);                                                 \
		}                                                                                  \
		element_;                                                                          \
	})

void threads_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
		  int *error)
{
	uint64_t row = database_unsigned(statement, 0, error);
	const char *why = database_text(statement, 12);
	struct thread_figures figures = {0};
	struct threads_at *at = element_of(&state->threads, &state->thread_positions, row);

	(void)recording;
	if (!at) {
		*error = -ENOMEM;
		return;
	}
	figures.counted = sqlite3_column_type(statement, 1) != SQLITE_NULL;
	figures.followed = sqlite3_column_type(statement, 2) != SQLITE_NULL;
	if (figures.counted)
		figures.alive = database_unsigned(statement, 1, error);
	if (figures.followed) {
		figures.dead = database_unsigned(statement, 2, error);
		figures.dead_stack_bytes = database_unsigned(statement, 3, error);
		figures.dead_resident_bytes = database_unsigned(statement, 4, error);
		figures.dead_heap_bytes = database_unsigned(statement, 5, error);
		figures.dead_heap_count = database_unsigned(statement, 6, error);
		figures.created = database_unsigned(statement, 7, error);
		figures.joined = database_unsigned(statement, 8, error);
		figures.detached = database_unsigned(statement, 9, error);
		figures.exact = database_unsigned(statement, 10, error) != 0;
		figures.untold = database_unsigned(statement, 11, error);
	}
	snprintf(figures.why, sizeof(figures.why), "%s", why ? why : "");
	at->process = row;
	at->figures = figures;
}

void dead_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
	       int *error)
{
	uint64_t row = database_unsigned(statement, 0, error);
	struct dead_at *at;

	if (*error || !hash_get(&recording->creator_rows, row)) {
		*error = -EUCLEAN;
		return;
	}
	at = element_of(&state->dead, &state->dead_positions, row);
	if (!at) {
		*error = -ENOMEM;
		return;
	}
	*at = (struct dead_at){.creator = row};
	at->group.count = database_unsigned(statement, 1, error);
	at->group.before_attach = database_unsigned(statement, 2, error);
	if (sqlite3_column_type(statement, 3) != SQLITE_NULL) {
		at->oldest_ns = database_unsigned(statement, 3, error);
		at->newest_ns = database_unsigned(statement, 4, error);
	}
	at->group.stack_bytes = database_unsigned(statement, 5, error);
	at->group.resident_bytes = database_unsigned(statement, 6, error);
	at->group.heap_bytes = database_unsigned(statement, 7, error);
	at->group.heap_count = database_unsigned(statement, 8, error);
	if (!*error && at->group.before_attach > at->group.count)
		*error = -EUCLEAN;
}

void mapping_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
		  int *error)
{
	uint64_t row = database_unsigned(statement, 0, error);
	struct mapping_at *at = element_of(&state->mappings, &state->mapping_positions, row);

	(void)recording;
	if (!at) {
		*error = -ENOMEM;
		return;
	}
	at->process = row;
	at->ledger.mapped = database_unsigned(statement, 1, error);
	at->ledger.unmapped = database_unsigned(statement, 2, error);
	at->ledger.outstanding = database_unsigned(statement, 3, error);
	at->ledger.purged = database_unsigned(statement, 4, error);
	at->ledger.ranges = database_unsigned(statement, 5, error);
	at->ledger.events_lost = database_unsigned(statement, 6, error);
	at->ledger.missed = database_unsigned(statement, 7, error);
	at->ledger.healed = database_unsigned(statement, 8, error);
}

static struct snapshot_process *process_at(struct snapshot *snapshot, const struct hash *positions,
					   uint64_t row)
{
	const uint64_t *position = hash_get(positions, row);

	return position ? &snapshot->processes.items[*position - 1] : NULL;
}

static int copy_addresses(const struct known_creator *creator, struct dead_group *group)
{
	group->start_routine = creator->start_routine;
	if (!creator->addresses.count)
		return 0;
	group->addresses = calloc(creator->addresses.count, sizeof(*group->addresses));
	if (!group->addresses)
		return -ENOMEM;
	group->depth = creator->addresses.count;
	memcpy(group->addresses, creator->addresses.items,
	       group->depth * sizeof(*group->addresses));
	return 0;
}

static int fill_dead(const struct recording *recording, const struct dead_at *at,
		     struct snapshot *snapshot, const struct hash *positions)
{
	const struct known_creator *creator =
		&recording->creators.items[*hash_get(&recording->creator_rows, at->creator)];
	struct snapshot_process *process = process_at(snapshot, positions, creator->process);
	struct dead_group *group;

	if (!process || !at->group.count)
		return 0;
	group = vec_push(&process->threads.groups);
	if (!group)
		return -ENOMEM;
	*group = at->group;
	group->end = creator->end;
	group->site = (uint32_t)creator->row;
	if (at->oldest_ns)
		group->oldest_ns =
			snapshot->monotonic_ns - MIN(snapshot->monotonic_ns, at->oldest_ns);
	if (at->newest_ns)
		group->newest_ns =
			snapshot->monotonic_ns - MIN(snapshot->monotonic_ns, at->newest_ns);
	return copy_addresses(creator, group);
}

static int by_count(const void *left, const void *right)
{
	const struct dead_group *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return (a->site > b->site) - (a->site < b->site);
}

int threads_fill(const struct recording *recording, const struct state *state,
		 struct snapshot *snapshot, const struct hash *positions)
{
	struct snapshot_process *process;
	int error = 0;

	for (size_t i = 0; i < state->threads.count; i++) {
		process = process_at(snapshot, positions, state->threads.items[i].process);
		if (process)
			process->threads = state->threads.items[i].figures;
	}
	for (size_t i = 0; i < state->mappings.count; i++) {
		const struct mapping_at *at = &state->mappings.items[i];

		snapshot->has_mappings = true;
		process = process_at(snapshot, positions, at->process);
		if (process)
			process->mapping = at->ledger;
		if (!at->process)
			snapshot->mapping = at->ledger;
	}
	for (size_t i = 0; i < state->dead.count && !error; i++)
		error = fill_dead(recording, &state->dead.items[i], snapshot, positions);
	for (size_t i = 0; snapshot->processes.items && i < snapshot->processes.count; i++) {
		struct thread_figures *threads = &snapshot->processes.items[i].threads;

		if (threads->groups.count)
			qsort(threads->groups.items, threads->groups.count,
			      sizeof(*threads->groups.items), by_count);
	}
	return error;
}

void creator_read(struct recording *recording, sqlite3_stmt *statement, int *error)
{
	struct known_creator *creator = vec_push(&recording->creators);
	const char *stack = database_text(statement, 2);
	uint64_t *position;

	if (!creator) {
		*error = -ENOMEM;
		return;
	}
	creator->row = database_unsigned(statement, 0, error);
	creator->process = database_unsigned(statement, 1, error);
	creator->stack = stack ? strtoull(stack, NULL, 16) : 0;
	creator->end = (enum lm_walk_end)recording_name_index(
		database_text(statement, 3), recording_walk_end_name, LM_WALK_MAX_);
	if (!*error &&
	    (creator->row > UINT32_MAX || recording->creators.count > RECORDING_SITES_MAX ||
	     !hash_get(&recording->process_rows, creator->process)))
		*error = -EUCLEAN;
	position = hash_put(&recording->creator_rows, creator->row, NULL);
	if (position)
		*position = recording->creators.count - 1;
	else
		*error = -ENOMEM;
}

void creator_address_read(struct recording *recording, sqlite3_stmt *statement, int *error)
{
	uint64_t row = database_unsigned(statement, 0, error), *added;
	const uint64_t *position = hash_get(&recording->creator_rows, row);
	uint64_t address = (uint64_t)sqlite3_column_int64(statement, 2);
	struct known_creator *creator;

	if (!position)
		return;
	creator = &recording->creators.items[*position];
	if (sqlite3_column_int64(statement, 1) < 0) {
		creator->start_routine = address;
		return;
	}
	added = vec_push(&creator->addresses);
	if (!added)
		*error = -ENOMEM;
	else if (creator->addresses.count > RECORDING_DEPTH_MAX)
		*error = -EUCLEAN;
	else
		*added = address;
}

int recording_name_dead(struct recording *recording, struct report_dead *dead)
{
	const uint64_t *position = hash_get(&recording->creator_rows, dead->group->site);
	const struct known_creator *creator;
	sqlite3_stmt *statement = recording->statements[GET_CREATOR_STACK];
	int error, more;

	if (!position)
		return 0;
	creator = &recording->creators.items[*position];
	dead->id = creator->stack;
	dead->stack.list.count = dead->start.list.count = 0;
	error = database_bind(statement, "ii", (int64_t)creator->row, (int64_t)creator->process);
	while (!error && (more = database_next(statement)) != 0) {
		bool start = sqlite3_column_int64(statement, 11) < 0;

		error = more < 0 ? more
				 : recording_read_frame(recording, statement,
							start ? &dead->start : &dead->stack);
	}
	sqlite3_reset(statement);
	return error;
}
