// SPDX-License-Identifier: GPL-2.0-or-later
#include "figures.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* MB are 10^6 bytes. */
const struct figure_row figure_rows[FIGURE_MAX_] = {
	[PAIR_UNTRACED] = {"pair_untraced", "pair: untraced", "ns", 1, .aim = NO_AIM},
	[PAIR_TRACKED] = {"pair_tracked", "pair: leakmon, full tracking", "ns", 0, .aim = NO_AIM},
	[PAIR_FLOOR] = {"pair_floor", "pair: --empty-programs (the floor)", "ns", 0, .aim = NO_AIM},
	[PAIR_ENTRY] = {"pair_entry", "pair: --probe-at=entry", "ns", 0, .aim = NO_AIM},
	[PAIR_ENTRY_FLOOR] = {"pair_entry_floor", "pair: --probe-at=entry --empty-programs", "ns",
			      0, .aim = NO_AIM},
	[PAIR_HEAPTRACK] = {"pair_heaptrack", "pair: heaptrack, from launch", "ns", 0,
			    .aim = NO_AIM},
	[PAIR_MEMLEAK] = {"pair_memleak", "pair: memleak", "ns", 0, .aim = NO_AIM},
	[RATIO_FLOOR] = {"ratio_floor", "full tracking / floor", "x", 2, .aim = 1.25,
			 .over = PAIR_TRACKED, .under = PAIR_FLOOR},
	[RATIO_ENTRY] = {"ratio_entry", "full tracking / --probe-at=entry", "x", 3, .aim = 0.2,
			 .over = PAIR_TRACKED, .under = PAIR_ENTRY},
	[RATIO_HEAPTRACK] = {"ratio_heaptrack", "full tracking / heaptrack", "x", 2, .aim = NO_AIM,
			     .over = PAIR_TRACKED, .under = PAIR_HEAPTRACK},
	[RATIO_MEMLEAK] = {"ratio_memleak", "full tracking / memleak", "x", 3, .aim = NO_AIM,
			   .over = PAIR_TRACKED, .under = PAIR_MEMLEAK},
	[THREAD_UNTRACED] = {"thread_untraced", "pthread_create+join: untraced", "ns", 0,
			     .aim = NO_AIM},
	[THREAD_TRACKED] = {"thread_tracked", "pthread_create+join: leakmon threads", "ns", 0,
			    .aim = NO_AIM},
	[RATIO_THREAD] = {"ratio_thread", "pthread_create+join, leakmon / untraced", "x", 2,
			  .aim = 1.15, .over = THREAD_TRACKED, .under = THREAD_UNTRACED},
	[DEPTH_FLOOR] = {"depth_floor", "pair, 20 frames deep: --empty-programs", "ns", 0,
			 .aim = NO_AIM},
	[DEPTH_TRACKED] = {"depth_tracked", "pair, 20 frames deep: the same stack again", "ns", 0,
			   .aim = NO_AIM},
	[DEPTH_CHANGING] = {"depth_changing", "pair, 20 frames deep: another stack each time", "ns",
			    0, .aim = NO_AIM},
	[DEPTH_MEMLEAK] = {"depth_memleak", "pair, 20 frames deep: memleak, the same stack", "ns",
			   0, .aim = NO_AIM},
	[DEPTH_MEMLEAK_CHANGING] = {"depth_memleak_changing",
				    "pair, 20 frames deep: memleak, another stack", "ns", 0,
				    .aim = NO_AIM},
	[RATIO_DEPTH] = {"ratio_depth", "20 frames deep, same stack / floor", "x", 2, .aim = 1.6,
			 .over = DEPTH_TRACKED, .under = DEPTH_FLOOR},
	[RATIO_DEPTH_CHANGING] = {"ratio_depth_changing", "20 frames deep, other stacks / floor",
				  "x", 2, .aim = 1.6, .over = DEPTH_CHANGING, .under = DEPTH_FLOOR},
	[WALK_FRAME] = {"walk_frame", "walk of another stack: one frame", "ns", 0, .aim = NO_AIM},
	[WALK_20] = {"walk_20", "walk of another stack: 20 frames", "ns", 0, .aim = NO_AIM},
	[WALK_FRAME_AGAIN] = {"walk_frame_again", "walk of the same stack again: one frame", "ns",
			      0, .aim = NO_AIM},
	[WALK_20_AGAIN] = {"walk_20_again", "walk of the same stack again: 20 frames", "ns", 0,
			   .aim = NO_AIM},
	[LIBRARIES_ATTACH] = {"libraries_attach", "60 libraries: attach, start to attached", "ms",
			      0, .aim = 2000},
	[LIBRARIES_MAPPED] = {"libraries_mapped", "60 libraries: their code", "MB", 0,
			      .aim = NO_AIM},
	[NAMES_SITES] = {"names_sites", "python3, cold: call stacks named", "", 0, .aim = NO_AIM},
	[NAMES_FRAMES] = {"names_frames", "python3, cold: frames a stack", "", 0, .aim = NO_AIM},
	[NAMES_FUNCTIONS] = {"names_functions", "python3, cold: all functions named", "ms", 0,
			     .aim = 1000},
	[NAMES_LINES] = {"names_lines", "python3, cold: all lines found", "ms", 0, .aim = 5000},
	[NAMES_WITH_LINES] = {"names_with_lines", "python3, cold: frames with file:line", "%", 1,
			      .aim = NO_AIM},
	[NAMES_RSS] = {"names_rss", "python3, cold: peak RSS of monitor and workers", "MB", 0,
		       .aim = 268},
	[NAMES_RSS_AFTER] = {"names_rss_after", "python3: RSS of both once lines are released",
			     "MB", 0, .aim = NO_AIM},
	[SAMPLED_UNTRACED] = {"sampled_untraced", "100,000 allocations/s, self-sampled: untraced",
			      "ns", 1, .aim = NO_AIM},
	[SAMPLED_TRACED] = {"sampled_traced", "the same: leakmon follows the samples", "ns", 1,
			    .aim = NO_AIM},
	[RATIO_SAMPLED] = {"ratio_sampled", "the same, traced / untraced", "x", 4, .aim = 1.005,
			   .over = SAMPLED_TRACED, .under = SAMPLED_UNTRACED},
	[SAMPLED_LEFT] = {"sampled_left", "the same: leakmon has gone again", "ns", 1,
			  .aim = NO_AIM},
	[RATIO_SAMPLED_LEFT] = {"ratio_sampled_left", "the same, after it has gone / before", "x",
				4, .aim = 1.005, .over = SAMPLED_LEFT, .under = SAMPLED_UNTRACED},
	[BYSTANDER_UNTRACED] = {"bystander_untraced", "bystander's pair: nothing traced", "ns", 2,
				.aim = NO_AIM},
	[BYSTANDER_TRACED] = {"bystander_traced", "bystander's pair: target traced", "ns", 2,
			      .aim = NO_AIM},
	[RATIO_BYSTANDER] = {"ratio_bystander", "bystander, traced / untraced", "x", 3, .aim = 1.05,
			     .over = BYSTANDER_TRACED, .under = BYSTANDER_UNTRACED},
	[START_END] = {"start_end", "leakmon -- true, from start to end", "ms", 0, .aim = 300},
	[ATTACH] = {"attach", "attach: start to attached", "ms", 0, .aim = 250},
	[EXIT] = {"exit", "exit: SIGTERM to the end, with a last report", "ms", 0, .aim = 150},
	[MEMLEAK_ATTACH] = {"memleak_attach", "attach, memleak: start to malloc and free probed",
			    "ms", 0, .aim = NO_AIM},
	[MEMLEAK_EXIT] = {"memleak_exit", "exit, memleak: SIGTERM to the end", "ms", 0,
			  .aim = NO_AIM},
	[ATTACH_MULTI] = {"attach_multi", "attach, --attach=multi: start to attached", "ms", 0,
			  .aim = 1000},
	[ATTACH_PERF] = {"attach_perf", "attach, --attach=perf: start to attached", "ms", 0,
			 .aim = 1000},
	[LAUNCH] = {"launch", "launch, -- CMD: start to CMD ready", "ms", 0, .aim = NO_AIM},
	[STOP_MULTI] = {"stop_multi", "stop, multi: SIGTERM to exit, with last report", "ms", 0,
			.aim = NO_AIM},
	[STOP_PERF] = {"stop_perf", "stop, perf: SIGTERM to exit, with last report", "ms", 0,
		       .aim = NO_AIM},
	[DETACH_MULTI] = {"detach_multi", "detach, multi: last report to exit", "ms", 0,
			  .aim = 300},
	[DETACH_PERF] = {"detach_perf", "detach, perf: last report to exit", "ms", 0, .aim = 300},
	[BLOCKS_SNAPSHOT] = {"blocks_snapshot", "1,000,000 blocks: snapshot with ages", "ms", 0,
			     .aim = 1000},
	[BLOCKS_RSS] = {"blocks_rss", "1,000,000 blocks: monitor's peak RSS", "MB", 1, .aim = 200},
	[BLOCKS_MISSING] = {"blocks_missing", "1,000,000 blocks: not in the report", "", 0,
			    .aim = 0},
	[RETAIN_SMALL_ALL] = {"retain_small_all", "retain, 1,000,000 blocks: in all", "ms", 0,
			      .aim = 500},
	[RETAIN_SMALL_PAUSE] = {"retain_small_pause", "retain, 1,000,000 blocks: target stands",
				"ms", 0, .aim = 100},
	[RETAIN_ALL] = {"retain_all", "retain, 10,000,000 blocks, 2 GB: in all", "ms", 0,
			.aim = 5000},
	[RETAIN_PAUSE] = {"retain_pause", "retain, 10,000,000 blocks, 2 GB: target stands", "ms", 0,
			  .aim = 200},
	[RETAIN_RSS] = {"retain_rss", "retain, 10,000,000 blocks, 2 GB: monitor's peak RSS", "MB",
			0, .aim = NO_AIM},
	[RETAIN_BUSY_ALL] = {"retain_busy_all", "the same, and it writes all the time: in all",
			     "ms", 0, .aim = 5000},
	[RETAIN_BUSY_PAUSE] = {"retain_busy_pause",
			       "the same, and it writes all the time: target stands", "ms", 0,
			       .aim = 200},
	[RETAIN_LINKED_ALL] = {"retain_linked_all",
			       "retain, 1,000,000 nodes of lists and trees: in all, a node", "ns",
			       0, .aim = NO_AIM},
	[RETAIN_LINKED_BYTES] = {"retain_linked_bytes",
				 "retain, 1,000,000 nodes: monitor's peak RSS, a node", "bytes", 1,
				 .aim = NO_AIM},
	[RETAIN_LINKED_LARGE_ALL] = {"retain_linked_large_all",
				     "retain, 10,000,000 nodes of lists and trees: in all, a node",
				     "ns", 0, .aim = NO_AIM},
	[RETAIN_LINKED_LARGE_BYTES] = {"retain_linked_large_bytes",
				       "retain, 10,000,000 nodes: monitor's peak RSS, a node",
				       "bytes", 1, .aim = 80},
	[RETAIN_LINKED_HUGE_ALL] = {"retain_linked_huge_all",
				    "retain, 100,000,000 nodes of lists and trees: in all, a node",
				    "ns", 0, .aim = NO_AIM},
	[RETAIN_LINKED_HUGE_BYTES] = {"retain_linked_huge_bytes",
				      "retain, 100,000,000 nodes: monitor's peak RSS, a node",
				      "bytes", 1, .aim = 80},
	[SITES_FIRST] = {"sites_first", "10,000 sites: first snapshot", "ms", 0, .aim = NO_AIM},
	[SITES_LATER] = {"sites_later", "10,000 sites: later snapshot", "ms", 0, .aim = NO_AIM},
	[SITES_MISSING] = {"sites_missing", "10,000 sites: not in the report", "", 0, .aim = 0},
	[SITES_LOST] = {"sites_lost", "10,000 sites: blocks without a stack", "", 0, .aim = 0},
	[IDLE_CPU] = {"idle_cpu", "idle monitor, every 5 s: CPU of one core", "%", 3, .aim = 0.5},
	[IDLE_RSS] = {"idle_rss", "idle monitor: peak RSS", "MB", 1, .aim = 64},
	[SQLITE_ALLOCATIONS] = {"sqlite_allocations", "sqlite3: allocations, as leakmon counts", "",
				0, .aim = NO_AIM},
	[SQLITE_UNTRACED] = {"sqlite_untraced", "sqlite3: untraced", "s", 3, .aim = NO_AIM},
	[SQLITE_LEAKMON] = {"sqlite_leakmon", "sqlite3: leakmon -- sqlite3", "s", 3, .aim = NO_AIM},
	[SQLITE_HEAPTRACK] = {"sqlite_heaptrack", "sqlite3: heaptrack sqlite3", "s", 3,
			      .aim = NO_AIM},
	[SQLITE_SCRIPT] = {"sqlite_script", "sqlite3: the script alone, untraced", "s", 3,
			   .aim = NO_AIM},
	[SQLITE_ATTACHED] = {"sqlite_attached", "sqlite3: the script, leakmon attached before", "s",
			     3, .aim = NO_AIM},
	[SQLITE_MEMLEAK] = {"sqlite_memleak", "sqlite3: the script, memleak attached before", "s",
			    3, .aim = NO_AIM},
	[SQLITE_RATIO_ATTACHED] = {"sqlite_ratio_attached",
				   "sqlite3: the script, attached / untraced", "x", 2, .aim = 6,
				   .over = SQLITE_ATTACHED, .under = SQLITE_SCRIPT},
	[SQLITE_RATIO_LEAKMON] = {"sqlite_ratio_leakmon", "sqlite3: leakmon / untraced", "x", 2,
				  .aim = NO_AIM, .over = SQLITE_LEAKMON, .under = SQLITE_UNTRACED},
	[SQLITE_RATIO_HEAPTRACK] = {"sqlite_ratio_heaptrack", "sqlite3: heaptrack / untraced", "x",
				    2, .aim = NO_AIM, .over = SQLITE_HEAPTRACK,
				    .under = SQLITE_UNTRACED},
	[CROWD_ATTACH] = {"crowd_attach", "400 processes of one file: start to attached", "s", 2,
			  .aim = NO_AIM},
	[CROWD_LEAVE] = {"crowd_leave", "400 processes of one file: SIGTERM to the end", "s", 2,
			 .aim = NO_AIM},
	[CROWD_BOTH] = {"crowd_both", "400 processes of one file: both", "s", 2, .aim = 2},
	[CROWD_LARGE_ATTACH] = {"crowd_large_attach", "1,500 processes: start to attached", "s", 2,
				.aim = NO_AIM},
	[CROWD_LARGE_LEAVE] = {"crowd_large_leave", "1,500 processes: SIGTERM to the end", "s", 2,
			       .aim = NO_AIM},
	[CROWD_LARGE_BOTH] = {"crowd_large_both", "1,500 processes: both", "s", 2, .aim = 10},
	[CROWD_BYSTANDER_ALONE] = {"crowd_bystander_alone", "bystander's pair beside 400: untraced",
				   "ns", 2, .aim = NO_AIM},
	[CROWD_BYSTANDER] = {"crowd_bystander", "bystander's pair beside 400: they are traced",
			     "ns", 2, .aim = NO_AIM},
	[CROWD_RATIO_BYSTANDER] = {"crowd_ratio_bystander",
				   "bystander beside 400, traced / untraced", "x", 3, .aim = 1.05,
				   .over = CROWD_BYSTANDER, .under = CROWD_BYSTANDER_ALONE},
	[TRIAGE_CPU] = {"triage_cpu_percent", "triage, 200 processes: of one core", "%", 2,
			.aim = 0.5},
	[TRIAGE_RSS] = {"triage_rss_mb", "triage, 200 processes: peak RSS", "MB", 1, .aim = 64},
	[TRIAGE_REDIS_ALONE] = {"triage_redis_alone", "redis-benchmark SET, GET, alone", "k/s", 1,
				.aim = NO_AIM},
	[TRIAGE_REDIS_BESIDE] = {"triage_redis_beside", "redis-benchmark SET, GET, under triage",
				 "k/s", 1, .aim = NO_AIM},
	[RATIO_TRIAGE_REDIS] = {"triage_redis_ratio", "redis-benchmark: alone / under triage", "x",
				3, .aim = 1 / 0.99, .over = TRIAGE_REDIS_ALONE,
				.under = TRIAGE_REDIS_BESIDE},
	[TRIAGE_REDIS_LOW] = {"triage_redis_low", "  of that median, 95 %: at least", "x", 3,
			      .aim = NO_AIM},
	[TRIAGE_REDIS_HIGH] = {"triage_redis_high", "  of that median, 95 %: at most", "x", 3,
			       .aim = NO_AIM},
	[TRIAGE_REDIS_CPU_ALONE] = {"triage_redis_cpu_alone", "redis-server: CPU a request, alone",
				    "us", 3, .aim = NO_AIM},
	[TRIAGE_REDIS_CPU_BESIDE] = {"triage_redis_cpu_beside",
				     "redis-server: CPU a request, under triage", "us", 3,
				     .aim = NO_AIM},
	[RATIO_TRIAGE_REDIS_CPU] = {"triage_redis_cpu_ratio",
				    "redis-server: CPU, under triage / alone", "x", 3, .aim = 1.01,
				    .over = TRIAGE_REDIS_CPU_BESIDE,
				    .under = TRIAGE_REDIS_CPU_ALONE},
	[TRIAGE_CROWD] = {"triage_crowd_cpu_percent",
			  "triage, 10,000 processes: first 50 s, of one core", "%", 2, .aim = 1},
	[TRIAGE_RANK] = {"triage_rank", "rank of 1 MiB/min among 100, after 3 min", "", 0,
			 .aim = 1},
	[TRIAGE_FIRST] = {"triage_first_s", "the first of 100 for good after", "s", 0, .aim = 180},
	[TRIAGE_ACCUSED] = {"triage_accused", "caches, batches accused after 3 min", "", 0,
			    .aim = 0},
	[REDIS_SET] = {"redis_set", "redis SET: untraced", "1/s", 0, .aim = NO_AIM},
	[REDIS_GET] = {"redis_get", "redis GET: untraced", "1/s", 0, .aim = NO_AIM},
	[REDIS_LPUSH] = {"redis_lpush", "redis LPUSH: untraced", "1/s", 0, .aim = NO_AIM},
	[REDIS_SET_TRACKED] = {"redis_set_tracked", "redis SET: leakmon, full tracking", "1/s", 0,
			       .aim = NO_AIM},
	[REDIS_GET_TRACKED] = {"redis_get_tracked", "redis GET: leakmon, full tracking", "1/s", 0,
			       .aim = NO_AIM},
	[REDIS_LPUSH_TRACKED] = {"redis_lpush_tracked", "redis LPUSH: leakmon, full tracking",
				 "1/s", 0, .aim = NO_AIM},
	[REDIS_SET_ENTRY] = {"redis_set_entry", "redis SET: leakmon --probe-at=entry", "1/s", 0,
			     .aim = NO_AIM},
	[REDIS_GET_ENTRY] = {"redis_get_entry", "redis GET: leakmon --probe-at=entry", "1/s", 0,
			     .aim = NO_AIM},
	[REDIS_LPUSH_ENTRY] = {"redis_lpush_entry", "redis LPUSH: leakmon --probe-at=entry", "1/s",
			       0, .aim = NO_AIM},
	[REDIS_SET_RATIO_TRACKED] = {"redis_set_ratio_tracked",
				     "redis SET throughput: full tracking / untraced", "x", 3,
				     .aim = NO_AIM, .over = REDIS_SET_TRACKED, .under = REDIS_SET},
	[REDIS_GET_RATIO_TRACKED] = {"redis_get_ratio_tracked",
				     "redis GET throughput: full tracking / untraced", "x", 3,
				     .aim = NO_AIM, .over = REDIS_GET_TRACKED, .under = REDIS_GET},
	[REDIS_LPUSH_RATIO_TRACKED] = {"redis_lpush_ratio_tracked",
				       "redis LPUSH throughput: full tracking / untraced", "x", 3,
				       .aim = NO_AIM, .over = REDIS_LPUSH_TRACKED,
				       .under = REDIS_LPUSH},
	[REDIS_SET_RATIO_ENTRY] = {"redis_set_ratio_entry",
				   "redis SET throughput: --probe-at=entry / untraced", "x", 3,
				   .aim = NO_AIM, .over = REDIS_SET_ENTRY, .under = REDIS_SET},
	[REDIS_GET_RATIO_ENTRY] = {"redis_get_ratio_entry",
				   "redis GET throughput: --probe-at=entry / untraced", "x", 3,
				   .aim = NO_AIM, .over = REDIS_GET_ENTRY, .under = REDIS_GET},
	[REDIS_LPUSH_RATIO_ENTRY] = {"redis_lpush_ratio_entry",
				     "redis LPUSH throughput: --probe-at=entry / untraced", "x", 3,
				     .aim = NO_AIM, .over = REDIS_LPUSH_ENTRY,
				     .under = REDIS_LPUSH},
	[PROFILE_SET_ALONE] = {"profile_redis_set_alone", "redis SET, long: untraced", "1/s", 0,
			       .aim = NO_AIM},
	[PROFILE_SET] = {"profile_redis_set", "redis SET, long: leakmon profile", "1/s", 0,
			 .aim = NO_AIM},
	[PROFILE_SET_RATIO] = {"profile_redis_set_ratio",
			       "redis SET throughput: profile / untraced", "x", 3, .aim = NO_AIM,
			       .over = PROFILE_SET, .under = PROFILE_SET_ALONE},
	[PROFILE_GET_ALONE] = {"profile_redis_get_alone", "redis GET, long: untraced", "1/s", 0,
			       .aim = NO_AIM},
	[PROFILE_GET] = {"profile_redis_get", "redis GET, long: leakmon profile", "1/s", 0,
			 .aim = NO_AIM},
	[PROFILE_GET_RATIO] = {"profile_redis_get_ratio",
			       "redis GET throughput: profile / untraced", "x", 3, .aim = NO_AIM,
			       .over = PROFILE_GET, .under = PROFILE_GET_ALONE},
	[PROFILE_LPUSH_ALONE] = {"profile_redis_lpush_alone", "redis LPUSH, long: untraced", "1/s",
				 0, .aim = NO_AIM},
	[PROFILE_LPUSH] = {"profile_redis_lpush", "redis LPUSH, long: leakmon profile", "1/s", 0,
			   .aim = NO_AIM},
	[PROFILE_LPUSH_RATIO] = {"profile_redis_lpush_ratio",
				 "redis LPUSH throughput: profile / untraced", "x", 3,
				 .aim = NO_AIM, .over = PROFILE_LPUSH,
				 .under = PROFILE_LPUSH_ALONE},
	[PROFILE_SERVER_ALONE] = {"profile_redis_cpu_alone_us",
				  "redis-server, long: CPU a request, untraced", "us", 3,
				  .aim = NO_AIM},
	[PROFILE_SERVER] = {"profile_redis_cpu_us",
			    "redis-server, long: CPU a request, leakmon profile", "us", 3,
			    .aim = NO_AIM},
	[PROFILE_SERVER_RATIO] = {"profile_redis_cpu_ratio",
				  "redis-server: CPU a request, profile / untraced", "x", 3,
				  .aim = 1.01, .over = PROFILE_SERVER,
				  .under = PROFILE_SERVER_ALONE},
	[PROFILE_P999_ALONE] = {"profile_redis_p999_alone_ms",
				"redis SET, slowest of 1,000: untraced", "ms", 3, .aim = NO_AIM},
	[PROFILE_P999] = {"profile_redis_p999_ms", "redis SET, slowest of 1,000: leakmon profile",
			  "ms", 3, .aim = NO_AIM},
	[PROFILE_SPENT] = {"profile_spent_percent", "profile: by its own count, of redis' CPU time",
			   "%", 2, .aim = 1},
	[PROFILE_WINDOWS] = {"profile_windows_per_minute", "profile: windows a minute", "", 0,
			     .aim = NO_AIM},
	[PROFILE_CPU] = {"profile_monitor_cpu_percent", "profile: leakmon itself, of a core", "%",
			 2, .aim = 1},
	[PROFILE_RSS] = {"profile_monitor_rss_mb", "profile: leakmon's memory", "MB", 1, .aim = 64},
	[PROFILE_SQLITE_ALONE] = {"profile_sqlite_alone", "sqlite3, long: untraced", "1/s", 4,
				  .aim = NO_AIM},
	[PROFILE_SQLITE] = {"profile_sqlite", "sqlite3, long: leakmon profile", "1/s", 4,
			    .aim = NO_AIM},
	[PROFILE_SQLITE_RATIO] = {"profile_sqlite_ratio", "sqlite3 speed: profile / untraced", "x",
				  3, .aim = NO_AIM, .over = PROFILE_SQLITE,
				  .under = PROFILE_SQLITE_ALONE},
	[PROFILE_PYTHON_ALONE] = {"profile_python_alone", "python3, long: untraced", "1/s", 4,
				  .aim = NO_AIM},
	[PROFILE_PYTHON] = {"profile_python", "python3, long: leakmon profile", "1/s", 4,
			    .aim = NO_AIM},
	[PROFILE_PYTHON_RATIO] = {"profile_python_ratio", "python3 speed: profile / untraced", "x",
				  3, .aim = NO_AIM, .over = PROFILE_PYTHON,
				  .under = PROFILE_PYTHON_ALONE},
	[DIAGNOSE_QUIET_ALONE] = {"diagnose_quiet_alone_percent",
				  "1,000 events/s: CPU time of the loop, untraced", "%", 2,
				  .aim = NO_AIM},
	[DIAGNOSE_QUIET] = {"diagnose_quiet_percent", "1,000 events/s: the same, leakmon diagnose",
			    "%", 2, .aim = NO_AIM},
	[DIAGNOSE_QUIET_LOST] = {"diagnose_quiet_lost_percent",
				 "1,000 events/s: lost to diagnose, of a core", "%", 2, .aim = 1},
	[DIAGNOSE_QUIET_P99_ALONE] = {"diagnose_quiet_p99_alone_us",
				      "1,000 events/s: slowest of 100 rounds, untraced", "us", 0,
				      .aim = NO_AIM},
	[DIAGNOSE_QUIET_P99] = {"diagnose_quiet_p99_us",
				"1,000 events/s: the same, leakmon diagnose", "us", 0,
				.aim = NO_AIM},
	[DIAGNOSE_QUIET_P99_RATIO] = {"diagnose_quiet_p99_ratio",
				      "1,000 events/s: slowest of 100, diagnose / untraced", "x", 2,
				      .aim = NO_AIM, .over = DIAGNOSE_QUIET_P99,
				      .under = DIAGNOSE_QUIET_P99_ALONE},
	[DIAGNOSE_QUIET_LONGEST_ALONE] = {"diagnose_quiet_longest_alone_ms",
					  "1,000 events/s: longest round, untraced", "ms", 1,
					  .aim = NO_AIM},
	[DIAGNOSE_QUIET_LONGEST] = {"diagnose_quiet_longest_ms",
				    "1,000 events/s: the same, leakmon diagnose", "ms", 1,
				    .aim = NO_AIM},
	[DIAGNOSE_BUSY_ALONE] = {"diagnose_busy_alone_percent",
				 "100,000 events/s: CPU time of the loop, untraced", "%", 2,
				 .aim = NO_AIM},
	[DIAGNOSE_BUSY] = {"diagnose_busy_percent", "100,000 events/s: the same, leakmon diagnose",
			   "%", 2, .aim = NO_AIM},
	[DIAGNOSE_BUSY_LOST] = {"diagnose_busy_lost_percent",
				"100,000 events/s: lost to diagnose, of a core", "%", 2, .aim = 1},
	[DIAGNOSE_BUSY_P99_ALONE] = {"diagnose_busy_p99_alone_us",
				     "100,000 events/s: slowest of 100 rounds, untraced", "us", 0,
				     .aim = NO_AIM},
	[DIAGNOSE_BUSY_P99] = {"diagnose_busy_p99_us",
			       "100,000 events/s: the same, leakmon diagnose", "us", 0,
			       .aim = NO_AIM},
	[DIAGNOSE_BUSY_P99_RATIO] = {"diagnose_busy_p99_ratio",
				     "100,000 events/s: slowest of 100, diagnose / untraced", "x",
				     2, .aim = NO_AIM, .over = DIAGNOSE_BUSY_P99,
				     .under = DIAGNOSE_BUSY_P99_ALONE},
	[DIAGNOSE_BUSY_LONGEST_ALONE] = {"diagnose_busy_longest_alone_ms",
					 "100,000 events/s: longest round, untraced", "ms", 1,
					 .aim = NO_AIM},
	[DIAGNOSE_BUSY_LONGEST] = {"diagnose_busy_longest_ms",
				   "100,000 events/s: the same, leakmon diagnose", "ms", 1,
				   .aim = NO_AIM},
};

