// SPDX-License-Identifier: GPL-2.0-or-later
/* Results of `leakmon retain` in recordings: unchanged, whatever happens to the file. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "output/text/text.h"
#include "output/json/json.h"
#include "output/formats.h"
#include "report/retain_diff.h"
#include "report/store/retain_runs.h"
#include "unit/retain_fixture.h"
#include "unit/site_kinds.h"
#include "unit/store_fixture.h"

static char *written(const struct retain_result *result, int (*write)(FILE *, const void *))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(write(out, &(struct retain_report){.result = result}), 0);
	fclose(out);
	return text;
}

static int append(const char *path, const char *label, int64_t *number)
{
	_cleanup_(retain_result_free) struct retain_result result = {0};

	retain_fixture(&result);
	return retain_writer_append(path, &result, label, number);
}

static void append_well(const char *path, const char *label, int64_t expected)
{
	int64_t number = 0;

	assert_int_equal(append(path, label, &number), 0);
	assert_int_equal(number, expected);
}

/* All runs that are there, and their number; negative: an error. */
static int read_runs(const char *path)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	int error = recording_open(&recording, path);
	size_t count = 0;

	if (error)
		return error;
	recording_retains(recording, &count);
	for (size_t i = 0; i < count && !error; i++) {
		_cleanup_(retain_result_free) struct retain_result result = {0};

		error = recording_read_retain(recording, i, &result);
	}
	return error ? error : (int)count;
}

static void expect_same(const char *path, size_t position)
{
	int (*const writers[])(FILE *, const void *) = {text_retain_write, json_retain_write,
							output_folded.write[OUTPUT_RETAIN]};
	_cleanup_(retain_result_free) struct retain_result was = {0}, is = {0};
	_cleanup_(recording_cleanup) struct recording *recording = NULL;

	retain_fixture(&was);
	assert_int_equal(recording_open(&recording, path), 0);
	assert_int_equal(recording_read_retain(recording, position, &is), 0);
	for (size_t i = 0; i < ARRAY_SIZE(writers); i++) {
		_cleanup_free_ char *before = written(&was, writers[i]);
		_cleanup_free_ char *after = written(&is, writers[i]);

		assert_string_equal(before, after);
	}
	for (size_t i = 0; i < was.classes.count; i++)
		assert_true(was.classes.items[i].id == is.classes.items[i].id);
	for (size_t i = 0; i < was.roots.count; i++)
		assert_true(was.roots.items[i].id == is.roots.items[i].id);
}

static void a_result_is_read_as_it_was_written(void **state)
{
	struct run *run = *state;

	append_well(run->path, NULL, 1);
	append_well(run->path, "again", 2);
	assert_int_equal(read_runs(run->path), 2);
	expect_same(run->path, 0);
	expect_same(run->path, 1);
}

static void runs_are_found_by_number_and_label_and_snapshots_are_missed(void **state)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	struct run *run = *state;
	size_t position = 4711;

	append_well(run->path, "before", 1);
	append_well(run->path, NULL, 2);
	assert_int_equal(recording_open(&recording, run->path), 0);
	assert_int_equal(recording_find(recording, NULL, &position), -ENOENT);
	assert_int_equal(recording_find_retain(recording, "3", &position), -ENOENT);
	assert_int_equal(position, 4711);
	assert_int_equal(recording_find_retain(recording, NULL, &position), 0);
	assert_int_equal(position, 1);
	assert_int_equal(recording_find_retain(recording, "before", &position), 0);
	assert_int_equal(position, 0);
}

static void snapshots_and_runs_share_a_file_that_both_write_to(void **state)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	struct run *run = *state;
	size_t snapshots, runs;

	run_site(run_process(run, 1234, "server"), 1, 5, 64);
	assert_int_equal(run_append(run, NULL, false), 0);
	append_well(run->path, NULL, 1); /* the recorder has it open */
	assert_int_equal(run_append(run, NULL, false), 0);
	append_well(run->path, NULL, 2);
	run_end(run);
	append_well(run->path, NULL, 3);
	assert_int_equal(recording_open(&recording, run->path), 0);
	recording_snapshots(recording, &snapshots);
	recording_retains(recording, &runs);
	assert_int_equal(snapshots, 2);
	assert_int_equal(runs, 3);
	expect_same(run->path, 2);
}

static void what_is_no_recording_is_left_alone(void **state)
{
	struct run *run = *state;
	FILE *file = fopen(run->path, "w");
	int64_t number = 4711;
	char text[16] = "";

	fputs("a text of mine that nobody may overwrite", file);
	fclose(file);
	assert_int_equal(append(run->path, NULL, &number), -EINVAL);
	assert_int_equal(append(run->directory, NULL, &number), -ENOENT);
	assert_int_equal(append("/nowhere/x.lkm", NULL, &number), -ENOENT);
	assert_int_equal(number, 4711);
	file = fopen(run->path, "r");
	assert_non_null(fgets(text, sizeof(text), file));
	assert_string_equal(text, "a text of mine ");
	fclose(file);
	unlink(run->path);
	append_well(run->path, NULL, 1);
	store_sql(run->path, "PRAGMA user_version=99");
	assert_int_equal(append(run->path, NULL, &number), -EPROTO);
}

