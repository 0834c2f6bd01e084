// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes and sites: what is read once, when a recording is opened. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/recording_state.h"

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
	if (!*error && (pid > UINT32_MAX || recording->processes.count > RECORDING_PROCESSES_MAX))
		*error = -EUCLEAN;
	position = hash_put(&recording->process_rows, process->row, NULL);
	if (position)
		*position = recording->processes.count - 1;
	else
		*error = -ENOMEM;
}

static const char *lost_name_of(unsigned i)
{
	return lost_name((enum lm_lost)i);
}

static const char *family_name_of(unsigned i)
{
	return family_name((enum site_family)i);
}

static const char *kind_name_of(unsigned i)
{
	return kind_name((enum site_kind)i);
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
	site->lost = (enum lm_lost)recording_name_index(database_text(statement, 3), lost_name_of,
							LM_LOST_MAX_);
	site->end = (enum lm_walk_end)recording_name_index(database_text(statement, 4),
							   recording_walk_end_name, LM_WALK_MAX_);
	site->family = (enum site_family)recording_name_index(database_text(statement, 5),
							      family_name_of, FAMILY_MAX_);
	site->kind = (enum site_kind)recording_name_index(database_text(statement, 6), kind_name_of,
							  KIND_MAX_);
	if (!*error && (site->row > UINT32_MAX || recording->sites.count > RECORDING_SITES_MAX ||
			!hash_get(&recording->process_rows, site->process)))
		*error = -EUCLEAN;
	position = hash_put(&recording->site_rows, site->row, NULL);
	if (position)
		*position = recording->sites.count - 1;
	else
		*error = -ENOMEM;
}
