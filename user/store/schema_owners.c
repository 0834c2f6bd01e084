// SPDX-License-Identifier: GPL-2.0-or-later
/* What threads that have ended left behind, and thread-locals as roots. */
#include "store/schema.h"

const char schema_owners_sql[] =
	/* 1: what is in no row of by_dead was allocated by threads that live. */
	"ALTER TABLE snapshots ADD COLUMN has_owners INTEGER NOT NULL DEFAULT 0;"
	/* 1: the numbers of all sites are of blocks whose threads have ended (--by-dead-threads).
	 */
	"ALTER TABLE snapshots ADD COLUMN only_by_dead INTEGER NOT NULL DEFAULT 0;"

	/* Of a site's outstanding blocks, those whose threads have ended; holds as in `points`. */
	"CREATE TABLE by_dead("
	" snapshot INTEGER NOT NULL, site INTEGER NOT NULL,"
	" bytes INTEGER NOT NULL, count INTEGER NOT NULL,"
	" PRIMARY KEY(snapshot, site)) WITHOUT ROWID;"

	/* That have one, of a thread-local; else 0. */
	"ALTER TABLE retain_roots ADD COLUMN threads INTEGER NOT NULL DEFAULT 0;"

	/* Allocations that could not be tracked. */
	"ALTER TABLE retains ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;";
