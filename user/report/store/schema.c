// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/store/schema.h"

#include <stddef.h>

/* Row ids instead of names in large tables; no index where a primary key suffices. */
static const char snapshots_sql[] =
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
	" rows INTEGER NOT NULL," /* in points */
	/* 1: blocks in no row of by_dead were allocated by live threads. */
	" has_owners INTEGER NOT NULL,"
	/* 1: numbers of all sites cover blocks of ended threads alone (--by-dead-threads). */
	" only_by_dead INTEGER NOT NULL);"
	"CREATE TABLE processes("
	" id INTEGER PRIMARY KEY,"
	" key INTEGER NOT NULL," /* PID and start time: one incarnation */
	" pid INTEGER NOT NULL,"
	" comm TEXT NOT NULL, exe TEXT,"
	" container_id TEXT, namespace TEXT, pod TEXT, container TEXT,"
	" host TEXT);" /* hosts.name; NULL: meta's host */
	"CREATE TABLE modules(id INTEGER PRIMARY KEY, path TEXT NOT NULL, build_id TEXT);"
	/* Position of a module in a process: address = bias + frames.offset. */
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
	" lost TEXT, walk_end TEXT NOT NULL,"
	" patterns TEXT);" /* files of its descriptors when last written; NULL: no descriptors */
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
	/* Blocks at least this old. */
	"CREATE TABLE ages("
	" snapshot INTEGER NOT NULL, site INTEGER NOT NULL,"
	" s1 INTEGER, s10 INTEGER, min1 INTEGER, min10 INTEGER, h1 INTEGER, h6 INTEGER,"
	" day1 INTEGER,"
	" PRIMARY KEY(snapshot, site)) WITHOUT ROWID;"
	/* process 0: the sum over all, plus losses charged to none. */
	"CREATE TABLE ledgers("
	" snapshot INTEGER NOT NULL, process INTEGER NOT NULL,"
	" state INTEGER NOT NULL," /* 0 alive, 1 exited, 2 gone from the reports */
	" exact INTEGER NOT NULL,"
	" shown_bytes INTEGER NOT NULL, shown_count INTEGER NOT NULL," /* older than --older */
	" allocations INTEGER NOT NULL, frees INTEGER NOT NULL, outstanding INTEGER NOT NULL,"
	" purged INTEGER NOT NULL, untracked_frees INTEGER NOT NULL,"
	" inherited_frees INTEGER NOT NULL, filtered INTEGER NOT NULL, unsampled INTEGER NOT NULL,"
	" failed INTEGER NOT NULL, abandoned INTEGER NOT NULL, outstanding_bytes INTEGER NOT NULL,"
	" scanned INTEGER NOT NULL, moved INTEGER NOT NULL,"
	" PRIMARY KEY(snapshot, process)) WITHOUT ROWID;"
	/* Only nonzero ones; written with each row of ledgers. */
	"CREATE TABLE losses("
	" snapshot INTEGER NOT NULL, process INTEGER NOT NULL,"
	" kind TEXT NOT NULL," /* dropped, lost_stack, walk_end, inexact, inexact_pid */
	" cause TEXT NOT NULL, count INTEGER NOT NULL,"
	" PRIMARY KEY(snapshot, process, kind, cause)) WITHOUT ROWID;"
	/* A site's outstanding blocks of ended threads; holds as in `points`. */
	"CREATE TABLE by_dead("
	" snapshot INTEGER NOT NULL, site INTEGER NOT NULL,"
	" bytes INTEGER NOT NULL, count INTEGER NOT NULL,"
	" PRIMARY KEY(snapshot, site)) WITHOUT ROWID;"
	/*
	 * Of programs that sample themselves: the basis of their estimates. Holds as in `points`;
	 * zeros: its numbers are exact, or nothing is left.
	 */
	"CREATE TABLE estimates("
	" snapshot INTEGER NOT NULL, site INTEGER NOT NULL,"
	" hit_bytes REAL NOT NULL,"	 /* represented by one hit of the sampler */
	" count_variance REAL NOT NULL," /* of points.count; 0: frees are not reported */
	" hit_count REAL NOT NULL,"	 /* blocks represented by one hit, at most */
	" PRIMARY KEY(snapshot, site)) WITHOUT ROWID;";

