// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/option_table.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/option_values.h"

#define FIELD(name) .offset = offsetof(struct options, name)
#define PATH "give a file name that is not empty"
#define BYTES "give bytes such as 4096, 64K, 10M or 2G"

/* PID_MAX_LIMIT, include/linux/threads.h */
#define PID_LIMIT 4194304
/* A stack takes 1 KiB of locked memory per site, a block about 64 bytes. */
#define SITES_LIMIT (1u << 22)
#define BLOCKS_LIMIT (1u << 30)

const char *const option_group_titles[GROUP_MAX_] = {
	[GROUP_TARGET] = "Target",	    [GROUP_COUNTED] = "What is counted",
	[GROUP_PROBES] = "Where probes go", [GROUP_OUTPUT] = "Output",
	[GROUP_GENERAL] = "General",	    [GROUP_HIDDEN] = "For benchmarks",
};

const struct option_row option_rows[] = {
	{"pid", 'p', "PID[,PID...]", "processes that are running already", option_set_pids,
	 "give process IDs separated by commas, such as 1234 or 1234,1240", .minimum = 1,
	 .maximum = PID_LIMIT, .group = GROUP_TARGET, .subcommands = FOR_ALL},
	{"command", 'c', "'CMD ARGS'", "start a command, watched from its first allocation",
	 option_set_command, "give a command with all quotes closed, such as 'server --port 80'",
	 .group = GROUP_TARGET, .subcommands = FOR_WATCH},

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
	{"sample-rate", 's', "N", "track each allocation with probability 1/N (1: all)",
	 option_set_number, "give a whole number such as 10", FIELD(sample_rate), .minimum = 1,
	 .maximum = UINT32_MAX, .group = GROUP_COUNTED, .subcommands = FOR_WATCH},
	{"sample-bytes", 0, "BYTES", "track one allocation per BYTES allocated, on average",
	 option_set_size, BYTES, FIELD(sample_bytes), .minimum = 1, .maximum = 16 << 20,
	 .group = GROUP_COUNTED, .subcommands = FOR_WATCH},
	{"max-blocks", 0, "N", "room for N outstanding blocks (1000000)", option_set_number,
	 "give a whole number such as 1000000", FIELD(max_blocks), .minimum = 1,
	 .maximum = BLOCKS_LIMIT, .group = GROUP_COUNTED, .subcommands = FOR_WATCH},
	{"max-sites", 0, "N", "room for N different call stacks (16384)", option_set_number,
	 "give a whole number such as 16384", FIELD(max_sites), .minimum = 1,
	 .maximum = SITES_LIMIT, .group = GROUP_COUNTED, .subcommands = FOR_WATCH},

	{"obj", 'O', "PATH", "probe the allocator in this file only, not in every mapped one",
	 option_set_text, PATH, FIELD(object), .group = GROUP_PROBES, .subcommands = FOR_ALL},
	{"symbols-prefix", 'S', "PREFIX", "the allocator's functions begin so: je_ for je_malloc",
	 option_set_prefix, "give a prefix such as je_", FIELD(symbol_prefix),
	 .group = GROUP_PROBES, .subcommands = FOR_ALL},
	{"probe-at", 0, "best|entry", "the cheapest proven instruction, or always the first (best)",
	 option_set_choice, "choose best or entry", FIELD(probe_at), .group = GROUP_PROBES,
	 .subcommands = FOR_ALL},
	{"attach", 0, "auto|session|multi|perf",
	 "kind of uprobe: the best that works, or only this (auto)", option_set_choice,
	 "choose auto, session, multi or perf", FIELD(attach_method), .group = GROUP_PROBES,
	 .subcommands = FOR_ALL},
	{"stack-walk", 0, "auto|cfi|fp", "by unwind information, by frame pointer, or both (auto)",
	 option_set_choice, "choose auto, cfi or fp", FIELD(stack_walk), .group = GROUP_PROBES,
	 .subcommands = FOR_WATCH},

	{"format", 0, "text|json", "JSON is one object a line per report (text)", option_set_format,
	 "choose text or json", .group = GROUP_OUTPUT, .subcommands = FOR_WATCH},
	{"output", 0, "FILE", "write reports to FILE instead of standard output", option_set_text,
	 PATH, FIELD(output), .group = GROUP_OUTPUT, .subcommands = FOR_WATCH},
	{"top", 'T', "N", "the N call stacks that hold most; 0: all (text 10, json all)",
	 option_set_top, "give a whole number such as 10", .maximum = SIZE_MAX,
	 .group = GROUP_OUTPUT, .subcommands = FOR_WATCH},
	{"sort", 0, "bytes|count", "what ranks a call stack (bytes)", option_set_sort,
	 "choose bytes or count", .group = GROUP_OUTPUT, .subcommands = FOR_WATCH},
	{"show-allocs", 'a', NULL, "list the outstanding blocks below each call stack",
	 option_set_flag, FIELD(report.show_allocs), .group = GROUP_OUTPUT,
	 .subcommands = FOR_WATCH},
	{"trace", 't', NULL, "also print every allocation and free as it happens", option_set_flag,
	 FIELD(trace), .group = GROUP_OUTPUT, .subcommands = FOR_WATCH},
	{"fail-over", 0, "BYTES", "exit code 3 if more is outstanding at the end", option_set_size,
	 BYTES, FIELD(fail_over), .maximum = UINT64_MAX - 1, .group = GROUP_OUTPUT,
	 .subcommands = FOR_WATCH},
	{"no-color", 0, NULL, "no colours on a terminal either; so does NO_COLOR=1",
	 option_set_flag, FIELD(no_color), .group = GROUP_OUTPUT, .subcommands = FOR_ALL},

	{"verbose", 'v', NULL, "say which probe goes where and why", option_set_flag,
	 FIELD(verbose), .group = GROUP_GENERAL, .subcommands = FOR_ALL},
	{"help", 'h', NULL, "print this", option_show_help, .group = GROUP_GENERAL,
	 .subcommands = FOR_ALL},
	{"version", 0, NULL, "print the version", option_show_version, .group = GROUP_GENERAL,
	 .subcommands = FOR_ALL},

	{"empty-programs", 0, NULL, "probes that do nothing", option_set_flag,
	 FIELD(empty_programs), .group = GROUP_HIDDEN, .subcommands = FOR_WATCH},
};
const size_t option_row_count = ARRAY_SIZE(option_rows);
_Static_assert(ARRAY_SIZE(option_rows) <= OPTION_ROWS_MAX, "raise OPTION_ROWS_MAX");

