// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/recording.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/recording_state.h"

static const char *const statements[] = {
	[GET_SNAPSHOT] = "SELECT has_ages,sampled,scan_ns FROM snapshots WHERE sequence=?",
	[GET_PROCESSES] = "SELECT id,key,pid,comm,exe,container_id,namespace,pod,container"
			  " FROM processes",
	[GET_POINTS] = "SELECT points.snapshot,site,bytes,count,allocated_bytes,allocated_count,"
		       "freed_bytes,freed_count,oldest_ms,snapshots.monotonic_ns"
		       " FROM points CROSS JOIN snapshots ON snapshots.sequence=points.snapshot"
		       " WHERE points.snapshot BETWEEN ? AND ? ORDER BY points.snapshot",
	[GET_AGES] = "SELECT site,s1,s10,min1,min10,h1,h6,day1 FROM ages"
		     " WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot",
	[GET_LEDGERS] = "SELECT process,state,exact,shown_bytes,shown_count,allocations,frees,"
			"outstanding,purged,untracked_frees,inherited_frees,filtered,unsampled,"
			"failed,abandoned,outstanding_bytes,scanned,moved FROM ledgers"
			" WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot",
	[GET_LOSSES] = "SELECT process,kind,cause,count FROM losses"
		       " WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot",
	[GET_SITES] = "SELECT id,process,stack,lost,walk_end,family,kind FROM sites",
	[GET_STACK] = "SELECT frames.module,frames.offset,function,function_offset,file,line,"
		      "inlined,why,path,build_id,bias FROM stacks"
		      " JOIN frames ON frames.id=stacks.frame"
		      " LEFT JOIN modules ON modules.id=frames.module"
		      " LEFT JOIN mappings ON mappings.module=frames.module"
		      " AND mappings.process=?2 WHERE site=?1 ORDER BY position",
	[GET_THREADS] = "SELECT process,alive,dead,dead_stack_bytes,dead_resident_bytes,"
			"dead_heap_bytes,dead_heap_count,created,joined,detached,exact,untold,why"
			" FROM threads"
			" WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot",
	[GET_DEAD] = "SELECT creator,count,before_attach,oldest_ns,newest_ns,stack_bytes,"
		     "resident_bytes,heap_bytes,heap_count FROM dead_threads"
		     " WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot",
	[GET_MAPPING_LEDGERS] = "SELECT process,mapped,unmapped,outstanding,purged,ranges,"
				"events_lost,missed,healed FROM mapping_ledgers"
				" WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot",
	[GET_CREATORS] = "SELECT id,process,stack,walk_end FROM creators",
	[GET_CREATOR_STACK] =
		"SELECT frames.module,frames.offset,function,function_offset,file,line,"
		"inlined,why,path,build_id,bias,position FROM creator_stacks"
		" JOIN frames ON frames.id=creator_stacks.frame"
		" LEFT JOIN modules ON modules.id=frames.module"
		" LEFT JOIN mappings ON mappings.module=frames.module"
		" AND mappings.process=?2 WHERE creator=?1 ORDER BY position",
	[GET_CREATOR_ADDRESSES] =
		"SELECT creator,position,offset+ifnull(bias,0) FROM creator_stacks"
		" JOIN creators ON creators.id=creator JOIN frames ON frames.id=frame"
		" LEFT JOIN mappings ON mappings.module=frames.module"
		" AND mappings.process=creators.process WHERE NOT inlined"
		" ORDER BY creator,position",
};
_Static_assert(ARRAY_SIZE(statements) == RECORDING_STATEMENTS, "a text for every statement");

/* What SQLite says of it, if it is SQLite that complains. */
static const char *detail(const struct recording *recording)
{
	int code = sqlite3_errcode(recording->database) & 0xff;

	return code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE
		       ? "a value that no recording holds"
		       : sqlite3_errmsg(recording->database);
}

int recording_fail(const struct recording *recording, int error, const char *what)
{
	if (error == -ENOMEM)
		log_error("out of memory");
	else if (error == -EUCLEAN)
		log_error("%s is damaged: %s (%s); `sqlite3 FILE .recover` may save part of it",
			  recording->path, what, detail(recording));
	else
		log_error("cannot read %s: %s: %s", recording->path, what, strerror(-error));
	return error;
}

const char *recording_text(struct recording *recording, sqlite3_stmt *statement, int column,
			   int *error)
{
	_cleanup_free_ char *cut = NULL;
	const char *text = database_text(statement, column), *kept;

	if (!text)
		return NULL;
	cut = strndup(text, RECORDING_TEXT_MAX);
	kept = cut ? intern_string(&recording->strings, cut) : NULL;
	if (!kept)
		*error = -ENOMEM;
	return kept;
}

static int prepare(struct recording *recording)
{
	for (size_t i = 0; i < RECORDING_STATEMENTS; i++) {
		int code;

		if (i >= GET_THREADS && recording->version < 2)
			return 0;
		code = sqlite3_prepare_v3(recording->database, statements[i], -1,
					  SQLITE_PREPARE_PERSISTENT, &recording->statements[i],
					  NULL);

		if (code)
			return recording_fail(recording, -EUCLEAN, "its tables");
	}
	return 0;
}

