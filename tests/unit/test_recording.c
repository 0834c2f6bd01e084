// SPDX-License-Identifier: GPL-2.0-or-later
/* Untrusted recordings: each is refused with a message or read within bounds. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>

#include "unit/recording_reader.h"
#include "unit/site_kinds.h"
#include "unit/store_fixture.h"
#include "report/store/recording_state.h"

static void run_record(struct run *run, size_t ticks)
{
	struct snapshot_process *process = run_process(run, 1234, "server");

	for (size_t tick = 1; tick <= ticks; tick++) {
		for (uint32_t index = 1; index <= 20; index++)
			run_site(process, index, tick * index, 64);
		assert_int_equal(run_append(run, tick == 3 ? "deploy" : NULL, false), 0);
	}
	run_end(run);
}

static void what_is_no_recording_is_refused(void **state)
{
	struct run *run = *state;
	FILE *file = fopen(run->path, "w");

	fputs("This is a text of more than sixteen bytes, and no database.\n", file);
	fclose(file);
	assert_int_equal(recording_read_everything(run->path), -EINVAL);
	file = fopen(run->path, "w"); /* empty */
	fclose(file);
	assert_int_equal(recording_read_everything(run->path), -EINVAL);
	assert_int_equal(recording_read_everything(run->directory), -ENOENT);
	assert_int_equal(recording_read_everything("/nowhere/x.lkm"), -ENOENT);
	assert_int_equal(recording_read_everything("/dev/zero"), -ENOENT);
	unlink(run->path);
	store_sql(run->path, "CREATE TABLE snapshots(sequence INTEGER PRIMARY KEY)");
	assert_int_equal(recording_read_everything(run->path), -EINVAL);
}

static void a_newer_schema_is_refused(void **state)
{
	struct run *run = *state;

	run_record(run, 2);
	assert_int_equal(recording_read_everything(run->path), 0);
	store_sql(run->path, "PRAGMA user_version=99");
	assert_int_equal(recording_read_everything(run->path), -EPROTO);
	store_sql(run->path, "PRAGMA user_version=0");
	assert_int_equal(recording_read_everything(run->path), -EPROTO);
}

static void a_recording_without_a_snapshot_is_reported_as_such(void **state)
{
	struct run *run = *state;

	assert_int_equal(recorder_open(&run->recorder, run->path, &run->options), 0);
	run_end(run);
	assert_int_equal(recording_read_everything(run->path), -ENODATA);
}

/* Possible damage to a good file. */
static const struct {
	const char *sql;
	int error;
} forgeries[] = {
	{"UPDATE points SET bytes=-1 WHERE site=3", -EUCLEAN},
	{"UPDATE points SET count='many' WHERE site=3", -EUCLEAN},
	{"UPDATE points SET site=99 WHERE site=3", -EUCLEAN},
	{"UPDATE points SET allocated_count=x'00ff' WHERE site=1", -EUCLEAN},
	{"UPDATE ledgers SET frees=-5", -EUCLEAN},
	{"UPDATE ledgers SET process=7 WHERE process=1", -EUCLEAN},
	{"UPDATE sites SET process=7 WHERE id=2", -EUCLEAN},
	{"UPDATE processes SET pid=99999999999", -EUCLEAN},
	{"UPDATE processes SET pid=-1", -EUCLEAN},
	{"UPDATE snapshots SET is_full=0", -EUCLEAN},
	{"UPDATE snapshots SET monotonic_ns='x'", -EUCLEAN},
	{"INSERT INTO stacks SELECT 1,value,1 FROM generate_series(100,9000)", -EUCLEAN},
	{"DROP TABLE points; CREATE VIEW points AS SELECT 1 AS snapshot,1 AS site,1 AS bytes,"
	 "1 AS count,1 AS allocated_bytes,1 AS allocated_count,1 AS freed_bytes,1 AS freed_count,"
	 "1 AS oldest_ms",
	 -EUCLEAN},
	{"DROP TABLE stacks", -EUCLEAN},
	{"DROP TABLE ages; CREATE VIRTUAL TABLE ages USING fts4(snapshot,site,s1,s10,min1,min10,h1,"
	 "h6,day1)",
	 -EUCLEAN},
	{"ALTER TABLE frames ADD COLUMN more AS (hex(zeroblob(9000000)))", -EUCLEAN},
	{"ALTER TABLE frames ADD COLUMN more CHECK(hex(zeroblob(9000000))<>'')", 0},
	{"ALTER TABLE sites DROP COLUMN family", -EUCLEAN},
	/* These mean no harm. */
	{"UPDATE processes SET comm=char(10)||'0123456789012345678901234567890', exe=x'ff00c0'", 0},
	{"UPDATE frames SET function=x'c3', file=char(27)||'[2J', line=-7", 0},
	{"UPDATE sites SET stack='not hex', lost='nonsense', walk_end='', family=NULL||''", -1},
	{"UPDATE frames SET module=4711", 0},
	{"DELETE FROM meta", 0},
	{"DELETE FROM ages; DELETE FROM losses", 0},
	{"UPDATE snapshots SET label=hex(zeroblob(100000))", 0},
};

