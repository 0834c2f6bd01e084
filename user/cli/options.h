/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options that several commands share: structs that a command's own options embed, with defaults,
 * and the groups of rows that fill them in. A command takes of a struct the groups that it can use.
 */
#ifndef LEAKMON_CLI_OPTIONS_H
#define LEAKMON_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/report.h"
#include "base/vec.h"
#include "cli/command_line.h"
#include "leakmon_abi.h"
#include "output/output.h"
#include "parse/plan.h"
#include "proc/core.h"
#include "proc/selector.h"

/* -------- processes */

/* The values of an option that may be repeated; they point into argv. */
struct option_words {
	const char **items;
	size_t count, capacity;
};

struct target_options {
	VEC(int) pids;
	struct option_words comms, cgroups, containers, pods; /* what each means: proc/selector.h */
	char **command;	     /* NULL-terminated argv to start, or NULL; owned */
	bool follow_forks;   /* what targets fork become targets */
	bool everywhere;     /* every process, by probes on files and not on processes */
	bool come_later;     /* none now: whoever runs finds them */
	bool silent_command; /* what it prints is not shown: the terminal is taken */
};

extern const struct option_group target_group;
extern const struct option_group fork_group;
extern const struct option_group launch_group; /* --command, and what stands behind `--` */

/* Whether any option names running processes. */
bool targets_given(const struct target_options *targets);
/* Neither that nor a command to start. */
bool targets_none(const struct target_options *targets);
/* 0, or -EINVAL after a message: there is no target; `example` is a line that has one. */
int targets_require(const struct target_options *targets, const char *example);
/* For selector_new(); it borrows from targets. */
struct selector_config targets_config(const struct target_options *targets);
void targets_free(struct target_options *targets);

/* -------- time */

struct schedule {
	uint64_t interval_ns, count; /* count 0: until interrupted */
	bool repeat;		     /* INTERVAL was given */
};

#define SCHEDULE_DEFAULTS                                                                          \
	{                                                                                          \
		.interval_ns = 5000000000ull                                                       \
	}

/* For command.positionals. */
#define SCHEDULE_WORDS(type, member)                                                               \
	{                                                                                          \
		{"INTERVAL", NULL, schedule_read_interval, offsetof(type, member)},                \
		{                                                                                  \
			"COUNT", NULL, schedule_read_count, offsetof(type, member)                 \
		}                                                                                  \
	}

int schedule_read_interval(void *schedule, const char *word);
int schedule_read_count(void *schedule, const char *word);

/* A positional; *file is a const char *. */
int file_read_name(void *file, const char *word);

/* -------- what is tracked */

struct tracking_options {
	uint64_t older_ns; /* leave out blocks younger than this */
	uint64_t min_size, max_size;
	uint64_t sample_rate;  /* each allocation with probability 1/N; 1: all */
	uint64_t sample_bytes; /* Poisson by bytes with this mean; 0: off */
	uint64_t max_blocks, max_sites;
	uint64_t max_processes; /* 0: as many as the targets ask for */
	bool combined_only;	/* per-site counters only, no ages */
	bool by_dead_threads;	/* only blocks of threads that have ended */
	bool mappings;		/* also mmap, munmap, mremap, brk */
	bool no_threads;	/* leave out who created threads, and which were joined */
	bool no_heap;		/* nothing but threads */
	bool trace;		/* print each event */
	bool windowed;		/* probes are set for short times only: command/profile_run.h */
	bool debuginfod;	/* fetch missing debug files from $DEBUGINFOD_URLS */
	bool empty_programs;	/* benchmark: probes that do nothing */
};

#define TRACKING_DEFAULTS                                                                          \
	{                                                                                          \
		.older_ns = 500000000ull, .max_size = UINT64_MAX, .sample_rate = 1,                \
		.max_blocks = 1000000, .max_sites = 16384                                          \
	}

extern const struct option_group counting_group; /* by age, by size, sampled */
extern const struct option_group room_group;	 /* blocks, sites */
extern const struct option_group tracking_group; /* of processes */
extern const struct option_group debuginfod_group;
extern const struct option_group benchmark_group; /* hidden */

/* -------- where probes go */

