// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads, dead ones by creator, and ledgers of mappings and descriptors: as they were, at every
 * snapshot. */
#include <errno.h>
#include <sqlite3.h>

#include "report/analyze/report_build.h"
#include "unit/store_fixture.h"

#define GROUPS 3
#define TICKS 80

/* How many dead threads of a creator there are at a tick: they come, stay, and are joined. */
static uint64_t dead_at(uint32_t creator, uint64_t tick)
{
	static const uint64_t period[GROUPS + 1] = {0, 1, 7, 50};

	if (creator == 2 && tick % 14 < 5)
		return 0;
	return (tick + 5) / period[creator] * creator;
}

static void set_group(struct snapshot_process *process, uint32_t creator, uint64_t tick)
{
	struct dead_group *group;

	if (!dead_at(creator, tick))
		return;
	group = vec_push(&process->threads.groups);
	group->site = creator;
	group->start_routine = 0x401000 + creator;
	group->count = dead_at(creator, tick);
	group->before_attach = creator == 3 ? group->count : 0;
	group->oldest_ns = creator == 3 ? 0 : tick * 5 * SECOND;
	group->newest_ns = creator == 3 ? 0 : SECOND;
	group->stack_bytes = group->count << 23;
	group->resident_bytes = group->count << 13;
	group->heap_bytes = group->count * 100;
	group->heap_count = group->count;
	process->threads.dead += group->count;
}

static void set_threads(struct run *run, uint64_t tick)
{
	struct snapshot_process *process = &run->snapshot.processes.items[0];
	struct thread_figures *threads = &process->threads;

	thread_figures_free(threads);
	*threads = (struct thread_figures){.counted = tick % 3 != 0,
					   .followed = tick > 2,
					   .alive = tick % 3 ? 4 + tick / 9 : 0};
	threads->exact = tick > 2 && tick % 5 != 0;
	threads->untold = tick > 2 ? tick / 30 : 0;
	strcpy(threads->why, tick > 2 ? "" : "not yet");
	for (uint32_t creator = 1; creator <= GROUPS && threads->followed; creator++)
		set_group(process, creator, tick);
	if (threads->followed) {
		threads->dead_stack_bytes = threads->dead << 23;
		threads->created = tick * 10;
		threads->joined = threads->created - threads->dead;
	}
	process->outstanding_count = process->ledger.outstanding = 5;
	process->outstanding_bytes = 5 * 64;
	run->snapshot.has_mappings = true;
	process->mapping = (struct mapping_ledger){
		.mapped = tick / 10 * 4096, .outstanding = tick / 10 * 4096, .ranges = tick / 10};
	run->snapshot.mapping = process->mapping;
	run->snapshot.mapping.events_lost = tick / 20;
	run->snapshot.has_descriptors = true;
	process->descriptors = (struct descriptor_ledger){.opened = tick, .foreign = tick / 7};
	run->snapshot.descriptors = process->descriptors;
}

/* Names them like the symbolizer: two frames of the stack, one of the start routine. */
static void name_dead(struct report *report)
{
	struct report_process *process = &report->processes.items[0];

	for (size_t i = 0; i < process->dead.count; i++) {
		struct report_dead *dead = &process->dead.items[i];

		for (uint32_t depth = 1; depth < 3; depth++)
			*(struct frame *)vec_push(&dead->stack.list) =
				run_frame(dead->group->site, depth);
		*(struct frame *)vec_push(&dead->start.list) = run_frame(dead->group->site, 3);
		dead->id = symbolizer_stack_id(&dead->stack);
	}
}

static void append_tick(struct run *run, uint64_t tick)
{
	_cleanup_(report_free) struct report report = {0};

	if (!run->recorder)
		assert_int_equal(recorder_open(&run->recorder, run->path, &run->options), 0);
	run->snapshot.sequence++;
	run->snapshot.monotonic_ns = 1000 * SECOND + tick * 5 * SECOND;
	run->snapshot.time.tv_sec += 5;
	set_threads(run, tick);
	run_report(run, &report);
	name_dead(&report);
	assert_int_equal(recorder_append(run->recorder, &report, NULL, false), 0);
}

static const struct report_dead *find_dead(const struct report *report, uint32_t creator)
{
	const struct report_process *process = &report->processes.items[0];

	for (size_t i = 0; i < process->dead.count; i++) {
		const struct report_dead *dead = &process->dead.items[i];

		if (dead->stack.list.count && dead->stack.list.items[0].line == 40 + creator)
			return dead;
	}
	return NULL;
}

static void expect_dead(const struct report *report, uint32_t creator, uint64_t tick)
{
	const struct report_dead *dead = find_dead(report, creator);

	if (!dead_at(creator, tick)) {
		assert_null(dead);
		return;
	}
	assert_non_null(dead);
	assert_int_equal(dead->group->count, dead_at(creator, tick));
	assert_int_equal(dead->group->stack_bytes, dead_at(creator, tick) << 23);
	assert_int_equal(dead->group->heap_bytes, dead_at(creator, tick) * 100);
	assert_int_equal(dead->group->oldest_ns, creator == 3 ? 0 : tick * 5 * SECOND);
	assert_int_equal(dead->group->before_attach, creator == 3 ? dead_at(creator, tick) : 0);
	assert_int_equal(dead->stack.list.count, 2);
	assert_int_equal(dead->group->depth, 2);
	assert_true(dead->group->addresses[1] == dead->stack.list.items[1].address);
	assert_true(dead->group->start_routine == dead->start.list.items[0].address);
	assert_string_equal(dead->stack.list.items[1].function, "serve");
	assert_int_equal(dead->start.list.count, 1);
	assert_string_equal(dead->start.list.items[0].function, "main");
	assert_int_equal(dead->id, symbolizer_stack_id(&dead->stack));
}