void results_add(struct results *results, enum figure figure, double value)
{
	double *sample = vec_push(&results->figures[figure].values);

	if (sample)
		*sample = value;
}

/* The first reason stays. */
static void results_fail(struct results *results, enum figure figure, const struct why *why)
{
	struct samples *samples = &results->figures[figure];

	if (!samples->why.text[0])
		samples->why = *why;
}

int results_settle(struct results *results, enum figure first, enum figure last, int error)
{
	if (error && error != -EINTR) {
		if (!results->why.text[0])
			snprintf(results->why.text, sizeof(results->why.text), "%s",
				 strerror(-error));
		for (enum figure figure = first; figure <= last; figure++)
			results_fail(results, figure, &results->why);
		error = 0;
	}
	results->why.text[0] = '\0';
	return error;
}

static void ratio_fill(struct results *results, enum figure figure)
{
	const struct samples *over = &results->figures[figure_rows[figure].over];
	const struct samples *under = &results->figures[figure_rows[figure].under];
	size_t count = MIN(over->values.count, under->values.count);

	for (size_t i = 0; i < count; i++)
		results_add(results, figure, over->values.items[i] / under->values.items[i]);
	results_fail(results, figure, &over->why);
	results_fail(results, figure, &under->why);
}

void results_ratios(struct results *results)
{
	for (enum figure figure = 0; figure < FIGURE_MAX_; figure++) {
		if (figure_rows[figure].over != figure_rows[figure].under)
			ratio_fill(results, figure);
	}
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static const char *verdict(double aim, double median)
{
	if (isnan(aim))
		return "";
	if (isnan(median))
		return "not measured";
	return median <= aim ? "met" : "missed";
}

void figure_summarise(const struct results *results, enum figure figure, struct summary *summary)
{
	const struct samples *samples = &results->figures[figure];
	size_t count = samples->values.count;
	double *sorted = calloc(count + 1, sizeof(*sorted));

	*summary = (struct summary){NAN, NAN, NAN, ""};
	if (sorted && count) {
		memcpy(sorted, samples->values.items, count * sizeof(*sorted));
		qsort(sorted, count, sizeof(*sorted), compare);
		summary->median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
		summary->minimum = sorted[0];
		summary->maximum = sorted[count - 1];
	}
	summary->verdict = verdict(figure_rows[figure].aim, summary->median);
	free(sorted);
}

void results_free(struct results *results)
{
	for (size_t i = 0; i < FIGURE_MAX_; i++)
		vec_free(&results->figures[i].values);
}