/*
 * Dead threads. As elsewhere, a row holds until the next one of the same creator, and snapshots
 * with `is_full` have a row for everything present.
 */
static const char threads_sql[] =
	/* Creators of dead threads, and these threads' functions. */
	"CREATE TABLE creators("
	" id INTEGER PRIMARY KEY,"
	" process INTEGER NOT NULL,"
	" stack TEXT NOT NULL," /* the same on every run, host and load address */
	" walk_end TEXT NOT NULL);"
	"CREATE TABLE creator_stacks("
	" creator INTEGER NOT NULL,"
	/* 0: pthread_create's caller; -1: the threads' start routine */
	" position INTEGER NOT NULL,"
	" frame INTEGER NOT NULL,"
	" PRIMARY KEY(creator, position)) WITHOUT ROWID;"
	"CREATE TABLE dead_threads("
	" snapshot INTEGER NOT NULL, creator INTEGER NOT NULL,"
	" count INTEGER NOT NULL, before_attach INTEGER NOT NULL,"
	" oldest_ns INTEGER, newest_ns INTEGER," /* ended then, as snapshots.monotonic_ns */
	" stack_bytes INTEGER NOT NULL, resident_bytes INTEGER NOT NULL,"
	" heap_bytes INTEGER NOT NULL, heap_count INTEGER NOT NULL,"
	" PRIMARY KEY(snapshot, creator)) WITHOUT ROWID;";

/*
 * The composition of a process's memory, as in `leakmon memory`. A row holds until the next one of
 * the same process, regardless of full snapshots.
 */
static const char memory_sql[] =
	"CREATE TABLE memory("
	" snapshot INTEGER NOT NULL, process INTEGER NOT NULL,"
	" time_ns INTEGER NOT NULL," /* of the reading, since 1970 */
	" rss_bytes INTEGER NOT NULL, pss_bytes INTEGER NOT NULL, swap_bytes INTEGER NOT NULL,"
	" allocator TEXT," /* with most of the free memory */
	" is_glibc INTEGER NOT NULL,"
	" runtime TEXT," /* with a garbage collector */
	" trimmable_bytes INTEGER NOT NULL, glibc_trimmable_bytes INTEGER NOT NULL,"
	" arenas INTEGER NOT NULL, arenas_free_bytes INTEGER NOT NULL,"
	" live_stacks INTEGER NOT NULL, ended_stacks INTEGER NOT NULL,"
	" huge_bytes INTEGER NOT NULL, huge_zero_bytes INTEGER NOT NULL,"
	" not_known TEXT," /* why not all is */
	" PRIMARY KEY(snapshot, process)) WITHOUT ROWID;"
	/* Nonzero parts. */
	"CREATE TABLE memory_parts("
	" snapshot INTEGER NOT NULL, process INTEGER NOT NULL, part TEXT NOT NULL,"
	" resident_bytes INTEGER NOT NULL, swap_bytes INTEGER NOT NULL,"
	" PRIMARY KEY(snapshot, process, part)) WITHOUT ROWID;";

/*
 * Results of `leakmon retain`, beside the snapshots but independent of them: a recording may have
 * only these, or get them while another process adds snapshots. Classes and roots are identified by
 * their number within the run; `stack` is the number of a stack as in `sites`.
 */
