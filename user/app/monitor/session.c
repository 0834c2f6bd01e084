// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/monitor/session.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/analyze/report_build.h"
#include "base/fatal_signal.h"
#include "report/family.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/text.h"
#include "heap/memory/managed_share.h"
#include "app/monitor/session_threads.h"
#include "trace/probe/privileges.h"
#include "process/proc/container.h"
#include "process/proc/memory_room.h"
#include "process/proc/process_list.h"
#include "report/family.h"
#include "heap/runtime/runtime.h"
#include "process/symbol/process_names.h"

/*
 * Labels a call stack: with --mappings, the purpose of each mapping; and for a process that
 * compiles code while it runs, which stacks belong to one call.
 */

static void site_label(struct session *session, uint64_t pid, bool compiles, struct site *site)
{
	struct frames frames = {0};

	if ((site->family != FAMILY_MAPPING && !compiles) ||
	    symbolizer_name(session->stages.symbolizer, pid, site->addresses, site->depth,
			    LINES_NONE, &frames))
		return;
	site->kind = mapping_purpose(&frames, site->kind);
	if (compiles)
		site->native = symbolizer_native_id(&frames);
	vec_free(&frames.list);
}

static void label_sites(struct session *session, struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];
		const struct process *known =
			process_table_find(session->stages.processes, (pid_t)process->pid);
		bool compiles = session->keeps_history && known && process_compiles(known);

		for (size_t j = 0; j < process->sites.count; j++)
			site_label(session, process->pid, compiles, &process->sites.items[j]);
	}
}

/* Makes a report: snapshot, ranking, names, lines, output. */

/* How long a report waits for line numbers: names come first, lines once known. */
#define LINES_WAIT_MS 2000

/* The last report waits longer: no later one would have the lines. */
#define LINES_LAST_WAIT_MS 10000

/* A longer wait shows progress. */
#define LINES_SILENT_MS 200

static int name_dead(struct session *session, uint64_t pid, struct report_dead *dead)
{
	const struct dead_group *group = dead->group;
	int error = symbolizer_name(session->stages.symbolizer, pid, group->addresses, group->depth,
				    LINES_KNOWN, &dead->stack);

	if (!error && group->start_routine)
		error = symbolizer_name_function(session->stages.symbolizer, pid,
						 group->start_routine, LINES_KNOWN, &dead->start);
	if (!error)
		dead->id = symbolizer_stack_id(&dead->stack);
	return error;
}

static int name_process(struct session *session, struct report_process *process)
{
	/* The symbolizer knows a target by its PID: its mappings change with exec, by refresh. */
	uint64_t pid = process->process->pid;

	for (size_t i = 0; i < process->sites.count; i++) {
		struct report_site *site = &process->sites.items[i];

		if (symbolizer_name(session->stages.symbolizer, pid, site->site->addresses,
				    site->site->depth, LINES_KNOWN, &site->frames))
			return -ENOMEM;
		site->id = symbolizer_stack_id(&site->frames);
	}
	for (size_t i = 0; i < process->dead.count; i++) {
		if (name_dead(session, pid, &process->dead.items[i]))
			return -ENOMEM;
	}
	return 0;
}

static int name_sites(struct session *session, struct report *report)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count && !error; i++)
		error = name_process(session, &report->processes.items[i]);
	return error;
}

static void progress_hide(struct session *session)
{
	if (session->progress_shown)
		fputs("\r\033[K", stderr);
	session->progress_shown = false;
}

static void progress_show(struct session *session, const char *text)
{
	progress_hide(session);
	if (!*text || !isatty(STDERR_FILENO))
		return;
	fputs("leakmon: ", stderr);
	text_print_inert(stderr, text);
	session->progress_shown = true;
}

void session_take_lines(struct session *session)
{
	char text[80];

	progress_hide(session); /* messages may follow */
	symbolizer_find_lines(session->stages.symbolizer, 0);
	symbolizer_progress(session->stages.symbolizer, text, sizeof(text));
	progress_show(session, text);
}

int session_lines_wait_ms(bool last)
{
	return last ? LINES_LAST_WAIT_MS : LINES_WAIT_MS;
}