static void forged_values_are_refused_or_harmless(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(forgeries); i++) {
		struct run *run = *state;
		sqlite3 *database;
		int code, error;

		snapshot_free(&run->snapshot);
		unlink(run->path);
		run->snapshot.has_ages = true;
		run_record(run, 3);
		assert_int_equal(sqlite3_open(run->path, &database), SQLITE_OK);
		code = sqlite3_exec(database, forgeries[i].sql, NULL, NULL, NULL);
		sqlite3_close(database);
		/* generate_series or fts4 is not in every build, and NOT NULL holds for some. */
		if (code)
			continue;
		error = recording_read_everything(run->path);
		if (forgeries[i].error != -1 && error != forgeries[i].error)
			fail_msg("%s: %d, must be %d", forgeries[i].sql, error, forgeries[i].error);
	}
}

static int64_t taken(const struct recording *recording)
{
	return recording->work_most - recording->work_left;
}

static void a_question_takes_steps_by_the_size_of_the_file(void **state)
{
	struct run *run = *state;
	struct recording *recording = NULL;
	struct stat status;
	int64_t most;

	run_record(run, 300);
	assert_int_equal(stat(run->path, &status), 0);
	assert_int_equal(recording_open(&recording, run->path), 0);
	for (size_t i = 0, base = 0; i < recording->snapshots.count; i++) {
		base = recording->snapshots.items[i].full ? i : base;
		assert_int_equal(recording->snapshots.items[i].base, base);
	}
	/* Real ones take a small part. */
	most = 2 * status.st_size;
	assert_true(recording->work_most == (1 << 30) + 16 * most);
	assert_in_range(taken(recording), 1, most);
	assert_int_equal(read_snapshot(recording, 299), 0);
	/* The last of its requests: frames count by their memory. */
	assert_in_range(taken(recording), 20 * 4 * 256, most);
	assert_int_equal(read_history(recording, 299), 0);
	assert_in_range(taken(recording), 300 * 20 * 8, most);
	recording->work_most = 1000;
	assert_int_equal(read_snapshot(recording, 299), -EUCLEAN);
	assert_int_equal(read_history(recording, 299), -EUCLEAN);
	recording->work_most = most;
	assert_int_equal(read_snapshot(recording, 299), 0);
	recording_close(recording);
}

