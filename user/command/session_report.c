// SPDX-License-Identifier: GPL-2.0-or-later
/* The making of a report: snapshot, rank, names, lines, output. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "command/session.h"

/* How long a report waits for line numbers: names come first, lines when they are there. */
#define LINES_WAIT_MS 2000
/* Nothing comes after the last report: what is not in it is lost. */
#define LINES_LAST_WAIT_MS 10000
/* A wait that is longer says what it waits for. */
#define LINES_SILENT_MS 200

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
	return 0;
}

static int name_sites(struct session *session, struct report *report)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count && !error; i++)
		error = name_process(session, &report->processes.items[i]);
	return error;
}

/* 0: every line is known; -EAGAIN: some come with a later report; -ENOMEM. */
static int wait_for_lines(struct session *session, bool last)
{
	int limit_ms = last ? LINES_LAST_WAIT_MS : LINES_WAIT_MS;
	int error = symbolizer_find_lines(session->symbolizer, LINES_SILENT_MS);
	bool terminal = isatty(STDERR_FILENO);

	if (error != -EAGAIN)
		return error;
	if (terminal)
		fputs("leakmon: reading debug information for line numbers...", stderr);
	error = symbolizer_find_lines(session->symbolizer, limit_ms - LINES_SILENT_MS);
	if (terminal)
		fputs("\r\033[K", stderr);
	if (error == -EAGAIN)
		log_debug("some line numbers are still being looked for");
	return error;
}

static int name_report(struct session *session, struct report *report, bool last)
{
	int error = name_sites(session, report);

	if (!error)
		error = wait_for_lines(session, last);
	/* Again: with the lines that were found. */
	return error && error != -EAGAIN ? error : name_sites(session, report);
}

static int write_report(struct session *session, const struct snapshot *snapshot, bool last)
{
	struct report report = {0};
	int error = report_build(&report, snapshot, &session->options->report);

	if (!error)
		error = name_report(session, &report, last);
	report.show_allocs = session->options->report.show_allocs;
	report.colour = !session->options->no_color && session->out == stdout &&
			isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	if (error) {
		log_error("out of memory");
	} else {
		error = session->format->write(session->out, &report);
		if (error)
			log_error("cannot write the report: %s", strerror(errno));
	}
	report_free(&report);
	return error;
}

int session_report(struct session *session, bool last)
{
	struct snapshot snapshot = {0};
	int error = collector_purge(session->collector);

	if (!error)
		error = collector_read(session->collector, &snapshot);
	if (error) {
		log_error("cannot read the maps: %s", strerror(-error));
		return error;
	}
	for (size_t i = 0; i < session->targets.count; i++)
		session_refresh(session, session->targets.items[i].pid);
	session->outstanding_bytes = snapshot.ledger.outstanding_bytes;
	error = write_report(session, &snapshot, last);
	symbolizer_release_lines(session->symbolizer);
	snapshot_free(&snapshot);
	return error;
}
