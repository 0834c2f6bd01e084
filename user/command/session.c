// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/session.h"
#include "command/session_threads.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/descriptors.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "parse/questions.h"
#include "proc/memory_room.h"
#include "proc/pid_namespace.h"

/* How long one file may take to come from a server. */
#define DEBUGINFOD_DEADLINE_MS 60000
/* Incarnations that one run can tell apart: targets, and what they exec. */
#define MAX_PROCESSES 1024
/* With targets that come and go; slots of those that are gone are used again. */
#define MAX_PROCESSES_MANY 8192

static int open_output(struct session *session)
{
	const struct session_options *options = session->options;

	session->format = output_find(options->output.format);
	if (!session->format)
		return -EINVAL; /* the options were checked */
	return emit_open(&options->output, session->format, &session->out);
}

static int try_kernel(struct session *session)
{
	const struct session_options *options = session->options;
	int error = memory_room_check(MEMORY_TO_TRACK_BYTES, "tracking processes");

	if (!error)
		error = feature_probe_run(&session->target_config.features,
					  options->probes.attach_method);

	session->target_config.object = options->probes.object;
	session->target_config.symbol_prefix = options->probes.symbol_prefix;
	session->target_config.probe_at = options->probes.probe_at;
	return error;
}

/* One slot more: what has none of its own is charged to it. */
static uint32_t process_slots(const struct session *session)
{
	if (session->options->tracking.max_processes)
		return (uint32_t)session->options->tracking.max_processes + 1;
	return session->many ? MAX_PROCESSES_MANY : MAX_PROCESSES;
}

static int load(struct session *session)
{
	const struct session_options *options = session->options;
	struct loader_config config = {
		.empty_programs = options->tracking.empty_programs,
		.trace = options->tracking.trace,
		.method = session->target_config.features.method,
		.dispatch_safe = session->target_config.features.dispatch_safe,
		.min_size = options->tracking.min_size,
		.max_size = options->tracking.max_size,
		.sample_rate = options->tracking.sample_rate,
		.sample_bytes = options->tracking.sample_bytes,
		.max_blocks = session->tracks_heap ? options->tracking.max_blocks : 1,
		.max_sites = (uint32_t)options->tracking.max_sites,
		.max_processes = process_slots(session),
		.stack_walk = options->probes.stack_walk,
		.follow_forks = options->targets.follow_forks,
		.many = session->many && !session->everywhere,
		.mappings = options->tracking.mappings,
		.threads = session->follows_threads,
		.launched_tgid = session->launch.pid > 0 ? (uint32_t)session->launch.pid : 0,
	};
	int error;

	/* The kernel checks the programs one by one, which can take seconds, and nothing in between
	 * can be asked whether to go on. Nothing is attached yet. */
	if (!session->beside)
		interrupt_ends(true);
	error = loader_open(&session->bpf, &config);
	if (!session->beside)
		interrupt_ends(false);
	return error;
}

/* Without it, reports only lack some names: no reason to stop. */
static void use_debuginfod(struct session *session)
{
	const char *obstacle = NULL;

	if (session->options->tracking.debuginfod && session->symbolizer)
		obstacle = symbolizer_use_debuginfod(session->symbolizer, DEBUGINFOD_DEADLINE_MS);
	if (obstacle)
		log_warning("--debuginfod fetches nothing: %s", obstacle);
}

static int open_stages(struct session *session)
{
	const struct session_options *options = session->options;

	session->collect_options = (struct collect_options){
		.older_ns = options->tracking.older_ns,
		.combined_only = options->tracking.combined_only,
		.keep_blocks = options->output.report.show_allocs,
		.only_by_dead = options->tracking.by_dead_threads,
		.keep_exited = !session->selector && !options->targets.follow_forks,
		.sample_rate = options->tracking.sample_rate,
		.sample_bytes = options->tracking.sample_bytes,
		.containers = session->containers,
	};
	if (session->follows_threads) {
		session->collect_options.on_ended = session_threads_ended;
		session->collect_options.context = session;
	}
	session->collector = collector_new(&session->bpf, &session->collect_options);
	session->worker = worker_new(&parse_kinds, NULL);
	session->target_config.worker = session->worker;
	session->symbolizer = session->worker ? symbolizer_new(session->worker) : NULL;
	session->unwind =
		session->worker ? unwind_store_new(&session->bpf.unwind, session->worker) : NULL;
	use_debuginfod(session);
	session->mappings = options->tracking.mappings ? mapping_stream_new(&session->bpf) : NULL;
	session->thread_libraries = thread_libraries_new();
	if (session->collector && session->symbolizer && session->unwind &&
	    session->thread_libraries && (session->mappings || !options->tracking.mappings))
		return 0;
	log_error("out of memory");
	return -ENOMEM;
}

