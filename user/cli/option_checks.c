// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/option_checks.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

/* Options that contradict each other. */
static const struct {
	const char *one, *other, *why;
} conflicts[] = {
	{"pid", "command", "watch processes that run already or start one, not both"},
	{"sample-rate", "sample-bytes", "choose one way of sampling"},
	{"combined-only", "show-allocs", "without single blocks there are none to show"},
};

bool *option_given(bool given[OPTION_ROWS_MAX], const char *name)
{
	size_t i = 0;

	while (strcmp(option_rows[i].name, name) != 0)
		i++;
	return &given[i];
}

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
	if (subcommand_find(options->subcommand)->bit & FOR_WATCH && !options->pids.count &&
	    !options->command) {
		log_error("no target: name what to watch, `leakmon -p PID` for a running process "
			  "or `leakmon -- CMD ARGS` to start one (see `leakmon --help`)");
		return -EINVAL;
	}
	return 0;
}
