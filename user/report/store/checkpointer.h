/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves committed data from a recording's log into its file, on a separate thread: moving waits for
 * the disk several times, and the thread that appends snapshots has processes to watch.
 *
 * The thread changes nothing visible to readers, nor what a crash leaves: commits are on disk, in
 * the log, before they return. sqlite.org/wal.html describes checkpoints.
 */
#ifndef LEAKMON_STORE_CHECKPOINTER_H
#define LEAKMON_STORE_CHECKPOINTER_H

#include "report/store/database.h"

/* Pages in the log from which on they are moved... */
#define CHECKPOINT_PAGES 250
/* ...and from which on a commit waits for that, so that the log is bounded. */
#define CHECKPOINT_PAGES_MAX 2500

struct checkpointer;

/*
 * Takes over SQLite's default checkpoints of `writer`, a connection to the file at `path` that only
 * this thread uses. Returns 0 or -errno without a message: then `writer` continues as before.
 */
int checkpointer_start(struct checkpointer **checkpointer, const char *path, sqlite3 *writer);

/*
 * Waits until everything committed so far is moved, except for data that others are still reading:
 * for tests.
 */
void checkpointer_settle(struct checkpointer *checkpointer);

/* Ends it, before `writer` is closed. NULL is allowed. */
void checkpointer_stop(struct checkpointer *checkpointer);

#endif