static int on_mapped(void *context)
{
	struct session *session = context;
	struct tracked *tracked = targets_find(session, session->launch.pid);
	int error;

	session_refresh(session, tracked->probes.pid);
	error = targets_probe_mapped(session, tracked);
	return error ? error : (int)targets_probed(session, tracked);
}

int session_follow(struct session *session)
{
	struct tracked *tracked = targets_find(session, session->launch.pid);
	size_t before = targets_probed(session, tracked);
	int error = launch_follow(tracked->probes.pid, on_mapped, session);

	if (error && error != -ESRCH)
		return error;
	if (targets_probed(session, tracked) > before)
		targets_log_attached(session, tracked, NULL);
	else if (!before)
		log_warning("process %d maps no %s that leakmon knows yet; if it execs one "
			    "that does, it will be probed",
			    tracked->probes.pid,
			    session->tracks_heap ? "allocator" : "thread library");
	return 0;
}

static int start_command(struct session *session)
{
	char *const *argv = session->options->targets.command;
	int error;

	error = targets_add_launched(session, session->launch.pid);
	if (error)
		return error;
	error = launch_start(&session->launch);
	if (error) {
		log_error("cannot run %s: %s", argv[0], strerror(-error));
		return error;
	}
	return session_follow(session);
}

/* What the words of the command line choose, besides PIDs. */
static int open_selector(struct session *session)
{
	const struct session_options *options = session->options;
	struct selector_config config = targets_config(&options->targets);
	bool open;

	session->containers = container_cache_new();
	session->target_config.plans = target_plans_new();
	session->selector = selector_new(&config, session->containers);
	if (!session->containers || !session->target_config.plans || !session->selector) {
		log_error("out of memory");
		return -ENOMEM;
	}
	open = selector_is_open(session->selector);
	session->many = open || options->targets.pids.count > 1 || options->targets.follow_forks;
	if (!open) {
		selector_free(session->selector);
		session->selector = NULL;
	}
	return 0;
}

static int open_all(struct session *session)
{
	const struct session_options *options = session->options;
	int error = open_output(session);

	if (!error)
		error = pid_namespace_check();
	if (!error && options->targets.command)
		error = launch_prepare(&session->launch, options->targets.command,
				       options->targets.silent_command);
	/* What was launched keeps its own limit. */
	descriptors_raise_limit();
	if (!error)
		error = open_selector(session);
	if (!error)
		error = try_kernel(session);
	for (size_t i = 0; i < options->targets.pids.count && !error; i++)
		error = target_check(options->targets.pids.items[i], &session->target_config, true);
	if (!error)
		error = load(session);
	if (!error)
		error = open_stages(session);
	if (!error && options->targets.pids.count) /* one wait for all: see unwind_store.h */
		unwind_store_refresh_all(session->unwind, options->targets.pids.items,
					 options->targets.pids.count);
	for (size_t i = 0; i < options->targets.pids.count && !error; i++) {
		error = interrupt_check();
		if (!error)
			error = targets_attach_named(session, options->targets.pids.items[i]);
	}
	if (!error && session->everywhere)
		error = session_threads_everywhere(session);
	if (!error && session->selector)
		error = targets_attach_selected(session);
	if (!error && options->targets.command)
		error = start_command(session);
	if (error == -EINTR)
		log_info("interrupted while attaching: there is nothing to report");
	if (session->worker)
		worker_end(session->worker, WORKER_LANE_PER_FILE);
	return error;
}

static int open_session(struct session *session, const struct session_options *options, bool beside)
{
	int error;

	*session = (struct session){.options = options,
				    .beside = beside,
				    .everywhere = options->targets.everywhere,
				    .tracks_heap = !options->tracking.no_heap,
				    .follows_threads = !options->tracking.no_threads &&
						       !options->tracking.empty_programs,
				    .launch = {.pid = -1, .go_fd = -1, .result_fd = -1}};
	error = open_all(session);
	if (error)
		session_close(session);
	return error;
}

int session_open(struct session *session, const struct session_options *options)
{
	return open_session(session, options, false);
}

int session_open_beside(struct session *session, const struct session_options *options)
{
	return open_session(session, options, true);
}

void session_close(struct session *session)
{
	targets_close(session);
	thread_shared_detach(&session->thread_shared);
	launch_close(&session->launch);
	collector_free(session->collector);
	mapping_stream_free(session->mappings);
	symbolizer_free(session->symbolizer);
	worker_free(session->worker);
	unwind_store_free(session->unwind);
	selector_free(session->selector);
	container_cache_free(session->containers);
	file_cache_free(session->target_config.plans);
	feature_probe_close(&session->target_config.features);
	file_cache_free(session->thread_libraries);
	loader_close(&session->bpf);
	history_free(&session->history);
	if (session->out && session->out != stdout)
		fclose(session->out);
	*session = (struct session){.launch = {.pid = -1, .go_fd = -1, .result_fd = -1}};
}
