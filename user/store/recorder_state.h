/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's parts. Internal to store/. All functions return 0 or -errno. */
#ifndef LEAKMON_STORE_RECORDER_STATE_H
#define LEAKMON_STORE_RECORDER_STATE_H

#include "base/hash.h"
#include "store/database.h"
#include "store/ledger_columns.h"
#include "store/recorder.h"

/* Of a stack: what PUT_STACK takes. */
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
	PUT_LEDGER,
	PUT_LOSS,
	PUT_THREADS,
	PUT_CREATOR,
	CLEAR_CREATOR_STACK,
	PUT_CREATOR_STACK,
	PUT_DEAD,
	PUT_MAPPING_LEDGER,
	SET_ROWS,
	/* Forgetting one snapshot: ?1 it, ?2 the next one. In this order. */
	MOVE_POINTS,
	DROP_POINTS,
	MOVE_AGES,
	DROP_AGES,
	MOVE_BY_DEAD,
	DROP_BY_DEAD,
	MOVE_LEDGERS,
	DROP_LEDGERS,
	MOVE_LOSSES,
	DROP_LOSSES,
	MOVE_THREADS,
	DROP_THREADS,
	MOVE_DEAD,
	DROP_DEAD,
	MOVE_MAPPING_LEDGERS,
	DROP_MAPPING_LEDGERS,
	HAND_ON_FULL,
	DROP_SNAPSHOT,
	COUNT_ROWS,
	ALL_SNAPSHOTS,
	RECORDER_STATEMENTS,
};

/* What was written last of a process: it is written again when it differs. */
struct recorded_process {
	lm_process_key key;
	uint32_t pid;
	uint64_t described;	   /* hash of its names */
	uint64_t numbers;	   /* hash of its ledger row */
	uint64_t threads, mapping; /* likewise, of these */
	uint64_t seen;		   /* the append that saw it last */
	bool gone;
};

struct recorded_site {
	lm_process_key process;
	int64_t process_row;
	uint32_t index;
	enum site_family family;
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
	uint64_t seen;	  /* the append that saw it last */
	bool gone;	  /* the last row says that none is left */
};

struct kept_snapshot {
	int64_t sequence;
	uint64_t monotonic_ns;
	bool labelled, full;
};

/* Rows there are: ids count up, so that a rollback takes away the last ones. */
struct recorded_counts {
	uint64_t processes, modules, frames, mappings, sites, creators;
};

struct recorder {
	sqlite3 *database;
	struct checkpointer *checkpointer; /* NULL: commits make checkpoints */
	sqlite3_stmt *statements[RECORDER_STATEMENTS];
	char *path;
	struct recorder_options options;
	VEC(struct recorded_process) processes; /* row id - 1 */
	VEC(struct recorded_site) sites;
	VEC(struct recorded_creator) creators; /* row id - 1 */
	struct hash site_positions;	       /* (process row, index) -> position in sites */
	/* From a hash of the contents to the row id; of mappings, to a running number. */
	struct hash process_rows, module_rows, frame_rows, mapping_rows, creator_rows;
	struct recorded_counts counts, committed;
	VEC(struct kept_snapshot) kept;
	int64_t sequence; /* of the latest snapshot; in the file they are counted by the recorder */
	uint64_t appends, missed;
	uint64_t mapping_total; /* hash of the sum's row in mapping_ledgers */
	int64_t rows;		/* in points, of the snapshot being written */
	uint64_t since_full;	/* snapshots since the last full one */
	bool full;		/* this one is */
	bool ages;		/* this one gets its histogram */
};

/* recorder_rows.c: the row of a process, of a site (written if new or if its frames changed). */
int recorder_put_process(struct recorder *recorder, const struct snapshot_process *process,
			 int64_t *row);
int recorder_put_site(struct recorder *recorder, int64_t process,
		      const struct snapshot_process *owner, const struct report_site *site,
		      struct recorded_site **recorded);
/* After a rollback: forgets the rows that were not committed. */
int recorder_forget_rows(struct recorder *recorder);
/* After sites were taken out of the array. */
int recorder_index_sites(struct recorder *recorder);

/* recorder_stacks.c. For keys within a run only, never stored; NULL is a text of its own. */
uint64_t recorder_text_hash(const char *text);
static inline uint64_t recorder_mix(uint64_t hash, uint64_t value)
{
	return hash_mix(hash ^ hash_mix(value));
}
/* The row of a frame that is seen in that process, written if it is new. */
int recorder_put_frame(struct recorder *recorder, int64_t process, const struct frame *frame,
		       int64_t *row);
/* The same for the same frames; never 0. */
uint64_t recorder_stack_hash(const struct frames *frames);
/* Of a site, instead of what was there. */
int recorder_put_stack(struct recorder *recorder, int64_t process, int64_t site,
		       const struct frames *frames);

/* recorder_threads.c: threads, dead ones by creator, and the mapping ledger of one process. */
int recorder_put_threads(struct recorder *recorder, int64_t process,
			 const struct report_process *report, const struct snapshot *snapshot);
/* Creators of whose threads none is left, and the sum over all processes; at last. */
int recorder_end_threads(struct recorder *recorder, const struct snapshot *snapshot);

/* recorder_points.c: all numbers of one snapshot. */
int recorder_put_numbers(struct recorder *recorder, const struct report *report);

/* recorder_keep.c: forgets what --keep no longer allows. */
int recorder_keep(struct recorder *recorder);

#endif
