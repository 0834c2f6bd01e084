// SPDX-License-Identifier: GPL-2.0-or-later
/* A state that was read, as the snapshot that a live run would hand on. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/container.h"
#include "store/recording_state.h"

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

	process->key = known->key;
	process->pid = known->pid;
	memcpy(process->comm, known->comm, sizeof(process->comm));
	process->exe = known->exe ? strdup(known->exe) : NULL;
	process->container = container_of_row(known, &error);
	process->exited = state->state != PROCESS_ALIVE;
	process->exact = state->exact;
	process->outstanding_bytes = state->bytes;
	process->outstanding_count = state->count;
	process->ledger = state->ledger;
	return error;
}

/* positions: of a process' row in the snapshot, +1. */
static int processes_fill(const struct recording *recording, const struct state *state,
			  struct snapshot *snapshot, struct hash *positions)
{
	int error = 0;

	for (size_t i = 0; i < state->processes.count && !error; i++) {
		const struct process_state_at *at = &state->processes.items[i];
		struct snapshot_process *process;
		uint64_t *position;

		if (!at->row)
			snapshot->ledger = at->ledger;
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

		if (!position || (!at->numbers.count && !at->numbers.bytes))
			continue;
		site = vec_push(&snapshot->processes.items[*position - 1].sites);
		if (!site)
			return -ENOMEM;
		*site = at->numbers;
		site->lost = known->lost;
		site->family = known->family;
		site->kind = known->kind;
		site->end = known->end;
		/* The row says how old the oldest block was then, and it is still there. */
		if (site->oldest_ns && snapshot->monotonic_ns > at->monotonic_ns)
			site->oldest_ns += snapshot->monotonic_ns - at->monotonic_ns;
	}
	return 0;
}

int state_to_snapshot(const struct recording *recording, const struct state *state, size_t position,
		      struct snapshot *snapshot)
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
	if (!error)
		error = processes_fill(recording, state, &built, &positions);
	if (!error)
		error = sites_fill(recording, state, &built, &positions);
	if (!error)
		error = threads_fill(recording, state, &built, &positions);
	if (error) {
		snapshot_free(&built);
		return recording_fail(recording, error, "a snapshot");
	}
	*snapshot = built;
	return 0;
}
