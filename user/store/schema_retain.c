// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Results of `leakmon retain`, beside the snapshots but independent of them: a recording may have
 * only these, or get them while another process adds snapshots. Classes and roots are meant by
 * their number within the run; `stack` is the number of a stack as in `sites`.
 */
#include "store/schema.h"

const char schema_retain_sql[] =
	"CREATE TABLE retains("
	" id INTEGER PRIMARY KEY,"
	" time_ns INTEGER NOT NULL," /* since 1970 */
	" label TEXT,"
	" pid INTEGER NOT NULL, comm TEXT NOT NULL,"
	" allocator TEXT, why_not_stopped TEXT,"
	" settled INTEGER NOT NULL, stopped INTEGER NOT NULL,"
	" soft_dirty INTEGER NOT NULL, pagemap INTEGER NOT NULL,"
	" pause_ns INTEGER NOT NULL, max_pause_ns INTEGER NOT NULL, read_ns INTEGER NOT NULL,"
	" total_ns INTEGER NOT NULL, own_peak_bytes INTEGER NOT NULL,"
	" writable_bytes INTEGER NOT NULL, read_bytes INTEGER NOT NULL,"
	" swapped_bytes INTEGER NOT NULL, pages_checked INTEGER NOT NULL,"
	" pages_changed INTEGER NOT NULL, blocks INTEGER NOT NULL, walked INTEGER NOT NULL,"
	" tracked INTEGER NOT NULL, arenas INTEGER NOT NULL, broken INTEGER NOT NULL,"
	" broken_at INTEGER NOT NULL, broken_free_lists INTEGER NOT NULL,"
	" held_blocks INTEGER NOT NULL, held_bytes INTEGER NOT NULL,"
	" untracked_blocks INTEGER NOT NULL, untracked_bytes INTEGER NOT NULL,"
	" unreachable_blocks INTEGER NOT NULL, unreachable_bytes INTEGER NOT NULL,"
	" direct_blocks INTEGER NOT NULL, direct_bytes INTEGER NOT NULL,"
	" indirect_blocks INTEGER NOT NULL, indirect_bytes INTEGER NOT NULL,"
	" through_blocks INTEGER NOT NULL, through_bytes INTEGER NOT NULL);"

	/* What leads to most comes first. */
	"CREATE TABLE retain_roots("
	" retain INTEGER NOT NULL, root INTEGER NOT NULL,"
	" kind TEXT NOT NULL, name TEXT, module TEXT,"
	" address INTEGER NOT NULL, offset INTEGER NOT NULL,"
	" tid INTEGER NOT NULL, comm TEXT NOT NULL, words INTEGER NOT NULL,"
	" retained_blocks INTEGER NOT NULL, retained_bytes INTEGER NOT NULL,"
	" led_blocks INTEGER NOT NULL, led_bytes INTEGER NOT NULL, through INTEGER NOT NULL,"
	" PRIMARY KEY(retain, root)) WITHOUT ROWID;"

	"CREATE TABLE retain_classes("
	" retain INTEGER NOT NULL, class INTEGER NOT NULL,"
	" kind TEXT NOT NULL, name TEXT, module TEXT,"
	" offset INTEGER NOT NULL, size INTEGER NOT NULL, stack TEXT,"
	" distance INTEGER NOT NULL," /* most steps from a root */
	" blocks INTEGER NOT NULL, bytes INTEGER NOT NULL,"
	" held_blocks INTEGER NOT NULL, held_bytes INTEGER NOT NULL,"
	" untracked_blocks INTEGER NOT NULL, untracked_bytes INTEGER NOT NULL,"
	" unreachable_blocks INTEGER NOT NULL, unreachable_bytes INTEGER NOT NULL,"
	" PRIMARY KEY(retain, class)) WITHOUT ROWID;"

	"CREATE TABLE retain_leaks("
	" retain INTEGER NOT NULL, position INTEGER NOT NULL,"
	" class INTEGER NOT NULL, stack TEXT, example INTEGER NOT NULL," /* address */
	" direct_blocks INTEGER NOT NULL, direct_bytes INTEGER NOT NULL,"
	" indirect_blocks INTEGER NOT NULL, indirect_bytes INTEGER NOT NULL,"
	" PRIMARY KEY(retain, position)) WITHOUT ROWID;"

	"CREATE TABLE retain_paths("
	" retain INTEGER NOT NULL, path INTEGER NOT NULL,"
	" class INTEGER NOT NULL, root INTEGER NOT NULL,"
	" sharing INTEGER NOT NULL, sampled INTEGER NOT NULL,"
	" PRIMARY KEY(retain, path)) WITHOUT ROWID;"

	"CREATE TABLE retain_steps("
	" retain INTEGER NOT NULL, path INTEGER NOT NULL, position INTEGER NOT NULL,"
	" offset INTEGER NOT NULL, address INTEGER NOT NULL, size INTEGER NOT NULL,"
	" class INTEGER NOT NULL, width INTEGER NOT NULL, repeated INTEGER NOT NULL,"
	" PRIMARY KEY(retain, path, position)) WITHOUT ROWID;"

	/* Every block is counted in one row: by verdict, root of its shortest path, class, stack.
	 */
	"CREATE TABLE retain_samples("
	" retain INTEGER NOT NULL, position INTEGER NOT NULL,"
	" verdict TEXT NOT NULL, root INTEGER, class INTEGER NOT NULL, stack TEXT,"
	" blocks INTEGER NOT NULL, bytes INTEGER NOT NULL,"
	" PRIMARY KEY(retain, position)) WITHOUT ROWID;"

	/* Stacks of all runs, each once. */
	"CREATE TABLE retain_stacks("
	" stack TEXT NOT NULL, position INTEGER NOT NULL," /* 0: the allocator's caller */
	" module TEXT, build_id TEXT,"			   /* NULL: in no file */
	" offset INTEGER NOT NULL, address INTEGER NOT NULL,"
	" function TEXT, function_offset INTEGER NOT NULL,"
	" file TEXT, line INTEGER, inlined INTEGER NOT NULL, why TEXT,"
	" PRIMARY KEY(stack, position)) WITHOUT ROWID;";