const struct subcommand subcommands[] = {
	{
		.name = "watch",
		.bit = FOR_WATCH,
		.usage = "  leakmon [watch] -p PID[,PID...] [OPTION...] [INTERVAL [COUNT]]\n"
			 "  leakmon [watch] [OPTION...] [INTERVAL [COUNT]] -c 'CMD ARGS'\n"
			 "  leakmon [watch] [OPTION...] [INTERVAL [COUNT]] -- CMD ARGS...\n"
			 "  leakmon doctor [-p PID[,PID...]]     (leakmon doctor --help)\n",
		.about = "Prints what running programs have allocated and not freed, by call\n"
			 "stack: every INTERVAL seconds (5), COUNT times (until Ctrl-C), and once\n"
			 "more at the end. The programs need no restart and no rebuild.\n",
		.examples =
			"  leakmon -p 1234                       report every 5 s until Ctrl-C\n"
			"  leakmon -p 1234 10 6                  six reports, 10 s apart\n"
			"  leakmon -p 1234 -o 60000 -T 3 60      top 3, only blocks over 1 min "
			"old\n"
			"  leakmon -p 1234 --format json 60 >> leaks.ndjson\n"
			"                                        a line of JSON every minute\n"
			"  leakmon --fail-over 1M -- ./server    start it; exit 3 if 1 MiB is "
			"left\n",
	},
	{
		.name = "doctor",
		.bit = FOR_DOCTOR,
		.usage = "  leakmon doctor [-p PID[,PID...]] [OPTION...]\n",
		.about = "Says what this kernel, your privileges and the given processes allow,\n"
			 "where probes would go and why, and how to mend what is missing.\n",
		.examples =
			"  leakmon doctor                        kernel and privileges\n"
			"  leakmon doctor -p 1234                also: can this process be "
			"watched?\n"
			"  leakmon doctor -p 1234 -v             with the address of every probe\n"
			"  leakmon doctor -p 1234 --attach perf  as if only perf uprobes worked\n"
			"  leakmon doctor -p 1234 -S je_         with je_malloc, je_free, ...\n",
	},
};
const size_t subcommand_count = ARRAY_SIZE(subcommands);

const struct subcommand *subcommand_find(const char *name)
{
	for (size_t i = 0; i < subcommand_count; i++) {
		if (!strcmp(name, subcommands[i].name))
			return &subcommands[i];
	}
	return NULL;
}
