// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/option_table.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/option_values.h"
#include "cli/target_values.h"

#define FIELD(name) .offset = offsetof(struct options, name)
#define PATH "give a file name that is not empty"
#define BYTES "give bytes such as 4096, 64K, 10M or 2G"

/* PID_MAX_LIMIT, include/linux/threads.h */
#define PID_LIMIT 4194304
/* A stack takes 1 KiB of locked memory per site, a block about 64 bytes. */
#define SITES_LIMIT (1u << 22)
#define BLOCKS_LIMIT (1u << 30)
#define PROCESSES_LIMIT (1u << 20)

const char *const option_group_titles[GROUP_MAX_] = {
	[GROUP_TARGET] = "Target",
	[GROUP_TRIAGE] = "Without a target",
	[GROUP_COUNTED] = "What is counted",
	[GROUP_PROBES] = "Where probes go",
	[GROUP_OUTPUT] = "Output",
	[GROUP_GENERAL] = "General",
	[GROUP_HIDDEN] = "For builds and benchmarks",
};

const struct option_row option_rows[] = {
	{"pid", 'p', "PID[,PID...]", "processes that are running already", option_set_pids,
	 "give process IDs separated by commas, such as 1234 or 1234,1240", .minimum = 1,
	 .maximum = PID_LIMIT, .group = GROUP_TARGET, .subcommands = FOR_ALL},
	{"comm", 'n', "NAME", "processes of that name, also those that start later",
	 option_add_word, "give a name as `ps -o comm` shows it, such as redis-server",
	 FIELD(comms), .group = GROUP_TARGET, .subcommands = FOR_ALL},
	{"cgroup", 0, "PATH", "processes in that cgroup, or below it", option_add_word,
	 "give a path such as /system.slice/web.service", FIELD(cgroups), .group = GROUP_TARGET,
	 .subcommands = FOR_ALL},
	{"container", 0, "ID|NAME",
	 "processes in the container of that name, or whose id begins so", option_add_container,
	 "give a name, or the first digits of an id, such as 3f2a91c0b7d5", FIELD(containers),
	 .group = GROUP_TARGET, .subcommands = FOR_ALL},
	{"pod", 0, "[NAMESPACE/]NAME", "processes in that Kubernetes pod", option_add_pod,
	 "give NAME or NAMESPACE/NAME, such as shop/web-0", FIELD(pods), .group = GROUP_TARGET,
	 .subcommands = FOR_ALL},
	{"follow-forks", 'f', NULL, "what these processes fork is watched, too", option_set_flag,
	 FIELD(follow_forks), .group = GROUP_TARGET, .subcommands = FOR_WATCH | FOR_THREADS},
	{"kernel", 0, NULL, "the kernel itself: kmalloc, slab caches, pages, by kernel stack",
	 option_set_flag, FIELD(kernel), .group = GROUP_TARGET, .subcommands = FOR_PRINT},
	{"command", 'c', "'CMD ARGS'", "start a command, watched from its first allocation",
	 option_set_command, "give a command with all quotes closed, such as 'server --port 80'",
	 .group = GROUP_TARGET, .subcommands = FOR_WATCH | FOR_RETAIN | FOR_THREADS},

	{"budget", 0, "PERCENT",
	 "CPU time for all this, of one core; what does not fit is shed (1%)", option_set_percent,
	 "give a percentage such as 1% or 0.2%", FIELD(budget), .minimum = 1000000,
	 .maximum = 100 * 1000000000ull, .group = GROUP_TRIAGE, .subcommands = FOR_PRINT | FOR_TOP},
	{"no-stacks", 0, NULL, "suspects are not sampled for call stacks: no BPF, no privileges",
	 option_set_flag, FIELD(no_stacks), .group = GROUP_TRIAGE, .subcommands = FOR_PRINT},
	{"escalate", 0, "[=K]", "track the heap of the K first suspects for a while (3)",
	 option_set_count_or_three, "give a whole number such as 3, as in --escalate=3",
	 FIELD(escalate), .minimum = 1, .maximum = 50, .group = GROUP_TRIAGE,
	 .subcommands = FOR_PRINT},
	{"window", 0, "TIME", "how long --escalate tracks them (30s)", option_set_duration,
	 "give a time such as 30s or 2m", FIELD(window_ns), .minimum = 1000000000ull,
	 .maximum = 3600 * 1000000000ull, .group = GROUP_TRIAGE, .subcommands = FOR_PRINT},

	{"output", 'o', "FILE", "the recording to make, which must not be there yet",
	 option_set_text, PATH, FIELD(recording), .group = GROUP_OUTPUT, .subcommands = FOR_RECORD},
	{"output", 0, "FILE", "the recording that snapshots go to (leakmon-TIME.lkm)",
	 option_set_text, PATH, FIELD(recording), .group = GROUP_OUTPUT, .subcommands = FOR_TOP},
	{"keep", 0, "TIME|SIZE", "forget what is older, or what is beyond a size (190M)",
	 option_set_keep, "give a size such as 200M or a time such as 24h or 7d; 0: everything",
	 .group = GROUP_OUTPUT, .subcommands = FOR_RECORD},
	{"record", 'o', "FILE", "also add the result to a recording, which is made if need be",
	 option_set_text, PATH, FIELD(recording), .group = GROUP_OUTPUT, .subcommands = FOR_RETAIN},
	{"label", 0, "TEXT", "name the snapshots taken on SIGUSR1: they are never forgotten",
	 option_set_text, "give a text that is not empty", FIELD(label), .group = GROUP_OUTPUT,
	 .subcommands = FOR_RECORD | FOR_TOP},
	{"label", 0, "TEXT", "name what is recorded", option_set_text,
	 "give a text that is not empty", FIELD(label), .group = GROUP_OUTPUT,
	 .subcommands = FOR_RETAIN},
	{"retain", 0, NULL, "who holds it: the runs of `leakmon retain` in the recording",
	 option_set_flag, FIELD(retained), .group = GROUP_OUTPUT,
	 .subcommands = FOR_REPORT | FOR_DIFF},
	{"at", 0, "TIME|SEQ", "the snapshot to show: a number, a label, 13:00, -10min (last)",
	 option_set_text, "give a number, a label, `first`, `last` or a time", FIELD(at),
	 .group = GROUP_OUTPUT, .subcommands = FOR_REPORT},
	{"by", 0, "site|function|module|file|container", "what is compared (site)",
	 option_set_choice, "choose site, function, module, file or container", FIELD(by),
	 .group = GROUP_OUTPUT, .subcommands = FOR_DIFF},

	{"census", 0, NULL, "only what the heap itself tells: no probes, no BPF, no call stacks",
	 option_set_flag, FIELD(census), .group = GROUP_COUNTED, .subcommands = FOR_RETAIN},
	{"no-stop", 0, NULL, "never stop the process: two scans must agree instead",
	 option_set_flag, FIELD(no_stop), .group = GROUP_COUNTED,
	 .subcommands = FOR_RETAIN | FOR_THREADS},
	{"max-pause", 0, "MS", "stop it no longer than that (100 per GiB, at least 100)",
	 option_set_milliseconds, "give whole milliseconds such as 200", FIELD(max_pause_ns),
	 .minimum = 1, .maximum = 60000, .group = GROUP_COUNTED,
	 .subcommands = FOR_RETAIN | FOR_THREADS},
	{"class", 0, "NAME", "how blocks of the class with NAME in its name are held",
	 option_set_text, "give a part of a class name", FIELD(retain_class), .group = GROUP_OUTPUT,
	 .subcommands = FOR_RETAIN},
	{"site", 0, "FUNCTION", "how blocks allocated below FUNCTION are held", option_set_text,
	 "give a part of a function name", FIELD(retain_site), .group = GROUP_OUTPUT,
	 .subcommands = FOR_RETAIN},
	{"addr", 0, "ADDRESS", "how the block at that address is held", option_set_address,
	 "give an address such as 0x55d0c0de1000", FIELD(retain_address), .group = GROUP_OUTPUT,
	 .subcommands = FOR_RETAIN},

	{"older", 'o', "MS", "only blocks that are at least MS milliseconds old (500)",
	 option_set_milliseconds, "give whole milliseconds such as 500", FIELD(older_ns),
	 .maximum = UINT64_MAX / 1000000, .group = GROUP_COUNTED, .subcommands = FOR_WATCH},
	{"min-size", 'z', "BYTES", "only allocations of at least BYTES (0)", option_set_size, BYTES,
	 FIELD(min_size), .maximum = UINT64_MAX, .group = GROUP_COUNTED, .subcommands = FOR_WATCH},
	{"max-size", 'Z', "BYTES", "only allocations of at most BYTES (any)", option_set_size,
	 BYTES, FIELD(max_size), .maximum = UINT64_MAX, .group = GROUP_COUNTED,
	 .subcommands = FOR_WATCH},
	{"combined-only", 'C', NULL, "count per call stack only: cheaper, but no ages",
	 option_set_flag, FIELD(combined_only), .group = GROUP_COUNTED, .subcommands = FOR_WATCH},
	{"by-dead-threads", 0, NULL, "only blocks that threads allocated which have ended since",
	 option_set_flag, FIELD(by_dead_threads), .group = GROUP_COUNTED, .subcommands = FOR_WATCH},
	{"sample-rate", 's', "N", "track each allocation with probability 1/N (1: all)",
	 option_set_number, "give a whole number such as 10", FIELD(sample_rate), .minimum = 1,
	 .maximum = UINT32_MAX, .group = GROUP_COUNTED, .subcommands = FOR_WATCH},
	{"sample-bytes", 0, "BYTES", "track one allocation per BYTES allocated, on average",
	 option_set_size, BYTES, FIELD(sample_bytes), .minimum = 1, .maximum = 16 << 20,
	 .group = GROUP_COUNTED, .subcommands = FOR_WATCH},
	{"mappings", 0, NULL, "mmap, mremap and brk, too; slows all system calls of the machine",
	 option_set_flag, FIELD(mappings), .group = GROUP_COUNTED, .subcommands = FOR_WATCH},
	{"no-threads", 0, NULL, "do not follow threads: no probes on their creation and joining",
	 option_set_flag, FIELD(no_threads), .group = GROUP_COUNTED, .subcommands = FOR_WATCH},
	{"max-blocks", 0, "N", "room for N outstanding blocks (1000000)", option_set_number,
	 "give a whole number such as 1000000", FIELD(max_blocks), .minimum = 1,
	 .maximum = BLOCKS_LIMIT, .group = GROUP_COUNTED,
	 .subcommands = FOR_WATCH | FOR_RETAIN | FOR_THREADS},
	{"max-sites", 0, "N", "room for N different call stacks (16384)", option_set_number,
	 "give a whole number such as 16384", FIELD(max_sites), .minimum = 1,
	 .maximum = SITES_LIMIT, .group = GROUP_COUNTED,
	 .subcommands = FOR_WATCH | FOR_RETAIN | FOR_THREADS},
	{"max-processes", 0, "N", "room for N processes at once (1023; 8191 when more can join)",
	 option_set_number, "give a whole number such as 8191", FIELD(max_processes), .minimum = 1,
	 .maximum = PROCESSES_LIMIT, .group = GROUP_COUNTED, .subcommands = FOR_WATCH},

	{"obj", 'O', "PATH", "probe the allocator in this file only, not in every mapped one",
	 option_set_text, PATH, FIELD(object), .group = GROUP_PROBES,
	 .subcommands = FOR_WATCH | FOR_DOCTOR | FOR_RETAIN},
	{"symbols-prefix", 'S', "PREFIX", "the allocator's functions begin so: je_ for je_malloc",
	 option_set_prefix, "give a prefix such as je_", FIELD(symbol_prefix),
	 .group = GROUP_PROBES, .subcommands = FOR_WATCH | FOR_DOCTOR | FOR_RETAIN},
	{"probe-at", 0, "best|entry", "the cheapest proven instruction, or always the first (best)",
	 option_set_choice, "choose best or entry", FIELD(probe_at), .group = GROUP_PROBES,
	 .subcommands = FOR_ALL},
	{"attach", 0, "auto|session|multi|perf",
	 "kind of uprobe: the best that works, or only this (auto)", option_set_choice,
	 "choose auto, session, multi or perf", FIELD(attach_method), .group = GROUP_PROBES,
	 .subcommands = FOR_ALL},
	{"stack-walk", 0, "auto|cfi|fp", "by unwind information, by frame pointer, or both (auto)",
	 option_set_choice, "choose auto, cfi or fp", FIELD(stack_walk), .group = GROUP_PROBES,
	 .subcommands = FOR_WATCH | FOR_RETAIN | FOR_THREADS},
	{"debuginfod", 0, NULL, "fetch missing debug files from the servers in $DEBUGINFOD_URLS",
	 option_set_flag, FIELD(debuginfod), .group = GROUP_OUTPUT,
	 .subcommands = FOR_WATCH | FOR_THREADS},

	{"format", 0, "text|json|folded|pprof|prom|html",
	 "JSON is one object a line per report (text)", option_set_format,
	 "choose text, json, folded, pprof, prom or html", .group = GROUP_OUTPUT,
	 .subcommands = FOR_PRINT | FOR_FILES | FOR_RETAIN | FOR_THREADS},
	{"output", 0, "FILE", "write reports to FILE instead of standard output", option_set_text,
	 PATH, FIELD(output), .group = GROUP_OUTPUT,
	 .subcommands = FOR_PRINT | FOR_FILES | FOR_RETAIN | FOR_THREADS},
	{"top", 'T', "N", "the N call stacks that hold most; 0: all (text 10, json all)",
	 option_set_top, "give a whole number such as 10", .maximum = SIZE_MAX,
	 .group = GROUP_OUTPUT, .subcommands = FOR_PRINT | FOR_FILES | FOR_RETAIN},
	{"sort", 0, "bytes|count|growth|integral|age", "what ranks a call stack (bytes)",
	 option_set_sort, "choose bytes, count, growth, integral or age", .group = GROUP_OUTPUT,
	 .subcommands = FOR_PRINT | FOR_FILES | FOR_TOP},
	{"show-allocs", 'a', NULL, "list the outstanding blocks below each call stack",
	 option_set_flag, FIELD(report.show_allocs), .group = GROUP_OUTPUT,
	 .subcommands = FOR_PRINT},
	{"trace", 't', NULL, "also print every allocation and free as it happens", option_set_flag,
	 FIELD(trace), .group = GROUP_OUTPUT, .subcommands = FOR_PRINT},
	{"fail-over", 0, "BYTES", "exit code 3 if more is outstanding at the end", option_set_size,
	 BYTES, FIELD(fail_over), .maximum = UINT64_MAX - 1, .group = GROUP_OUTPUT,
	 .subcommands = FOR_WATCH | FOR_DIFF},
	{"textfile-dir", 0, "DIR", "with --format prom: keep DIR/leakmon.prom up to date",
	 option_set_text, "give the directory that node-exporter reads", FIELD(textfile_dir),
	 .group = GROUP_OUTPUT, .subcommands = FOR_PRINT},
	{"no-color", 0, NULL, "no colours on a terminal either; so does NO_COLOR=1",
	 option_set_flag, FIELD(no_color), .group = GROUP_OUTPUT,
	 .subcommands = FOR_ALL | FOR_FILES},

	{"show-threads", 0, NULL, "list every dead thread", option_set_flag, FIELD(show_threads),
	 .group = GROUP_OUTPUT, .subcommands = FOR_THREADS},
	{"heap", 0, NULL, "track the heap, too: what dead threads allocated and nobody freed",
	 option_set_flag, FIELD(heap), .group = GROUP_COUNTED, .subcommands = FOR_THREADS},
	{"holders", 0, NULL, "who still holds their pthread_t: stops the process for a moment",
	 option_set_flag, FIELD(holders), .group = GROUP_OUTPUT, .subcommands = FOR_THREADS},
	{"verbose", 'v', NULL, "say which probe goes where and why", option_set_flag,
	 FIELD(verbose), .group = GROUP_GENERAL, .subcommands = FOR_ALL | FOR_FILES},
	{"help", 'h', NULL, "print this", option_show_help, .group = GROUP_GENERAL,
	 .subcommands = FOR_ALL | FOR_FILES},
	{"version", 0, NULL, "print the version", option_show_version, .group = GROUP_GENERAL,
	 .subcommands = FOR_ALL | FOR_FILES},

	{"completion", 0, "bash", "print the completion script for a shell", option_show_completion,
	 "choose bash", .group = GROUP_HIDDEN, .subcommands = FOR_WATCH},
	{"empty-programs", 0, NULL, "probes that do nothing", option_set_flag,
	 FIELD(empty_programs), .group = GROUP_HIDDEN, .subcommands = FOR_WATCH},
};
const size_t option_row_count = ARRAY_SIZE(option_rows);
_Static_assert(ARRAY_SIZE(option_rows) <= OPTION_ROWS_MAX, "raise OPTION_ROWS_MAX");

char option_letter(const struct option_row *row, unsigned bits)
{
	for (const struct option_row *other = option_rows; other < row; other++) {
		if (other->letter == row->letter && other->subcommands & bits)
			return 0;
	}
	return row->letter;
}

bool *option_given(bool given[OPTION_ROWS_MAX], const char *name)
{
	size_t i = 0;

	while (strcmp(option_rows[i].name, name) != 0)
		i++;
	return &given[i];
}