/* Returns 0 if every line is known; -EAGAIN: some come with a later report; -ENOMEM. */
static int wait_for_lines(struct session *session, bool last)
{
	int limit_ms = session_lines_wait_ms(last);
	int error;

	progress_hide(session);
	/* In a live run the user waits for the next key to work. */
	if (session->hooks && session->hooks->targets_gone)
		return symbolizer_find_lines(session->stages.symbolizer, 0);
	error = symbolizer_find_lines(session->stages.symbolizer, LINES_SILENT_MS);
	if (error != -EAGAIN)
		return error;
	progress_show(session, "reading debug information for line numbers...");
	/* Only the last report waits for servers. */
	if (last)
		symbolizer_wait_for_files(session->stages.symbolizer, limit_ms);
	error = symbolizer_find_lines(session->stages.symbolizer, limit_ms - LINES_SILENT_MS);
	progress_hide(session);
	if (error == -EAGAIN)
		log_debug("some line numbers are still being looked for");
	return error;
}

/* Logs the durations, for benchmarks. */
static void log_naming(uint64_t start_ns, uint64_t named_ns, int lines_error)
{
	log_debug("names after %llu ms, lines after %llu ms: %s",
		  (unsigned long long)(named_ns - start_ns) / 1000000,
		  (unsigned long long)(monotonic_ns() - start_ns) / 1000000,
		  lines_error ? "not all yet" : "all");
}

/* Out of memory for names: report the numbers anyway. */
static int say_unnamed(int error)
{
	if (error != -ENOMEM)
		return error;
	log_warning("out of memory: some call stacks are unnamed");
	return 0;
}

static int name_report(struct session *session, struct report *report, bool last)
{
	FATAL_SIGNAL_PHASE("it names call stacks");
	uint64_t start_ns = monotonic_ns(), named_ns;
	int error = name_sites(session, report);

	if (error)
		return say_unnamed(error);
	named_ns = monotonic_ns();
	error = wait_for_lines(session, last);
	log_naming(start_ns, named_ns, error);
	/* Name them again, with the lines that were found. */
	return error && error != -EAGAIN ? say_unnamed(error)
					 : say_unnamed(name_sites(session, report));
}

static bool takes_reports(const struct session *session)
{
	return session->hooks && session->hooks->take;
}

/* Builds a report, with its history if wanted; for takers of reports with all sites. */
static int build_report(struct session *session, const struct snapshot *snapshot,
			struct report *report)
{
	struct report_options options = session->options->output.report;
	int error = 0;

	if (takes_reports(session) || session->tests.options || emitter_serves(&session->emitter))
		options.top = 0;
	if (session->keeps_history) {
		error = history_add(&session->history, snapshot, session->label);
		options.history = &session->history;
	}
	return error ? error : report_build(report, snapshot, &options);
}

/* Writes a report cut to --top; a served report is complete. */
static int emit_cut(struct session *session, struct report *report, bool last)
{
	if (emitter_serves(&session->emitter))
		report_cut(report, session->options->output.report.top);
	return emit(&session->emitter, OUTPUT_REPORT, report, last);
}

static int write_report(struct session *session, const struct snapshot *snapshot, bool last)
{
	struct report report = {0};
	uint64_t accepted = 0;
	int error = oom_kills_count(&session->oom, snapshot);

	if (!error)
		error = build_report(session, snapshot, &report);
	if (!error)
		error = name_report(session, &report, last);
	if (!error && session->oom.list.count)
		oom_kills_keep_sites(&session->oom, &report);
	if (!error && session->keeps_history)
		error = history_name(&session->history, &report);
	report.show_allocs = session->options->output.report.show_allocs;
	report.form = emit_form(&session->options->output);
	report.cost = emit_cost();
	report.oom = &session->oom;
	report.lost_reports = session->emitter.lost;
	report.pushed = emit_pushed(&session->emitter);
	if (session->options->output.fail_over != UINT64_MAX)
		report.fail_over = session->options->output.fail_over;
	if (!error)
		emit_serve(&session->emitter, OUTPUT_REPORT, &report);
	if (!error)
		error = test_report_take(&session->tests, &report, last, &accepted);
	session->outstanding_bytes = snapshot->ledger.outstanding_bytes -
				     MIN(accepted, snapshot->ledger.outstanding_bytes);
	if (error == -ENOMEM)
		log_error("out of memory");
	else if (error)
		; /* already logged */
	else if (takes_reports(session))
		error = session->hooks->take(session->hooks->context, &report, session->label,
					     last);
	else
		error = emit_cut(session, &report, last);
	report_free(&report);
	return error;
}

