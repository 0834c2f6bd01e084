// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon record: writes the reports of `watch` to a recording. */
#include <errno.h>
#include <string.h>

#include "app/command/command.h"
#include "app/profile/profile_run.h"
#include "app/runs/record_run.h"
#include "base/cleanup.h"
#include "base/cli/values.h"
#include "base/log.h"
#include "report/store/recorder.h"

static int run(const void *options)
{
	return record_run(options);
}

/* Parses a size into keep_bytes, or a time into keep_ns. */
static int set_keep(void *field, const struct option_row *row, const char *text)
{
	struct record_options *options = field;
	uint64_t bytes;
	int error = value_parse_age(text, &options->keep_ns);

	(void)row;
	if (error != -EINVAL)
		return error;
	/* 30m could be minutes. */
	if (strchr(text, 'm'))
		return -EINVAL;
	error = value_parse_size(text, &bytes);
	if (!error && bytes && bytes < RECORDER_KEEP_BYTES_MIN)
		return -EINVAL;
	if (!error)
		options->keep_bytes = bytes;
	return error;
}

/* Rejects options of exact tracking with --profile, which tracks everything in short windows. */
static int check_profile(const struct record_options *record, const struct given *given)
{
	static const struct option_group *const exact[] = {&counting_group, &tracking_group,
							   &room_group, &fail_over_group};
	const char *name = NULL;

	if (!record->profile && option_is_given(given, "overhead")) {
		log_error("--overhead is for --profile: give both, or neither");
		return -EINVAL;
	}
	if (!record->profile)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(exact) && !name; i++)
		name = option_given_of(given, exact[i]);
	if (!name && option_is_given(given, "label"))
		name = "label";
	if (!name)
		return 0;
	log_error("--%s is not for --profile, which tracks in short windows: leave it out", name);
	return -EINVAL;
}

static int check(void *options, const struct given *given)
{
	struct record_options *record = options;

	if (!record->path) {
		log_error("no file to record to: name one, as in `leakmon record -p PID -o FILE`");
		return -EINVAL;
	}
	if (targets_require(&record->session.targets, "leakmon record -p PID -o FILE"))
		return -EINVAL;
	if (check_profile(record, given))
		return -EINVAL;
	return session_options_check(&record->session, given);
}

static const struct option_row record_rows[] = {
	{"output", 'o', "FILE", "the recording to make; it must not exist yet", value_set_text,
	 FILE_EXPECTED, .offset = offsetof(struct record_options, path)},
	{"keep", 0, "TIME|SIZE", "drop snapshots that are older, or beyond a file size (190M)",
	 set_keep, "a size, e.g. 200M, or a time, e.g. 24h or 7d; 0 keeps everything", .offset = 0},
	{"label", 0, "TEXT", "name of snapshots taken on SIGUSR1, which are never dropped",
	 value_set_text, TEXT_EXPECTED, .offset = offsetof(struct record_options, label)},
	{"profile", 0, NULL, "record profiles, as `leakmon profile` makes them, not snapshots",
	 value_set_flag, .offset = offsetof(struct record_options, profile)},
	OVERHEAD_ROW(struct record_options, overhead, OVERHEAD_OF_CPU_TIME),
	{"diagnose", 0, NULL, "diagnose what begins to leak, or nears its memory limit",
	 value_set_flag, .offset = offsetof(struct record_options, diagnose)},
};
static const struct option_group record_group = {"Recording", record_rows, ARRAY_SIZE(record_rows)};

static const struct record_options defaults = {
	.session = SESSION_DEFAULTS,
	.keep_bytes = RECORDER_KEEP_BYTES_DEFAULT,
	.overhead = PROFILE_OVERHEAD,
};

#define PART(member) offsetof(struct record_options, session.member)
const struct command command_record = {
	.name = "record",
	.summary = "write snapshots to a recording, for `report` and `diff`",
	.usage = "  leakmon record -o FILE TARGET [OPTION...] [INTERVAL [COUNT]]\n"
		 "  leakmon record -o FILE [OPTION...] [INTERVAL [COUNT]] -- CMD ARGS...\n",
	.about = "Writes what running programs hold into a recording: every INTERVAL seconds\n"
		 "(5), COUNT times (until Ctrl-C), and once more at the end. `leakmon report`\n"
		 "and `leakmon diff` read it, here or elsewhere. SIGUSR1 takes a snapshot now.\n",
	.examples = "  leakmon record -p 1234 -o web.lkm     every 5 s until Ctrl-C\n"
		    "  leakmon record -p 1234 -o web.lkm --keep 7d 60\n"
		    "                                        a week, by the minute\n"
		    "  leakmon record --profile -p 1234 -o web.lkm 60\n"
		    "                                        at 1% of its speed, for weeks\n"
		    "  leakmon record --profile --diagnose -n web -o web.lkm 60\n"
		    "                                        with an answer when it leaks\n"
		    "  leakmon record -o run.lkm -- ./server start it\n"
		    "  kill -USR1 $(pidof leakmon)           one snapshot now\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&record_group, 0},
		 {&target_group, PART(targets.chosen)},
		 {&launch_group, PART(targets)},
		 TRACKING_USES,
		 {&push_group, PART(output)},
		 {&webhook_group, PART(output)},
		 {&fail_over_group, PART(output)},
		 {&debuginfod_group, PART(tracking)},
		 {&bytes_group, PART(output)},
		 {&color_group, PART(output)},
		 {&benchmark_group, PART(tracking)}},
	.positionals = SCHEDULE_WORDS(struct record_options, session.schedule),
	.check = check,
	.free = session_options_free,
	.run = run,
	.is_monitor = true,
};
