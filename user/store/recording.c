// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/recording.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/recording_state.h"

static const struct {
	const char *sql;
	int64_t since;	     /* the schema that has all that it names; 0: the first */
	const char *instead; /* for an older one; NULL: nothing */
} statements[] = {
	[GET_SNAPSHOT] = {"SELECT has_ages,sampled,scan_ns,has_owners,only_by_dead FROM snapshots "
			  "WHERE sequence=?",
			  3, "SELECT has_ages,sampled,scan_ns,0,0 FROM snapshots WHERE sequence=?"},
	[GET_PROCESSES] = {"SELECT id,key,pid,comm,exe,container_id,namespace,pod,container"
			   " FROM processes"},
	[GET_POINTS] = {"SELECT points.snapshot,site,bytes,count,allocated_bytes,allocated_count,"
			"freed_bytes,freed_count,oldest_ms,snapshots.monotonic_ns"
			" FROM points CROSS JOIN snapshots ON snapshots.sequence=points.snapshot"
			" WHERE points.snapshot BETWEEN ? AND ? ORDER BY points.snapshot"},
	[GET_AGES] = {"SELECT site,s1,s10,min1,min10,h1,h6,day1 FROM ages"
		      " WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot"},
	[GET_BY_DEAD] = {"SELECT site,bytes,count FROM by_dead WHERE snapshot BETWEEN ? AND ? "
			 "ORDER BY snapshot",
			 3},
	[GET_LEDGERS] = {"SELECT process,state,exact,shown_bytes,shown_count,allocations,frees,"
			 "outstanding,purged,untracked_frees,inherited_frees,filtered,unsampled,"
			 "failed,abandoned,outstanding_bytes,scanned,moved FROM ledgers"
			 " WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot"},
	[GET_LOSSES] = {"SELECT process,kind,cause,count FROM losses"
			" WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot"},
	[GET_SITES] = {"SELECT id,process,stack,lost,walk_end,family,kind FROM sites"},
	[GET_STACK] = {"SELECT frames.module,frames.offset,function,function_offset,file,line,"
		       "inlined,why,path,build_id,bias FROM stacks"
		       " JOIN frames ON frames.id=stacks.frame"
		       " LEFT JOIN modules ON modules.id=frames.module"
		       " LEFT JOIN mappings ON mappings.module=frames.module"
		       " AND mappings.process=?2 WHERE site=?1 ORDER BY position"},
	[GET_THREADS] = {"SELECT process,alive,dead,dead_stack_bytes,dead_resident_bytes,"
			 "dead_heap_bytes,dead_heap_count,created,joined,detached,exact,untold,why"
			 " FROM threads"
			 " WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot",
			 2},
	[GET_DEAD] = {"SELECT creator,count,before_attach,oldest_ns,newest_ns,stack_bytes,"
		      "resident_bytes,heap_bytes,heap_count FROM dead_threads"
		      " WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot",
		      2},
	[GET_MAPPING_LEDGERS] = {"SELECT process,mapped,unmapped,outstanding,purged,ranges,"
				 "events_lost,missed,healed FROM mapping_ledgers"
				 " WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot",
				 2},
	[GET_CREATORS] = {"SELECT id,process,stack,walk_end FROM creators", 2},
	[GET_CREATOR_STACK] =
		{"SELECT frames.module,frames.offset,function,function_offset,file,line,"
		 "inlined,why,path,build_id,bias,position FROM creator_stacks"
		 " JOIN frames ON frames.id=creator_stacks.frame"
		 " LEFT JOIN modules ON modules.id=frames.module"
		 " LEFT JOIN mappings ON mappings.module=frames.module"
		 " AND mappings.process=?2 WHERE creator=?1 ORDER BY position",
		 2},
	[GET_CREATOR_ADDRESSES] =
		{"SELECT creator,position,offset+ifnull(bias,0) FROM creator_stacks"
		 " JOIN creators ON creators.id=creator JOIN frames ON frames.id=frame"
		 " LEFT JOIN mappings ON mappings.module=frames.module"
		 " AND mappings.process=creators.process WHERE NOT inlined"
		 " ORDER BY creator,position",
		 2},
};
_Static_assert(ARRAY_SIZE(statements) == RECORDING_STATEMENTS, "a text for every statement");

static int prepare(struct recording *recording)
{
	for (size_t i = 0; i < RECORDING_STATEMENTS; i++) {
		bool has = recording->version >= statements[i].since;
		const char *sql = has ? statements[i].sql : statements[i].instead;
		int code;

		if (!sql)
			continue;
		code = sqlite3_prepare_v3(recording->database, sql, -1, SQLITE_PREPARE_PERSISTENT,
					  &recording->statements[i], NULL);
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
		error = read_rows(recording, GET_PROCESSES, process_row_read, "its processes");
	if (!error)
		error = read_rows(recording, GET_SITES, site_row_read, "its sites");
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