static void expect_process(const struct snapshot *snapshot, uint64_t tick)
{
	const struct thread_figures *threads = &snapshot->processes.items[0].threads;

	assert_int_equal(threads->counted, tick % 3 != 0);
	assert_int_equal(threads->followed, tick > 2);
	assert_int_equal(threads->exact, tick > 2 && tick % 5 != 0);
	assert_int_equal(threads->untold, tick > 2 ? tick / 30 : 0);
	/* Neither counted nor followed: nothing to report. */
	if (threads->counted || threads->followed)
		assert_string_equal(threads->why, tick > 2 ? "" : "not yet");
	assert_int_equal(threads->alive, tick % 3 ? 4 + tick / 9 : 0);
	assert_int_equal(threads->created, tick > 2 ? tick * 10 : 0);
	assert_int_equal(threads->dead_stack_bytes, threads->dead << 23);
	assert_true(snapshot->has_mappings);
	assert_int_equal(snapshot->processes.items[0].mapping.mapped, tick / 10 * 4096);
	assert_int_equal(snapshot->processes.items[0].mapping.ranges, tick / 10);
	assert_int_equal(snapshot->mapping.events_lost, tick / 20);
	assert_true(snapshot->has_descriptors);
	assert_int_equal(snapshot->processes.items[0].descriptors.opened, tick);
	assert_int_equal(snapshot->descriptors.foreign, tick / 7);
}

static void expect_tick(struct recording *recording, size_t position, uint64_t tick)
{
	_cleanup_(snapshot_free) struct snapshot snapshot = {0};
	_cleanup_(report_free) struct report report = {0};
	const struct report_options all = {.sort = SORT_BYTES};

	assert_int_equal(recording_read(recording, position, &snapshot), 0);
	assert_int_equal(report_build(&report, &snapshot, &all), 0);
	assert_int_equal(recording_name(recording, &report), 0);
	expect_process(&snapshot, tick);
	for (uint32_t creator = 1; creator <= GROUPS && tick > 2; creator++)
		expect_dead(&report, creator, tick);
	if (tick <= 2)
		assert_int_equal(report.processes.items[0].dead.count, 0);
}

static void threads_are_read_as_they_were_at_every_snapshot(void **state)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	struct run *run = *state;
	size_t count;

	run_site(run_process(run, 1234, "server"), 1, 5, 64);
	for (uint64_t tick = 1; tick <= TICKS; tick++)
		append_tick(run, tick);
	run_end(run);
	assert_int_equal(recording_open(&recording, run->path), 0);
	recording_snapshots(recording, &count);
	assert_int_equal(count, TICKS);
	for (size_t i = 0; i < count; i++)
		expect_tick(recording, i, i + 1);
}

/* A window of five minutes: older data is deleted, the rest is unchanged. */
static void what_keep_leaves_is_still_right(void **state)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	struct run *run = *state;
	const struct recording_snapshot *all;
	size_t count;

	run->options.keep_ns = 100 * SECOND;
	run_site(run_process(run, 1234, "server"), 1, 5, 64);
	for (uint64_t tick = 1; tick <= TICKS; tick++)
		append_tick(run, tick);
	run_end(run);
	assert_int_equal(recording_open(&recording, run->path), 0);
	all = recording_snapshots(recording, &count);
	assert_in_range(count, 20, 22);
	for (size_t i = 0; i < count; i++)
		expect_tick(recording, i, all[i].sequence);
}

/* Possible damage to a good file. */
static const char *const forgeries[] = {
	"UPDATE threads SET dead=-1",
	"UPDATE threads SET alive='many'",
	"UPDATE dead_threads SET creator=99 WHERE creator=1",
	"UPDATE dead_threads SET count=-5",
	"UPDATE dead_threads SET before_attach=count+1",
	"UPDATE creators SET process=7",
	"UPDATE mapping_ledgers SET mapped=x'00'",
};

static int read_last(const char *path)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	_cleanup_(snapshot_free) struct snapshot snapshot = {0};
	int error = recording_open(&recording, path);
	size_t count;

	if (error)
		return error;
	recording_snapshots(recording, &count);
	return recording_read(recording, count - 1, &snapshot);
}

static void forged_values_are_refused(void **state)
{
	struct run *run = *state;

	run_site(run_process(run, 1234, "server"), 1, 5, 64);
	for (size_t i = 0; i < ARRAY_SIZE(forgeries); i++) {
		sqlite3 *database;

		unlink(run->path);
		append_tick(run, 10);
		run_end(run);
		assert_int_equal(read_last(run->path), 0);
		assert_int_equal(sqlite3_open(run->path, &database), SQLITE_OK);
		assert_int_equal(sqlite3_exec(database, forgeries[i], NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(database);
		if (read_last(run->path) != -EUCLEAN)
			fail_msg("%s: read", forgeries[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(threads_are_read_as_they_were_at_every_snapshot),
		store_test(what_keep_leaves_is_still_right),
		store_test(forged_values_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
