// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "report/analyze/report_build.h"
#include "unit/store_fixture.h"

struct back {
	struct recording *recording;
	struct snapshot snapshot;
	struct report report;
};

static void back_free(struct back *back)
{
	report_free(&back->report);
	snapshot_free(&back->snapshot);
	recording_close(back->recording);
}

static void back_read(struct back *back, const char *path, const char *at)
{
	const struct report_options all = {.sort = SORT_BYTES};
	size_t position;

	assert_int_equal(recording_open(&back->recording, path), 0);
	assert_int_equal(recording_find(back->recording, at, &position), 0);
	assert_int_equal(recording_read(back->recording, position, &back->snapshot), 0);
	assert_int_equal(report_build(&back->report, &back->snapshot, &all), 0);
	assert_int_equal(recording_name(back->recording, &back->report), 0);
}

static void what_was_recorded_comes_back(void **state)
{
	_cleanup_(back_free) struct back back = {0};
	struct run *run = *state;
	struct snapshot_process *process = run_process(run, 1234, "server");
	const struct report_site *site;

	run_site(process, 7, 10, 100);
	run_site(process, 8, 2, 4096);
	process->exact = false;
	process->ledger.dropped[LM_DROP_BLOCKS_FULL] = 5;
	process->ledger.allocations = 18;
	process->ledger.frees = 6;
	assert_int_equal(run_append(run, "before", false), 0);
	run_end(run);
	back_read(&back, run->path, "before");
	assert_int_equal(back.snapshot.sequence, 1);
	assert_int_equal(back.snapshot.time.tv_sec, 1795179605);
	assert_int_equal(back.snapshot.time.tv_nsec, 5000000);
	assert_int_equal(back.snapshot.scan_ns, 77);
	assert_true(back.snapshot.has_ages);
	assert_int_equal(back.snapshot.processes.count, 1);
	process = &back.snapshot.processes.items[0];
	assert_int_equal(process->key, 1234ull << 32 | 9);
	assert_int_equal(process->pid, 1234);
	assert_string_equal(process->comm, "server");
	assert_string_equal(process->exe, "/usr/bin/server");
	assert_false(process->exact);
	assert_int_equal(process->outstanding_bytes, 1000 + 8192);
	assert_int_equal(process->ledger.allocations, 18);
	assert_int_equal(process->ledger.dropped[LM_DROP_BLOCKS_FULL], 5);
	site = read_site(&back.report, 7);
	assert_non_null(site);
	assert_int_equal(site->site->count, 10);
	assert_int_equal(site->site->bytes, 1000);
	assert_int_equal(site->site->allocated_count, 13);
	assert_int_equal(site->site->allocated_bytes, 1300);
	assert_int_equal(site->site->freed_count, 3);
	assert_int_equal(site->site->oldest_ns, 20 * SECOND);
	assert_int_equal(site->site->ages[1], 10);
	assert_int_equal(site->site->ages[2], 0);
}

static void expect_doubts(const char *path, const char *at, uint32_t inexact, uint32_t tasks)
{
	_cleanup_(back_free) struct back back = {0};
	const struct snapshot_process *process;

	back_read(&back, path, at);
	process = &back.snapshot.processes.items[0];
	assert_int_equal(process->exact, !inexact);
	assert_int_equal(process->inexact, inexact);
	assert_int_equal(process->hidden_tasks, tasks);
	assert_int_equal(process->hidden_pid, tasks ? 77 : 0);
}

