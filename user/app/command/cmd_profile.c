// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon profile: growing call sites, at 1 % overhead. */
#include <errno.h>
#include <string.h>

#include "app/command/command.h"
#include "app/profile/profile_run.h"
#include "app/runs/retain_run.h"
#include "base/cli/values.h"
#include "base/log.h"
#include "output/output.h"

static int run(const void *options)
{
	const struct profile_options *profile = options;
	const struct retain_options own = {.session = profile->session, .own = true};

	return profile->own ? retain_run(&own) : profile_run(profile);
}

/* Returns 0, or -EINVAL after a message. */
static int check_own(const struct profile_options *profile)
{
	const struct output_format *format = output_find(profile->session.output.format);

	if (targets_require(&profile->session.targets, "leakmon profile --own -p PID"))
		return -EINVAL;
	if (profile->session.targets.command) {
		log_error(
			"--own reads what a process has sampled so far: name a running process, e.g. -p PID");
		return -EINVAL;
	}
	/* The HTML page of `retain` does not show heap profiles. */
	if (!format || !output_has(format, OUTPUT_RETAIN) || !strcmp(format->name, "html")) {
		log_error("--own has no format `%s`: choose text|json|folded|pprof",
			  profile->session.output.format);
		return -EINVAL;
	}
	return 0;
}

static int check(void *options, const struct given *given)
{
	struct profile_options *profile = options;

	if (profile->own && check_own(profile))
		return -EINVAL;
	profile->session.targets.come_later = targets_none(&profile->session.targets);
	return session_options_check(&profile->session, given);
}

static const struct option_row profile_rows[] = {
	OVERHEAD_ROW(struct profile_options, overhead, OVERHEAD_OF_CPU_TIME),
	{"own", 0, NULL, "read the profile that the process itself keeps: no probes",
	 value_set_flag, .offset = offsetof(struct profile_options, own)},
};
static const struct option_group profile_group = {"Profile", profile_rows,
						  ARRAY_SIZE(profile_rows)};

static const struct option_row format_rows[] = {FORMAT_ROW(OUTPUT_PROFILE)};
static const struct option_group format_group = {"Output", format_rows, ARRAY_SIZE(format_rows)};

static const struct profile_options defaults = {
	.session =
		{
			.schedule = SCHEDULE_DEFAULTS,
			.tracking = PROFILE_TRACKING,
			.probes = PROBE_DEFAULTS,
			.output = OUTPUT_DEFAULTS,
		},
	.overhead = PROFILE_OVERHEAD,
	.floor = PROFILE_FLOOR,
};

#define PART(member) offsetof(struct profile_options, session.member)
const struct command command_profile = {
	.name = "profile",
	.summary = "show which call stacks grow, at 1% of the processes' speed",
	.usage = "  leakmon profile [TARGET] [OPTION...] [INTERVAL [COUNT]]\n"
		 "  leakmon profile [OPTION...] [INTERVAL [COUNT]] -- CMD ARGS...\n",
	.about = "Samples allocations in short windows, then re-reads each block: growth by call\n"
		 "stack, with bounds, at 1% overhead. Without a target: up to 16 processes of\n"
		 "this machine with certain heap growth, as they come and go. It reports every\n"
		 "INTERVAL seconds (5), COUNT times (until Ctrl-C), and once more at the end. A\n"
		 "leak is confirmed after about 13 minutes; it ranks first long before.\n"
		 "With --own: the live samples that the process's allocator or runtime keeps\n"
		 "itself, from before leakmon came: jemalloc with prof:true, gperftools with\n"
		 "HEAPPROFILE, Google TCMalloc, tracemalloc, Go.\n",
	.examples =
		"  leakmon profile -p 1234 60            a report every minute until Ctrl-C\n"
		"  leakmon profile 60                    of what grows on this machine\n"
		"  leakmon profile -p 1234 --overhead 0.2% 300\n"
		"                                        cheaper, with slower verdicts\n"
		"  leakmon profile -n worker --format prom --textfile-dir /var/lib/node-exporter "
		"60\n"
		"                                        metrics of all processes named worker\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&profile_group, 0},
		 {&target_group, PART(targets.chosen)},
		 {&launch_group, PART(targets)},
		 {&fork_group, PART(targets)},
		 {&allocator_group, PART(probes)},
		 {&probe_group, PART(probes)},
		 {&stack_walk_group, PART(probes)},
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&textfile_group, PART(output)},
		 {&listen_group, PART(output)},
		 {&push_group, PART(output)},
		 {&webhook_group, PART(output)},
		 {&top_group, PART(output)},
		 {&debuginfod_group, PART(tracking)},
		 {&color_group, PART(output)}},
	.positionals = SCHEDULE_WORDS(struct profile_options, session.schedule),
	.check = check,
	.free = session_options_free,
	.run = run,
	.is_monitor = true,
};
