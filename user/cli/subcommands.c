// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/subcommands.h"

#include <string.h>

#include "base/cleanup.h"

const struct subcommand subcommands[] = {
	{
		.name = "watch",
		.bit = FOR_WATCH | FOR_PRINT,
		.usage = "  leakmon [watch] -p PID[,PID...] [OPTION...] [INTERVAL [COUNT]]\n"
			 "  leakmon [watch] [OPTION...] [INTERVAL [COUNT]] -c 'CMD ARGS'\n"
			 "  leakmon [watch] [OPTION...] [INTERVAL [COUNT]] -- CMD ARGS...\n"
			 "  leakmon [OPTION...] [INTERVAL [COUNT]]\n"
			 "  leakmon doctor [-p PID[,PID...]]     (leakmon doctor --help)\n",
		.about = "Without a target: what grows on this machine, process by process, how "
			 "fast\n"
			 "and how surely, read from /proc for next to no cost. With one:\n"
			 "prints what running programs have allocated and not freed, by call\n"
			 "stack: every INTERVAL seconds (5), COUNT times (until Ctrl-C), and once\n"
			 "more at the end. The programs need no restart and no rebuild.\n",
		.examples =
			"  leakmon                               which processes leak? (in 3 "
			"minutes)\n"
			"  leakmon --escalate 30                 and from which call stacks?\n"
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
		.name = "record",
		.bit = FOR_WATCH | FOR_RECORD,
		.usage = "  leakmon record -o FILE -p PID[,PID...] [OPTION...] [INTERVAL [COUNT]]\n"
			 "  leakmon record -o FILE [OPTION...] [INTERVAL [COUNT]] -- CMD ARGS...\n",
		.about = "Writes what running programs hold into a recording: every INTERVAL\n"
			 "seconds (5), COUNT times (until Ctrl-C), and once more at the end.\n"
			 "`leakmon report` and `leakmon diff` read it, here or elsewhere. SIGUSR1\n"
			 "takes a snapshot now.\n",
		.examples = "  leakmon record -p 1234 -o web.lkm     every 5 s until Ctrl-C\n"
			    "  leakmon record -p 1234 -o web.lkm --keep 7d 60\n"
			    "                                        a week, by the minute\n"
			    "  leakmon record -o run.lkm -- ./server start it\n"
			    "  kill -USR1 $(pidof leakmon)           one snapshot now\n",
	},
	{
		.name = "report",
		.bit = FOR_REPORT,
		.usage = "  leakmon report FILE [--at TIME|SEQ] [OPTION...]\n",
		.about =
			"Shows one snapshot of a recording, the last unless --at says which, with\n"
			"the evolution up to it. The target is not needed.\n",
		.examples =
			"  leakmon report web.lkm                as it was at the end\n"
			"  leakmon report web.lkm --at 13:00     as it was at one o'clock\n"
			"  leakmon report web.lkm --sort growth  what grows fastest comes first\n"
			"  leakmon report web.lkm --format html > web.html\n"
			"                                        a page for any browser, offline\n"
			"  leakmon report web.lkm --format pprof --output web.pb.gz\n"
			"  leakmon report web.lkm --format folded | flamegraph.pl > web.svg\n",
	},
	{
		.name = "diff",
		.bit = FOR_DIFF,
		.usage = "  leakmon diff FILE[@SEQ] FILE[@SEQ] [OPTION...]\n"
			 "  leakmon diff FILE [OPTION...]     (its first snapshot against its "
			 "last)\n",
		.about = "Shows what grew between two snapshots, of one recording or of two: new,\n"
			 "grown, shrunk and gone call stacks, most bytes first.\n",
		.examples = "  leakmon diff web.lkm                  from the first to the last "
			    "snapshot\n"
			    "  leakmon diff web.lkm@3 web.lkm@last   from the third one on\n"
			    "  leakmon diff old.lkm new.lkm --by function\n"
			    "                                        before and after a fix\n"
			    "  leakmon diff old.lkm new.lkm --format html > fix.html\n"
			    "  leakmon diff base.lkm run.lkm --fail-over 1M\n"
			    "                                        exit 3 if it grew by more\n",
	},
	{
		.name = "retain",
		.bit = FOR_RETAIN,
		.usage = "  leakmon retain -p PID[,PID...] [OPTION...] [INTERVAL [COUNT]]\n"
			 "  leakmon retain [OPTION...] INTERVAL -- CMD [ARG...]\n",
		.about = "Says who holds a process's memory, or that nothing does: what is\n"
			 "unreachable, what each variable, stack and thread retains, of which\n"
			 "classes it is, and the path from a root to it. The process is stopped "
			 "for\n"
			 "a fraction of a second. With an INTERVAL, it is done again, and changes "
			 "are\n"
			 "shown.\n",
		.examples =
			"  leakmon retain -p 1234 --census       of a process that never was "
			"watched\n"
			"  leakmon retain -p 1234 60 2           twice, with what changed "
			"meanwhile\n"
			"  leakmon retain -p 1234 --class Cache  how such objects are held\n"
			"  leakmon retain -p 1234 --no-stop      without stopping it\n"
			"  leakmon retain 60 -- server --port 80 from its first allocation on,\n"
			"                                        after a minute; for any "
			"allocator\n",
	},
	{
		.name = "threads",
		.bit = FOR_THREADS,
		.usage = "  leakmon threads [OPTION...] [INTERVAL [COUNT]]\n"
			 "  leakmon threads -p PID[,PID...] [OPTION...] [INTERVAL [COUNT]]\n"
			 "  leakmon threads [OPTION...] [INTERVAL [COUNT]] -- CMD ARGS...\n",
		.about = "Prints the threads that have ended and were never joined, which keep "
			 "their\n"
			 "stacks mapped: who created them, what they ran, how much they hold.\n",
		.examples =
			"  leakmon threads                       of all processes of this machine\n"
			"  leakmon threads -p 1234               report every 5 s until Ctrl-C\n"
			"  leakmon threads -p 1234 60 1 --show-threads\n"
			"                                        one report, each dead thread\n"
			"  leakmon threads -p 1234 60 1 --holders\n"
			"                                        and where their pthread_t is "
			"kept\n"
			"  leakmon threads -n java --heap        and the blocks that they left\n"
			"  leakmon threads -- ./server           from its first thread on\n",
	},
	{
		.name = "top",
		.bit = FOR_WATCH | FOR_TOP,
		.usage = "  leakmon top [TARGET] [OPTION...] [INTERVAL [COUNT]]\n"
			 "  leakmon top [OPTION...] [INTERVAL [COUNT]] -- CMD ARGS...\n",
		.about =
			"Full-screen, every INTERVAL seconds (2). Without a target: the processes\n"
			"of this machine, what grows first; Enter tracks what one allocates. With\n"
			"one: processes and call stacks with growth, verdict and course over "
			"time;\n"
			"Enter shows the frames of one. F1 lists the keys. A started command's "
			"own\n"
			"output is not shown.\n",
		.examples =
			"  leakmon top                           what grows on this machine?\n"
			"  leakmon top -p 1234                   which call stacks of this "
			"process?\n"
			"  leakmon top -n postgres --sort growth 10\n"
			"                                        of all of these, every 10 s\n"
			"  leakmon top --output web.lkm -- ./server\n"
			"                                        F2 puts snapshots into web.lkm\n",
		.interval_ns = 2000000000,
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