/* The causes of its own time: one that was reset does not return. */
static void the_causes_of_inexactness_come_back(void **state)
{
	struct run *run = *state;
	struct snapshot_process *process = run_process(run, 1234, "server");

	run_site(process, 7, 10, 100);
	assert_int_equal(run_append(run, "exact", false), 0);
	snapshot_mark_inexact(process, INEXACT_FILE_UNREAD);
	assert_int_equal(run_append(run, "unread", false), 0);
	process->inexact = 0;
	snapshot_mark_inexact(process, INEXACT_SHARED_MEMORY);
	process->hidden_tasks = 3;
	process->hidden_pid = 77;
	assert_int_equal(run_append(run, "shared", false), 0);
	process->exact = true;
	process->inexact = process->hidden_tasks = process->hidden_pid = 0;
	assert_int_equal(run_append(run, "forgiven", false), 0);
	run_end(run);
	expect_doubts(run->path, "exact", 0, 0);
	expect_doubts(run->path, "unread", 1u << INEXACT_FILE_UNREAD, 0);
	expect_doubts(run->path, "shared", 1u << INEXACT_SHARED_MEMORY, 3);
	expect_doubts(run->path, "forgiven", 0, 0);
}

/* Data missing from an older recording is not invented. */
static void a_recording_without_causes_is_only_marked_inexact(void **state)
{
	_cleanup_(back_free) struct back back = {0};
	struct run *run = *state;
	struct snapshot_process *process = run_process(run, 1234, "server");

	run_site(process, 7, 10, 100);
	snapshot_mark_inexact(process, INEXACT_LATE_EXEC);
	assert_int_equal(run_append(run, "here", false), 0);
	run_end(run);
	store_sql(run->path, "DELETE FROM losses WHERE kind='inexact'");
	back_read(&back, run->path, "here");
	assert_false(back.snapshot.processes.items[0].exact);
	assert_int_equal(back.snapshot.processes.items[0].inexact, 0);
}

static void frames_and_stack_numbers_come_back_whole(void **state)
{
	_cleanup_(back_free) struct back back = {0};
	_cleanup_(report_free) struct report live = {0};
	struct run *run = *state;
	const struct report_site *site;

	run_site(run_process(run, 1234, "server"), 7, 10, 100);
	assert_int_equal(run_append(run, NULL, false), 0);
	run_end(run);
	run_report(run, &live);
	back_read(&back, run->path, NULL);
	site = read_site(&back.report, 7);
	assert_non_null(site);
	assert_int_equal(site->id, live.processes.items[0].sites.items[0].id);
	assert_int_equal(symbolizer_stack_id(&site->frames), site->id);
	for (uint32_t depth = 0; depth < 4; depth++) {
		struct frame want = run_frame(7, depth), got = site->frames.list.items[depth];

		assert_int_equal(got.address, want.address);
		assert_int_equal(got.offset, want.offset);
		assert_int_equal(got.module_offset, want.module_offset);
		assert_int_equal(got.line, want.line);
		assert_int_equal(got.inlined, want.inlined);
		assert_string_equal(got.function, want.function);
		assert_string_equal(got.module, want.module);
		assert_string_equal(got.build_id ? got.build_id : "-",
				    want.build_id ? want.build_id : "-");
		assert_string_equal(got.file ? got.file : "-", want.file ? want.file : "-");
	}
}

/* The numbers of sites 1..5 at a tick: quiet, growing, coming at 20, going at 40, two-faced. */
static uint64_t count_at(uint32_t index, size_t tick)
{
	const uint64_t counts[] = {0, 5, tick, tick >= 20 ? 9 : 0, tick < 40 ? 4 : 0, tick % 2};

	return counts[index];
}

static void ticks_record(struct run *run, size_t ticks, size_t labelled)
{
	struct snapshot_process *process;

	run_process(run, 1234, "server");
	for (size_t tick = 1; tick <= ticks; tick++) {
		process = &run->snapshot.processes.items[0];
		vec_free(&process->sites);
		for (uint32_t index = 1; index <= 5; index++) {
			if (count_at(index, tick))
				run_site(process, index, count_at(index, tick), 64);
		}
		assert_int_equal(run_append(run, tick == labelled ? "here" : NULL, false), 0);
	}
	run_end(run);
}

