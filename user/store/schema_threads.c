// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads and mappings of each process. As everywhere, a row holds until the next one of the same
 * process or creator, and snapshots with `is_full` have a row for everything.
 */
#include "store/schema.h"

const char schema_threads_sql[] =
	/* Of version 1; nothing was ever written to it. */
	"DROP TABLE threads;"

	/* NULL: not known. What comes behind `alive` is known together. */
	"CREATE TABLE threads("
	" snapshot INTEGER NOT NULL, process INTEGER NOT NULL,"
	" alive INTEGER, dead INTEGER, dead_stack_bytes INTEGER, dead_resident_bytes INTEGER,"
	" dead_heap_bytes INTEGER, dead_heap_count INTEGER,"
	" created INTEGER, joined INTEGER, detached INTEGER,"
	" exact INTEGER,"  /* 0: some were missed */
	" untold INTEGER," /* ended, joined or not: not known, not in `dead` */
	" why TEXT,"	   /* why no more than `alive` is known */
	" PRIMARY KEY(snapshot, process)) WITHOUT ROWID;"

	/* Who created dead threads, and to run what. */
	"CREATE TABLE creators("
	" id INTEGER PRIMARY KEY,"
	" process INTEGER NOT NULL,"
	" stack TEXT NOT NULL," /* the same on every run, host and load address */
	" walk_end TEXT NOT NULL);"

	"CREATE TABLE creator_stacks("
	" creator INTEGER NOT NULL,"
	" position INTEGER NOT NULL," /* 0: pthread_create's caller; -1: what the threads ran */
	" frame INTEGER NOT NULL,"
	" PRIMARY KEY(creator, position)) WITHOUT ROWID;"

	"CREATE TABLE dead_threads("
	" snapshot INTEGER NOT NULL, creator INTEGER NOT NULL,"
	" count INTEGER NOT NULL, before_attach INTEGER NOT NULL,"
	" oldest_ns INTEGER, newest_ns INTEGER," /* ended then, as snapshots.monotonic_ns */
	" stack_bytes INTEGER NOT NULL, resident_bytes INTEGER NOT NULL,"
	" heap_bytes INTEGER NOT NULL, heap_count INTEGER NOT NULL,"
	" PRIMARY KEY(snapshot, creator)) WITHOUT ROWID;"

	/* Bytes, but for the ranges and events_lost. process 0: the sum. Only with --mappings. */
	"CREATE TABLE mapping_ledgers("
	" snapshot INTEGER NOT NULL, process INTEGER NOT NULL,"
	" mapped INTEGER NOT NULL, unmapped INTEGER NOT NULL, outstanding INTEGER NOT NULL,"
	" purged INTEGER NOT NULL, ranges INTEGER NOT NULL, events_lost INTEGER NOT NULL,"
	" missed INTEGER NOT NULL, healed INTEGER NOT NULL,"
	" PRIMARY KEY(snapshot, process)) WITHOUT ROWID;";
