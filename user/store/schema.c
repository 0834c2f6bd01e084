// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/schema.h"

/* Row ids instead of names where rows are many; no index where a primary key will do. */
const char schema_sql[] =
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"

	"CREATE TABLE snapshots("
	" sequence INTEGER PRIMARY KEY,"
	" time_ns INTEGER NOT NULL," /* since 1970 */
	" monotonic_ns INTEGER NOT NULL,"
	" label TEXT,"
	" is_full INTEGER NOT NULL,"
	" has_ages INTEGER NOT NULL,"
	" sampled INTEGER NOT NULL,"
	" scan_ns INTEGER NOT NULL,"
	" rows INTEGER NOT NULL);" /* in points */

	"CREATE TABLE processes("
	" id INTEGER PRIMARY KEY,"
	" key INTEGER NOT NULL," /* PID and start time: one incarnation */
	" pid INTEGER NOT NULL,"
	" comm TEXT NOT NULL, exe TEXT,"
	" container_id TEXT, namespace TEXT, pod TEXT, container TEXT);"

	"CREATE TABLE modules(id INTEGER PRIMARY KEY, path TEXT NOT NULL, build_id TEXT);"

	/* Where a module lay in a process: address = bias + frames.offset. */
	"CREATE TABLE mappings("
	" process INTEGER NOT NULL, module INTEGER NOT NULL, bias INTEGER NOT NULL,"
	" PRIMARY KEY(process, module)) WITHOUT ROWID;"

	"CREATE TABLE frames("
	" id INTEGER PRIMARY KEY,"
	" module INTEGER,"	    /* NULL: in no file */
	" offset INTEGER NOT NULL," /* in the module's file (as st_value counts), else an address */
	" function TEXT, function_offset INTEGER NOT NULL,"
	" file TEXT, line INTEGER, inlined INTEGER NOT NULL,"
	" why TEXT);" /* why there is no function */

	"CREATE TABLE sites("
	" id INTEGER PRIMARY KEY,"
	" process INTEGER NOT NULL,"
	" stack TEXT NOT NULL,"		    /* the same on every run, host and load address */
	" family TEXT NOT NULL, kind TEXT," /* heap, mapping, kernel; what for */
	" lost TEXT, walk_end TEXT NOT NULL);"

	"CREATE TABLE stacks("
	" site INTEGER NOT NULL, position INTEGER NOT NULL," /* 0: the allocator's caller */
	" frame INTEGER NOT NULL,"
	" PRIMARY KEY(site, position)) WITHOUT ROWID;"

	"CREATE TABLE points("
	" snapshot INTEGER NOT NULL, site INTEGER NOT NULL,"
	" bytes INTEGER NOT NULL, count INTEGER NOT NULL," /* outstanding */
	" allocated_bytes INTEGER NOT NULL, allocated_count INTEGER NOT NULL,"
	" freed_bytes INTEGER NOT NULL, freed_count INTEGER NOT NULL,"
	" oldest_ms INTEGER," /* NULL: ages were not read */
	" PRIMARY KEY(snapshot, site)) WITHOUT ROWID;"

	/* Blocks at least so old. */
	"CREATE TABLE ages("
	" snapshot INTEGER NOT NULL, site INTEGER NOT NULL,"
	" s1 INTEGER, s10 INTEGER, min1 INTEGER, min10 INTEGER, h1 INTEGER, h6 INTEGER,"
	" day1 INTEGER,"
	" PRIMARY KEY(snapshot, site)) WITHOUT ROWID;"

	/* process 0: the sum over all, with what no process could be charged with. */
	"CREATE TABLE ledgers("
	" snapshot INTEGER NOT NULL, process INTEGER NOT NULL,"
	" state INTEGER NOT NULL," /* 0 alive, 1 exited, 2 gone from the reports */
	" exact INTEGER NOT NULL,"
	" shown_bytes INTEGER NOT NULL, shown_count INTEGER NOT NULL," /* past --older */
	" allocations INTEGER NOT NULL, frees INTEGER NOT NULL, outstanding INTEGER NOT NULL,"
	" purged INTEGER NOT NULL, untracked_frees INTEGER NOT NULL,"
	" inherited_frees INTEGER NOT NULL, filtered INTEGER NOT NULL, unsampled INTEGER NOT NULL,"
	" failed INTEGER NOT NULL, abandoned INTEGER NOT NULL, outstanding_bytes INTEGER NOT NULL,"
	" scanned INTEGER NOT NULL, moved INTEGER NOT NULL,"
	" PRIMARY KEY(snapshot, process)) WITHOUT ROWID;"

	/* Only what is not zero; written with each row of ledgers. */
	"CREATE TABLE losses("
	" snapshot INTEGER NOT NULL, process INTEGER NOT NULL,"
	" kind TEXT NOT NULL," /* dropped, lost_stack, walk_end */
	" cause TEXT NOT NULL, count INTEGER NOT NULL,"
	" PRIMARY KEY(snapshot, process, kind, cause)) WITHOUT ROWID;"

	"CREATE TABLE threads("
	" snapshot INTEGER NOT NULL, process INTEGER NOT NULL,"
	" alive INTEGER NOT NULL, dead INTEGER NOT NULL, dead_stack_bytes INTEGER NOT NULL,"
	" PRIMARY KEY(snapshot, process)) WITHOUT ROWID;";
