// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * leakmon kernel, or leakmon --kernel: memory held by the kernel, at intervals, until interrupted.
 */
#include <errno.h>

#include "app/command/command.h"
#include "app/runs/kernel_run.h"
#include "base/cli/values.h"

static int run(const void *options)
{
	return kernel_run(options);
}

static int check(void *options, const struct given *given)
{
	struct kernel_options *kernel = options;
	int error = tracking_check(&kernel->tracking, given);

	return error ? error : output_check(&kernel->output);
}

static const struct option_row kernel_rows[] = {
	{"kernel", 0, NULL, "the kernel's own memory, in place of a target", value_set_flag,
	 .offset = offsetof(struct kernel_options, kernel), .hidden = true},
};

static const struct option_group kernel_group = {"Target", kernel_rows, ARRAY_SIZE(kernel_rows)};

static const struct option_row format_rows[] = {
	FORMAT_ROW(OUTPUT_REPORT),
};

static const struct option_group format_group = {"Output", format_rows, ARRAY_SIZE(format_rows)};

static const struct kernel_options defaults = {
	.schedule = SCHEDULE_DEFAULTS,
	.tracking = TRACKING_DEFAULTS,
	.output = OUTPUT_DEFAULTS,
};

#define PART(member) offsetof(struct kernel_options, member)

const struct command command_kernel = {
	.name = "kernel",
	.summary = "show outstanding allocations of the kernel itself",
	.usage = "  leakmon kernel [OPTION...] [INTERVAL [COUNT]]\n"
		 "  leakmon --kernel [OPTION...] [INTERVAL [COUNT]]\n",
	.about = "Shows what the kernel itself has allocated and not freed (kmalloc, slab\n"
		 "caches, pages), by kernel stack: every INTERVAL seconds (5), COUNT times\n"
		 "(until Ctrl-C), and once more at the end.\n",
	.examples = "  leakmon kernel 10 6                   six reports, 10 s apart\n"
		    "  leakmon kernel -s 100                 a sample, on a busy machine\n"
		    "  leakmon kernel -o 60000 60            only blocks over 1 min old\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&kernel_group, 0},
		 {&counting_group, PART(tracking)},
		 {&room_group, PART(tracking)},
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&textfile_group, PART(output)},
		 {&top_group, PART(output)},
		 {&sort_group, PART(output)},
		 {&blocks_group, PART(output)},
		 {&fail_over_group, PART(output)},
		 {&bytes_group, PART(output)},
		 {&color_group, PART(output)}},
	.positionals = SCHEDULE_WORDS(struct kernel_options, schedule),
	.implied_by = {&kernel_group},
	.alternative = &command_watch,
	.alternative_how = "the kernel's memory belongs to no process; leave out --kernel",
	.check = check,
	.run = run,
};
