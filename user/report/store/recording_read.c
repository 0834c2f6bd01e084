// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/family.h"
#include "base/cleanup.h"
#include "leakmon_usdt.h"
#include "base/log.h"
#include "process/proc/container.h"
#include "report/store/recording_state.h"

/* Values of an untrusted recording, and messages about a damaged one. */

static int dead_fill(struct recording *recording, const struct state *state,
		     struct snapshot *snapshot, const struct hash *positions);

static int recording_read_frame(struct recording *recording, sqlite3_stmt *statement,
				struct frames *frames);

/* In steps of SQLite: per additional frame, and per row of a snapshot. */
#define FRAME_WORK 256
#define ROW_WORK 8

/* Returns SQLite's description of an error, if the error is SQLite's. */
static const char *detail(const struct recording *recording)
{
	int code = sqlite3_errcode(recording->database) & 0xff;

	if (recording->work_left < 0)
		return "it takes more work to read than a real one of its size";
	return code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE
		       ? "a value that no recording holds"
		       : sqlite3_errmsg(recording->database);
}

int recording_fail(const struct recording *recording, int error, const char *what)
{
	if (recording->work_left < 0)
		error = -EUCLEAN;
	if (error == -ENOMEM)
		log_error("out of memory");
	else if (error == -EUCLEAN)
		log_error("%s is damaged: %s (%s); `sqlite3 FILE .recover` may save part of it",
			  recording->path, what, detail(recording));
	else
		log_error("cannot read %s: %s: %s", recording->path, what, strerror(-error));
	return error;
}

const char *recording_text_into(struct intern *strings, sqlite3_stmt *statement, int column,
				int *error)
{
	_cleanup_free_ char *cut = NULL;
	const char *text = database_text(statement, column), *kept;

	if (!text)
		return NULL;
	cut = strndup(text, RECORDING_TEXT_MAX);
	kept = cut ? intern_string(strings, cut) : NULL;
	if (!kept)
		*error = -ENOMEM;
	return kept;
}

const char *recording_text(struct recording *recording, sqlite3_stmt *statement, int column,
			   int *error)
{
	return recording_text_into(&recording->strings, statement, column, error);
}

static unsigned recording_name_index(const char *name, const char *(*name_of)(unsigned),
				     unsigned max)
{
	for (unsigned i = 0; name && i < max; i++) {
		const char *candidate = name_of(i);

		if (candidate && !strcmp(name, candidate))
			return i;
	}
	return 0;
}

/* Stacks of retain_stacks, shared by runs and profiles. */

static struct frame stored_frame(struct intern *strings, sqlite3_stmt *row, int *error)
{
	int64_t line = sqlite3_column_int64(row, 7);

	return (struct frame){
		.module = recording_text_into(strings, row, 0, error),
		.build_id = recording_text_into(strings, row, 1, error),
		.module_offset = (uint64_t)sqlite3_column_int64(row, 2),
		.address = (uint64_t)sqlite3_column_int64(row, 3),
		.function = recording_text_into(strings, row, 4, error),
		.offset = (uint64_t)sqlite3_column_int64(row, 5),
		.file = recording_text_into(strings, row, 6, error),
		.line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0,
		.inlined = sqlite3_column_int64(row, 8) != 0,
		.why = recording_text_into(strings, row, 9, error),
	};
}

int stored_stack_put(sqlite3_stmt *statement, uint64_t id, const struct frames *frames)
{
	char stack[17];
	int error = 0;

	snprintf(stack, sizeof(stack), "%016" PRIx64, id);
	for (size_t i = 0; i < frames->list.count && !error; i++) {
		const struct frame *frame = &frames->list.items[i];

		error = database_do(statement, "tittiititiit", stack, (int64_t)i, frame->module,
				    frame->build_id, (int64_t)(frame->module_offset & INT64_MAX),
				    (int64_t)(frame->address & INT64_MAX), frame->function,
				    (int64_t)(frame->offset & INT64_MAX), frame->file,
				    (int64_t)frame->line, (int64_t)frame->inlined, frame->why);
	}
	return error;
}

int stored_stacks_prepare(const struct recording *recording, sqlite3_stmt **statement)
{
	return database_errno(sqlite3_prepare_v2(
		recording->database,
		"SELECT module,build_id,offset,address,function,function_offset,file,line,inlined,"
		"why FROM retain_stacks WHERE stack=? ORDER BY position",
		-1, statement, NULL));
}

