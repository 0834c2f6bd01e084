// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/option_checks.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/targets.h"
#include "cli/triage_checks.h"
#include "output/output.h"
#include "output/retain.h"

/* Options that contradict each other. */
static const struct {
	const char *one, *other, *why;
} conflicts[] = {
	{"pid", "command", "watch processes that run already or start one, not both"},
	{"comm", "command", "watch processes that run already or start one, not both"},
	{"cgroup", "command", "watch processes that run already or start one, not both"},
	{"container", "command", "watch processes that run already or start one, not both"},
	{"pod", "command", "watch processes that run already or start one, not both"},
	{"kernel", "pid", "the kernel's memory is of no process: watch it by itself"},
	{"kernel", "comm", "the kernel's memory is of no process: watch it by itself"},
	{"kernel", "cgroup", "the kernel's memory is of no process: watch it by itself"},
	{"kernel", "container", "the kernel's memory is of no process: watch it by itself"},
	{"kernel", "pod", "the kernel's memory is of no process: watch it by itself"},
	{"kernel", "command", "the kernel's memory is of no process: watch it by itself"},
	{"kernel", "mappings", "the kernel's memory is of no process: watch it by itself"},
	{"kernel", "trace", "the kernel allocates too often for a line each: leave --trace out"},
	{"sample-rate", "sample-bytes", "choose one way of sampling"},
	{"combined-only", "by-dead-threads", "without single blocks nobody knows whose they are"},
	{"kernel", "by-dead-threads", "the kernel's memory is of no thread: watch it by itself"},
	{"census", "command", "what leakmon starts it also tracks: leave --census out"},
	{"combined-only", "show-allocs", "without single blocks there are none to show"},
};

static int check_conflicts(bool given[OPTION_ROWS_MAX])
{
	for (size_t i = 0; i < ARRAY_SIZE(conflicts); i++) {
		if (!*option_given(given, conflicts[i].one) ||
		    !*option_given(given, conflicts[i].other))
			continue;
		log_error("--%s and --%s contradict each other: %s", conflicts[i].one,
			  conflicts[i].other, conflicts[i].why);
		return -EINVAL;
	}
	return 0;
}

/* What a subcommand cannot do without. */
static int check_files(const struct options *options)
{
	unsigned bit = subcommand_find(options->subcommand)->bit;

	if (bit & FOR_RECORD && !options->recording) {
		log_error("no file to record to: name one, as in `leakmon record -p PID -o FILE`");
		return -EINVAL;
	}
	if (bit & FOR_FILES && !options->file_count) {
		log_error("no recording: name one that `leakmon record -o FILE` made, as in "
			  "`leakmon %s FILE`",
			  options->subcommand);
		return -EINVAL;
	}
	return 0;
}

static int check_retain_format(const struct options *options, bool diff)
{
	const struct retain_format *format = retain_format_find(options->format);

	if (format && (!diff || format->write_diff))
		return 0;
	log_error("--format %s has no form for this: choose %s", options->format,
		  diff ? "text or json" : "text, json, folded, pprof or html");
	return -EINVAL;
}

static int check_format(const struct options *options)
{
	unsigned bit = subcommand_find(options->subcommand)->bit;

	if (options->retained)
		return check_retain_format(options, bit & FOR_DIFF);
	if (bit & FOR_DIFF && !output_find(options->format)->write_diff) {
		log_error("--format %s has no form for a difference: choose text, json, folded "
			  "or html",
			  options->format);
		return -EINVAL;
	}
	if (!options->textfile_dir)
		return 0;
	if (strcmp(options->format, "prom") != 0 || options->output) {
		log_error("--textfile-dir is for --format prom, and names its file itself");
		return -EINVAL;
	}
	return 0;
}

/* Whether the subcommand also works without a target. */
static bool needs_target(const struct options *options)
{
	unsigned bit = subcommand_find(options->subcommand)->bit;

	return bit & FOR_WATCH && !(bit & FOR_TOP) && !options->kernel && !targets_triage(options);
}

/* What would have no effect without --heap. */
static int check_heap(const struct options *options, bool given[OPTION_ROWS_MAX])
{
	static const char *const of_heap[] = {"max-blocks", "probe-at"};

	for (size_t i = 0; i < ARRAY_SIZE(of_heap) && !options->heap; i++) {
		if (!*option_given(given, of_heap[i]))
			continue;
		log_error("--%s is about the heap: add --heap, or leave it out", of_heap[i]);
		return -EINVAL;
	}
	return 0;
}

static int check_target_and_form(const struct options *options, bool given[OPTION_ROWS_MAX])
{
	unsigned bit = subcommand_find(options->subcommand)->bit;

	if (!(bit & (FOR_RETAIN | FOR_THREADS)))
		return 0;
	if (bit & FOR_THREADS && check_heap(options, given))
		return -EINVAL;
	if (targets_everywhere(options) && (options->heap || options->follow_forks)) {
		log_error(
			"no target, and --%s is about one: name it, as in `leakmon threads -p PID`",
			options->heap ? "heap" : "follow-forks");
		return -EINVAL;
	}
	if (!targets_given(options) && !options->command && !targets_everywhere(options)) {
		log_error("no target: name the process, as in `leakmon %s -p PID`",
			  options->subcommand);
		return -EINVAL;
	}
	if (subcommand_find(options->subcommand)->bit & FOR_RETAIN)
		return check_retain_format(options, false);
	if (strcmp(options->format, "text") != 0 && strcmp(options->format, "json") != 0) {
		log_error("--format %s has no form for this: choose text or json", options->format);
		return -EINVAL;
	}
	return 0;
}

int option_check(const struct options *options, bool given[OPTION_ROWS_MAX])
{
	if (check_conflicts(given))
		return -EINVAL;
	if (options->min_size > options->max_size) {
		log_error("--min-size %llu is above --max-size %llu: no allocation would count",
			  (unsigned long long)options->min_size,
			  (unsigned long long)options->max_size);
		return -EINVAL;
	}
	if (options->combined_only && *option_given(given, "older") && options->older_ns) {
		log_error("--older needs ages, and --combined-only keeps none: leave one out");
		return -EINVAL;
	}
	if (check_files(options) || check_format(options))
		return -EINVAL;
	if (check_target_and_form(options, given))
		return -EINVAL;
	if (option_check_triage(options, given))
		return -EINVAL;
	if (needs_target(options) && !targets_given(options) && !options->command) {
		log_error("no target: name what to watch, `leakmon -p PID` for a running process "
			  "or `leakmon -- CMD ARGS` to start one (see `leakmon --help`)");
		return -EINVAL;
	}
	return 0;
}
