/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader's parts. Internal to store/. */
#ifndef LEAKMON_STORE_RECORDING_STATE_H
#define LEAKMON_STORE_RECORDING_STATE_H

#include "base/hash.h"
#include "process/symbol/intern.h"
#include "report/store/database.h"
#include "report/store/figure_rows.h"
#include "report/store/recording.h"

/* No run of ours makes more; a file that says so was made to be read for ever. */
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
	uint64_t oldest_ns, newest_ns; /* ended then, on the snapshots' clock */
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
	uint64_t snapshot;	      /* that wrote its row */
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

/* All of these for a file that is to be written to. */
int recording_verify(const char *path);

/*
 * What one question may cost, so that no table leads a query through the same rows for ever: so
 * many of SQLite's steps (sqlite.org/opcode.html), or what takes as long.
 */
void recording_begin(struct recording *recording);
/* For what a query's rows are made into. 0; -EUCLEAN: nothing is left. */
int recording_work(struct recording *recording, uint64_t steps);

/* Says what is wrong with the file, and returns the error. */
int recording_fail(const struct recording *recording, int error, const char *what);

/* The interned text of a column, cut at RECORDING_TEXT_MAX; NULL: null, or no memory (*error). */
const char *recording_text_into(struct intern *strings, sqlite3_stmt *statement, int column,
				int *error);
/* Among the recording's own strings. */
const char *recording_text(struct recording *recording, sqlite3_stmt *statement, int column,
			   int *error);
/* Adds what the row says. */
void process_row_read(struct recording *recording, sqlite3_stmt *statement, int *error);
void host_row_read(struct recording *recording, sqlite3_stmt *statement, int *error);
void site_row_read(struct recording *recording, sqlite3_stmt *statement, int *error);

/* Stacks of retain_stacks: a statement for them, and the frames of one. 0 or -errno. */
int stored_stacks_prepare(const struct recording *recording, sqlite3_stmt **statement);
/* And to write them: with this statement. */
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

/* recording_state.c: brings a state from the snapshots before `from` to that of `to`. */
int state_advance(struct recording *recording, struct state *state, uint64_t from, uint64_t to);
/* Forgets everything, for a full snapshot. */
void state_clear(struct state *state);
void state_free(struct state *state);

/* Rows of dead_threads, creators and their stacks. */
void dead_read(struct recording *recording, struct state *state, sqlite3_stmt *statement,
	       int *error);
void creator_address_read(struct recording *recording, sqlite3_stmt *statement, int *error);
void creator_read(struct recording *recording, sqlite3_stmt *statement, int *error);

#endif
