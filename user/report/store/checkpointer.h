/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves what was committed from a recording's log into its file, in a thread of its own: moving
 * waits for the disk several times, and whoever appends a snapshot has processes to watch.
 *
 * What the thread does changes nothing that anybody reads, and nothing that a crash leaves: commits
 * are on the disk, in the log, before they return. sqlite.org/wal.html describes checkpoints.
 */
#ifndef LEAKMON_STORE_CHECKPOINTER_H
#define LEAKMON_STORE_CHECKPOINTER_H

#include "report/store/database.h"

/* Pages in the log from which on they are moved... */
#define CHECKPOINT_PAGES 250
/* ...and from which on a commit waits until they are, so that the log has a bound. */
#define CHECKPOINT_PAGES_MAX 2500

struct checkpointer;

/*
 * Takes over from `writer`, a connection to the file at `path` that is in use by this thread only,
 * what its commits have SQLite do by default. 0 or -errno without a message: then `writer` goes on
 * as before.
 */
int checkpointer_start(struct checkpointer **checkpointer, const char *path, sqlite3 *writer);

/* Waits until all that was committed up to now is moved, but for what others are still reading: for
 * tests. */
void checkpointer_settle(struct checkpointer *checkpointer);

/* Before `writer` is closed. NULL is allowed. */
void checkpointer_stop(struct checkpointer *checkpointer);

#endif