static void tables_without_an_index_are_not_searched_for_ever(void **state)
{
	struct run *run = *state;
	struct recording *recording = NULL;
	int64_t indexed;

	run_record(run, 3);
	assert_int_equal(recording_open(&recording, run->path), 0);
	assert_int_equal(read_snapshot(recording, 2), 0);
	indexed = taken(recording);
	recording_close(recording);
	store_sql(run->path,
		  "ALTER TABLE stacks RENAME TO real; CREATE TABLE stacks(site,position,frame);"
		  "INSERT INTO stacks SELECT * FROM real; DROP TABLE real;"
		  "INSERT INTO stacks SELECT -1,a.position,b.site FROM stacks AS a, stacks AS b,"
		  " stacks AS c LIMIT 20000");
	assert_int_equal(recording_open(&recording, run->path), 0);
	assert_int_equal(read_snapshot(recording, 2), 0);
	assert_true(taken(recording) > indexed + 20 * 20000);
	recording->work_most = 10 * 20000;
	assert_int_equal(read_snapshot(recording, 2), -EUCLEAN);
	recording_close(recording);
}

static void copy_bytes(const char *from, const char *to, off_t count)
{
	char buffer[65536];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	while (count > 0) {
		ssize_t got = read(in, buffer, (size_t)MIN(count, (off_t)sizeof(buffer)));

		assert_true(got > 0);
		assert_int_equal(write(out, buffer, (size_t)got), got);
		count -= got;
	}
	close(in);
	close(out);
}

static void a_truncated_file_is_refused_wherever_it_ends(void **state)
{
	struct run *run = *state;
	struct stat status;
	char part[80];

	run_record(run, 30);
	assert_int_equal(stat(run->path, &status), 0);
	snprintf(part, sizeof(part), "%s/part.lkm", run->directory);
	for (off_t size = 0; size < status.st_size; size += 4096 + 977) {
		copy_bytes(run->path, part, size);
		assert_true(recording_read_everything(part) < 0);
	}
	copy_bytes(run->path, part, status.st_size);
	assert_int_equal(recording_read_everything(part), 0);
}

/* Under the sanitizers: an error or numbers, never a crash. */
static void flipped_bits_do_no_harm(void **state)
{
	struct run *run = *state;
	uint64_t random = 42, refused = 0, read = 0;
	struct stat status;
	int stderr_copy = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);

	run_record(run, 12);
	assert_int_equal(stat(run->path, &status), 0);
	dup2(null, STDERR_FILENO); /* hundreds of messages */
	for (int i = 0; i < 400; i++) {
		off_t at = (off_t)(kinds_random(&random) % (uint64_t)status.st_size);
		uint8_t byte, bit = (uint8_t)(1u << kinds_random(&random) % 8);
		int fd = open(run->path, O_RDWR), error;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= bit;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		error = recording_read_everything(run->path);
		*(error ? &refused : &read) += 1;
		byte ^= bit;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
	}
	dup2(stderr_copy, STDERR_FILENO);
	close(stderr_copy);
	close(null);
	print_message("400 flipped bits: %llu refused, %llu read\n", (unsigned long long)refused,
		      (unsigned long long)read);
	assert_true(refused > 20);
	assert_int_equal(recording_read_everything(run->path), 0);
}

static void snapshots_are_found_by_number_label_and_time(void **state)
{
	static const struct {
		const char *at;
		int error;
		size_t position;
	} cases[] = {
		{NULL, 0, 9},
		{"last", 0, 9},
		{"first", 0, 0},
		{"4", 0, 3},
		{"deploy", 0, 2},
		{"-10s", 0, 7},
		{"-12s", 0, 6},
		{"-1h", -ENOENT, 0},
		{"11", -ENOENT, 0},
		{"0", -ENOENT, 0},
		{"99999999999999999999", -ENOENT, 0},
		{"2026-11-20T13:00:20", 0, 3},
		{"2026-11-20 13:00:24", 0, 3},
		{"2026-11-20 13:00", -ENOENT, 0},
		{"2026-11-20 13:01", 0, 9},
		{"13:00:30", 0, 5},
		{"yesterday", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"-10", -EINVAL, 0},
		{"13:00:30x", -EINVAL, 0},
	};
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	struct run *run = *state;

	setenv("TZ", "UTC", 1);
	tzset();
	/* 2026-11-20 13:00:00 UTC */
	run->snapshot.time = (struct timespec){.tv_sec = 1795179600};
	run_record(run, 10);
	assert_int_equal(recording_open(&recording, run->path), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t position = 4711;

		if (recording_find(recording, cases[i].at, &position) != cases[i].error)
			fail_msg("`%s`", cases[i].at);
		assert_int_equal(position, cases[i].error ? 4711 : cases[i].position);
	}
}

