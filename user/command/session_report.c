// SPDX-License-Identifier: GPL-2.0-or-later
/* The making of a report: snapshot, rank, names, lines, output. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/text.h"
#include "command/session.h"
#include "command/session_threads.h"

/* How long a report waits for line numbers: names come first, lines when they are there. */
#define LINES_WAIT_MS 2000
/* Nothing comes after the last report: what is not in it is lost. */
#define LINES_LAST_WAIT_MS 10000
/* A wait that is longer says what it waits for. */
#define LINES_SILENT_MS 200

static int name_dead(struct session *session, uint64_t pid, struct report_dead *dead)
{
	const struct dead_group *group = dead->group;
	int error = symbolizer_name(session->symbolizer, pid, group->addresses, group->depth,
				    LINES_KNOWN, &dead->stack);

	if (!error && group->start_routine)
		error = symbolizer_name_function(session->symbolizer, pid, group->start_routine,
						 LINES_KNOWN, &dead->start);
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

		if (symbolizer_name(session->symbolizer, pid, site->site->addresses,
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

	progress_hide(session); /* messages may come */
	symbolizer_find_lines(session->symbolizer, 0);
	symbolizer_progress(session->symbolizer, text, sizeof(text));
	progress_show(session, text);
}

int session_lines_wait_ms(bool last)
{
	return last ? LINES_LAST_WAIT_MS : LINES_WAIT_MS;
}

/* 0: every line is known; -EAGAIN: some come with a later report; -ENOMEM. */
static int wait_for_lines(struct session *session, bool last)
{
	int limit_ms = session_lines_wait_ms(last);
	int error;

	progress_hide(session);
	if (session->sink && session->sink->live) /* somebody waits for the next key to work */
		return symbolizer_find_lines(session->symbolizer, 0);
	error = symbolizer_find_lines(session->symbolizer, LINES_SILENT_MS);
	if (error != -EAGAIN)
		return error;
	progress_show(session, "reading debug information for line numbers...");
	/* Only the last report waits for servers: the others go on without. */
	if (last)
		symbolizer_wait_for_files(session->symbolizer, limit_ms);
	error = symbolizer_find_lines(session->symbolizer, limit_ms - LINES_SILENT_MS);
	progress_hide(session);
	if (error == -EAGAIN)
		log_debug("some line numbers are still being looked for");
	return error;
}

/* How long it took, for benchmarks. */
static void log_naming(uint64_t start_ns, uint64_t named_ns, int lines_error)
{
	log_debug("names after %llu ms, lines after %llu ms: %s",
		  (unsigned long long)(named_ns - start_ns) / 1000000,
		  (unsigned long long)(monotonic_ns() - start_ns) / 1000000,
		  lines_error ? "not all yet" : "all");
}

static int name_report(struct session *session, struct report *report, bool last)
{
	uint64_t start_ns = monotonic_ns(), named_ns;
	int error = name_sites(session, report);

	if (error)
		return error;
	named_ns = monotonic_ns();
	error = wait_for_lines(session, last);
	log_naming(start_ns, named_ns, error);
	/* Again: with the lines that were found. */
	return error && error != -EAGAIN ? error : name_sites(session, report);
}

/* What came before, if reports are to show it; a sink gets all sites. */
static int build_report(struct session *session, const struct snapshot *snapshot,
			struct report *report)
{
	struct report_options options = session->options->output.report;
	int error = 0;

	if (session->sink)
		options.top = 0;
	if (session->keeps_history) {
		error = history_add(&session->history, snapshot, session->label);
		options.history = &session->history;
	}
	return error ? error : report_build(report, snapshot, &options);
}

static int write_report(struct session *session, const struct snapshot *snapshot, bool last)
{
	struct report report = {0};
	int error = build_report(session, snapshot, &report);

	if (!error)
		error = name_report(session, &report, last);
	if (!error && session->keeps_history)
		error = history_name(&session->history, &report);
	report.show_allocs = session->options->output.report.show_allocs;
	report.colour = emit_wants_colour(&session->options->output);
	report.cost = emit_cost();
	if (error)
		log_error("out of memory");
	else if (session->sink)
		error = session->sink->take(session->sink->context, &report, session->label, last);
	else
		error = emit_report(&session->options->output, session->format, session->out,
				    &report, last);
	report_free(&report);
	return error;
}

/* Who is watched from now on; what ended processes held is given up. 0 or -errno. */
static int update_targets(struct session *session)
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
	int error = update_targets(session);

	if (!error)
		error = session_threads_take(session, threads);
	if (!error)
		error = collector_read(session->collector, snapshot);
	if (!error) /* before the mappings of their stacks change */
		error = session_threads_fill(session, threads, snapshot);
	if (!error && session->mappings)
		error = mapping_stream_fill(session->mappings, &session->collect_options, snapshot);
	return error;
}

/* 1 << enum inexact_cause: what is amiss with the probes of its heap. */
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

static void doubt(struct snapshot *snapshot, uint32_t pid, uint32_t causes, bool threads)
{
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];

		if (process->pid != pid)
			continue;
		for (unsigned cause = 0; cause < INEXACT_MAX_; cause++) {
			if (causes & 1u << cause)
				snapshot_doubt(process, cause);
		}
		if (threads)
			process->threads.exact = false;
	}
}

/* After the maps were read: a probe that is there now was there until then. */
static void doubt_unprobed(const struct session *session, struct snapshot *snapshot)
{
	for (size_t i = 0; i < session->targets.list.count; i++) {
		const struct tracked *tracked = &session->targets.list.items[i];
		uint32_t causes = find_causes(&tracked->probes);
		bool threads = tracked->threads.code.faults || tracked->threads.unread ||
			       tracked->threads.postponed;

		if (causes || threads)
			doubt(snapshot, (uint32_t)tracked->probes.pid, causes, threads);
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
		session_refresh(session, tracked->probes.pid);
		if (!interrupt_check())
			targets_attach_again(session, tracked);
	}
	doubt_unprobed(session, &taken);
	if (session->mappings)
		session_label_mappings(session, &taken);
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
	report->snapshot = snapshot; /* where it lives from now on */
	return 0;
}

int session_report(struct session *session, bool last)
{
	struct snapshot snapshot = {0};
	int error = take_snapshot(session, &snapshot);

	if (error)
		return error;
	session->outstanding_bytes = snapshot.ledger.outstanding_bytes;
	error = write_report(session, &snapshot, last);
	symbolizer_release_lines(session->symbolizer);
	snapshot_free(&snapshot);
	targets_drop_ended(session);
	return error;
}