static const char retain_sql[] =
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
	" through_blocks INTEGER NOT NULL, through_bytes INTEGER NOT NULL,"
	/* Blocks held by stacks and registers only. */
	" passing_blocks INTEGER NOT NULL, passing_bytes INTEGER NOT NULL,"
	" dropped INTEGER NOT NULL);" /* allocations that could not be tracked */
	/* Roots in the order of bytes reached. */
	"CREATE TABLE retain_roots("
	" retain INTEGER NOT NULL, root INTEGER NOT NULL,"
	" kind TEXT NOT NULL, name TEXT, module TEXT,"
	" address INTEGER NOT NULL, offset INTEGER NOT NULL,"
	" tid INTEGER NOT NULL, comm TEXT NOT NULL, words INTEGER NOT NULL,"
	" retained_blocks INTEGER NOT NULL, retained_bytes INTEGER NOT NULL,"
	" led_blocks INTEGER NOT NULL, led_bytes INTEGER NOT NULL, through INTEGER NOT NULL,"
	" threads INTEGER NOT NULL," /* of a thread-local: threads with a copy; else 0 */
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
	/* 2 and more: `turns` repetitions of a cycle of `turn` steps begin with this step. */
	" turn INTEGER NOT NULL, turns INTEGER NOT NULL,"
	" skipped INTEGER NOT NULL," /* steps left out before this one */
	" PRIMARY KEY(retain, path, position)) WITHOUT ROWID;"
	/*
	 * Every block is counted in one row: by verdict, root of its shortest path, class, stack.
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

/*
 * Reports of `leakmon record --profile`. NULL among real numbers: unknown; rates are per second,
 * limits are 95 %. `stack` is a number of retain_stacks, as for runs of `leakmon retain`.
 */
static const char profiles_sql[] =
	"CREATE TABLE profiles("
	" id INTEGER PRIMARY KEY,"
	" time_ns INTEGER NOT NULL," /* since 1970 */
	" sequence INTEGER NOT NULL, windows INTEGER NOT NULL, samples INTEGER NOT NULL,"
	" resident_bytes INTEGER NOT NULL,"
	" watched INTEGER NOT NULL,"  /* processes chosen among; -1: named */
	" measured INTEGER NOT NULL," /* what a trap costs; 0: a guess */
	" overhead_limit REAL, spent REAL, trap_ns REAL, tracked_s REAL, cpu_s REAL);"
	"CREATE TABLE profile_processes("
	" profile INTEGER NOT NULL, process INTEGER NOT NULL,"
	" pid INTEGER NOT NULL, comm TEXT NOT NULL, exe TEXT, exited INTEGER NOT NULL,"
	" windows INTEGER NOT NULL, samples INTEGER NOT NULL, dropped INTEGER NOT NULL,"
	" unfollowed INTEGER NOT NULL, sites_total INTEGER NOT NULL,"
	" has_growth INTEGER NOT NULL," /* of memory */
	" tracked_s REAL, spent REAL, net_blocks REAL, net_blocks_low REAL,"
	" net_blocks_high REAL, memory_bytes REAL, memory_growth REAL, explained REAL,"
	" chosen_growth REAL, chosen_confidence REAL,"
	" PRIMARY KEY(profile, process)) WITHOUT ROWID;"
	/* Most certain growth first. */
	"CREATE TABLE profile_sites("
	" profile INTEGER NOT NULL, process INTEGER NOT NULL, site INTEGER NOT NULL,"
	" stack TEXT NOT NULL, walk_end TEXT NOT NULL, verdict TEXT NOT NULL, why TEXT,"
	" births REAL, births_low REAL, births_high REAL, birth_bytes REAL,"
	" growth_blocks REAL, growth_blocks_low REAL, growth_blocks_high REAL,"
	" growth_bytes REAL, growth_bytes_low REAL, growth_bytes_high REAL,"
	" most_bytes REAL, ready_s REAL,"
	" PRIMARY KEY(profile, process, site)) WITHOUT ROWID;"
	/* Shares of a site's blocks by age. */
	"CREATE TABLE profile_survival("
	" profile INTEGER NOT NULL, process INTEGER NOT NULL, site INTEGER NOT NULL,"
	" position INTEGER NOT NULL, age_s REAL,"
	" untouched REAL, untouched_low REAL, untouched_high REAL,"
	" undead REAL, undead_low REAL, undead_high REAL, samples REAL,"
	" PRIMARY KEY(profile, process, site, position)) WITHOUT ROWID;";

/*
 * Goroutines of Go programs, independent of snapshots; their heap profiles. `stack` and `creator`
 * are numbers of retain_stacks, as for runs of `leakmon retain`.
 */
