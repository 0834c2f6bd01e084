/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The composition of the memory of recorded processes, in the tables `memory` and `memory_parts`.
 * It is read less often than snapshots are taken: a row holds until the next one of the same
 * process, and has its own time. The reader is part of recording.h. Internal to store/.
 */
#ifndef LEAKMON_STORE_MEMORY_ROWS_H
#define LEAKMON_STORE_MEMORY_ROWS_H

#include "report/memory_split.h"
#include "report/store/database.h"

#define MEMORY_PUT_SQL "INSERT INTO memory VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
#define MEMORY_PART_PUT_SQL "INSERT INTO memory_parts VALUES(?,?,?,?,?)"

/* Writes a reading with `put` and `put_part`, the statements above. Returns 0 or -errno. */
int memory_rows_put(sqlite3_stmt *put, sqlite3_stmt *put_part, int64_t snapshot, int64_t process,
		    const struct memory_split *split);

#endif
