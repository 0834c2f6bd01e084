// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/threads_run.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#define MAX_PROCESSES 1024
/* How long a report waits for line numbers. */
#define LINES_WAIT_MS 2000
#define LINES_LAST_WAIT_MS 10000

static int open_output(struct threads_run *run)
{
	run->out = stdout;
	if (!run->options->output)
		return 0;
	run->out = fopen(run->options->output, "we");
	if (run->out)
		return 0;
	log_error("cannot write to %s: %s; name a file in a directory that you may write to",
		  run->options->output, strerror(errno));
	return -errno;
}

static int load(struct threads_run *run)
{
	struct loader_config config = {
		.method = run->trial.method,
		.max_size = UINT64_MAX,
		.sample_rate = 1,
		.max_blocks = 1,
		.max_sites = (uint32_t)run->options->max_sites,
		.max_processes = MAX_PROCESSES,
		.stack_walk = run->options->stack_walk,
		.threads = true,
	};

	return loader_open(&run->bpf, &config);
}

static void refresh(struct threads_run *run, pid_t pid)
{
	unwind_store_refresh(run->unwind, pid);
	symbolizer_refresh(run->symbolizer, (uint64_t)pid, pid);
}

static int attach_target(struct threads_run *run, struct thread_target *target)
{
	const struct thread_config config = {&run->bpf, run->trial.method, run->worker,
					     run->libraries};

	return thread_target_attach(target, &config);
}

static struct thread_target *target_find(struct threads_run *run, pid_t pid)
{
	for (size_t i = 0; i < run->targets.count; i++) {
		if (run->targets.items[i].pid == pid)
			return &run->targets.items[i];
	}
	return NULL;
}

static void on_event(const struct lm_event *event, void *context)
{
	struct threads_run *run = context;
	pid_t pid = (pid_t)(event->process >> 32);
	struct thread_target *target = target_find(run, pid);

	if (!target || (event->type != LM_EVENT_NO_ROWS && event->type != LM_EVENT_EXEC))
		return;
	refresh(run, pid);
	attach_target(run, target);
}

static int open_stages(struct threads_run *run)
{
	run->worker = worker_new(NULL);
	run->symbolizer = run->worker ? symbolizer_new(run->worker) : NULL;
	run->unwind = run->worker ? unwind_store_new(&run->bpf, run->worker) : NULL;
	run->events = events_new(&run->bpf, on_event, run);
	run->libraries = thread_libraries_new();
	if (run->symbolizer && run->unwind && run->events && run->libraries)
		return 0;
	log_error("out of memory");
	return -ENOMEM;
}

static int attach_pid(struct threads_run *run, pid_t pid)
{
	struct thread_target *target = vec_push(&run->targets);
	int error;

	if (!target)
		return -ENOMEM;
	target->pid = pid;
	refresh(run, pid);
	error = attach_target(run, target);
	if (error == -ESRCH)
		log_error("process %d ended while leakmon was attaching to it", pid);
	else if (error)
		log_error("the kernel refused the probes on the threads of process %d: %s", pid,
			  strerror(-error));
	else if (!target->points && !target->why[0])
		snprintf(target->why, sizeof(target->why),
			 "no file with pthread_create, pthread_join and pthread_detach is mapped");
	if (!error)
		log_info("attached to PID %d: %zu places in its thread library (%s)", pid,
			 target->points, attach_method_name(run->trial.method));
	return error;
}

int threads_run_open(struct threads_run *run, const struct options *options)
{
	struct target_config config = {.symbol_prefix = ""};
	int error;

	*run = (struct threads_run){.options = options};
	error = open_output(run);
	if (!error)
		error = trial_run(&run->trial, options->attach_method);
	config.trial = run->trial;
	for (size_t i = 0; i < options->pids.count && !error; i++)
		error = target_check(options->pids.items[i], &config);
	if (!error)
		error = load(run);
	if (!error)
		error = open_stages(run);
	for (size_t i = 0; i < options->pids.count && !error; i++)
		error = attach_pid(run, options->pids.items[i]);
	if (run->worker)
		worker_end_plans(run->worker);
	return error;
}

void threads_run_close(struct threads_run *run)
{
	for (size_t i = 0; i < run->targets.count; i++)
		thread_target_detach(&run->targets.items[i]);
	vec_free(&run->targets);
	file_cache_free(run->libraries);
	events_free(run->events);
	symbolizer_free(run->symbolizer);
	worker_free(run->worker);
	unwind_store_free(run->unwind);
	loader_close(&run->bpf);
	if (run->out && run->out != stdout)
		fclose(run->out);
}

static int name_group(struct threads_run *run, uint32_t pid, struct thread_group *group)
{
	/* The function's first byte is what is meant, not the byte before it. */
	uint64_t start = group->start_routine | LM_FRAME_EXACT;
	int error = symbolizer_name(run->symbolizer, pid, group->addresses, group->depth,
				    LINES_KNOWN, &group->stack);

	if (!error && group->start_routine)
		error = symbolizer_name(run->symbolizer, pid, &start, 1, LINES_KNOWN,
					&group->start);
	return error;
}

static int name_all(struct threads_run *run, struct thread_report *report)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		struct thread_census *census = &report->processes.items[i];

		for (size_t j = 0; j < census->groups.count && !error; j++)
			error = name_group(run, census->pid, &census->groups.items[j]);
	}
	return error;
}

static int take_census(struct threads_run *run, struct thread_report *report)
{
	_cleanup_(thread_table_free) struct thread_table table = {0};
	int error;

	report->now_ns = monotonic_ns();
	error = thread_table_read(&run->bpf, &table);
	for (size_t i = 0; i < run->targets.count && !error; i++) {
		struct thread_target *target = &run->targets.items[i];
		struct thread_census *census = vec_push(&report->processes);

		if (!census)
			return -ENOMEM;
		refresh(run, target->pid);
		census->why = target->why[0] ? target->why : NULL;
		error = thread_census_take(census, target->pid, &table, NULL, &run->bpf);
	}
	return error;
}

int threads_run_report(struct threads_run *run, bool last)
{
	_cleanup_(thread_report_free) struct thread_report report = {
		.sequence = ++run->sequence,
		.show_threads = run->options->show_threads,
		.colour = !run->options->no_color && run->out == stdout && isatty(STDOUT_FILENO) &&
			  !getenv("NO_COLOR"),
	};
	int error = take_census(run, &report);

	clock_gettime(CLOCK_REALTIME, &report.time);
	if (!error)
		error = name_all(run, &report);
	if (!error) {
		symbolizer_find_lines(run->symbolizer, last ? LINES_LAST_WAIT_MS : LINES_WAIT_MS);
		error = name_all(run, &report);
	}
	if (error) {
		log_error("cannot read the threads: %s", strerror(-error));
		return error;
	}
	error = !strcmp(run->options->format, "json") ? thread_report_json(run->out, &report)
						      : thread_report_text(run->out, &report);
	if (error)
		log_error("cannot write the report: %s", strerror(errno));
	symbolizer_release_lines(run->symbolizer);
	return error;
}