static void expect_tick(const char *path, size_t tick)
{
	_cleanup_(back_free) struct back back = {0};
	char at[16];

	snprintf(at, sizeof(at), "%zu", tick);
	back_read(&back, path, at);
	for (uint32_t index = 1; index <= 5; index++) {
		const struct report_site *site = read_site(&back.report, index);

		assert_int_equal(site ? site->site->count : 0, count_at(index, tick));
	}
	assert_int_equal(back.snapshot.processes.items[0].outstanding_count,
			 count_at(1, tick) + count_at(2, tick) + count_at(3, tick) +
				 count_at(4, tick) + count_at(5, tick));
}

static void every_snapshot_of_a_long_run_reads_as_it_was(void **state)
{
	struct run *run = *state;

	ticks_record(run, 100, 0);
	for (size_t tick = 1; tick <= 100; tick++)
		expect_tick(run->path, tick);
}

/* Deletes snapshots by time: the rest must not change. */
static void keep_forgets_what_is_older_and_changes_nothing_else(void **state)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	const struct recording_snapshot *snapshots;
	struct run *run = *state;
	size_t count;

	run->options.keep_ns = 150 * SECOND; /* thirty ticks */
	ticks_record(run, 100, 13);
	assert_int_equal(recording_open(&recording, run->path), 0);
	snapshots = recording_snapshots(recording, &count);
	assert_int_equal(count, 32);
	assert_int_equal(snapshots[0].sequence, 13);
	assert_string_equal(snapshots[0].label, "here");
	for (size_t i = 0; i < count; i++)
		expect_tick(run->path, snapshots[i].sequence);
}

static void keep_bounds_the_size_and_thins_what_is_long_ago(void **state)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	const struct recording_snapshot *snapshots;
	struct snapshot_process *process;
	struct run *run = *state;
	struct stat file;
	size_t count;

	run->options.keep_bytes = RECORDER_KEEP_BYTES_MIN;
	process = run_process(run, 1, "server");
	for (uint64_t tick = 1; tick <= 400; tick++) {
		for (uint32_t index = 1; index <= 200; index++)
			run_site(process, index, tick + index, 64);
		assert_int_equal(run_append(run, tick == 100 ? "here" : NULL, false), 0);
	}
	run_end(run);
	assert_int_equal(stat(run->path, &file), 0);
	assert_true(file.st_size <= (off_t)RECORDER_KEEP_BYTES_MIN);
	assert_int_equal(recording_open(&recording, run->path), 0);
	snapshots = recording_snapshots(recording, &count);
	assert_true(count > 40 && count < 200);
	assert_int_equal(snapshots[0].sequence, 1);
	assert_int_equal(snapshots[count - 1].sequence, 400);
	/* The last tenth of the time has more of the snapshots than the first. */
	assert_true(snapshots[count - 10].sequence > 385);
	assert_true(snapshots[10].sequence > 40);
	for (size_t i = 0; i < count; i += 7) {
		_cleanup_(snapshot_free) struct snapshot snapshot = {0};

		assert_int_equal(recording_read(recording, i, &snapshot), 0);
		assert_int_equal(snapshot.processes.items[0].sites.count, 200);
		assert_int_equal(snapshot.processes.items[0].outstanding_count,
				 200 * snapshots[i].sequence + 200 * 201 / 2);
	}
	assert_int_equal(recording_find(recording, "here", &count), 0);
	assert_int_equal(snapshots[count].sequence, 100);
}

static void processes_that_went_are_gone_and_come_back_as_others(void **state)
{
	_cleanup_(back_free) struct back first = {0}, second = {0};
	struct run *run = *state;

	run_site(run_process(run, 10, "one"), 1, 5, 10);
	run_site(run_process(run, 11, "two"), 2, 6, 10);
	assert_int_equal(run_append(run, NULL, false), 0);
	snapshot_free(&run->snapshot);
	run->snapshot.sequence = 1;
	run->snapshot.monotonic_ns = 2000 * SECOND;
	run_site(run_process(run, 11, "two"), 2, 7, 10);
	assert_int_equal(run_append(run, NULL, false), 0);
	run_end(run);
	back_read(&first, run->path, "first");
	assert_int_equal(first.snapshot.processes.count, 2);
	back_read(&second, run->path, "last");
	assert_int_equal(second.snapshot.processes.count, 1);
	assert_string_equal(second.snapshot.processes.items[0].comm, "two");
	assert_int_equal(second.snapshot.processes.items[0].sites.count, 1);
	assert_int_equal(second.snapshot.processes.items[0].sites.items[0].count, 7);
}