int stored_stack_read(struct recording *recording, struct intern *strings, sqlite3_stmt *statement,
		      uint64_t id, struct frames *frames)
{
	char stack[17];
	int more = 0, error;

	snprintf(stack, sizeof(stack), "%016" PRIx64, id);
	error = database_bind(statement, "t", stack);
	while (!error && (more = database_next(statement)) != 0) {
		struct frame *frame = more < 0 ? NULL : vec_push(&frames->list);

		if (frame)
			*frame = stored_frame(strings, statement, &error);
		else
			error = more < 0 ? more : -ENOMEM;
		if (frames->list.count > RECORDING_DEPTH_MAX ||
		    recording_work(recording, FRAME_WORK))
			error = -EUCLEAN;
	}
	sqlite3_reset(statement);
	return error;
}

/* Processes and sites: read once, when a recording is opened. */

void process_row_read(struct recording *recording, sqlite3_stmt *statement, int *error)
{
	struct known_process *process = vec_push(&recording->processes);
	const char *comm = database_text(statement, 3);
	uint64_t pid = database_unsigned(statement, 2, error), *position;

	if (!process) {
		*error = -ENOMEM;
		return;
	}
	process->row = database_unsigned(statement, 0, error);
	process->key = database_unsigned(statement, 1, error);
	process->pid = (uint32_t)pid;
	snprintf(process->comm, sizeof(process->comm), "%s", comm ? comm : "");
	process->exe = recording_text(recording, statement, 4, error);
	process->container_id = recording_text(recording, statement, 5, error);
	process->namespace = recording_text(recording, statement, 6, error);
	process->pod = recording_text(recording, statement, 7, error);
	process->container = recording_text(recording, statement, 8, error);
	process->host = recording_text(recording, statement, 9, error);
	if (!*error && (pid > UINT32_MAX || recording->processes.count > RECORDING_PROCESSES_MAX))
		*error = -EUCLEAN;
	position = hash_put(&recording->process_rows, process->row, NULL);
	if (position)
		*position = recording->processes.count - 1;
	else
		*error = -ENOMEM;
}

void host_row_read(struct recording *recording, sqlite3_stmt *statement, int *error)
{
	struct report_host *host = vec_push(&recording->hosts);

	if (!host) {
		*error = -ENOMEM;
		return;
	}
	host->name = recording_text(recording, statement, 0, error);
	host->boot_id = recording_text(recording, statement, 1, error);
	host->kernel = recording_text(recording, statement, 2, error);
	host->snapshots = database_unsigned(statement, 3, error);
	host->first_ns = database_unsigned(statement, 4, error);
	host->last_ns = database_unsigned(statement, 5, error);
	if (!*error && (!host->name || host->last_ns < host->first_ns ||
			recording->hosts.count > RECORDING_HOSTS_MAX))
		*error = -EUCLEAN;
}

void site_row_read(struct recording *recording, sqlite3_stmt *statement, int *error)
{
	struct known_site *site = vec_push(&recording->sites);
	const char *stack = database_text(statement, 2);
	uint64_t *position;

	if (!site) {
		*error = -ENOMEM;
		return;
	}
	site->row = database_unsigned(statement, 0, error);
	site->process = database_unsigned(statement, 1, error);
	site->stack = stack ? strtoull(stack, NULL, 16) : 0;
	site->lost = (enum lm_lost)recording_name_index(database_text(statement, 3), lost_name,
							LM_LOST_MAX_);
	site->end = (enum lm_walk_end)recording_name_index(database_text(statement, 4),
							   walk_end_name, LM_WALK_MAX_);
	site->family = (enum family_id)recording_name_index(database_text(statement, 5),
							    family_name, FAMILY_MAX_);
	site->kind = (enum site_kind)recording_name_index(database_text(statement, 6), kind_name,
							  KIND_MAX_);
	site->patterns = recording_text(recording, statement, 7, error);
	if (!*error && (site->row > UINT32_MAX || recording->sites.count > RECORDING_SITES_MAX ||
			!hash_get(&recording->process_rows, site->process)))
		*error = -EUCLEAN;
	position = hash_put(&recording->site_rows, site->row, NULL);
	if (position)
		*position = recording->sites.count - 1;
	else
		*error = -ENOMEM;
}

/* Converts a state to the snapshot that a live run would produce. */

static struct container *container_of_row(const struct known_process *known, int *error)
{
	struct container *container;

