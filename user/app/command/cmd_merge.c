// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon merge: merges recordings of many hosts. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "app/command/command.h"
#include "app/runs/merge.h"
#include "base/cleanup.h"
#include "base/cli/values.h"
#include "base/interrupt.h"
#include "base/log.h"

struct merge_options {
	VEC(char *) paths; /* owned */
	const char *fleet; /* the file to create */
};

static int write_fleet(struct merge *merge, const struct merge_options *options)
{
	static const struct recorder_options all = {0};
	struct recorder *recorder = NULL;
	int error;

	interrupt_ends(false); /* until the file to remove on an interruption is known */
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
		error = merge_open(&merge, (const char *const *)wanted->paths.items,
				   wanted->paths.count);
	if (!error)
		error = write_fleet(merge, wanted);
	merge_free(merge);
	return error ? interrupt_exit_code(EXIT_ERROR) : EXIT_OK;
}

/* Adds a path and takes ownership; path NULL: out of memory. */
static int add_path(struct merge_options *options, char *path)
{
	char **added = path ? vec_push(&options->paths) : NULL;

	if (added) {
		*added = path;
		return 0;
	}
	free(path);
	log_error("out of memory");
	return -ENOMEM;
}

static int is_recording(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return end && !strcmp(end, ".lkm");
}

/* Adds the recordings of a directory by name: *.lkm. */
static int add_directory(struct merge_options *options, const char *directory)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_recording, alphasort);
	int error = count < 0 ? -errno : 0;

	if (error || !count) {
		log_error("%s: %s", directory, error ? strerror(-error) : "no *.lkm in it");
		return error ? error : -ENOENT;
	}
	for (int i = 0; i < count; i++) {
		char *path = NULL;

		if (!error && asprintf(&path, "%s/%s", directory, entries[i]->d_name) < 0)
			path = NULL;
		if (!error)
			error = add_path(options, path);
		free(entries[i]);
	}
	free(entries);
	return error;
}

static int add_file(void *field, const char *word)
{
	struct merge_options *options = field;
	struct stat status;
	const char *name;
	int error = file_read_name(&name, word);

	if (error)
		return error;
	if (!stat(name, &status) && S_ISDIR(status.st_mode))
		return add_directory(options, name);
	return add_path(options, strdup(name));
}

static void options_free(void *options)
{
	struct merge_options *merge = options;

	for (size_t i = 0; i < merge->paths.count; i++)
		free(merge->paths.items[i]);
	vec_free(&merge->paths);
}

static int check(void *options, const struct given *given)
{
	const struct merge_options *merge = options;

	(void)given;
	if (!merge->paths.count) {
		log_error(
			"no recording: name those that `leakmon record -o FILE` made, as in `leakmon merge web-*.lkm -o fleet.lkm`");
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
	.usage = "  leakmon merge FILE|DIR... -o FLEET\n",
	.about = "Puts recordings of many hosts into one, which `report` and `diff` show: which\n"
		 "build of which program grows, on how many of the hosts that run it, and where.\n"
		 "Each of its snapshots holds, of every host, the latest one that there was. Of a\n"
		 "directory all recordings are taken whose names end in .lkm.\n",
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
