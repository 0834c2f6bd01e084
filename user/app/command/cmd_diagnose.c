// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon diagnose: one answer about a growing process. */
#include "app/command/command.h"
#include "app/runs/diagnose_run.h"
#include "base/cli/values.h"

static int run(const void *options)
{
	return diagnose_run(options);
}

static int check(void *options, const struct given *given)
{
	struct diagnose_options *diagnose = options;

	diagnose->everywhere = targets_none(&diagnose->profile.session.targets);
	/* Suspects are passed on by PID. */
	diagnose->profile.session.targets.come_later = diagnose->everywhere;
	return session_options_check(&diagnose->profile.session, given);
}

static const struct option_row diagnose_rows[] = {
	{"for", 0, "TIME", "how long to watch before the answer (60s)", value_set_duration,
	 "a time from 5s to 1d", .offset = offsetof(struct diagnose_options, for_ns),
	 .minimum = 5000000000ull, .maximum = 86400000000000ull, .limits = "5s to 1d"},
	OVERHEAD_ROW(struct diagnose_options, profile.overhead,
		     "limit on what each target loses, of one core (1%)"),
};
static const struct option_group diagnose_group = {"Diagnosis", diagnose_rows,
						   ARRAY_SIZE(diagnose_rows)};

/*
 * Default of --max-pause, the same for a process of any size; that of `retain` grows with the heap.
 */
#define MAX_PAUSE_NS 100000000ull
#define PAUSE(name) .offset = offsetof(struct diagnose_options, pause.name)
static const struct option_row stop_rows[] = {
	{"no-stop", 0, NULL, "never stop the process", value_set_flag, PAUSE(no_stop)},
	{"max-pause", 0, "MS", "no stop lasts longer than MS milliseconds (100)",
	 value_set_milliseconds, "whole milliseconds, e.g. 50", PAUSE(max_pause_ns), .minimum = 1,
	 .maximum = 60000},
};
#undef PAUSE
static const struct option_group stop_group = {"Stopping the process", stop_rows,
					       ARRAY_SIZE(stop_rows)};

static const struct option_row format_rows[] = {FORMAT_ROW(OUTPUT_DIAGNOSIS)};
static const struct option_group format_group = {"Output", format_rows, ARRAY_SIZE(format_rows)};

/* A user waits for the answer: it may cost 1 % of a core, even in an idle process. */
#define DIAGNOSE_FLOOR 1.0

static const struct diagnose_options defaults = {
	.profile =
		{
			.session =
				{
					.schedule = SCHEDULE_DEFAULTS,
					.tracking = PROFILE_TRACKING,
					.probes = PROBE_DEFAULTS,
					.output = OUTPUT_DEFAULTS,
				},
			.overhead = PROFILE_OVERHEAD,
			.floor = DIAGNOSE_FLOOR,
			.hasty = true,
		},
	.pause = {.max_pause_ns = MAX_PAUSE_NS},
	.for_ns = 60000000000ull,
};

#define PART(member) offsetof(struct diagnose_options, profile.session.member)
const struct command command_diagnose = {
	.name = "diagnose",
	.summary = "say what grows in a process, which code, and what holds it",
	.usage = "  leakmon diagnose [TARGET] [OPTION...]\n",
	.about =
		"Watches a process for a minute and gives one answer: which part of its memory\n"
		"grows (or its threads, or its descriptors), which code allocates it, what holds\n"
		"it, how sure that is, and the next command. It costs the process at most 1% of a\n"
		"core, and two to five stops of at most 100 ms to scan its heap. Without a\n"
		"target it first takes half a minute to find up to three processes that grow.\n"
		"Exit code 3: one leaks, or grows.\n",
	.examples = "  leakmon diagnose                      of what grows on this machine\n"
		    "  leakmon diagnose -p 1234              after a minute\n"
		    "  leakmon diagnose -p 1234 --for 10m    slower leaks, surer answers\n"
		    "  leakmon diagnose -n worker --format json\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&diagnose_group, 0},
		 {&target_group, PART(targets.chosen)},
		 {&stop_group, 0},
		 {&allocator_group, PART(probes)},
		 {&probe_group, PART(probes)},
		 {&stack_walk_group, PART(probes)},
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&webhook_group, PART(output)},
		 {&color_group, PART(output)}},
	.check = check,
	.free = session_options_free,
	.run = run,
};