int session_update_targets(struct session *session)
{
	int error;

	targets_notice_ends(session);
	targets_say_missed(session);
	targets_recover(session);
	if (session->selector)
		targets_rescan(session);
	error = targets_list_pids(session);
	session->collect_options.pids = session->targets.pids.items;
	session->collect_options.pid_count = session->targets.pids.count;
	return error ? error : collector_purge(session->collector);
}

static int read_maps(struct session *session, struct session_threads *threads,
		     struct snapshot *snapshot)
{
	FATAL_SIGNAL_PHASE("it reads the ledger");
	int error = session_update_targets(session);

	if (!error)
		error = session_threads_take(session, threads);
	if (!error)
		error = collector_read(session->collector, snapshot);
	if (!error) /* before the mappings of their stacks change */
		error = session_threads_fill(session, threads, snapshot);
	return error ? error
		     : event_streams_fill(&session->streams, &session->collect_options, snapshot);
}

/* Returns a set of 1 << enum inexact_cause: faults of the target's heap probes. */
static uint32_t find_causes(const struct target *target)
{
	static const enum inexact_cause faults[] = {
		[CODE_CHANGED] = INEXACT_CODE_CHANGED,
		[CODE_MOVED] = INEXACT_CODE_MOVED,
		[CODE_WRITABLE] = INEXACT_CODE_WRITABLE,
		[CODE_UNPROBED] = INEXACT_UNPROBED,
	};
	static const enum inexact_cause gaps[] = {
		[TARGET_GAP_FILE] = INEXACT_FILE_UNREAD,
		[TARGET_GAP_FUNCTION] = INEXACT_FUNCTION_UNPROBED,
	};
	_Static_assert(ARRAY_SIZE(faults) == CODE_FAULT_MAX_, "a cause for every fault");
	_Static_assert(ARRAY_SIZE(gaps) == TARGET_GAP_MAX_, "a cause for every gap");
	uint32_t missing = target_gaps(target), causes = 0;

	for (size_t i = 0; i < CODE_FAULT_MAX_; i++)
		causes |= (target->code.faults >> i & 1) << faults[i];
	for (size_t i = 0; i < TARGET_GAP_MAX_; i++)
		causes |= (missing >> i & 1) << gaps[i];
	return causes;
}

/* Marks processes that sample themselves, even before their first sample. */
static void note_samples(struct snapshot *snapshot, const struct target *target)
{
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];

		if (target->means != TARGET_USDT || process->pid != (uint32_t)target->pid)
			continue;
		process->samples_itself = true;
		process->without_free = !target->frees;
		snapshot_mark_inexact(process, INEXACT_SAMPLED);
		snapshot->sampled = true;
	}
}

static void doubt(struct snapshot *snapshot, uint32_t pid, uint32_t causes, bool threads)
{
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];

		if (process->pid != pid)
			continue;
		for (unsigned cause = 0; cause < INEXACT_MAX_; cause++) {
			if (causes & 1u << cause)
				snapshot_mark_inexact(process, cause);
		}
		if (threads)
			process->threads.exact = false;
	}
}

/*
 * Marks inexact processes. Call it after the maps were read: a probe still there now was there all
 * along.
 */
static void doubt_unprobed(const struct session *session, struct snapshot *snapshot)
{
	for (size_t i = 0; i < session->targets.list.count; i++) {
		const struct tracked *tracked = &session->targets.list.items[i];
		uint32_t causes = find_causes(&tracked->probes);
		bool threads = tracked->threads.code.faults || tracked->threads.unread ||
			       tracked->threads.postponed;

		note_samples(snapshot, &tracked->probes);
		if (causes || threads)
			doubt(snapshot, (uint32_t)tracked->probes.pid, causes, threads);
	}
}

#define COVERAGE_PAUSE_S 30

/* Most programs have no such runtime, as a cheap look at the mappings shows. */
static void coverage_refresh(struct tracked *tracked)
{
	uint64_t now_ns = monotonic_ns();

	if (tracked->managed_read_ns &&
	    now_ns - tracked->managed_read_ns < COVERAGE_PAUSE_S * 1000000000ull)
		return;
	tracked->managed_read_ns = now_ns;
	if (!runtime_of_process(tracked->probes.pid) ||
	    managed_share_read(tracked->probes.pid, &tracked->managed))
		tracked->managed = (struct managed_share){0};
}

