/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line as one struct. Options are rows of one table, option_table.h. */
#ifndef LEAKMON_CLI_OPTIONS_H
#define LEAKMON_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/diff.h"
#include "analyze/report.h"
#include "base/vec.h"
#include "leakmon_abi.h"
#include "parse/choices.h"

/* What the process exits with. */
enum exit_code { EXIT_OK = 0, EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_LEAK = 3 };

/* The values of an option that may be repeated; they point into argv. */
struct option_words {
	const char **items;
	size_t count, capacity;
};

struct options {
	const char *subcommand; /* "watch", "doctor" */
	/* target */
	VEC(int) pids;
	struct option_words comms, cgroups, containers, pods; /* what each means: proc/selector.h */
	bool silent_command; /* what it prints is not shown: the terminal is taken */
	char **command;	     /* NULL-terminated argv to start, or NULL; owned */
	bool follow_forks;   /* -f: what targets fork become targets */
	/* triage: no target at all */
	double budget;	    /* of one core, ours and our probes': 0.01 */
	bool no_stacks;	    /* --no-stacks: suspects get no probes but those of --escalate */
	uint64_t escalate;  /* heap tracking for the first so many suspects; 0: for none */
	uint64_t window_ns; /* and for so long; 30 s */
	/* time */
	uint64_t interval_ns; /* 5 s */
	uint64_t count;	      /* 0: until interrupted */
	/* what is counted */
	uint64_t older_ns; /* -o: leave out blocks younger than this; 500 ms */
	uint64_t min_size, max_size;
	uint64_t sample_rate;  /* -s N: each allocation with probability 1/N; 1: all */
	uint64_t sample_bytes; /* Poisson by bytes with this mean; 0: off */
	uint64_t max_blocks, max_sites;
	uint64_t max_processes; /* 0: as many as the targets ask for */
	bool kernel;		/* the kernel's own memory, in place of a target */
	bool no_threads;	/* leave out who created threads, and which were joined */
	bool mappings;		/* also mmap, munmap, mremap, brk */
	bool by_dead_threads;	/* only blocks of threads that have ended */
	bool combined_only;	/* -C: per-site counters only, no ages */
	/* where probes go */
	const char *object;	   /* -O: only this file, not every mapped one with an allocator */
	const char *symbol_prefix; /* -S: "je_" for je_malloc, ... ; "" */
	enum probe_at probe_at;
	enum lm_stack_walk stack_walk;
	bool debuginfod; /* fetch missing debug files from $DEBUGINFOD_URLS */
	enum attach_method attach_method;
	bool empty_programs; /* benchmark: probes that do nothing */
	/* output */
	const char *format;
	const char *output;	  /* file, or NULL: stdout */
	const char *textfile_dir; /* prom: the directory whose leakmon.prom is kept up to date */
	/* recordings */
	const char *recording; /* record: the file to make; retain: to make or to add to, or NULL */
	uint64_t keep_bytes, keep_ns; /* see store/recorder.h */
	const char *label, *at;
	const char *files[2]; /* report: one; diff: one or two, each perhaps with @SEQ */
	unsigned file_count;
	enum diff_group by;
	struct report_options report;
	bool top_given;
	uint64_t fail_over; /* exit 3 when more bytes are outstanding at the end; UINT64_MAX: off */
	bool trace, verbose, no_color;
	bool show_threads; /* threads: list each dead one */
	bool heap;	   /* threads: track the heap, too */
	bool holders;	   /* threads: who still holds their pthread_ts */
	/* retain */
	bool retained; /* report, diff: of retain runs, not of snapshots */
	bool census, no_stop;
	bool repeat;		 /* an INTERVAL was given */
	uint64_t max_pause_ns;	 /* 0: by the size of the process */
	uint64_t retain_address; /* 0: none */
	const char *retain_class, *retain_site;
};

/*
 * Fills *options from argv (which must outlive it). Returns -1 to go on, or the exit code to leave
 * with: EXIT_OK after --help or --version (printed to stdout), EXIT_USAGE after a message on stderr
 * that says what is wrong, why, and what would be right.
 */
int options_parse(struct options *options, int argc, char **argv);
void options_free(struct options *options);

#endif
