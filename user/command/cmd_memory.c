// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon memory: where a process's memory is; no probes, no stop. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cli/values.h"
#include "command/command.h"
#include "memory/memory_parts.h"
#include "monitor/emit.h"
#include "proc/selector.h"

struct memory_run {
	const struct memory_options *options;
	const struct output_format *format;
	FILE *out;
	uint64_t reports;
};

static void explain(pid_t pid, int error)
{
	if (error == -ESRCH)
		log_error("there is no process %d, or it has ended, or it is a kernel thread", pid);
	else if (error == -EPERM || error == -EACCES)
		log_error("process %d: what the kernel says of its memory must not be read: it "
			  "belongs to another user, or has closed itself even to its own; run "
			  "leakmon as root, or with CAP_SYS_PTRACE",
			  pid);
	else if (error == -ENOENT)
		log_error("process %d: this kernel has no /proc/PID/smaps "
			  "(CONFIG_PROC_PAGE_MONITOR)",
			  pid);
	else
		log_error("process %d: %s", pid, strerror(-error));
}

/* 0, or -errno after an error message. */
static int select_processes(const struct memory_options *options, struct selection *selection)
{
	struct selector_config config = targets_config(&options->targets);
	struct selector *selector;
	int error;

	config.all = targets_none(&options->targets);
	selector = selector_new(&config, NULL);
	error = selector ? selector_list(selector, selection) : -ENOMEM;
	if (error)
		log_error("cannot list processes: %s", strerror(-error));
	else
		error = selection_explain(selection); /* it borrows from the selector */
	selector_free(selector);
	return error;
}

/* One that was named must be read; of others, any may end or be somebody else's. */
static int read_one(struct memory_run *run, pid_t pid, struct memory_report *report)
{
	struct memory_process process;
	struct memory_process *kept;
	int error = memory_process_read(pid, &process);

	if (error && run->options->targets.pids.count) {
		explain(pid, error);
		return error;
	}
	report->unreadable += error && error != -ESRCH;
	if (error)
		return error == -ENOMEM ? error : 0;
	kept = vec_push(&report->processes);
	if (!kept) {
		memory_process_free(&process);
		return -ENOMEM;
	}
	*kept = process;
	return 0;
}

static int by_rss(const void *left_pointer, const void *right_pointer)
{
	const struct memory_process *left = left_pointer, *right = right_pointer;

	if (left->sum.rss != right->sum.rss)
		return left->sum.rss > right->sum.rss ? -1 : 1;
	return left->pid - right->pid;
}

static int write_report(struct memory_run *run, struct memory_report *report)
{
	int error;

	if (report->processes.count)
		qsort(report->processes.items, report->processes.count,
		      sizeof(*report->processes.items), by_rss);
	error = run->format->memory(run->out, report);
	if (error)
		emit_say_failed("the report", error);
	return error;
}

static int run_once(struct memory_run *run)
{
	_cleanup_(selection_free) struct selection selection = {0};
	const struct output_options *output = &run->options->output;
	_cleanup_(memory_report_free) struct memory_report report = {
		.sequence = ++run->reports,
		.top = output->report.top,
		.everywhere = targets_none(&run->options->targets),
		.colour = emit_wants_colour(output),
	};
	int error = select_processes(run->options, &selection);

	clock_gettime(CLOCK_REALTIME, &report.time);
	for (size_t i = 0; !error && i < selection.pids.count; i++)
		error = read_one(run, selection.pids.items[i], &report);
	if (error == -ENOMEM)
		log_error("out of memory");
	if (!error && !report.processes.count) {
		log_error("no process was left to look at, or none may be read: run leakmon as "
			  "root, or with CAP_SYS_PTRACE");
		error = -ESRCH;
	}
	return error ? error : write_report(run, &report);
}

/* Until the next report; true: no next one. */
static bool is_interrupted(const struct memory_options *options)
{
	struct pollfd poll_fd = {.fd = interrupt_fd(), .events = POLLIN};

	interrupt_ends(false); /* what was asked for is done */
	poll(&poll_fd, 1, (int)MIN(options->schedule.interval_ns / 1000000, INT32_MAX));
	if (interrupt_check())
		return true;
	interrupt_ends(true);
	return false;
}

static int run_all(struct memory_run *run)
{
	const struct schedule *schedule = &run->options->schedule;
	int error;

	do
		error = run_once(run);
	while (!error && schedule->repeat && (!schedule->count || run->reports < schedule->count) &&
	       !is_interrupted(run->options));
	return error;
}

static int run(const void *options)
{
	const struct memory_options *memory = options;
	struct memory_run run = {.options = memory, .format = output_find(memory->output.format)};
	int error = emit_open_stream(&memory->output, &run.out);

	signal(SIGPIPE, SIG_IGN);
	if (error)
		return EXIT_ERROR;
	if (!memory->schedule.repeat)
		emit_guard(&memory->output, run.out);
	error = run_all(&run);
	return emit_close(run.out) || error ? EXIT_ERROR : EXIT_OK;
}

static int check(void *options, const struct given *given)
{
	struct memory_options *memory = options;

	(void)given;
	return output_check(&memory->output);
}

static void memory_options_free(void *options)
{
	struct memory_options *memory = options;

	targets_free(&memory->targets);
}

static const struct option_row format_rows[] = {FORMAT_ROW(OUTPUT_MEMORY)};

static const struct option_group format_group = {"Output", format_rows, ARRAY_SIZE(format_rows)};

static const struct memory_options defaults = {.schedule = SCHEDULE_DEFAULTS,
					       .output = OUTPUT_DEFAULTS};

#define PART(member) offsetof(struct memory_options, member)

const struct command command_memory = {
	.name = "memory",
	.summary = "show where a process's memory is: live, or kept by malloc",
	.usage = "  leakmon memory [TARGET] [OPTION...] [INTERVAL [COUNT]]\n",
	.about = "Shows where the memory of processes is: live blocks, what malloc keeps and\n"
		 "what malloc_trim would give back, stacks, files, shared memory. The parts add\n"
		 "up to what the kernel counts. Without probes and without a stop. Without a\n"
		 "target, a line for every process.\n",
	.examples = "  leakmon memory                        of all processes, a line each\n"
		    "  leakmon memory -p 1234                is it live, or free inside malloc?\n"
		    "  leakmon memory -p 1234 60             again every minute\n"
		    "  leakmon memory -n redis-server --format json\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&target_group, PART(targets)},
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&top_group, PART(output)},
		 {&color_group, PART(output)}},
	.positionals = SCHEDULE_WORDS(struct memory_options, schedule),
	.check = check,
	.free = memory_options_free,
	.run = run,
};
