// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory breakdown is read as recorded, at every snapshot, whatever --keep has dropped. */
#include <errno.h>

#include "heap/runtime/runtime.h"
#include "report/memory_split.h"
#include "unit/store_fixture.h"

#define TICKS 80

/* How often each process is read, and how it grows. */
static const struct {
	uint32_t pid, every;
	uint64_t step;
} processes[] = {{1234, 1, 4096}, {77, 3, 100000}};

static bool is_read_at(size_t process, uint64_t tick)
{
	return tick % processes[process].every == 0;
}

static struct memory_split split_at(size_t process, uint64_t tick)
{
	struct memory_split split = {
		.time = {.tv_sec = (time_t)(1795179600 + 5 * tick), .tv_nsec = 1000},
		.pid = (pid_t)processes[process].pid,
		.rss = (tick + 3) * processes[process].step,
		.pss = tick,
		.swap = process,
		.allocator = "glibc 2.36",
		.is_libc = true,
		.trimmable = tick * 2,
		.libc_trimmable = tick,
		.arenas = 3,
		.arenas_free = tick + 7,
		.live_stacks = 4,
		.ended_stacks = 5,
		.huge_bytes = 6,
		.huge_zero = 2,
		.runtime = process ? runtime_find("go")->key : NULL,
		.why = process ? "a heap was at work" : NULL,
	};

	split.parts[MEMORY_LIVE].resident = tick * processes[process].step;
	split.parts[MEMORY_KERNEL].resident = 3 * processes[process].step;
	split.parts[MEMORY_TOP].swapped = process;
	return split;
}

static void append_tick(struct run *run, uint64_t tick)
{
	_cleanup_(memory_history_free) struct memory_history memory = {0};

	for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
		const struct memory_split split = split_at(i, tick);
		uint64_t key = (uint64_t)processes[i].pid << 32 | 9;

		if (is_read_at(i, tick))
			assert_int_equal(memory_history_add(&memory, key, "server", &split), 0);
	}
	run->memory = &memory;
	assert_int_equal(run_append(run, NULL, tick == TICKS), 0);
	run->memory = NULL;
}

static void record_ticks(struct run *run)
{
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
		run_site(run_process(run, processes[i].pid, "server"), (uint32_t)i + 1, 5, 64);
	for (uint64_t tick = 1; tick <= TICKS; tick++)
		append_tick(run, tick);
	run_end(run);
}

static void expect_split(const struct memory_split *read, size_t process, uint64_t tick)
{
	struct memory_split expected = split_at(process, tick);

	assert_true((read->why && expected.why) || read->why == expected.why);
	if (expected.why)
		assert_string_equal(read->why, expected.why);
	expected.why = read->why;
	if (expected.runtime)
		assert_string_equal(read->runtime, expected.runtime);
	expected.runtime = read->runtime;
	assert_memory_equal(read, &expected, sizeof(expected));
}

static void expect_series(const struct memory_history *history, size_t process, uint64_t from,
			  uint64_t to)
{
	uint64_t key = (uint64_t)processes[process].pid << 32 | 9;
	const struct memory_series *series =
		memory_history_find(history, (pid_t)processes[process].pid, key);
	size_t count = 0;

	for (uint64_t tick = from; tick <= to; tick++) {
		if (!is_read_at(process, tick))
			continue;
		assert_non_null(series);
		assert_true(count < series->splits.count);
		expect_split(&series->splits.items[count++], process, tick);
	}
	assert_int_equal(series ? series->splits.count : 0, count);
}

static void it_is_read_as_it_was_up_to_every_snapshot(void **state)
{
	struct run *run = *state;
	_cleanup_(recording_cleanup) struct recording *recording = NULL;

	record_ticks(run);
	assert_int_equal(recording_open(&recording, run->path), 0);
	for (uint64_t tick = 1; tick <= TICKS; tick++) {
		_cleanup_(memory_history_free) struct memory_history history = {0};

		assert_int_equal(recording_memory(recording, tick - 1, &history), 0);
		for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
			expect_series(&history, i, 1, tick);
	}
}

