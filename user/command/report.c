// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon report: one snapshot of a recording, with what came before it. */

#include <errno.h>

#include "analyze/history.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "command/command.h"
#include "command/emit.h"
#include "command/retained.h"
#include "store/recording.h"

struct source {
	struct recording *recording;
	struct history history;
	struct snapshot snapshot;
	struct report report;
	struct retained_set retained;
};

static void source_free(struct source *source)
{
	report_free(&source->report);
	retained_set_free(&source->retained);
	snapshot_free(&source->snapshot);
	history_free(&source->history);
	recording_close(source->recording);
}

static int source_read(struct source *source, const struct options *options)
{
	struct report_options report = options->report;
	size_t position;
	int error = recording_find(source->recording, options->at, &position);

	if (!error)
		error = recording_history(source->recording, position, &source->history);
	if (!error)
		error = recording_read(source->recording, position, &source->snapshot);
	if (error)
		return error;
	report.history = &source->history;
	error = report_build(&source->report, &source->snapshot, &report);
	if (error)
		log_error("out of memory");
	return error ? error : recording_name(source->recording, &source->report);
}

static int write_out(const struct source *source, const struct options *options)
{
	const struct output_format *format = output_find(options->format);
	FILE *out;
	int error = emit_open(options, format, &out);

	if (error)
		return error;
	emit_guard(options, out);
	error = emit_report(options, format, out, &source->report, true);
	return emit_close(out) && !error ? -EIO : error;
}

static int report_snapshot(struct source *source, const struct options *options)
{
	int error = source_read(source, options);

	if (!error && output_find(options->format)->wants_retained)
		error = retained_set_read(source->recording, &source->retained);
	source->report.retained = source->retained.list.items;
	source->report.retained_count = source->retained.list.count;
	source->report.host = error ? NULL : recording_host(source->recording);
	source->report.colour = emit_wants_colour(options);
	return error ? error : write_out(source, options);
}

int command_report(const struct options *options)
{
	_cleanup_(source_free) struct source source = {0};
	int error = recording_open(&source.recording, options->files[0]);

	if (error)
		return EXIT_ERROR;
	if (options->retained || retained_only(source.recording))
		error = retained_report(source.recording, options);
	else
		error = report_snapshot(&source, options);
	return error ? EXIT_ERROR : EXIT_OK;
}