	if (!known->container_id)
		return NULL;
	container = calloc(1, sizeof(*container));
	if (!container) {
		*error = -ENOMEM;
		return NULL;
	}
	snprintf(container->id, sizeof(container->id), "%s", known->container_id);
	container->namespace = known->namespace ? strdup(known->namespace) : NULL;
	container->pod = known->pod ? strdup(known->pod) : NULL;
	container->name = known->container ? strdup(known->container) : NULL;
	return container;
}

static int process_fill(struct snapshot_process *process, const struct known_process *known,
			const struct process_state_at *state)
{
	int error = 0;

	*process = state->seen;
	process->key = known->key;
	process->pid = known->pid;
	memcpy(process->comm, known->comm, sizeof(process->comm));
	process->exe = known->exe ? strdup(known->exe) : NULL;
	process->host = known->host ? strdup(known->host) : NULL;
	process->container = container_of_row(known, &error);
	process->exited = state->state != PROCESS_ALIVE;
	process->inexact = process->exact ? 0 : process->inexact;
	return error;
}

/* A sum has the figures of all processes. */
static void totals_fill(struct snapshot *snapshot, const struct snapshot_process *all)
{
	snapshot->ledger = all->ledger;
	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		const struct family *family = family_get(id);

		if (family->of_snapshot && family->of_process)
			memcpy((char *)snapshot + family->of_snapshot,
			       family_of_process(family, all), family->size);
	}
}

/* positions: index of a process's row in the snapshot, +1. */
static int processes_fill(const struct recording *recording, const struct state *state,
			  struct snapshot *snapshot, struct hash *positions)
{
	int error = 0;

	for (size_t i = 0; i < state->processes.count && !error; i++) {
		const struct process_state_at *at = &state->processes.items[i];
		struct snapshot_process *process;
		uint64_t *position;

		if (!at->row)
			totals_fill(snapshot, &at->seen);
		if (!at->row || at->state >= PROCESS_GONE)
			continue;
		process = vec_push(&snapshot->processes);
		position = hash_put(positions, at->row, NULL);
		if (!process || !position)
			return -ENOMEM;
		*position = snapshot->processes.count;
		error = process_fill(
			process,
			&recording->processes.items[*hash_get(&recording->process_rows, at->row)],
			at);
	}
	return error;
}

/* If frees are not reported, by total allocations. */
static bool is_shown(const struct site *site)
{
	return site->count || site->bytes || snapshot_hits(site).sum > 0;
}

/* Facts about self-sampling in a process's sites. */
static void note_sampler(struct snapshot_process *process, const struct site *site)
{
	if (!(site->hit_bytes > 0))
		return;
	process->samples_itself = true;
	process->without_free |= !(site->count_variance > 0);
	process->sample_interval = (uint64_t)fmin(site->hit_bytes, LM_USDT_MAX_WEIGHT);
}

static int sites_fill(const struct recording *recording, const struct state *state,
		      struct snapshot *snapshot, const struct hash *positions)
{
	if (!snapshot->processes.items)
		return 0;
	for (size_t i = 0; i < state->sites.count; i++) {
		const struct site_state *at = &state->sites.items[i];
		const struct known_site *known =
			&recording->sites
				 .items[*hash_get(&recording->site_rows, at->numbers.index)];
		const uint64_t *position = hash_get(positions, known->process);
		struct site *site;

		if (!position || !is_shown(&at->numbers))
			continue;
		site = vec_push(&snapshot->processes.items[*position - 1].sites);
		if (!site)
			return -ENOMEM;
		*site = at->numbers;
		note_sampler(&snapshot->processes.items[*position - 1], site);
		site->lost = known->lost;
		site->family = known->family;
		site->kind = known->kind;
		site->patterns = known->patterns ? strdup(known->patterns) : NULL;
		site->end = known->end;
		/* The row has the age of the oldest block at its time; the block is still there. */
		if (site->oldest_ns && snapshot->monotonic_ns > at->monotonic_ns)
			site->oldest_ns += snapshot->monotonic_ns - at->monotonic_ns;
	}
	return 0;
}

