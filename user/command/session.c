// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/session.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

/* Incarnations that one run can tell apart: targets, and what they exec. */
#define MAX_PROCESSES 1024

static int open_output(struct session *session)
{
	const struct options *options = session->options;

	session->format = output_find(options->format);
	if (!session->format)
		return -EINVAL; /* the options were checked */
	if (!options->output) {
		session->out = stdout;
		return 0;
	}
	session->out = fopen(options->output, "we");
	if (session->out)
		return 0;
	log_error("cannot write to %s: %s; name a file in a directory that you may write to",
		  options->output, strerror(errno));
	return -errno;
}

static int try_kernel(struct session *session)
{
	const struct options *options = session->options;
	int error = trial_run(&session->target_config.trial, options->attach_method);

	session->target_config.object = options->object;
	session->target_config.symbol_prefix = options->symbol_prefix;
	session->target_config.probe_at = options->probe_at;
	return error;
}

static int load(struct session *session)
{
	const struct options *options = session->options;
	struct loader_config config = {
		.empty_programs = options->empty_programs,
		.trace = options->trace,
		.method = session->target_config.trial.method,
		.min_size = options->min_size,
		.max_size = options->max_size,
		.sample_rate = options->sample_rate,
		.sample_bytes = options->sample_bytes,
		.max_blocks = options->max_blocks,
		.max_sites = (uint32_t)options->max_sites,
		.max_processes = MAX_PROCESSES,
		.stack_walk = options->stack_walk,
		.launched_tgid = session->launch.pid > 0 ? (uint32_t)session->launch.pid : 0,
	};

	return loader_open(&session->bpf, &config);
}

static int open_stages(struct session *session)
{
	const struct options *options = session->options;

	session->collect_options = (struct collect_options){
		.older_ns = options->older_ns,
		.combined_only = options->combined_only,
		.keep_blocks = options->report.show_allocs,
		.keep_exited = true,
		.pids = options->pids.items,
		.pid_count = options->pids.count,
		.sample_rate = options->sample_rate,
		.sample_bytes = options->sample_bytes,
	};
	session->collector = collector_new(&session->bpf, &session->collect_options);
	session->worker = worker_new(NULL);
	session->target_config.worker = session->worker;
	session->symbolizer = session->worker ? symbolizer_new(session->worker) : NULL;
	session->unwind = session->worker ? unwind_store_new(&session->bpf, session->worker) : NULL;
	if (session->collector && session->symbolizer && session->unwind)
		return 0;
	log_error("out of memory");
	return -ENOMEM;
}

void session_refresh(struct session *session, pid_t pid)
{
	int error = unwind_store_refresh(session->unwind, pid);

	if (error && error != -ESRCH)
		log_warning("process %d: its stacks are walked by frame pointer where new code is "
			    "mapped: %s",
			    pid, strerror(-error));
	symbolizer_refresh(session->symbolizer, (uint64_t)pid, pid);
}

static struct target *target_find(struct session *session, pid_t pid)
{
	for (size_t i = 0; i < session->targets.count; i++) {
		if (session->targets.items[i].pid == pid)
			return &session->targets.items[i];
	}
	return NULL;
}

static struct target *target_add(struct session *session, pid_t pid)
{
	struct target *target = vec_push(&session->targets);

	if (target)
		target->pid = pid;
	else
		log_error("out of memory");
	return target;
}

static void log_attached(const struct session *session, const struct target *target)
{
	size_t files = 0;

	for (size_t i = 0; i < target->files.count; i++)
		files += target->files.items[i].functions > 0;
	log_info("attached to PID %d: %zu functions in %zu file%s (%s)", target->pid,
		 target->functions, files, files == 1 ? "" : "s",
		 attach_method_name(session->target_config.trial.method));
}

static int attach_pid(struct session *session, pid_t pid)
{
	struct target *target;
	int error = target_check(pid, &session->target_config);

	if (error)
		return error;
	target = target_add(session, pid);
	if (!target)
		return -ENOMEM;
	session_refresh(session, pid);
	error = target_attach(target, &session->target_config, &session->bpf);
	if (error == -ESRCH) {
		log_error("process %d ended while leakmon was attaching to it", pid);
		return error;
	}
	if (!error && !target->functions) {
		target_explain_nothing(target, &session->target_config);
		return -ENOENT;
	}
	if (error)
		return error;
	log_attached(session, target);
	return 0;
}

static int on_mapped(void *context)
{
	struct session *session = context;
	struct target *target = target_find(session, session->launch.pid);
	int error;

	session_refresh(session, target->pid);
	error = target_attach(target, &session->target_config, &session->bpf);
	return error ? error : (int)target->functions;
}

int session_follow(struct session *session)
{
	struct target *target = target_find(session, session->launch.pid);
	size_t before = target->functions;
	int error = launch_follow(target->pid, on_mapped, session);

	if (error && error != -ESRCH)
		return error;
	if (target->functions > before)
		log_attached(session, target);
	else if (!before)
		log_warning("process %d maps no allocator that leakmon knows yet; if it execs one "
			    "that does, it will be probed",
			    target->pid);
	return 0;
}

int session_attach_again(struct session *session, pid_t pid)
{
	struct target *target = target_find(session, pid);
	size_t before = target ? target->functions : 0;
	int error;

	if (!target)
		return 0;
	error = target_attach(target, &session->target_config, &session->bpf);
	if (!error && target->functions > before)
		log_info("PID %d replaced itself with another program: probed %zu more functions; "
			 "allocations before this moment were not seen",
			 pid, target->functions - before);
	return error;
}

static int start_command(struct session *session)
{
	char *const *argv = session->options->command;
	int error;

	if (!target_add(session, session->launch.pid))
		return -ENOMEM;
	error = launch_start(&session->launch);
	if (error) {
		log_error("cannot run %s: %s", argv[0], strerror(-error));
		return error;
	}
	return session_follow(session);
}

static int open_all(struct session *session)
{
	const struct options *options = session->options;
	int error = open_output(session);

	if (!error)
		error = try_kernel(session);
	for (size_t i = 0; i < options->pids.count && !error; i++)
		error = target_check(options->pids.items[i], &session->target_config);
	if (!error && options->command)
		error = launch_prepare(&session->launch, options->command);
	if (!error)
		error = load(session);
	if (!error)
		error = open_stages(session);
	for (size_t i = 0; i < options->pids.count && !error; i++)
		error = attach_pid(session, options->pids.items[i]);
	if (!error && options->command)
		error = start_command(session);
	if (session->worker)
		worker_end_plans(session->worker);
	return error;
}

int session_open(struct session *session, const struct options *options)
{
	int error;

	*session = (struct session){.options = options,
				    .launch = {.pid = -1, .go_fd = -1, .result_fd = -1}};
	error = open_all(session);
	if (error)
		session_close(session);
	return error;
}

void session_close(struct session *session)
{
	for (size_t i = 0; i < session->targets.count; i++)
		target_detach(&session->targets.items[i]);
	vec_free(&session->targets);
	launch_close(&session->launch);
	collector_free(session->collector);
	symbolizer_free(session->symbolizer);
	worker_free(session->worker);
	unwind_store_free(session->unwind);
	loader_close(&session->bpf);
	if (session->out && session->out != stdout)
		fclose(session->out);
	*session = (struct session){.launch = {.pid = -1, .go_fd = -1, .result_fd = -1}};
}
