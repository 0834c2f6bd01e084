/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader's parts. Internal to store/. */
#ifndef LEAKMON_STORE_RECORDING_STATE_H
#define LEAKMON_STORE_RECORDING_STATE_H

#include "base/hash.h"
#include "process/symbol/intern.h"
#include "report/store/database.h"
#include "report/store/figure_rows.h"
#include "report/store/recording.h"

/* More than any genuine run has; a file with more was made to take for ever. */
#define RECORDING_SNAPSHOTS_MAX 10000000
#define RECORDING_SITES_MAX (1u << 22)
#define RECORDING_PROCESSES_MAX (1u << 22)
#define RECORDING_DEPTH_MAX 4096
#define RECORDING_HOSTS_MAX 100000
#define RECORDING_TEXT_MAX 65536

enum recording_statement {
	GET_SNAPSHOT,
	GET_PROCESSES,
	GET_HOSTS,
	GET_POINTS,
	GET_AGES,
	GET_BY_DEAD,
	GET_ESTIMATES,
	GET_LOSSES,
	GET_SITES,
	GET_STACK,
	GET_DEAD,
	GET_CREATORS,
	GET_CREATOR_STACK,
	GET_CREATOR_ADDRESSES,
	RECORDING_STATEMENTS,
};

/* A row of `processes`. */
struct known_process {
	uint64_t row;
	lm_process_key key;
	uint32_t pid;
	char comm[16];
	const char *exe, *container_id, *namespace, *pod, *container, *host;
};

/* A row of `sites`. */
struct known_site {
	uint64_t row, process; /* row ids */
	uint64_t stack;
	enum lm_lost lost;
	enum lm_walk_end end;
	enum family_id family;
	enum site_kind kind;
	const char *patterns; /* interned; or NULL */
};

/* A row of `creators`. */
struct known_creator {
	uint64_t row, process; /* row ids */
	uint64_t stack;
	enum lm_walk_end end;
	uint64_t start_routine;
	VEC(uint64_t) addresses; /* as in struct dead_group */
};

struct dead_at {
	uint64_t creator;
	struct dead_group group;       /* without addresses */
	uint64_t oldest_ns, newest_ns; /* time of the end, on the snapshots' clock */
};

/* The latest numbers of a site while points are read in order. */
struct site_state {
	struct site numbers;
	uint64_t monotonic_ns; /* of the snapshot with this row */
};

/* The latest numbers of a process; row 0: of all of them. */
struct process_state_at {
	uint64_t row;
	int64_t state;
	uint64_t snapshot;	      /* the one that wrote the row */
	struct snapshot_process seen; /* without names, sites and groups of dead threads */
};

/* All numbers as of one snapshot. */
struct state {
	VEC(struct site_state) sites; /* numbers.index is the row id */
	struct hash site_positions;   /* row id -> position */
	VEC(struct process_state_at) processes;
	struct hash process_positions;
	bool has_figures[FAMILY_MAX_];
	VEC(struct dead_at) dead;
	struct hash dead_positions;
};

struct recording {
	sqlite3 *database;
	sqlite3_stmt *statements[RECORDING_STATEMENTS];
	sqlite3_stmt *get_figures[FAMILY_MAX_]; /* rows of each family's table */
	char *path;
	int64_t work_left, work_most;
	char *host, *boot_id, *kernel;
	VEC(struct report_host) hosts; /* of a fleet; texts are in `strings` */
	VEC(struct recording_snapshot) snapshots;
	VEC(struct recording_retain) retains;
	VEC(struct recording_profile) profiles;
	VEC(struct recording_goroutines) goroutines;
	VEC(struct known_process) processes;
	struct hash process_rows; /* row id -> position in processes */
	VEC(struct known_site) sites;
	struct hash site_rows;
	VEC(struct known_creator) creators;
	struct hash creator_rows;
	struct intern strings;
};

/* Makes all of these checks, for a file to be written to. Returns 0, or -errno after a message. */
int recording_verify(const char *path);

/*
 * Starts the work limit of one question, so that no table leads a query through the same rows for
 * ever: in SQLite's steps (sqlite.org/opcode.html), or their equivalents.
 */
void recording_begin(struct recording *recording);
/* Charges the processing of a query's rows. Returns 0; -EUCLEAN: the limit is exceeded. */
int recording_work(struct recording *recording, uint64_t steps);

/* Logs the file's defect, and returns the error. */
int recording_fail(const struct recording *recording, int error, const char *what);

/*
 * Returns the interned text of a column, cut at RECORDING_TEXT_MAX; NULL: null, or out of memory
 * (*error).
 */
const char *recording_text_into(struct intern *strings, sqlite3_stmt *statement, int column,
				int *error);
/* Interns a column's text, as above, among the recording's own strings. */
const char *recording_text(struct recording *recording, sqlite3_stmt *statement, int column,
			   int *error);
/* Add the row's contents. */
void process_row_read(struct recording *recording, sqlite3_stmt *statement, int *error);
void host_row_read(struct recording *recording, sqlite3_stmt *statement, int *error);
void site_row_read(struct recording *recording, sqlite3_stmt *statement, int *error);

/*
 * Stacks of retain_stacks: prepares a statement for them, and reads the frames of one. Returns 0 or
 * -errno.
 */
int stored_stacks_prepare(const struct recording *recording, sqlite3_stmt **statement);
/* Writes them, with this statement. */
#define STORED_STACK_INSERT                                                                        \
	"INSERT OR REPLACE INTO retain_stacks VALUES(?,?,?,?,?,?,?,?,?,nullif(?,0),?,?)"
int stored_stack_put(sqlite3_stmt *statement, uint64_t id, const struct frames *frames);
int stored_stack_read(struct recording *recording, struct intern *strings, sqlite3_stmt *statement,
		      uint64_t id, struct frames *frames);

/* retain_runs.c */
int recording_list_retains(struct recording *recording);
/* profile_runs.c */
int recording_list_profiles(struct recording *recording);
/* goroutine_runs.c */
int recording_list_goroutines(struct recording *recording);

/* In recording_state.c: advances a state from the snapshots before `from` to that of `to`. */
int state_advance(struct recording *recording, struct state *state, uint64_t from, uint64_t to);
/* Clears everything, for a full snapshot. */
void state_clear(struct state *state);
void state_free(struct state *state);

/* Read rows of dead_threads, creators and their stacks. */
void dead_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
	       int *error);
void creator_address_read(struct recording *recording, sqlite3_stmt *statement, int *error);
void creator_read(struct recording *recording, sqlite3_stmt *statement, int *error);

#endif