/* Converts the state to a snapshot. Returns 0 or -errno. */
static int state_to_snapshot(struct recording *recording, const struct state *state,
			     size_t position, struct snapshot *snapshot)
{
	const struct recording_snapshot *at = &recording->snapshots.items[position];
	_cleanup_(hash_free) struct hash positions = {0};
	struct snapshot built = {
		.sequence = at->sequence, .time = at->time, .monotonic_ns = at->monotonic_ns};
	sqlite3_stmt *statement = recording->statements[GET_SNAPSHOT];
	int error = database_bind(statement, "i", (int64_t)at->sequence);

	if (!error && database_next(statement) > 0) {
		built.has_ages = database_unsigned(statement, 0, &error) != 0;
		built.sampled = database_unsigned(statement, 1, &error) != 0;
		built.scan_ns = database_unsigned(statement, 2, &error);
		built.has_owners = database_unsigned(statement, 3, &error) != 0;
		built.only_by_dead = database_unsigned(statement, 4, &error) != 0;
	}
	sqlite3_reset(statement);
	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		if (family_get(id)->present && state->has_figures[id])
			*((bool *)&built + family_get(id)->present) = true;
	}
	if (!error)
		error = recording_work(recording,
				       ROW_WORK * (state->sites.count + state->processes.count));
	if (!error)
		error = processes_fill(recording, state, &built, &positions);
	if (!error)
		error = sites_fill(recording, state, &built, &positions);
	if (!error)
		error = dead_fill(recording, state, &built, &positions);
	if (error) {
		snapshot_free(&built);
		return recording_fail(recording, error, "a snapshot");
	}
	*snapshot = built;
	return 0;
}

/* Dead threads. */

void dead_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
	       int *error)
{
	uint64_t row = database_unsigned(statement, 0, error), *position;
	struct dead_at *at;
	bool fresh;

	if (*error || !hash_get(&recording->creator_rows, row)) {
		*error = -EUCLEAN;
		return;
	}
	position = hash_put(&state->dead_positions, row, &fresh);
	at = position && fresh ? vec_push(&state->dead) : NULL;
	if (!position || (fresh && !at)) {
		*error = -ENOMEM;
		return;
	}
	if (fresh)
		*position = state->dead.count - 1;
	at = &state->dead.items[*position];
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

static int fill_dead(struct recording *recording, const struct dead_at *at,
		     struct snapshot *snapshot, const struct hash *positions)
{
	const struct known_creator *creator =
		&recording->creators.items[*hash_get(&recording->creator_rows, at->creator)];
	struct snapshot_process *process = process_at(snapshot, positions, creator->process);
	struct dead_group *group;

	if (!process || !at->group.count)
		return 0;
	if (recording_work(recording, ROW_WORK + creator->addresses.count))
		return -EUCLEAN;
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

static int dead_fill(struct recording *recording, const struct state *state,
		     struct snapshot *snapshot, const struct hash *positions)
{
	int error = 0;

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
	creator->end = (enum lm_walk_end)recording_name_index(database_text(statement, 3),
							      walk_end_name, LM_WALK_MAX_);
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

/* Fills ids and frames. Returns 0 or -errno. */
static int recording_name_dead(struct recording *recording, struct report_dead *dead)
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

/* From a recording to snapshots, names and histories. */

/* More rows than this take more than a second to read. */
#define ROWS_MAX 1500000
#define HISTORY_TIMES 600

int recording_read(struct recording *recording, size_t position, struct snapshot *snapshot)
{
	const struct recording_snapshot *all = recording->snapshots.items;
	_cleanup_(state_free) struct state state = {0};
	int error;

	recording_begin(recording);
	error = state_advance(recording, &state, all[all[position].base].sequence,
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

/* Appends one. */
static int recording_read_frame(struct recording *recording, sqlite3_stmt *statement,
				struct frames *frames)
{
	struct frame *frame = vec_push(&frames->list);
	int error = 0;

	if (!frame)
		return -ENOMEM;
	if (frames->list.count > RECORDING_DEPTH_MAX || recording_work(recording, FRAME_WORK))
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

	recording_begin(recording);
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

/* Selects the snapshots for the history. */
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
		if (all[i].base >= next) {
			next = all[i].base;
			state_clear(&state);
		}
		error = state_advance(recording, &state, all[next].sequence, all[i].sequence);
		next = i + 1;
		if (!error)
			error = history_take(recording, &state, i, history);
	}
	return error;
}

/* Names all sites of the history, not only those of the last snapshot. */
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
		site->native = symbolizer_native_id(&site->frames);
	}
	if (!error)
		error = history_merge(history);
	return error ? recording_fail(recording, error, "its stacks") : 0;
}

int recording_history(struct recording *recording, size_t position, struct history *history)
{
	struct selection selection = select_snapshots(recording, position);
	int error;

	recording_begin(recording);
	if (!history->limits.max_times)
		history->limits.max_times = HISTORY_TIMES + 64;
	error = history_fill(recording, &selection, history);
	return error ? error : history_name_all(recording, history);
}
