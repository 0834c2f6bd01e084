/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's parts. Internal to store/. All functions return 0 or -errno. */
#ifndef LEAKMON_STORE_RECORDER_STATE_H
#define LEAKMON_STORE_RECORDER_STATE_H

#include "base/hash.h"
#include "report/store/database.h"
#include "report/store/figure_rows.h"
#include "report/store/recorder.h"

/* For stacks: the parameters of PUT_STACK. */
#define RECORDER_FRAMES_AT_ONCE 16

enum recorder_statement {
	PUT_SNAPSHOT,
	PUT_PROCESS,
	PUT_MODULE,
	PUT_MAPPING,
	PUT_FRAME,
	PUT_SITE,
	CLEAR_STACK,
	PUT_STACK,
	PUT_POINT,
	PUT_AGES,
	PUT_BY_DEAD,
	PUT_ESTIMATE,
	PUT_LOSS,
	PUT_CREATOR,
	CLEAR_CREATOR_STACK,
	PUT_CREATOR_STACK,
	PUT_DEAD,
	PUT_MEMORY,
	PUT_MEMORY_PART,
	SET_ROWS,
	/* Dropping a snapshot: ?1 it, ?2 the next one. In this order. */
	HAND_ON_FULL,
	DROP_SNAPSHOT,
	COUNT_ROWS,
	ALL_SNAPSHOTS,
	PUT_MISSED,
	RECORDER_STATEMENTS,
};

/* The last row written of a process: rewritten when it differs. */
struct recorded_process {
	lm_process_key key;
	uint32_t pid;
	uint64_t described;	       /* hash of its names */
	uint64_t numbers;	       /* hash of its ledger row */
	uint64_t figures[FAMILY_MAX_]; /* of each family's row */
	uint64_t seen;		       /* the append that last saw it */
	bool gone;
};

struct recorded_site {
	lm_process_key process;
	int64_t process_row;
	uint32_t index;
	enum family_id family;
	int64_t row;
	uint64_t stack; /* hash of its frames as written */
	uint64_t seen;
	struct site last; /* the numbers; its addresses are not kept */
};

/* Dead threads of one creator. */
struct recorded_creator {
	int64_t process_row, row;
	uint64_t stack;	  /* hash of its frames as written */
	uint64_t numbers; /* of its row */
	uint64_t seen;	  /* the append that last saw it */
	bool gone;	  /* the last row has count 0 */
};

struct kept_snapshot {
	int64_t sequence;
	uint64_t monotonic_ns;
	bool labelled, full;
};

/* Numbers of rows: ids count up, so that a rollback removes the last ones. */
struct recorded_counts {
	uint64_t processes, modules, frames, mappings, sites, creators;
};

/*
 * Tables with rows that hold until the next one: statements to move rows when a snapshot is
 * dropped.
 */
#define HELD_TABLES_MAX (8 + FAMILY_MAX_)
struct held_table {
	sqlite3_stmt *move, *drop;
	bool even_to_full; /* full snapshots may lack rows of this table */
};

struct recorder {
	sqlite3 *database;
	struct checkpointer *checkpointer; /* NULL: commits make checkpoints */
	sqlite3_stmt *statements[RECORDER_STATEMENTS];
	sqlite3_stmt *put_figures[FAMILY_MAX_]; /* a row of each family's table */
	struct held_table held_tables[HELD_TABLES_MAX];
	size_t held_table_count;
	char *path;
	struct recorder_options options;
	VEC(struct recorded_process) processes; /* row id - 1 */
	VEC(struct recorded_site) sites;
	VEC(struct recorded_creator) creators; /* row id - 1 */
	struct hash site_positions;	       /* (process row, index) -> position in sites */
	/* Hash of the contents -> row id; for mappings, -> a running number. */
	struct hash process_rows, module_rows, frame_rows, mapping_rows, creator_rows;
	struct recorded_counts counts, committed;
	VEC(struct kept_snapshot) kept;
	int64_t sequence; /* of the latest snapshot; the recorder numbers them in the file */
	uint64_t appends, missed;
	uint64_t missed_recorded;     /* of them, those already in the recording */
	uint64_t totals[FAMILY_MAX_]; /* hashes of the rows of all processes together */
	int64_t rows;		      /* in points, of the snapshot being written */
	uint64_t since_full;	      /* snapshots since the last full one */
	bool full;		      /* this one is */
	bool ages;		      /* this one has histograms */
};

/* Forgets uncommitted rows, after a rollback. Returns 0 or -ENOMEM. */
int recorder_forget_rows(struct recorder *recorder);
/* Rebuilds the index after sites were removed from the array. Returns 0 or -ENOMEM. */
int recorder_index_sites(struct recorder *recorder);

/* Mixes a value into a hash, for keys within a run only, never stored. NULL is a distinct text. */
static inline uint64_t recorder_mix(uint64_t hash, uint64_t value)
{
	return hash_mix(hash ^ hash_mix(value));
}

/* Writes all numbers of one snapshot. */
int recorder_put_numbers(struct recorder *recorder, const struct report *report);

/* Recordings as files (recorder.c). */

/* Creates the file, which must not exist. Returns 0, or -errno after an error message. */
int recorder_file_make(const char *path, sqlite3 **database);

/*
 * Opens an existing one and upgrades it to the present schema; or creates it. Returns 0, or -errno
 * after an error message.
 */
int recorder_file_reopen(const char *path, sqlite3 **database);

/* Merges the log into the file, unless others have it open, too. NULL is allowed. */
void recorder_file_close(sqlite3 *database);

#endif