static int snapshot_add(struct recording *recording, sqlite3_stmt *statement, int *error)
{
	struct recording_snapshot *snapshot = vec_push(&recording->snapshots);
	uint64_t time_ns = database_unsigned(statement, 1, error);
	const char *label = database_text(statement, 3);

	if (!snapshot)
		return *error = -ENOMEM;
	snapshot->sequence = database_unsigned(statement, 0, error);
	snapshot->time = (struct timespec){.tv_sec = (time_t)(time_ns / 1000000000),
					   .tv_nsec = (long)(time_ns % 1000000000)};
	snapshot->monotonic_ns = database_unsigned(statement, 2, error);
	snapshot->full = database_unsigned(statement, 4, error) != 0;
	snapshot->rows = database_unsigned(statement, 5, error);
	if (label) {
		snapshot->label = strndup(label, RECORDING_TEXT_MAX);
		if (!snapshot->label)
			*error = -ENOMEM;
	}
	if (recording->snapshots.count > RECORDING_SNAPSHOTS_MAX)
		*error = -EUCLEAN;
	return *error;
}

static int list_snapshots(struct recording *recording)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int more, error = database_errno(sqlite3_prepare_v2(
			  recording->database,
			  "SELECT sequence,time_ns,monotonic_ns,label,is_full,rows FROM snapshots"
			  " ORDER BY sequence",
			  -1, &statement, NULL));

	if (error)
		return recording_fail(recording, -EUCLEAN, "its snapshots");
	while (!error && (more = database_next(statement)) != 0)
		error = more < 0 ? more : snapshot_add(recording, statement, &error);
	if (error)
		return recording_fail(recording, error, "its snapshots");
	if (recording->snapshots.count && !recording->snapshots.items[0].full)
		return recording_fail(recording, -EUCLEAN, "its first snapshot is not whole");
	if (recording->snapshots.count || recording->retains.count)
		return 0;
	log_error("%s holds no snapshot: the monitor ended before its first one", recording->path);
	return -ENODATA;
}

static void process_read(struct recording *recording, sqlite3_stmt *statement, int *error)
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

unsigned recording_name_index(const char *name, const char *(*name_of)(unsigned), unsigned max)
{
	for (unsigned i = 0; name && i < max; i++) {
		const char *candidate = name_of(i);

		if (candidate && !strcmp(name, candidate))
			return i;
	}
	return 0;
}

static const char *lost_name_of(unsigned i)
{
	return lost_name((enum lm_lost)i);
}

const char *recording_walk_end_name(unsigned i)
{
	return walk_end_name((enum lm_walk_end)i);
}

static const char *family_name_of(unsigned i)
{
	return family_name((enum site_family)i);
}

static const char *kind_name_of(unsigned i)
{
	return kind_name((enum site_kind)i);
}

static void site_read(struct recording *recording, sqlite3_stmt *statement, int *error)
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

static int read_rows(struct recording *recording, enum recording_statement which,
		     void (*read)(struct recording *, sqlite3_stmt *, int *), const char *what)
{
	sqlite3_stmt *statement = recording->statements[which];
	int error = 0, more;

	while (!error && (more = database_next(statement)) != 0) {
		if (more < 0)
			error = more;
		else
			read(recording, statement, &error);
	}
	sqlite3_reset(statement);
	return error ? recording_fail(recording, error, what) : 0;
}

static void read_host(struct recording *recording)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	const char *host = NULL;

	if (!sqlite3_prepare_v2(recording->database, "SELECT value FROM meta WHERE key='host'", -1,
				&statement, NULL) &&
	    sqlite3_step(statement) == SQLITE_ROW)
		host = database_text(statement, 0);
	if (host)
		recording->host = strndup(host, RECORDING_TEXT_MAX);
}

static int recording_load(struct recording *recording)
{
	int error = recording_open_database(recording);

	if (!error)
		error = prepare(recording);
	if (!error)
		error = recording_list_retains(recording);
	if (!error)
		error = list_snapshots(recording);
	if (!error)
		error = read_rows(recording, GET_PROCESSES, process_read, "its processes");
	if (!error)
		error = read_rows(recording, GET_SITES, site_read, "its sites");
	if (!error && recording->version >= 2)
		error = read_rows(recording, GET_CREATORS, creator_read, "who created its threads");
	if (!error && recording->version >= 2)
		error = read_rows(recording, GET_CREATOR_ADDRESSES, creator_address_read,
				  "who created its threads");
	read_host(recording);
	return error;
}

int recording_open(struct recording **recording, const char *path)
{
	struct recording *made;
	int error;

	error = recording_check_file(path);
	if (error)
		return error;
	made = calloc(1, sizeof(*made));
	if (made)
		made->path = database_path(path);
	if (!made || !made->path) {
		free(made);
		log_error("out of memory");
		return -ENOMEM;
	}
	error = recording_load(made);
	if (error)
		recording_close(made);
	else
		*recording = made;
	return error;
}

const struct recording_snapshot *recording_snapshots(const struct recording *recording,
						     size_t *count)
{
	*count = recording->snapshots.count;
	return recording->snapshots.items;
}

const char *recording_host(const struct recording *recording)
{
	return recording->host ? recording->host : "";
}

void recording_close(struct recording *recording)
{
	if (!recording)
		return;
	for (size_t i = 0; i < RECORDING_STATEMENTS; i++)
		sqlite3_finalize(recording->statements[i]);
	sqlite3_close(recording->database);
	for (size_t i = 0; i < recording->snapshots.count; i++)
		free(recording->snapshots.items[i].label);
	vec_free(&recording->snapshots);
	vec_free(&recording->retains);
	vec_free(&recording->processes);
	vec_free(&recording->sites);
	hash_free(&recording->process_rows);
	hash_free(&recording->site_rows);
	for (size_t i = 0; i < recording->creators.count; i++)
		vec_free(&recording->creators.items[i].addresses);
	vec_free(&recording->creators);
	hash_free(&recording->creator_rows);
	intern_free(&recording->strings);
	free(recording->host);
	free(recording->path);
	free(recording);
}
