/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run to record: one process or two, sites with numbers set by a test, and a directory. */
#ifndef LEAKMON_TESTS_STORE_FIXTURE_H
#define LEAKMON_TESTS_STORE_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/cleanup.h"
#include "report/analyze/report_build.h"
#include "report/store/recorder.h"
#include "report/store/recording.h"

#define SECOND UINT64_C(1000000000)

struct run {
	char directory[32], path[64];
	struct snapshot snapshot;
	const struct memory_history *memory; /* data read for the next one; or NULL */
	struct recorder *recorder;
	struct recorder_options options;
};

static inline int run_setup(void **state)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return -1;
	strcpy(run->directory, "/tmp/leakmon-unit-XXXXXX");
	if (!mkdtemp(run->directory))
		return -1;
	snprintf(run->path, sizeof(run->path), "%s/run.lkm", run->directory);
	run->snapshot = (struct snapshot){.time = {.tv_sec = 1795179600, .tv_nsec = 5000000},
					  .monotonic_ns = 1000 * SECOND,
					  .has_ages = true,
					  .scan_ns = 77};
	*state = run;
	return 0;
}

static inline int run_teardown(void **state)
{
	struct run *run = *state;
	char command[64];

	recorder_close(run->recorder);
	snapshot_free(&run->snapshot);
	snprintf(command, sizeof(command), "rm -rf %s", run->directory);
	return system(command) ? -1 : (free(run), 0);
}
#define store_test(name) cmocka_unit_test_setup_teardown(name, run_setup, run_teardown)

/* Damage to a recording by another program. */
static inline void store_sql(const char *path, const char *text)
{
	sqlite3 *database;
	char *message = NULL;

	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	if (sqlite3_exec(database, text, NULL, NULL, &message))
		fail_msg("%s: %s", text, message);
	sqlite3_close(database);
}

static inline struct snapshot_process *run_process(struct run *run, uint32_t pid, const char *comm)
{
	struct snapshot_process *process = vec_push(&run->snapshot.processes);

	process->key = (uint64_t)pid << 32 | 9;
	process->pid = pid;
	process->exact = true;
	snprintf(process->comm, sizeof(process->comm), "%s", comm);
	process->exe = strdup("/usr/bin/server");
	return process;
}

static inline void run_site(struct snapshot_process *process, uint32_t index, uint64_t count,
			    uint64_t size)
{
	struct site *site = NULL;

	for (size_t i = 0; i < process->sites.count; i++) {
		if (process->sites.items[i].index == index)
			site = &process->sites.items[i];
	}
	if (!site)
		site = vec_push(&process->sites);
	site->index = index;
	site->count = count;
	site->bytes = count * size;
	site->allocated_count = count + 3;
	site->allocated_bytes = (count + 3) * size;
	site->freed_count = 3;
	site->freed_bytes = 3 * size;
	site->oldest_ns = 20 * SECOND;
	site->ages[0] = site->ages[1] = count;
}

static inline struct frame run_frame(uint32_t index, uint32_t depth)
{
	static const char *const functions[] = {"string_copy", "list_append", "serve", "main"};

	return (struct frame){
		.address = 0x7f0000000000 + index * 256 + depth,
		.function = functions[depth],
		.offset = index * 16 + depth,
		.module = depth < 3 ? "/usr/bin/server" : "/usr/lib/libc.so.6",
		.module_offset = index * 256 + depth,
		.build_id = depth < 3 ? "0123abcd" : NULL,
		.file = depth == 1 ? "src/list.c" : NULL,
		.line = depth == 1 ? 40 + index : 0,
		.inlined = depth == 0,
	};
}

/* Named as the symbolizer does it: four frames, which depend on the site's index. */
static inline void run_report(const struct run *run, struct report *report)
{
	const struct report_options all = {.sort = SORT_BYTES};

	assert_int_equal(report_build(report, &run->snapshot, &all), 0);
	for (size_t i = 0; i < report->processes.count; i++) {
		struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++) {
			struct report_site *site = &process->sites.items[j];

			for (uint32_t depth = 0; depth < 4 && !site->site->lost; depth++)
				*(struct frame *)vec_push(&site->frames.list) =
					run_frame(site->site->index, depth);
			site->id = symbolizer_stack_id(&site->frames);
		}
	}
}

/* One snapshot, five seconds after the one before. */
static inline int run_append(struct run *run, const char *label, bool last)
{
	_cleanup_(report_free) struct report report = {0};
	struct snapshot *snapshot = &run->snapshot;

	if (!run->recorder)
		assert_int_equal(recorder_open(&run->recorder, run->path, &run->options), 0);
	snapshot->sequence++;
	snapshot->monotonic_ns += 5 * SECOND;
	snapshot->time.tv_sec += 5;
	snapshot->ledger = (struct ledger){0};
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];

		process->outstanding_bytes = process->outstanding_count = 0;
		for (size_t j = 0; j < process->sites.count; j++) {
			process->outstanding_bytes += process->sites.items[j].bytes;
			process->outstanding_count += process->sites.items[j].count;
		}
		process->ledger.outstanding = process->outstanding_count;
		snapshot->ledger.outstanding += process->outstanding_count;
	}
	run_report(run, &report);
	report.memory = run->memory;
	return recorder_append(run->recorder, &report, label, last);
}

static inline void run_end(struct run *run)
{
	recorder_close(run->recorder);
	run->recorder = NULL;
}

static inline void recording_cleanup(struct recording **recording)
{
	recording_close(*recording);
}

/* Expected reading of the snapshot of that number; `known`: its file is not an old one. */
typedef void expect_snapshot(struct recording *recording, size_t position, size_t number,
			     bool known);

/* Expects `count` snapshots. */
static inline void read_expect(const char *path, size_t count, expect_snapshot *expect, bool known)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	const struct recording_snapshot *all;
	size_t found;

	assert_int_equal(recording_open(&recording, path), 0);
	all = recording_snapshots(recording, &found);
	assert_int_equal(found, count);
	for (size_t i = 0; i < found; i++)
		expect(recording, i, all[i].sequence, known);
}

/* Possible damage to a good file written by `record`, so that its eleventh snapshot is not
 * read. */
static inline void read_refuse(struct run *run, void (*record)(struct run *run),
			       const char *const *forgeries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_(recording_cleanup) struct recording *recording = NULL;
		_cleanup_(snapshot_free) struct snapshot snapshot = {0};

		unlink(run->path);
		snapshot_free(&run->snapshot);
		record(run);
		store_sql(run->path, forgeries[i]);
		assert_int_equal(recording_open(&recording, run->path), 0);
		if (recording_read(recording, 10, &snapshot) != -EUCLEAN)
			fail_msg("%s: read", forgeries[i]);
	}
}

/* Returns the site of that index in the data read; its number in the recording is different. */
static inline const struct report_site *read_site(const struct report *report, uint32_t index)
{
	struct frame first = run_frame(index, 1);

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++) {
			const struct frames *frames = &process->sites.items[j].frames;

			if (frames->list.count == 4 && frames->list.items[1].line == first.line)
				return &process->sites.items[j];
		}
	}
	return NULL;
}

#endif