/*
 * Fills in snapshot_process.managed, the share of each target's memory that no probe on malloc can
 * see. Each target is read at most every COVERAGE_PAUSE_S.
 */
static void coverage_fill(struct session *session, struct snapshot *snapshot)
{
	for (size_t i = 0; i < session->targets.list.count; i++) {
		struct tracked *tracked = &session->targets.list.items[i];

		if (!tracked->ended)
			coverage_refresh(tracked);
		for (size_t j = 0; tracked->managed.runtime.key && j < snapshot->processes.count;
		     j++) {
			if (snapshot->processes.items[j].pid == (uint32_t)tracked->probes.pid)
				snapshot->processes.items[j].managed = tracked->managed;
		}
	}
}

int session_snapshot(struct session *session, struct session_threads *threads,
		     struct snapshot *snapshot)
{
	struct snapshot taken = {0};
	int error = read_maps(session, threads, &taken);

	if (error) {
		log_error("cannot read the maps: %s", strerror(-error));
		snapshot_free(&taken);
		return error;
	}
	for (size_t i = 0; i < session->targets.list.count; i++) {
		struct tracked *tracked = &session->targets.list.items[i];

		if (tracked->ended)
			continue;
		if (session->everywhere) {
			code_watch_look(&tracked->threads.code,
					session->target_config.features.method, NULL);
			continue;
		}
		stages_refresh(&session->stages, tracked->probes.pid);
		/* Refresh its cgroup: once killed, it has none. */
		cgroup_place_read(&tracked->place, tracked->probes.pid);
		if (!interrupt_check())
			targets_attach_again(session, tracked);
	}
	doubt_unprobed(session, &taken);
	label_sites(session, &taken);
	if (session->tracks_heap && !session->options->tracking.windowed)
		coverage_fill(session, &taken);
	*snapshot = taken;
	return 0;
}

static int take_snapshot(struct session *session, struct snapshot *snapshot)
{
	_cleanup_(session_threads_free) struct session_threads threads = {0};

	return session_snapshot(session, &threads, snapshot);
}

int session_examine(struct session *session, struct snapshot *snapshot, struct report *report)
{
	struct snapshot taken = {0};
	struct report built = {0};
	int error = take_snapshot(session, &taken);

	if (error)
		return error;
	error = report_build(&built, &taken, &session->options->output.report);
	if (!error)
		error = name_report(session, &built, true);
	if (error) {
		log_error("out of memory");
		report_free(&built);
		snapshot_free(&taken);
		return error;
	}
	*snapshot = taken;
	*report = built;
	report->snapshot = snapshot; /* its place from now on */
	return 0;
}

/* Fills in containers: /proc no longer has processes that ended before the first report. */
static void fill_containers(const struct session *session, struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];

		for (size_t j = 0; j < session->targets.list.count && !process->container; j++) {
			const struct tracked *tracked = &session->targets.list.items[j];

			if (tracked->probes.pid == (pid_t)process->pid)
				process->container = container_copy(tracked->container);
		}
	}
}

int session_report(struct session *session, bool last)
{
	struct snapshot snapshot = {0};
	int error = take_snapshot(session, &snapshot);

	if (error)
		return error;
	if (session->oom.list.count)
		fill_containers(session, &snapshot);
	error = write_report(session, &snapshot, last);
	symbolizer_release_lines(session->stages.symbolizer);
	snapshot_free(&snapshot);
	targets_drop_ended(session);
	return error;
}

/* How long the download of one file may take. */
#define DEBUGINFOD_DEADLINE_MS 60000

/* Process incarnations (targets and their execs) that one run distinguishes. */
#define MAX_PROCESSES 1024

/* With targets that come and go; slots of purged ones are reused. */
#define MAX_PROCESSES_MANY 8192

static int open_output(struct session *session)
{
	const struct session_options *options = session->options;
	int error;

	error = test_report_open(&session->tests, &options->output);
	if (!error)
		error = emitter_open(&session->emitter, &options->output, EMIT_REPEATED);
	/* A run beside another has no listener: the other one serves. */
	return error || session->beside ? error
					: emitter_listen(&session->emitter, &options->schedule);
}

