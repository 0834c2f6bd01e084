/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All of a recording that any command would read. Used by unit tests and a fuzzer: asserts
 * nothing. */
#ifndef LEAKMON_UNIT_RECORDING_READER_H
#define LEAKMON_UNIT_RECORDING_READER_H

#include "base/cleanup.h"
#include "report/analyze/report_build.h"
#include "report/analyze/site_trend.h"
#include "report/history.h"
#include "report/memory_split.h"
#include "report/profile_report.h"
#include "report/retain_result.h"
#include "report/store/recording.h"
#include "report/stored_diagnosis.h"
#include "report/task_report.h"

/* 0, or the error. */
typedef int read_part(struct recording *recording, size_t position);

static inline int read_snapshot(struct recording *recording, size_t position)
{
	_cleanup_(snapshot_free) struct snapshot snapshot = {0};
	_cleanup_(report_free) struct report report = {0};
	const struct report_options all = {.sort = SORT_BYTES};
	int error = recording_read(recording, position, &snapshot);

	if (!error)
		error = report_build(&report, &snapshot, &all);
	return error ? error : recording_name(recording, &report);
}

static inline int read_memory(struct recording *recording, size_t position)
{
	_cleanup_(memory_history_free) struct memory_history memory = {0};

	return recording_memory(recording, position, &memory);
}

static inline int read_history(struct recording *recording, size_t position)
{
	_cleanup_(history_free) struct history history = {0};
	int error = recording_history(recording, position, &history);

	for (size_t i = 0; !error && i < history.sites.count; i++) {
		struct site_trend trend;

		site_trend_of(&trend, &history, &history.sites.items[i]);
	}
	return error;
}

static inline int read_retain(struct recording *recording, size_t position)
{
	_cleanup_(retain_result_free) struct retain_result result = {0};

	return recording_read_retain(recording, position, &result);
}

static inline int read_profile(struct recording *recording, size_t position)
{
	_cleanup_(profile_report_free) struct profile_report report = {0};

	return recording_read_profile(recording, position, &report);
}

static inline int read_goroutines(struct recording *recording, size_t position)
{
	_cleanup_(task_report_free) struct task_report report = {0};
	_cleanup_(task_series_free) struct task_series series = {0};
	int error = recording_read_goroutines(recording, position, &report);

	return error ? error : recording_goroutine_series(recording, position, &series);
}

static inline int read_diagnoses(struct recording *recording, size_t position)
{
	_cleanup_(stored_diagnoses_free) struct stored_diagnoses diagnoses = {0};

	(void)position;
	return recording_diagnoses(recording, NULL, &diagnoses);
}

static inline int read_each(struct recording *recording, size_t count, read_part *read)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		error = read(recording, i);
	return error;
}

/* Reads every part, even after errors. Returns the first error, or 0. */
static inline int recording_read_everything(const char *path)
{
	size_t snapshots = 0, retains = 0, profiles = 0, goroutines = 0, hosts = 0;
	struct recording *recording = NULL;
	int first = recording_open(&recording, path), error;

	if (first)
		return first;
	recording_snapshots(recording, &snapshots);
	recording_retains(recording, &retains);
	recording_profiles(recording, &profiles);
	recording_goroutines(recording, &goroutines);
	recording_hosts(recording, &hosts);
	first = read_each(recording, snapshots, read_snapshot);
	if (snapshots && (error = read_history(recording, snapshots - 1)))
		first = first ?: error;
	if (snapshots && (error = read_memory(recording, snapshots - 1)))
		first = first ?: error;
	if ((error = read_each(recording, retains, read_retain)))
		first = first ?: error;
	if ((error = read_each(recording, profiles, read_profile)))
		first = first ?: error;
	if ((error = read_each(recording, goroutines, read_goroutines)))
		first = first ?: error;
	if ((error = read_diagnoses(recording, 0)))
		first = first ?: error;
	recording_close(recording);
	return first;
}

#endif