/* Possible damage to a good file. */
static const char *const forgeries[] = {
	"UPDATE retains SET pid=-1",
	"UPDATE retains SET pid=99999999999",
	"UPDATE retains SET held_bytes='many'",
	"UPDATE retain_roots SET kind='nothing' WHERE root=1",
	"UPDATE retain_roots SET root=7 WHERE root=1",
	"UPDATE retain_roots SET retained_bytes=-4",
	"UPDATE retain_classes SET kind='nothing' WHERE class=0",
	"DELETE FROM retain_classes WHERE class=0",
	"UPDATE retain_leaks SET class=3",
	"UPDATE retain_leaks SET example=x'00ff'",
	"UPDATE retain_paths SET root=5",
	"UPDATE retain_paths SET class=99",
	"UPDATE retain_steps SET class=3",
	"UPDATE retain_steps SET path=1",
	"DELETE FROM retain_steps",
	"UPDATE retain_samples SET verdict='lost'",
	"UPDATE retain_samples SET root=5",
	"UPDATE retain_samples SET class=3",
	"DROP TABLE retain_samples",
	"ALTER TABLE retain_roots RENAME COLUMN kind TO sort",
};

static void forged_values_are_refused(void **state)
{
	struct run *run = *state;

	for (size_t i = 0; i < ARRAY_SIZE(forgeries); i++) {
		int error;

		unlink(run->path);
		append_well(run->path, NULL, 1);
		store_sql(run->path, forgeries[i]);
		error = read_runs(run->path);
		if (error >= 0)
			fail_msg("%s: read", forgeries[i]);
	}
}

/* Under the sanitizers: an error or numbers, never a crash. */
static void flipped_bits_do_no_harm(void **state)
{
	struct run *run = *state;
	uint64_t random = 7;
	struct stat status;
	int stderr_copy = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY), refused = 0;

	append_well(run->path, NULL, 1);
	append_well(run->path, NULL, 2);
	assert_int_equal(stat(run->path, &status), 0);
	dup2(null, STDERR_FILENO); /* hundreds of messages */
	for (int i = 0; i < 400; i++) {
		off_t at = (off_t)(kinds_random(&random) % (uint64_t)status.st_size);
		uint8_t byte, bit = (uint8_t)(1u << kinds_random(&random) % 8);
		int fd = open(run->path, O_RDWR);

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= bit;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		refused += read_runs(run->path) < 0;
		byte ^= bit;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
	}
	dup2(stderr_copy, STDERR_FILENO);
	close(stderr_copy);
	close(null);
	assert_true(refused > 10);
	assert_int_equal(read_runs(run->path), 2);
}

static void whoever_kills_it_leaves_whole_runs(void **state)
{
	struct run *run = *state;
	int before = 0;

	append_well(run->path, NULL, 1);
	for (int i = 0; i < 12; i++) {
		pid_t child = fork();
		int runs;

		if (!child) {
			for (;;)
				append(run->path, NULL, &(int64_t){0});
		}
		usleep(3000 + i * 2500);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
		runs = read_runs(run->path);
		assert_true(runs >= MAX(before, 1));
		expect_same(run->path, (size_t)runs - 1);
		before = runs;
	}
	append_well(run->path, NULL, before + 1);
}

static void a_full_disk_keeps_the_runs_before_it(void **state)
{
	struct run *run = *state;
	int64_t number = 4711;
	int runs = 0;

	if (mount("none", run->directory, "tmpfs", 0, "size=512k")) {
		print_message("SKIPPED: no tmpfs can be mounted here\n");
		skip();
	}
	while (runs < 1000 && !append(run->path, NULL, &number))
		runs++;
	assert_in_range(runs, 2, 999);
	assert_int_equal(append(run->path, NULL, &number), -ENOSPC);
	assert_int_equal(read_runs(run->path), runs);
	expect_same(run->path, (size_t)runs - 1);
	assert_int_equal(umount(run->directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(a_result_is_read_as_it_was_written),
		store_test(runs_are_found_by_number_and_label_and_snapshots_are_missed),
		store_test(snapshots_and_runs_share_a_file_that_both_write_to),
		store_test(what_is_no_recording_is_left_alone),
		store_test(forged_values_are_refused),
		store_test(flipped_bits_do_no_harm),
		store_test(whoever_kills_it_leaves_whole_runs),
		store_test(a_full_disk_keeps_the_runs_before_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
