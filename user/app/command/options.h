/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups of options that several commands share. Each group fills in one struct; a command names
 * its groups, and the offset of each struct in its own options.
 */
#ifndef LEAKMON_COMMAND_OPTIONS_H
#define LEAKMON_COMMAND_OPTIONS_H

#include <stddef.h>

#include "app/monitor/session.h"
#include "base/cli/command_line.h"
#include "output/output.h"
#include "process/pause/stop.h"
#include "process/proc/core.h"

/* -------- processes */

extern const struct option_group target_group; /* struct selector_config */
extern const struct option_group fork_group;   /* struct target_options, as those below */
extern const struct option_group launch_group; /* --command, and the words after `--` */

/* Returns whether no option names a process, or a command to start. */
bool targets_none(const struct target_options *targets);
/*
 * Returns 0, or -EINVAL after a message if there is no target; `example` is a command line that has
 * one.
 */
int targets_require(const struct target_options *targets, const char *example);

/* -------- time: struct schedule */

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

/* Reads a positional; *file is a const char *. */
int file_read_name(void *file, const char *word);

/* -------- tracking: struct tracking_options */

extern const struct option_group counting_group; /* by age, by size, sampled */
extern const struct option_group room_group;	 /* blocks, sites */
extern const struct option_group tracking_group; /* of processes */
extern const struct option_group debuginfod_group;
extern const struct option_group benchmark_group; /* hidden */

/* Checks the combination. Returns 0, or -EINVAL after a message. */
int tracking_check(const struct tracking_options *tracking, const struct given *given);

/* -------- probes: struct probe_options */

extern const struct option_group allocator_group; /* its file, its names */
extern const struct option_group usdt_group;
extern const struct option_group probe_group;
extern const struct option_group stack_walk_group;

/* A row for the limit on the cost of profiling, a double in a command's options. */
#define OVERHEAD_OF_CPU_TIME "limit on what each target loses, of its CPU time (1%)"
#define OVERHEAD_ROW(type, member, help)                                                           \
	{                                                                                          \
		"overhead", 0, "PERCENT", help, value_set_percent,                                 \
			"a percentage, e.g. 1% or 0.2%",                                           \
			.offset = offsetof(type, member), .minimum = 10000000,                     \
			.maximum = 50 * 1000000000ull, .limits = "0.01% to 50%"                    \
	}

/* -------- output: struct output_options */

/* A row for the formats that can show a command's report. */
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
extern const struct option_group push_group;	/* --push */
extern const struct option_group webhook_group; /* --webhook, --otlp, and their common options */
extern const struct option_group listen_group;
extern const struct option_group fail_over_group;
extern const struct option_group diff_fail_over_group;
extern const struct option_group test_group; /* --suppress, --junit */
extern const struct option_group color_group;
extern const struct option_group bytes_group;

/*
 * Checks the options of every command that writes reports, and completes `top`. Returns 0, or
 * -EINVAL after a message.
 */
int output_check(struct output_options *output);

/* -------- a run that watches processes: struct session_options */

/*
 * For command.uses of options that begin with a struct session_options: all groups about tracking
 * and probes.
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

/* Checks the combination. Returns 0, or -EINVAL after a message. */
int session_options_check(struct session_options *session, const struct given *given);
/* Implements command.free for options that begin with a struct session_options. */
void session_options_free(void *session);

/* -------- scans of a process */

extern const struct option_group pause_group; /* struct pause_options */

extern const struct option_group core_group; /* struct core_options */
/* Returns 0, or -EINVAL after a message if other options contradict a core file, or need one. */
int core_check(const struct core_options *core, const struct schedule *schedule,
	       const struct given *given);

/* Titles of option groups. */
#define TITLE_TRACKED "What is tracked"
#define TITLE_PROBES "Where probes go"

#define FILE_EXPECTED "a file name that is not empty"
#define TEXT_EXPECTED "a text that is not empty"

#endif
