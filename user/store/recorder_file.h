/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings as files: made, opened to add to them, and closed as one plain file. */
#ifndef LEAKMON_STORE_RECORDER_FILE_H
#define LEAKMON_STORE_RECORDER_FILE_H

#include "store/database.h"

/* Makes the file, which must not be there yet. 0, or -errno after an error message. */
int recorder_file_make(const char *path, sqlite3 **database);

/*
 * Opens one that is there, and brings it to the present schema; or makes it. 0, or -errno after an
 * error message.
 */
int recorder_file_reopen(const char *path, sqlite3 **database);

/* Puts everything into the one file, unless others have it open too. NULL is allowed. */
void recorder_file_close(sqlite3 *database);

#endif
