// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon merge: recordings of many hosts in one. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cli/values.h"
#include "command/command.h"
#include "runs/merge.h"

struct merge_options {
	VEC(const char *) paths;
	const char *fleet; /* the file to make */
};

static int write_fleet(struct merge *merge, const struct merge_options *options)
{
	static const struct recorder_options all = {0};
	struct recorder *recorder = NULL;
	int error;

	interrupt_ends(false); /* until it is known what an end must remove */
	error = recorder_open(&recorder, options->fleet, &all);
	if (!error)
		interrupt_removes_database(options->fleet);
	interrupt_ends(true);
	if (error)
		return error;
	error = merge_write(merge, recorder);
	if (!error)
		log_info("%s holds %llu snapshots of %zu hosts", options->fleet,
			 (unsigned long long)recorder_snapshots(recorder), merge_hosts(merge));
	interrupt_removes(NULL);
	recorder_close(recorder);
	if (error)
		remove(options->fleet);
	return error;
}

static int run(const void *options)
{
	const struct merge_options *wanted = options;
	struct merge *merge = NULL;
	int error = interrupt_open();

	if (!error)
		error = merge_open(&merge, wanted->paths.items, wanted->paths.count);
	if (!error)
		error = write_fleet(merge, wanted);
	merge_free(merge);
	return error ? interrupt_exit_code(EXIT_ERROR) : EXIT_OK;
}

static int add_file(void *field, const char *word)
{
	struct merge_options *options = field;
	const char *name, **path;
	int error = file_read_name(&name, word);

	if (error)
		return error;
	path = vec_push(&options->paths);
	if (!path) {
		log_error("out of memory");
		return -ENOMEM;
	}
	*path = name;
	return 0;
}

static void options_free(void *options)
{
	struct merge_options *merge = options;

	vec_free(&merge->paths);
}

static int check(void *options, const struct given *given)
{
	const struct merge_options *merge = options;

	(void)given;
	if (!merge->paths.count) {
		log_error("no recording: name those that `leakmon record -o FILE` made, as in "
			  "`leakmon merge web-*.lkm -o fleet.lkm`");
		return -EINVAL;
	}
	if (!merge->fleet) {
		log_error("no output file: name one, as in `leakmon merge web-*.lkm -o fleet.lkm`");
		return -EINVAL;
	}
	return 0;
}

static const struct option_row merge_rows[] = {
	{"output", 'o', "FLEET", "the recording to make; it must not exist yet", value_set_text,
	 "the name of a file", .offset = offsetof(struct merge_options, fleet)},
};
static const struct option_group merge_group = {"Output", merge_rows, ARRAY_SIZE(merge_rows)};

static const struct merge_options defaults = {0};

const struct command command_merge = {
	.name = "merge",
	.summary = "put recordings of many hosts into one",
	.usage = "  leakmon merge FILE... -o FLEET\n",
	.about = "Puts recordings of many hosts into one, which `report` and `diff` show: which\n"
		 "build of which program grows, on how many of the hosts that run it, and where.\n"
		 "Each of its snapshots holds, of every host, the latest one that there was.\n",
	.examples = "  leakmon merge web-*.lkm -o fleet.lkm\n"
		    "  leakmon report fleet.lkm              builds, hosts, call stacks\n"
		    "  leakmon report fleet.lkm --host web-3 one of them\n"
		    "  leakmon diff fleet.lkm --by build     which build has grown\n"
		    "  leakmon report fleet.lkm --format html > fleet.html\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&merge_group, 0}},
	.positionals = {{"FILE", "FILE", add_file, 0, .repeats = true}},
	.check = check,
	.free = options_free,
	.run = run,
};