/* The first remaining one has the latest reading before it. */
static void what_is_forgotten_leaves_its_latest_reading(void **state)
{
	struct run *run = *state;
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	_cleanup_(memory_history_free) struct memory_history history = {0};
	uint64_t first, latest;
	size_t count;

	run->options.keep_ns = 100 * SECOND;
	record_ticks(run);
	assert_int_equal(recording_open(&recording, run->path), 0);
	first = recording_snapshots(recording, &count)[0].sequence;
	assert_in_range(count, 20, 22);
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
		_cleanup_(memory_history_free) struct memory_history at_first = {0};

		latest = first - first % processes[i].every;
		assert_int_equal(recording_memory(recording, 0, &at_first), 0);
		expect_series(&at_first, i, latest, first);
	}
	assert_int_equal(recording_memory(recording, count - 1, &history), 0);
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
		expect_series(&history, i, first - first % processes[i].every, TICKS);
}

/* Nothing is left of a process that ended long ago. */
static void what_has_ended_is_forgotten_with_its_snapshots(void **state)
{
	struct run *run = *state;
	sqlite3 *database;
	char **rows = NULL;
	int count = 0;

	run->options.keep_ns = 100 * SECOND;
	run_site(run_process(run, processes[0].pid, "server"), 1, 5, 64);
	append_tick(run, 3);
	snapshot_free(&run->snapshot);
	run->snapshot.processes.count = 0;
	for (uint64_t tick = 0; tick < TICKS; tick++) {
		run->snapshot.sequence = 10 + tick;
		run->snapshot.monotonic_ns = (2000 + 5 * tick) * SECOND;
		assert_int_equal(run_append(run, NULL, false), 0);
	}
	run_end(run);
	assert_int_equal(sqlite3_open(run->path, &database), SQLITE_OK);
	sqlite3_get_table(database, "SELECT 1 FROM memory UNION SELECT 1 FROM memory_parts", &rows,
			  &count, NULL, NULL);
	sqlite3_free_table(rows);
	sqlite3_close(database);
	assert_int_equal(count, 0);
}

/* A newer leakmon may have recorded it: it is kept as it is, also when it is recorded again. */
static void a_runtime_that_is_not_known_is_kept_by_its_key(void **state)
{
	struct run *run = *state;
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	_cleanup_(memory_history_free) struct memory_history history = {0};
	const struct memory_series *series;

	record_ticks(run);
	store_sql(run->path, "UPDATE memory SET runtime='beam' WHERE runtime='go'");
	assert_int_equal(recording_open(&recording, run->path), 0);
	assert_int_equal(recording_memory(recording, TICKS - 1, &history), 0);
	series = memory_history_find(&history, (pid_t)processes[1].pid,
				     (uint64_t)processes[1].pid << 32 | 9);
	assert_non_null(series);
	assert_string_equal(series->splits.items[0].runtime, "beam");
}

/* Possible damage to a good file. */
static const char *const forgeries[] = {
	"UPDATE memory SET rss_bytes=-1",
	"UPDATE memory SET rss_bytes='many'",
	"UPDATE memory SET rss_bytes=1<<62",
	"UPDATE memory SET process=99 WHERE process=1",
	"UPDATE memory_parts SET part='treasure' WHERE part='kernel'",
	"UPDATE memory_parts SET resident_bytes=-5",
	"UPDATE memory_parts SET swap_bytes=x'00'",
};

static void forged_values_are_refused(void **state)
{
	struct run *run = *state;

	for (size_t i = 0; i < ARRAY_SIZE(forgeries); i++) {
		struct recording *recording = NULL;
		struct memory_history history = {0};

		if (!i)
			record_ticks(run);
		store_sql(run->path, "BEGIN; CREATE TABLE was AS SELECT * FROM memory;"
				     "CREATE TABLE were AS SELECT * FROM memory_parts; COMMIT");
		store_sql(run->path, forgeries[i]);
		assert_int_equal(recording_open(&recording, run->path), 0);
		if (recording_memory(recording, TICKS - 1, &history) != -EUCLEAN)
			fail_msg("%s: read", forgeries[i]);
		recording_close(recording);
		store_sql(
			run->path,
			"DELETE FROM memory; INSERT INTO memory SELECT * FROM was; DROP TABLE was;"
			"DELETE FROM memory_parts; INSERT INTO memory_parts SELECT * FROM were;"
			"DROP TABLE were");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(it_is_read_as_it_was_up_to_every_snapshot),
		store_test(what_is_forgotten_leaves_its_latest_reading),
		store_test(what_has_ended_is_forgotten_with_its_snapshots),
		store_test(a_runtime_that_is_not_known_is_kept_by_its_key),
		store_test(forged_values_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