static void a_killed_monitor_leaves_every_committed_snapshot(void **state)
{
	struct run *run = *state;
	pid_t child;
	int status;

	run_process(run, 1234, "server");
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		for (size_t tick = 1; tick <= 37; tick++) {
			vec_free(&run->snapshot.processes.items[0].sites);
			for (uint32_t index = 1; index <= 5; index++) {
				if (count_at(index, tick))
					run_site(&run->snapshot.processes.items[0], index,
						 count_at(index, tick), 64);
			}
			if (run_append(run, NULL, false))
				_exit(1);
		}
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	for (size_t tick = 1; tick <= 37; tick++)
		expect_tick(run->path, tick);
}

static void readers_see_what_is_committed_while_it_records(void **state)
{
	struct run *run = *state;

	run_site(run_process(run, 1234, "server"), 1, 5, 64);
	for (uint64_t tick = 1; tick <= 40; tick++) {
		_cleanup_(recording_cleanup) struct recording *recording = NULL;
		size_t count;

		assert_int_equal(run_append(run, NULL, false), 0);
		assert_int_equal(recording_open(&recording, run->path), 0);
		recording_snapshots(recording, &count);
		assert_int_equal(count, tick);
	}
}

/* On a file system of 512 KiB: it fills up, is given room, and recovers. */
static void a_full_disk_loses_the_snapshots_of_that_time_and_no_other(void **state)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	struct run *run = *state;
	struct snapshot_process *process;
	uint64_t written = 0;
	char ballast[64];
	FILE *file;
	size_t count;

	if (mount("none", run->directory, "tmpfs", 0, "size=1m")) {
		print_message("SKIPPED: no tmpfs can be mounted here\n");
		skip();
	}
	snprintf(ballast, sizeof(ballast), "%s/ballast", run->directory);
	process = run_process(run, 1234, "server");
	for (uint32_t index = 1; index <= 50; index++)
		run_site(process, index, 5, 64);
	assert_int_equal(run_append(run, NULL, false), 0);
	written++;
	file = fopen(ballast, "w");
	while (fputc('x', file) != EOF && !fflush(file))
		;
	fclose(file);
	for (int i = 0; i < 5; i++) {
		for (uint32_t index = 51; index <= 400; index++)
			run_site(process, index, (uint64_t)i + 1, 64);
		assert_int_equal(run_append(run, NULL, false), -ENOSPC);
	}
	assert_int_equal(recorder_missed(run->recorder), 5);
	unlink(ballast);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(run_append(run, NULL, false), 0);
		written++;
	}
	run_end(run);
	assert_int_equal(recording_open(&recording, run->path), 0);
	recording_snapshots(recording, &count);
	assert_int_equal(count, written);
	{
		_cleanup_(snapshot_free) struct snapshot snapshot = {0};

		assert_int_equal(recording_read(recording, count - 1, &snapshot), 0);
		assert_int_equal(snapshot.processes.count, 1);
		assert_int_equal(snapshot.processes.items[0].sites.count, 400);
		assert_int_equal(snapshot.processes.items[0].outstanding_count, 50 * 5 + 350 * 5);
	}
	recording_close(recording);
	recording = NULL;
	assert_int_equal(umount(run->directory), 0);
}

