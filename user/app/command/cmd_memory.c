// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon memory: a breakdown of a process's memory; no probes. */
#include "app/command/command.h"
#include "app/runs/memory_run.h"
#include "base/cli/values.h"

static int run(const void *options)
{
	return memory_run(options);
}

static int check(void *options, const struct given *given)
{
	struct memory_options *memory = options;

	int error = core_check(&memory->core, &memory->schedule, given);

	return error ? error : output_check(&memory->output);
}

static void memory_options_free(void *options)
{
	struct memory_options *memory = options;

	selector_config_free(&memory->targets);
}

static const struct option_row format_rows[] = {FORMAT_ROW(OUTPUT_MEMORY)};

static const struct option_group format_group = {"Output", format_rows, ARRAY_SIZE(format_rows)};

static const struct memory_options defaults = {.schedule = SCHEDULE_DEFAULTS,
					       .output = OUTPUT_DEFAULTS};

#define PART(member) offsetof(struct memory_options, member)

const struct command command_memory = {
	.name = "memory",
	.summary = "show where a process's memory is: live, or kept by malloc",
	.usage = "  leakmon memory [TARGET] [OPTION...] [INTERVAL [COUNT]]\n"
		 "  leakmon memory --core FILE [OPTION...]\n",
	.about =
		"Shows where the memory of processes is: live blocks, what malloc keeps and\n"
		"what malloc_trim would give back, stacks, files, shared memory. The parts add\n"
		"up to what the kernel counts. It sets no probes, and stops a process only if its\n"
		"heap changes too fast to be read (never with --no-stop). With an INTERVAL it\n"
		"also shows what has grown since the start, and whether that is a leak; without\n"
		"a target, a line for every process, and it stops none.\n",
	.examples = "  leakmon memory                        of all processes, a line each\n"
		    "  leakmon memory -p 1234                is it live, or free inside malloc?\n"
		    "  leakmon memory -p 1234 60             every minute, with what has grown and "
		    "why\n"
		    "  leakmon memory --core core.1234       of a process that has crashed\n"
		    "  leakmon memory -p 1234 --format html --output memory.html 10\n"
		    "                                        a page, with what changed over time\n"
		    "  leakmon memory -n redis-server --format json\n"
		    "  leakmon memory --format prom --textfile-dir /var/lib/node-exporter 60\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&target_group, PART(targets)},
		 {&core_group, PART(core)},
		 {&pause_group, PART(pause)},
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&textfile_group, PART(output)},
		 {&top_group, PART(output)},
		 {&color_group, PART(output)}},
	.positionals = SCHEDULE_WORDS(struct memory_options, schedule),
	.check = check,
	.free = memory_options_free,
	.run = run,
};