static const char goroutines_sql[] =
	"CREATE TABLE goroutines(" /* a reading of a process */
	" id INTEGER PRIMARY KEY,"
	" time_ns INTEGER NOT NULL," /* since 1970 */
	" pid INTEGER NOT NULL, start_ticks INTEGER NOT NULL, comm TEXT NOT NULL,"
	" version TEXT NOT NULL,"  /* of Go */
	" count INTEGER NOT NULL," /* without the runtime's own */
	" system INTEGER NOT NULL, ended INTEGER NOT NULL, unread INTEGER NOT NULL,"
	" left_groups INTEGER NOT NULL, left_count INTEGER NOT NULL," /* too small for a row */
	" stack_bytes INTEGER NOT NULL, monotonic_ns INTEGER NOT NULL);"
	/* By state, place and creator; most goroutines first. */
	"CREATE TABLE goroutine_groups("
	" reading INTEGER NOT NULL, position INTEGER NOT NULL,"
	" stack TEXT, creator TEXT," /* NULL: not known */
	" group_id TEXT NOT NULL,"   /* the same on every run of the program */
	" state TEXT, count INTEGER NOT NULL,"
	/* Goroutines whose waiting time is known. */
	" waits_known INTEGER NOT NULL, longest_ns INTEGER NOT NULL, shortest_ns INTEGER NOT NULL,"
	/* Since the first reading: `readings` earlier ones, 0: this is the first. */
	" readings INTEGER NOT NULL, span_ns INTEGER NOT NULL, first_count INTEGER NOT NULL,"
	" come INTEGER NOT NULL, gone INTEGER NOT NULL, verdict TEXT NOT NULL,"
	" PRIMARY KEY(reading, position)) WITHOUT ROWID;"
	/* A Go program's own heap profile, of a run of `leakmon retain`. */
	"CREATE TABLE heap_profiles("
	" retain INTEGER PRIMARY KEY,"
	" alone INTEGER NOT NULL," /* 1: it has no malloc, the run has nothing else */
	" version TEXT NOT NULL,"
	" rate INTEGER NOT NULL," /* bytes for each sample; 0: not known */
	" collected INTEGER NOT NULL, collections INTEGER NOT NULL,"
	" collected_ns INTEGER NOT NULL, monotonic_ns INTEGER NOT NULL);"
	/* Samples since the program began. */
	"CREATE TABLE heap_profile_sites("
	" retain INTEGER NOT NULL, position INTEGER NOT NULL,"
	" stack TEXT NOT NULL, size INTEGER NOT NULL," /* of an object */
	" allocated_objects INTEGER NOT NULL, allocated_bytes INTEGER NOT NULL,"
	" freed_objects INTEGER NOT NULL, freed_bytes INTEGER NOT NULL,"
	" PRIMARY KEY(retain, position)) WITHOUT ROWID;";

/* Answers of `leakmon diagnose` (record --diagnose). */
static const char diagnoses_sql[] =
	"CREATE TABLE diagnoses("
	" id INTEGER PRIMARY KEY,"
	" time_ns INTEGER NOT NULL," /* since 1970 */
	" pid INTEGER NOT NULL, comm TEXT NOT NULL,"
	" reason TEXT NOT NULL,"   /* leaking, limit-near */
	" answer TEXT NOT NULL);"; /* JSON: user/schema/diagnosis.schema.json, "processes" */

/* A fleet: recordings of several hosts in one. None: all is of the host that meta names. */
static const char hosts_sql[] =
	"CREATE TABLE hosts("
	" name TEXT PRIMARY KEY,"
	" boot_id TEXT, kernel TEXT," /* NULL: not known */
	/* Of its own snapshots. */
	" snapshots INTEGER NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL"
	") WITHOUT ROWID;";

const char *const schema_sql[] = {snapshots_sql, threads_sql,  memory_sql,
				  retain_sql,	 profiles_sql, goroutines_sql,
				  diagnoses_sql, hosts_sql,    NULL};