static int try_kernel(struct session *session)
{
	const struct session_options *options = session->options;
	int error = memory_room_check(MEMORY_TO_TRACK_BYTES, "tracking processes");

	if (!error && session->tracks_heap)
		blocks_map_begin(&session->blocks_map, options->tracking.max_blocks);
	if (!error)
		error = feature_probe_run(&session->target_config.features,
					  options->probes.attach_method);
	session->target_config.object = options->probes.object;
	session->target_config.symbol_prefix = options->probes.symbol_prefix;
	session->target_config.probe_at = options->probes.probe_at;
	session->target_config.no_usdt = options->probes.no_usdt;
	return error;
}

/* Returns the slots for processes, and one more that is charged for processes without a slot. */
static uint32_t process_slots(const struct session *session)
{
	if (session->options->tracking.max_processes)
		return (uint32_t)session->options->tracking.max_processes + 1;
	return session->many ? MAX_PROCESSES_MANY : MAX_PROCESSES;
}

static int load(struct session *session)
{
	FATAL_SIGNAL_PHASE("it loads its BPF programs");
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
		.heap = session->tracks_heap,
		.counts_hits = options->tracking.windowed,
		/* --trace shows every call, and a window has a beginning: samples do not help. */
		.usdt = session->tracks_heap && !options->probes.no_usdt &&
			!options->tracking.trace && !options->tracking.windowed,
		.families = options->tracking.families,
		.object_tgid =
			options->tracking.kernel_objects && options->targets.chosen.pids.count == 1
				? (uint32_t)options->targets.chosen.pids.items[0]
				: 0,
		.object_shift = options->tracking.object_shift,
		.threads = session->follows_threads,
		.blocks_map = &session->blocks_map,
		.launched_tgid = session->launch.pid > 0 ? (uint32_t)session->launch.pid : 0,
	};
	int error;

	/* Let an interrupt end leakmon at once: the kernel verifies the programs one by one,
	 * which can take seconds without a check for interruptions in between. Nothing is
	 * attached yet. */
	if (!session->beside)
		interrupt_ends(true);
	error = loader_open(&session->bpf, &config);
	if (!session->beside)
		interrupt_ends(false);
	return error;
}

/* Failure is not fatal: reports only lack some names. */
static void use_debuginfod(struct session *session)
{
	const char *obstacle = NULL;

	if (session->options->tracking.debuginfod)
		obstacle = symbolizer_use_debuginfod(session->stages.symbolizer,
						     DEBUGINFOD_DEADLINE_MS);
	if (obstacle)
		log_warning("--debuginfod fetches nothing: %s", obstacle);
}

static int open_stages(struct session *session)
{
	const struct session_options *options = session->options;
	bool unwind_open, streams_open;
	uint32_t families = 0;

	session->collect_options = (struct collect_options){
		.older_ns = options->tracking.older_ns,
		.combined_only = options->tracking.combined_only,
		.keep_blocks = options->output.report.show_allocs,
		.only_by_dead = options->tracking.by_dead_threads,
		.keep_exited =
			!session->selector && !options->targets.come_later &&
			(!options->targets.follow_forks || test_report_is_wanted(&options->output)),
		.sample_rate = options->tracking.sample_rate,
		.sample_bytes = options->tracking.sample_bytes,
		.containers = session->containers,
	};
	if (session->follows_threads) {
		session->collect_options.on_ended = session_threads_ended;
		session->collect_options.context = session;
	}
	session->collector = collector_new(&session->bpf, &session->collect_options);
	unwind_open = !stages_open_unwind(&session->stages, &session->bpf.unwind,
					  options->probes.stack_walk);
	use_debuginfod(session);
	for (size_t id = 0; id < FAMILY_MAX_; id++)
		families |= (uint32_t)options->tracking.families[id] << id;
	streams_open = !event_streams_open(&session->streams, &session->bpf, families);
	if (session->collector && unwind_open && streams_open)
		return 0;
	log_error("out of memory");
	return -ENOMEM;
}

static int on_mapped(void *context)
{
	struct session *session = context;
	struct tracked *tracked = targets_find(session, session->launch.pid);
	int error;

	stages_refresh(&session->stages, tracked->probes.pid);
	error = targets_probe_mapped(session, tracked);
	return error ? error : (int)targets_probed(session, tracked);
}

