// SPDX-License-Identifier: GPL-2.0-or-later
/* Segments of System V shared memory: the kernel's text, whom they concern, and their growth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/memory/sysv_segments.h"

#define HEAD                                                                                       \
	"       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  " \
	"cgid      atime      dtime      ctime                   rss                  swap\n"
#define MIB (UINT64_C(1) << 20)

static int parse(const char *text, struct sysv_report *report)
{
	_cleanup_fclose_ FILE *file = fmemopen((void *)text, strlen(text), "r");

	assert_non_null(file);
	return sysv_segments_parse(file, report);
}

static void each_column_goes_to_its_field(void **state)
{
	static const char text[] = HEAD
		"-559038737          7   600              1048576 26178 26179      2  1000  "
		"1000  33     0          1          2 1795890000              4096              "
		"   8192\n";
	struct sysv_report report = {0};
	const struct sysv_segment *segment;

	(void)state;
	assert_int_equal(parse(text, &report), 0);
	assert_true(report.known);
	assert_false(report.partial);
	assert_int_equal(report.list.count, 1);
	segment = &report.list.items[0];
	assert_int_equal(segment->key, 0xdeadbeef);
	assert_int_equal(segment->id, 7);
	assert_int_equal(segment->size, MIB);
	assert_int_equal(segment->creator, 26178);
	assert_int_equal(segment->attached, 2);
	assert_int_equal(segment->uid, 33);
	assert_int_equal(segment->created_s, 1795890000);
	assert_int_equal(segment->resident, 4096);
	assert_int_equal(segment->swapped, 8192);
	sysv_report_free(&report);
}

static void what_no_kernel_writes_is_refused(void **state)
{
	static const char *const texts[] = {"", "x\n", HEAD "1 2 3\n", HEAD "a b c\n"};
	struct sysv_report report = {.partial = true};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(parse(texts[i], &report), -EBADMSG);
	assert_true(report.partial);
	assert_int_equal(parse(HEAD, &report), 0);
	assert_int_equal(report.list.count, 0);
}

static void a_reading_has_an_end(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct sysv_report report = {0};
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fputs(HEAD, out);
	for (int i = 0; i <= SYSV_SEGMENTS_MAX; i++)
		fprintf(out, "0 %d 600 4096 5 5 0 0 0 0 0 0 0 0 4096 0\n", i);
	fclose(out);
	assert_int_equal(parse(text, &report), 0);
	assert_int_equal(report.list.count, SYSV_SEGMENTS_MAX);
	assert_true(report.partial);
	sysv_report_free(&report);
}

static void add(struct sysv_report *report, const struct sysv_segment *segment)
{
	struct sysv_segment *kept = vec_push(&report->list);

	assert_non_null(kept);
	*kept = *segment;
	report->known = true;
}

/* A target with PID 7 and UID 33. */
static void only_own_segments_and_orphans_of_its_user_concern_a_process(void **state)
{
	static const struct {
		struct sysv_segment segment;
		bool concerns;
	} cases[] = {
		{{.creator = 7, .comm = "shop", .attached = 1, .uid = 33}, true},
		{{.creator = 7, .comm = "shop", .uid = 33}, true},
		{{.creator = 8, .comm = "other", .uid = 33}, false},
		{{.creator = 8, .uid = 33}, true},
		/* Somebody uses it. */
		{{.creator = 8, .attached = 1, .uid = 33}, false},
		{{.creator = 8, .uid = 34}, false},
	};
	struct memory_process process = {.pid = 7, .status.uid = 33};
	struct memory_report processes = {0};

	(void)state;
	processes.processes.items = &process;
	processes.processes.count = 1;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sysv_report report = {0};

		add(&report, &cases[i].segment);
		sysv_segments_select(&report, &processes);
		if (report.list.count != cases[i].concerns)
			fail_msg("case %zu", i);
		sysv_report_free(&report);
	}
}

/* One stays, one was removed, one is new, one is in use no more. */
static void growth_is_what_is_left_unattached(void **state)
{
	static const struct sysv_segment
		stays = {.id = 1, .creator = 5, .resident = MIB},
		removed = {.id = 2, .creator = 5, .resident = 2 * MIB},
		fresh = {.id = 3, .creator = 6, .resident = 8 * MIB, .swapped = MIB},
		used = {.id = 4, .creator = 5, .attached = 1, .resident = 4 * MIB},
		left = {.id = 4, .creator = 5, .resident = 4 * MIB},
		again = {.id = 2, .creator = 9, .attached = 3, .resident = MIB};
	struct sysv_report before = {0}, now = {0};

	(void)state;
	add(&before, &stays);
	add(&before, &removed);
	add(&before, &used);
	add(&now, &stays);
	add(&now, &fresh);
	add(&now, &left);
	add(&now, &again);
	sysv_segments_compare(&before, 60000, &now);
	assert_true(now.has_growth);
	/* A removed segment was not left by one of these. */
	assert_int_equal(now.growth, 13 * MIB);
	assert_false(now.list.items[0].is_new);
	assert_true(now.list.items[1].is_new);
	assert_false(now.list.items[2].is_new);
	assert_true(now.list.items[3].is_new);
	sysv_report_sum(&now);
	assert_int_equal(now.all.segments, 4);
	assert_int_equal(now.all.bytes, 15 * MIB);
	assert_int_equal(now.unattached.bytes, 14 * MIB);
	assert_int_equal(now.orphans.segments, 3);
	before.partial = true;
	now.has_growth = false;
	sysv_segments_compare(&before, 60000, &now);
	assert_false(now.has_growth);
	sysv_report_free(&before);
	sysv_report_free(&now);
}

static const struct sysv_segment *segment_of(const struct sysv_report *report, int id)
{
	for (size_t i = 0; i < report->list.count; i++) {
		if ((int)report->list.items[i].id == id)
			return &report->list.items[i];
	}
	return NULL;
}

/* This test's own segment, and one of a child that has ended. */
static void a_creator_that_lives_has_a_name(void **state)
{
	struct sysv_report report = {0};
	const struct sysv_segment *segment;
	int own = shmget(IPC_PRIVATE, 4 * MIB, IPC_CREAT | 0600), id = -1, ends[2], error;
	pid_t child;

	(void)state;
	assert_true(own >= 0);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
		_exit(write(ends[1], &id, sizeof(id)) != sizeof(id));
	}
	assert_int_equal(read(ends[0], &id, sizeof(id)), sizeof(id));
	waitpid(child, NULL, 0);
	error = sysv_segments_read(getpid(), &report);
	shmctl(own, IPC_RMID, NULL);
	shmctl(id, IPC_RMID, NULL);
	assert_int_equal(error, 0);
	segment = segment_of(&report, own);
	assert_non_null(segment);
	assert_int_equal(segment->creator, getpid());
	assert_string_equal(segment->comm, "test_sysv_segme");
	assert_int_equal(segment->size, 4 * MIB);
	segment = segment_of(&report, id);
	assert_non_null(segment);
	assert_int_equal(segment->creator, child);
	assert_string_equal(segment->comm, "");
	assert_true(report.orphans.segments >= 1);
	sysv_report_free(&report);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_column_goes_to_its_field),
		cmocka_unit_test(what_no_kernel_writes_is_refused),
		cmocka_unit_test(a_reading_has_an_end),
		cmocka_unit_test(only_own_segments_and_orphans_of_its_user_concern_a_process),
		cmocka_unit_test(growth_is_what_is_left_unattached),
		cmocka_unit_test(a_creator_that_lives_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
