// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon record: what `watch` prints, into a recording. */
#include <errno.h>

#include "base/interrupt.h"
#include "base/log.h"
#include "command/command.h"
#include "command/watch.h"
#include "store/recorder.h"

/* A snapshot that could not be written is missed, counted and said; the run goes on. */
static int take(void *context, const struct report *report, const char *label, bool last)
{
	struct recorder *recorder = context;
	int error;

	interrupt_removes(NULL); /* from now on it is worth something */
	error = recorder_append(recorder, report, label, last);
	if (!error && label)
		log_info("snapshot %llu is recorded as `%s`",
			 (unsigned long long)report->snapshot->sequence, label);
	return error == -ENOMEM ? error : 0;
}

static int finish(struct recorder *recorder, const struct options *options, int code)
{
	uint64_t missed = recorder_missed(recorder);

	log_info("%s holds %llu snapshot%s", options->recording,
		 (unsigned long long)recorder_snapshots(recorder),
		 recorder_snapshots(recorder) == 1 ? "" : "s");
	if (!missed)
		return code;
	log_error("%llu snapshots could not be recorded: see the messages above",
		  (unsigned long long)missed);
	return code == EXIT_OK ? EXIT_ERROR : code;
}

int command_record(const struct options *options)
{
	const struct recorder_options keep = {.keep_bytes = options->keep_bytes,
					      .keep_ns = options->keep_ns};
	struct recorder *recorder = NULL;
	int code;

	if (recorder_open(&recorder, options->recording, &keep))
		return EXIT_ERROR;
	interrupt_removes_database(options->recording);
	code = watch_run(options, &(struct report_sink){.take = take, .context = recorder});
	interrupt_removes(NULL);
	/* A run that never began leaves no file. */
	if (!recorder_snapshots(recorder) && !recorder_missed(recorder)) {
		recorder_close(recorder);
		remove(options->recording);
		return code;
	}
	code = finish(recorder, options, code);
	recorder_close(recorder);
	return code;
}
