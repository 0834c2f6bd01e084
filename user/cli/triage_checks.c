// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/triage_checks.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/targets.h"

static int refuse(const char *name, const char *why)
{
	log_error("no target, and --%s %s (see `leakmon --help`)", name, why);
	return -EINVAL;
}

/* What probes would do has no meaning as long as none is set. */
static int check_without_target(const struct options *options, bool given[OPTION_ROWS_MAX])
{
	static const char *const needs_target[] = {"trace", "show-allocs", "fail-over", "sort"};

	for (size_t i = 0; i < ARRAY_SIZE(needs_target); i++) {
		if (*option_given(given, needs_target[i]))
			return refuse(needs_target[i], "is about the allocations of one: name it, "
						       "as in `leakmon -p PID`");
	}
	for (size_t i = 0; i < option_row_count && !options->escalate; i++) {
		const struct option_row *row = &option_rows[i];

		if (given[i] && (row->group == GROUP_COUNTED || row->group == GROUP_PROBES))
			return refuse(row->name, "is about probes: name one, as in `leakmon -p "
						 "PID`, or let --escalate choose");
	}
	return 0;
}

int option_check_triage(const struct options *options, bool given[OPTION_ROWS_MAX])
{
	static const char *const triage_only[] = {"budget", "escalate", "window", "no-stacks"};

	if (targets_triage(options)) {
		if (*option_given(given, "window") && !options->escalate)
			return refuse("window", "is for --escalate: give both");
		return check_without_target(options, given);
	}
	for (size_t i = 0; i < ARRAY_SIZE(triage_only); i++) {
		if (!*option_given(given, triage_only[i]) || targets_none(options))
			continue;
		log_error("--%s is for the triage of the whole system: leave out the target",
			  triage_only[i]);
		return -EINVAL;
	}
	return 0;
}
