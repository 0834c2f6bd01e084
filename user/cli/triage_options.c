// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/triage_options.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/option_checks.h"
#include "cli/targets.h"
#include "cli/values.h"

#define ESCALATE_DEFAULT 3
#define NS_PER_S 1000000000ull

/* Copies `text` without its last character if that is one of `units`, which is put into *unit. */
static int unit_cut(const char *text, const char *units, char number[32], char *unit)
{
	size_t length = strlen(text);

	if (!length || length >= 32)
		return -EINVAL;
	memcpy(number, text, length + 1);
	*unit = '\0';
	if (strchr(units, text[length - 1])) {
		*unit = text[length - 1];
		number[length - 1] = '\0';
	}
	return 0;
}

int option_set_percent(struct options *options, const struct option_row *row, const char *text)
{
	char number[32], unit = 0;
	uint64_t billionths;
	int error = unit_cut(text, "%", number, &unit);

	if (!error) /* seconds and percent have the same form */
		error = value_parse_seconds(number, &billionths);
	if (!error && (billionths < row->minimum || billionths > row->maximum))
		error = -ERANGE;
	if (!error)
		*(double *)((char *)options + row->offset) = (double)billionths / 1e9 / 100;
	return error;
}

int option_set_count_or_three(struct options *options, const struct option_row *row,
			      const char *text)
{
	if (text)
		return option_set_number(options, row, text);
	*(uint64_t *)((char *)options + row->offset) = ESCALATE_DEFAULT;
	return 0;
}

int option_set_duration(struct options *options, const struct option_row *row, const char *text)
{
	char number[32], unit = 0;
	uint64_t ns = 0, factor;
	int error = unit_cut(text, "smh", number, &unit);

	if (!error)
		error = value_parse_seconds(number, &ns);
	factor = unit == 'm' ? 60 : unit == 'h' ? 3600 : 1;
	if (!error && (ns < row->minimum / factor || ns > row->maximum / factor))
		error = -ERANGE;
	if (!error)
		*(uint64_t *)((char *)options + row->offset) = ns * factor;
	return error;
}

static bool no_target(const struct options *options)
{
	return !targets_given(options) && !options->command && !options->kernel;
}

bool options_want_triage(const struct options *options)
{
	return !strcmp(options->subcommand, "watch") && no_target(options);
}

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

	if (options_want_triage(options)) {
		if (*option_given(given, "window") && !options->escalate)
			return refuse("window", "is for --escalate: give both");
		return check_without_target(options, given);
	}
	for (size_t i = 0; i < ARRAY_SIZE(triage_only); i++) {
		if (!*option_given(given, triage_only[i]) || no_target(options))
			continue;
		log_error("--%s is for the triage of the whole system: leave out the target",
			  triage_only[i]);
		return -EINVAL;
	}
	return 0;
}
