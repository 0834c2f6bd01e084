// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon retain: retention paths, and unreachable blocks, of a process. */
#include <errno.h>

#include "app/command/command.h"
#include "app/runs/retain_run.h"
#include "base/cli/values.h"
#include "base/log.h"

static int run(const void *options)
{
	return retain_run(options);
}

static int check(void *options, const struct given *given)
{
	struct retain_options *retain = options;

	if (core_check(&retain->core, &retain->session.schedule, given) ||
	    (!retain->core.path &&
	     targets_require(&retain->session.targets, "leakmon retain -p PID")))
		return -EINVAL;
	if (retain->census && retain->session.targets.command) {
		log_error(
			"--census and --command contradict each other: what leakmon starts it also tracks; leave --census out");
		return -EINVAL;
	}
	return session_options_check(&retain->session, given);
}

#define FIELD(name) .offset = offsetof(struct retain_options, name)

static const struct option_row census_rows[] = {
	{"census", 0, NULL, "read the heap alone: no probes, no call stacks", value_set_flag,
	 FIELD(census)},
};

static const struct option_row retain_rows[] = {
	{"class", 0, "NAME", "show what holds blocks of classes named like NAME", value_set_text,
	 "a part of a class name", FIELD(class)},
	{"site", 0, "FUNCTION", "show what holds blocks allocated below FUNCTION", value_set_text,
	 "a part of a function name", FIELD(site)},
	{"addr", 0, "ADDRESS", "show what holds the block at ADDRESS", value_set_address,
	 "an address, e.g. 0x55d0c0de1000", FIELD(address)},
	{"record", 'o', "FILE", "also add the result to a recording, made if missing",
	 value_set_text, FILE_EXPECTED, FIELD(recording)},
	{"label", 0, "TEXT", "name of the run in the recording", value_set_text, TEXT_EXPECTED,
	 FIELD(label)},
};

#undef FIELD

static const struct option_group census_group = {TITLE_TRACKED, census_rows,
						 ARRAY_SIZE(census_rows)};

static const struct option_group retain_group = {"Output", retain_rows, ARRAY_SIZE(retain_rows)};

static const struct option_row format_rows[] = {FORMAT_ROW(OUTPUT_RETAIN)};

static const struct option_group format_group = {"Output", format_rows, ARRAY_SIZE(format_rows)};

static const struct retain_options defaults = {.session = SESSION_DEFAULTS};

#define PART(member) offsetof(struct retain_options, session.member)

const struct command command_retain = {
	.name = "retain",
	.summary = "show what holds a process's memory, or that nothing does",
	.usage = "  leakmon retain TARGET [OPTION...] [INTERVAL [COUNT]]\n"
		 "  leakmon retain --core FILE [OPTION...]\n"
		 "  leakmon retain [OPTION...] INTERVAL -- CMD ARGS...\n",
	.about = "Shows what holds a process's memory, or that nothing does: what is\n"
		 "unreachable, what each variable, stack and thread retains, by class, and the\n"
		 "path from a root to it. The process is stopped for a fraction of a second.\n"
		 "With an INTERVAL, this is repeated, and changes are shown.\n",
	.examples =
		"  leakmon retain -p 1234 --census       of a process that was never watched\n"
		"  leakmon retain -p 1234 60 2           twice, with what changed meanwhile\n"
		"  leakmon retain -p 1234 --class Cache  how such objects are held\n"
		"  leakmon retain -p 1234 --no-stop      without stopping it\n"
		"  leakmon retain --core core.1234       of a process that has crashed\n"
		"  leakmon retain 60 -- ./server         from its first allocation on, after a\n"
		"                                        minute; for any allocator\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&target_group, PART(targets.chosen)},
		 {&launch_group, PART(targets)},
		 {&pause_group, offsetof(struct retain_options, pause)},
		 {&core_group, offsetof(struct retain_options, core)},
		 {&census_group, 0},
		 {&room_group, PART(tracking)},
		 {&allocator_group, PART(probes)},
		 {&probe_group, PART(probes)},
		 {&stack_walk_group, PART(probes)},
		 {&retain_group, 0},
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&top_group, PART(output)},
		 {&bytes_group, PART(output)},
		 {&color_group, PART(output)}},
	.positionals = SCHEDULE_WORDS(struct retain_options, session.schedule),
	.check = check,
	.free = session_options_free,
	.run = run,
};