/*
 * The wall clock jumps by a day, to and fro, between any two snapshots. Times before the last
 * snapshot, ages and histories come from another clock.
 */
static void a_clock_that_jumps_changes_times_and_nothing_else(void **state)
{
	static const long long days[] = {0, 1, -1, 0, 1, 1, -1, -1, 1, 0};
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	_cleanup_(history_free) struct history history = {0};
	struct run *run = *state;
	struct snapshot_process *process = run_process(run, 1234, "server");
	const time_t begin = run->snapshot.time.tv_sec;
	const struct report_site *site;
	size_t position;

	for (int i = 0; i < 10; i++) {
		run->snapshot.time.tv_sec = begin + i * 5 + days[i] * 86400;
		run_site(process, 1, 1 + (uint64_t)i, 64);
		run_site(process, 2, 3, 64);
		process->sites.items[1].oldest_ns = (20 + (uint64_t)i * 5) * SECOND;
		assert_int_equal(run_append(run, NULL, false), 0);
	}
	run_end(run);
	assert_int_equal(recording_open(&recording, run->path), 0);
	for (size_t i = 0; i < 10; i++) {
		_cleanup_(snapshot_free) struct snapshot snapshot = {0};
		_cleanup_(report_free) struct report report = {0};
		const struct report_options all = {.sort = SORT_BYTES};
		char at[16];

		snprintf(at, sizeof(at), "-%zus", 5 * (9 - i));
		assert_int_equal(recording_find(recording, at, &position), 0);
		assert_int_equal(position, i);
		assert_int_equal(recording_read(recording, i, &snapshot), 0);
		assert_int_equal(snapshot.time.tv_sec,
				 begin + 5 + (long long)i * 5 + days[i] * 86400);
		assert_int_equal(snapshot.monotonic_ns, (1005 + i * 5) * SECOND);
		assert_int_equal(report_build(&report, &snapshot, &all), 0);
		assert_int_equal(recording_name(recording, &report), 0);
		site = read_site(&report, 1);
		assert_int_equal(site->site->count, 1 + i);
		assert_int_equal(read_site(&report, 2)->site->oldest_ns, (20 + i * 5) * SECOND);
	}
	assert_int_equal(recording_find(recording, "-46s", &position), -ENOENT);
	assert_int_equal(recording_history(recording, 9, &history), 0);
	assert_int_equal(history.sites.count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct history_series *series = &history.sites.items[i].series;
		bool grows = history_point_at(series, 9).count == 10;

		/* Bytes held times seconds: (1.5 + 2.5 + ... + 9.5) * 5 s, and 3 * 45 s. */
		assert_int_equal(llround(series->integral_byte_s),
				 grows ? 64 * 5 * 99 / 2 : 64 * 3 * 45);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(what_is_no_recording_is_refused),
		store_test(a_newer_schema_is_refused),
		store_test(a_recording_without_a_snapshot_is_reported_as_such),
		store_test(forged_values_are_refused_or_harmless),
		store_test(a_question_takes_steps_by_the_size_of_the_file),
		store_test(tables_without_an_index_are_not_searched_for_ever),
		store_test(a_truncated_file_is_refused_wherever_it_ends),
		store_test(flipped_bits_do_no_harm),
		store_test(snapshots_are_found_by_number_label_and_time),
		store_test(a_clock_that_jumps_changes_times_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