struct probe_options {
	const char *object;	   /* only this file, not every mapped one with an allocator */
	const char *symbol_prefix; /* "je_" for je_malloc, ... ; "" */
	bool no_usdt;		   /* the allocator, also of programs that sample themselves */
	enum probe_at probe_at;
	enum attach_method attach_method;
	enum lm_stack_walk stack_walk;
};

#define PROBE_DEFAULTS                                                                             \
	{                                                                                          \
		.symbol_prefix = ""                                                                \
	}

extern const struct option_group allocator_group; /* its file, its names */
extern const struct option_group usdt_group;
extern const struct option_group probe_group;
extern const struct option_group stack_walk_group;

/* -------- output */

struct output_options {
	const char *format;
	const char *path;	  /* file, or NULL: stdout */
	const char *textfile_dir; /* prom: the directory whose leakmon.prom is kept up to date */
	struct report_options report;
	const char *listen;   /* [ADDRESS:]PORT to serve reports at over HTTP, or NULL */
	const char *suppress; /* file of rules, see analyze/suppress.h; or NULL */
	const char *junit;    /* file that the last report is also written to; or NULL */
	bool top_given;
	bool no_color;
	uint64_t fail_over; /* exit 3 when more bytes are outstanding at the end; UINT64_MAX: off */
};

#define OUTPUT_DEFAULTS                                                                            \
	{                                                                                          \
		.format = "text", .report.sort = SORT_BYTES, .fail_over = UINT64_MAX               \
	}

/* The formats that can show what a command reports. */
#define FORMAT_ROW(kind)                                                                           \
	{                                                                                          \
		.name = "format", .words = output_words, .words_of = (kind),                       \
		.help = "output format; json: one object per line (text)",                         \
		.parse = value_set_word, .offset = offsetof(struct output_options, format)         \
	}

extern const struct option_group output_group; /* --output FILE */
extern const struct option_group top_group;
extern const struct option_group sort_group;
extern const struct option_group blocks_group; /* --show-allocs */
extern const struct option_group textfile_group;
extern const struct option_group listen_group;
extern const struct option_group fail_over_group;
extern const struct option_group test_group; /* --suppress, --junit */
extern const struct option_group color_group;

/* What a command that writes reports checks: 0, or -EINVAL after a message. Completes top. */
int output_check(struct output_options *output);

/* -------- a run that watches processes: monitor/session.h */

struct session_options {
	struct target_options targets;
	struct schedule schedule;
	struct tracking_options tracking;
	struct probe_options probes;
	struct output_options output;
};

#define SESSION_DEFAULTS                                                                           \
	{                                                                                          \
		.schedule = SCHEDULE_DEFAULTS, .tracking = TRACKING_DEFAULTS,                      \
		.probes = PROBE_DEFAULTS, .output = OUTPUT_DEFAULTS                                \
	}

/*
 * For command.uses of options that begin with a struct session_options: all groups about what is
 * tracked, and where probes go.
 */
#define TRACKING_USES                                                                              \
	{&fork_group, offsetof(struct session_options, targets)},                                  \
		{&counting_group, offsetof(struct session_options, tracking)},                     \
		{&tracking_group, offsetof(struct session_options, tracking)},                     \
		{&room_group, offsetof(struct session_options, tracking)},                         \
		{&allocator_group, offsetof(struct session_options, probes)},                      \
		{&usdt_group, offsetof(struct session_options, probes)},                           \
		{&probe_group, offsetof(struct session_options, probes)},                          \
	{                                                                                          \
		&stack_walk_group, offsetof(struct session_options, probes)                        \
	}

/* 0, or -EINVAL after a message. */
int tracking_check(const struct tracking_options *tracking, const struct given *given);
int session_options_check(struct session_options *session, const struct given *given);
/* A command.free of options that begin with a struct session_options. */
void session_options_free(void *session);

/* -------- scans of a process: command/cmd_retain.c, command/cmd_threads.c */

struct pause_options {
	bool no_stop;
	uint64_t max_pause_ns; /* 0: by the size of the process */
};
extern const struct option_group pause_group;

extern const struct option_group core_group; /* of a struct core_options */
/* 0, or -EINVAL after a message: what is given besides contradicts a core file, or needs one. */
int core_check(const struct core_options *core, const struct schedule *schedule,
	       const struct given *given);

#define FILE_EXPECTED "a file name that is not empty"
#define TEXT_EXPECTED "a text that is not empty"

#endif