int session_follow(struct session *session)
{
	struct tracked *tracked = targets_find(session, session->launch.pid);
	size_t before = targets_probed(session, tracked);
	int error;

	target_note_exec(&tracked->probes);
	error = launch_follow(tracked->probes.pid, on_mapped, session);

	if (error && error != -ESRCH)
		return error;
	if (targets_probed(session, tracked) > before)
		targets_log_attached(session, tracked, NULL);
	else if (!before)
		log_warning(
			"process %d maps no %s that leakmon knows yet; if it execs one that does, it will be probed",
			tracked->probes.pid, session->tracks_heap ? "allocator" : "thread library");
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

/* Opens the selection of processes other than by PID. */
static int open_selector(struct session *session)
{
	const struct session_options *options = session->options;
	bool open;

	session->containers = container_cache_new();
	session->selector = selector_new(&options->targets.chosen, session->containers);
	if (stages_open(&session->stages) || !session->containers || !session->selector) {
		log_error("out of memory");
		return -ENOMEM;
	}
	session->target_config.processes = session->stages.processes;
	session->target_config.worker = session->stages.worker;
	open = selector_is_open(session->selector);
	session->many = open || options->targets.chosen.pids.count > 1 ||
			options->targets.follow_forks || options->targets.come_later;
	if (!open) {
		selector_free(session->selector);
		session->selector = NULL;
	}
	return 0;
}

/*
 * Among several processes, one without an allocator (a Go program) has been reported; the others
 * are still watched.
 */
static int attach_named(struct session *session, const struct session_options *options)
{
	const struct selector_config *chosen = &options->targets.chosen;
	int error = 0, without = 0;

	for (size_t i = 0; i < chosen->pids.count && !error; i++) {
		error = interrupt_check();
		if (!error)
			error = targets_attach_named(session, chosen->pids.items[i]);
		if (error == -ENOENT) {
			without = error;
			error = 0;
		}
	}
	return error || targets_alive(session) ? error : without;
}

static int open_all(struct session *session)
{
	const struct session_options *options = session->options;
	int error = open_output(session);

	if (!error && !privileges_count()) {
		privileges_explain();
		error = -EPERM;
	}
	if (!error)
		error = pid_namespace_check();
	if (!error && options->targets.command)
		error = launch_prepare(&session->launch, options->targets.command,
				       options->targets.silent_command);
	/* Raise it after launch_prepare(): a launched program keeps its own limit. */
	descriptors_raise_limit();
	if (!error)
		error = open_selector(session);
	if (!error)
		error = try_kernel(session);
	for (size_t i = 0; i < options->targets.chosen.pids.count && !error; i++)
		error = target_check(options->targets.chosen.pids.items[i], &session->target_config,
				     true);
	if (!error)
		error = load(session);
	if (!error)
		error = open_stages(session);
	if (!error && options->targets.chosen.pids.count)
		stages_load_rows(&session->stages, options->targets.chosen.pids.items,
				 options->targets.chosen.pids.count);
	if (!error)
		error = attach_named(session, options);
	if (!error && session->everywhere)
		error = session_threads_everywhere(session);
	if (!error && session->selector)
		error = targets_attach_selected(session);
	if (!error && options->targets.command)
		error = start_command(session);
	if (error == -EINTR)
		log_info("interrupted while attaching: nothing to report");
	if (session->stages.worker)
		worker_end(session->stages.worker, WORKER_LANE_PER_FILE);
	return error;
}

static int open_session(struct session *session, const struct session_options *options, bool beside)
{
	int error;

	*session = (struct session){.options = options,
				    .beside = beside,
				    .everywhere = options->targets.chosen.all,
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
	_cleanup_close_ int unused_fd = blocks_map_end(&session->blocks_map);

	targets_close(session);
	thread_shared_detach(&session->thread_shared);
	launch_close(&session->launch);
	collector_free(session->collector);
	event_streams_close(&session->streams);
	stages_close(&session->stages);
	selector_free(session->selector);
	container_cache_free(session->containers);
	feature_probe_close(&session->target_config.features);
	loader_close(&session->bpf);
	history_free(&session->history);
	oom_kills_free(&session->oom);
	test_report_close(&session->tests);
	emitter_close(&session->emitter);
	*session = (struct session){.launch = {.pid = -1, .go_fd = -1, .result_fd = -1}};
}