static void sql(const char *path, const char *text)
{
	sqlite3 *database;

	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, text, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void beside(const struct run *run, const char *ending, const char *content)
{
	char path[80];
	FILE *file;

	snprintf(path, sizeof(path), "%s-%s", run->path, ending);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(content, file);
	fclose(file);
}

static int open_read_only(const struct run *run)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	int error;

	assert_int_equal(mount(NULL, run->directory, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	error = recording_open(&recording, run->path);
	recording_close(recording);
	recording = NULL;
	assert_int_equal(mount(NULL, run->directory, NULL, MS_REMOUNT, NULL), 0);
	return error;
}

/* SQLite needs to write next to a database with a log: an empty log needs no write. */
static void read_only_media_open_unless_a_log_holds_snapshots(void **state)
{
	struct run *run = *state;

	if (mount("none", run->directory, "tmpfs", 0, "size=1m")) {
		print_message("SKIPPED: no tmpfs can be mounted here\n");
		skip();
	}
	run_site(run_process(run, 1234, "server"), 1, 5, 64);
	assert_int_equal(run_append(run, NULL, false), 0);
	run_end(run);
	assert_int_equal(open_read_only(run), 0);
	sql(run->path, "PRAGMA journal_mode=WAL");
	assert_int_equal(open_read_only(run), 0);
	beside(run, "wal", "");
	assert_int_equal(open_read_only(run), 0);
	beside(run, "wal", "frames that were not put into the file yet");
	assert_int_equal(open_read_only(run), -EROFS);
	assert_int_equal(umount(run->directory), 0);
}

static void a_file_that_is_there_is_not_overwritten(void **state)
{
	struct run *run = *state;
	FILE *file = fopen(run->path, "w");
	char line[16] = "";

	fputs("precious", file);
	fclose(file);
	assert_int_equal(recorder_open(&run->recorder, run->path, &run->options), -EEXIST);
	assert_null(run->recorder);
	file = fopen(run->path, "r");
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	assert_string_equal(line, "precious");
	assert_int_equal(recorder_open(&run->recorder, "/nowhere/run.lkm", &run->options), -ENOENT);
}

static void the_history_of_a_recording_is_that_of_the_run(void **state)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	_cleanup_(history_free) struct history history = {0};
	struct run *run = *state;
	double integral = 0;

	ticks_record(run, 100, 50);
	assert_int_equal(recording_open(&recording, run->path), 0);
	assert_int_equal(recording_history(recording, 99, &history), 0);
	assert_int_equal(history.times.count, 100);
	assert_int_equal(history.sites.count, 5);
	assert_string_equal(history.times.items[49].label, "here");
	for (size_t i = 0; i < 5; i++) {
		const struct history_site *site = &history.sites.items[i];
		uint32_t index = site->frames.list.items[1].line - 40;

		assert_int_equal(site->frames.list.count, 4);
		for (size_t tick = 1; tick <= 100; tick++)
			assert_int_equal(history_point_at(&site->series, tick - 1).count,
					 count_at(index, tick));
		if (index != 2)
			continue;
		for (size_t tick = 2; tick <= 100; tick++)
			integral += ((double)tick + (double)tick - 1) / 2 * 64 * 5;
		assert_true(site->series.integral_byte_s == integral);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(what_was_recorded_comes_back),
		store_test(the_causes_of_inexactness_come_back),
		store_test(a_recording_without_causes_is_only_marked_inexact),
		store_test(frames_and_stack_numbers_come_back_whole),
		store_test(every_snapshot_of_a_long_run_reads_as_it_was),
		store_test(keep_forgets_what_is_older_and_changes_nothing_else),
		store_test(keep_bounds_the_size_and_thins_what_is_long_ago),
		store_test(processes_that_went_are_gone_and_come_back_as_others),
		store_test(a_killed_monitor_leaves_every_committed_snapshot),
		store_test(readers_see_what_is_committed_while_it_records),
		store_test(a_full_disk_loses_the_snapshots_of_that_time_and_no_other),
		store_test(read_only_media_open_unless_a_log_holds_snapshots),
		store_test(a_file_that_is_there_is_not_overwritten),
		store_test(the_history_of_a_recording_is_that_of_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
