// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/targets.h"

#include <string.h>

static struct selector_words words_of(const struct option_words *words)
{
	return (struct selector_words){.items = words->items, .count = words->count};
}

bool targets_given(const struct options *options)
{
	return options->pids.count || options->comms.count || options->cgroups.count ||
	       options->containers.count || options->pods.count;
}

bool targets_none(const struct options *options)
{
	return !targets_given(options) && !options->command && !options->kernel;
}

bool targets_triage(const struct options *options)
{
	return !strcmp(options->subcommand, "watch") && targets_none(options);
}

bool targets_everywhere(const struct options *options)
{
	return !strcmp(options->subcommand, "threads") && !targets_given(options) &&
	       !options->command;
}

struct selector_config targets_config(const struct options *options)
{
	return (struct selector_config){
		.all = targets_everywhere(options),
		.pids = options->pids.items,
		.pid_count = options->pids.count,
		.words =
			{
				[SELECT_COMM] = words_of(&options->comms),
				[SELECT_CGROUP] = words_of(&options->cgroups),
				[SELECT_CONTAINER] = words_of(&options->containers),
				[SELECT_POD] = words_of(&options->pods),
			},
	};
}
