// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When reports cannot be written (a full tmpfs, a closed reader), the run continues, counts the
 * losses, and reports them once writing works again.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "shell.h"

#define DISK_OPTIONS "size=1m,mode=700"

struct disk {
	char directory[64], filler[80], file[80];
};

static void disk_make(const struct harness *harness, struct disk *disk, const char *name)
{
	snprintf(disk->directory, sizeof(disk->directory), "%s/disk", harness->directory);
	snprintf(disk->filler, sizeof(disk->filler), "%s/filler", disk->directory);
	snprintf(disk->file, sizeof(disk->file), "%s/%s", disk->directory, name);
	assert_false(mkdir(disk->directory, 0700));
	assert_false(mount("tmpfs", disk->directory, "tmpfs", 0, DISK_OPTIONS));
}

/* To the last byte that it gives. */
static void disk_fill(const struct disk *disk)
{
	static const char page[4096];
	int fd = open(disk->filler, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (write(fd, page, sizeof(page)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

static void disk_free(const struct disk *disk)
{
	assert_false(unlink(disk->filler));
}

static void disk_remove(const struct disk *disk)
{
	assert_false(umount2(disk->directory, MNT_DETACH));
}

/* Every line is a whole report; the last line has the number of missing reports. */
static json_int_t lost_in(struct harness *harness, const char *path)
{
	char *text = shell(harness, 0, "cat %s", path), *rest = text, *line;
	json_int_t lost = 0;

	while ((line = strsep(&rest, "\n")) && *line) {
		json_t *report = json_loads(line, 0, NULL);

		assert_non_null(report);
		lost = json_integer_value(json_object_get(report, "lost_reports"));
		json_decref(report);
	}
	free(text);
	return lost;
}

/* It stops on request, reports the number of losses, and that is an error. */
static void expect_end_with_losses(struct harness *harness, struct child *monitor)
{
	child_signal(monitor, SIGINT);
	monitor_expect_error(harness, monitor, 1, "could not be written");
}

static void lose_some(struct harness *harness, const char *const *argv, const struct disk *disk)
{
	struct child *monitor;

	/* Its file is there, and empty. */
	disk_fill(disk);
	monitor = monitor_start(harness, argv, NULL);
	child_wait_text(harness, monitor, &monitor->err, "the run goes on");
	disk_free(disk);
	child_wait_text(harness, monitor, &monitor->err, "reports are written again");
	child_signal(monitor, SIGUSR1);
	expect_end_with_losses(harness, monitor);
}

static void a_full_disk_does_not_end_a_run(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct disk disk;
	const char *const *const runs[] = {
		ARGUMENTS("leakmon", "-p", workload->pid_text, "--format", "json", "--output",
			  disk.file, "0.2"),
		ARGUMENTS("leakmon", "--no-stacks", "--format", "json", "--output", disk.file,
			  "0.2"),
		ARGUMENTS("leakmon", "profile", "-p", workload->pid_text, "--format", "json",
			  "--output", disk.file, "0.2"),
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		disk_make(harness, &disk, "reports.json");
		print_message("%s %s\n", runs[i][0], runs[i][1]);
		lose_some(harness, runs[i], &disk);
		assert_true(lost_in(harness, disk.file) > 0);
		disk_remove(&disk);
		rmdir(disk.directory);
	}
}

/* The file of the latest report that could be written stays as it is. */
static void a_file_that_cannot_be_replaced_stays(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;
	struct disk disk;

	disk_make(harness, &disk, "metrics");
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--format", "prom",
				   "--output", disk.file, "0.2");
	while (access(disk.file, F_OK))
		usleep(10000);
	disk_fill(&disk);
	child_wait_text(harness, monitor, &monitor->err, "the run goes on");
	free(shell(harness, 0,
		   "grep -q '^leakmon_lost_reports_total 0$' %s && tail -c 1 %s | od -c "
		   "| grep -q '\\\\n'",
		   disk.file, disk.file));
	disk_free(&disk);
	child_wait_text(harness, monitor, &monitor->err, "reports are written again");
	child_signal(monitor, SIGUSR1);
	expect_end_with_losses(harness, monitor);
	free(shell(harness, 0, "grep -q '^leakmon_lost_reports_total [1-9]' %s", disk.file));
	disk_remove(&disk);
}

/* The recording has the number of missed snapshots. */
static void a_recording_lists_what_it_misses(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct disk disk;

	for (int i = 0; i < 2; i++) {
		/* An option that changes nothing in the first one's place. */
		const char *how = i ? "--profile" : "--no-color";
		struct child *recorder, *reader;

		disk_make(harness, &disk, "r.lkm");
		recorder = MONITOR_ATTACHED(harness, "record", how, "-p", workload->pid_text, "-o",
					    disk.file, "0.2");
		disk_fill(&disk);
		child_wait_text(harness, recorder, &recorder->err, "is not in the recording");
		disk_free(&disk);
		child_signal(recorder, SIGUSR1);
		child_signal(recorder, SIGINT);
		monitor_expect_error(harness, recorder, 1, "could not be recorded");
		reader = MONITOR(harness, "report", disk.file, "--format", "json");
		assert_true(number_at(monitor_report(harness, reader), "lost_reports") > 0);
		assert_int_equal(child_end(harness, reader), 0);
		disk_remove(&disk);
		rmdir(disk.directory);
	}
}

/* As in `leakmon -p PID | head`. */
static void a_run_that_nobody_reads_ends_without_a_word(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *runs[] = {
		MONITOR(harness, "-p", workload->pid_text, "0.2"),
		MONITOR(harness, "--no-stacks", "0.2"),
		MONITOR(harness, "profile", "-p", workload->pid_text, "0.2"),
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		free(child_line(harness, runs[i], &runs[i]->out));
		close(runs[i]->out.fd);
		runs[i]->out.fd = -1;
		assert_int_equal(child_end(harness, runs[i]), 0);
		assert_null(strstr(runs[i]->err.text, "cannot write"));
	}
}

/* --output names it: another reader may come. */
static void a_fifo_may_change_its_reader(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;
	char path[64], *text;
	int fd;

	snprintf(path, sizeof(path), "%s/fifo", harness->directory);
	assert_false(mkfifo(path, 0600));
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--format", "json",
				   "--output", path, "0.2");
	close(fd);
	child_wait_text(harness, monitor, &monitor->err, "the run goes on");
	text = shell(harness, 0, "head -n 1 %s", path);
	assert_non_null(strstr(text, "\"lost_reports\":"));
	free(text);
	expect_end_with_losses(harness, monitor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_full_disk_does_not_end_a_run),
		e2e_test(a_file_that_cannot_be_replaced_stays),
		e2e_test(a_recording_lists_what_it_misses),
		e2e_test(a_run_that_nobody_reads_ends_without_a_word),
		e2e_test(a_fifo_may_change_its_reader),
	};

	/* Only these tests see the mounts, which go with them. */
	if (!unshare(CLONE_NEWNS) && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
