// SPDX-License-Identifier: GPL-2.0-or-later
/* Parsers in their sandboxes, which are this very program started again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/sandbox/sandbox.h"
#include "base/sandbox/worker_process.h"
#include "binary/parse/questions.h"
#include "unit/elf_fixture.h"

static struct worker *new_worker(uint32_t deadline_ms)
{
	struct worker_limits limits = {.deadline_ms = deadline_ms};
	struct worker *worker = worker_new(&parse_kinds, &limits);

	assert_non_null(worker);
	return worker;
}

static int open_own(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* The library under test: many symbols and rows. */
static int open_library(void)
{
	Dl_info info;
	int fd;

	assert_true(dladdr(worker_new_local, &info));
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int open_libc(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct link_map *map;
	int fd;

	assert_non_null(libc);
	assert_int_equal(dlinfo(libc, RTLD_DI_LINKMAP, &map), 0);
	fd = open(map->l_name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	dlclose(libc);
	return fd;
}

static void assert_same_image(struct worker *left, struct worker *right, int fd)
{
	struct image one = {0}, other = {0};

	assert_int_equal(parse_image(left, fd, &one), 0);
	assert_int_equal(parse_image(right, fd, &other), 0);
	assert_true(one.table.count > 100);
	assert_int_equal(one.table.count, other.table.count);
	assert_string_equal(one.file.build_id, other.file.build_id);
	assert_int_equal(one.has_symtab, other.has_symtab);
	assert_int_equal(one.file.segments.count, other.file.segments.count);
	assert_memory_equal(one.table.symbols, other.table.symbols,
			    one.table.count * sizeof(*one.table.symbols));
	for (size_t i = 0; i < one.table.count; i++)
		assert_string_equal(one.table.names + one.table.symbols[i].name,
				    other.table.names + other.table.symbols[i].name);
	image_free(&one);
	image_free(&other);
}

static void assert_same_unwind(struct worker *left, struct worker *right, int fd)
{
	struct unwind_table one = {0}, other = {0};
	struct elf_file file = {0}, other_file = {0};

	assert_int_equal(parse_unwind(left, fd, &file, &one), 0);
	assert_int_equal(parse_unwind(right, fd, &other_file, &other), 0);
	assert_true(one.count > 100);
	assert_int_equal(one.count, other.count);
	assert_int_equal(one.base, other.base);
	assert_memory_equal(one.rows, other.rows, one.count * sizeof(*one.rows));
	assert_int_equal(file.segments.count, other_file.segments.count);
	unwind_table_free(&one);
	unwind_table_free(&other);
	elf_file_close(&file);
	elf_file_close(&other_file);
}

static void assert_same_plan(struct worker *left, struct worker *right, int fd)
{
	_cleanup_(probe_plan_free) struct probe_plan one = {0}, other = {0};

	assert_int_equal(parse_plan(left, fd, "", PROBE_AT_BEST, &one), 0);
	assert_int_equal(parse_plan(right, fd, "", PROBE_AT_BEST, &other), 0);
	assert_string_equal(one.build_id, other.build_id);
	assert_int_equal(one.points.count, other.points.count);
	for (size_t i = 0; i < one.points.count; i++) {
		const struct probe_point *point = &one.points.items[i];

		assert_int_equal(point->function, other.points.items[i].function);
		assert_int_equal(point->vaddr, other.points.items[i].vaddr);
		assert_int_equal(point->offset, other.points.items[i].offset);
		assert_string_equal(point->placement.reason,
				    other.points.items[i].placement.reason);
	}
}

static void the_sandbox_reads_what_this_process_reads(void **state)
{
	struct worker *worker = new_worker(0), *local = worker_new_local(&parse_kinds);
	int files[] = {open_library(), open_libc()};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct debug_description one, other;

		assert_int_equal(parse_description(worker, files[i], &one), 0);
		assert_int_equal(parse_description(local, files[i], &other), 0);
		assert_memory_equal(&one, &other, sizeof(one));
		assert_int_equal(strlen(one.build_id), 40);
		assert_same_image(worker, local, files[i]);
		assert_same_unwind(worker, local, files[i]);
		assert_same_plan(worker, local, files[i]);
		close(files[i]);
	}
	worker_free(worker);
	worker_free(local);
}

static void the_parser_of_plans_is_replaced_on_request(void **state)
{
	_cleanup_(probe_plan_free) struct probe_plan plan = {0}, again = {0}, entry = {0};
	struct worker *worker = new_worker(0);
	int fd = open_libc();
	pid_t first;

	(void)state;
	assert_int_equal(parse_plan(worker, fd, "", PROBE_AT_BEST, &plan), 0);
	assert_true(plan.points.count >= 9);
	first = worker_pid(worker, WORKER_LANE_PER_FILE);
	assert_int_equal(parse_plan(worker, fd, "je_", PROBE_AT_BEST, &again), 0);
	assert_int_equal(again.points.count, 0);
	assert_int_equal(worker_pid(worker, WORKER_LANE_PER_FILE), first);
	worker_end(worker, WORKER_LANE_PER_FILE);
	assert_int_equal(worker_pid(worker, WORKER_LANE_PER_FILE), 0);
	/* Ended and waited for. */
	assert_int_equal(kill(first, 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(parse_plan(worker, fd, "", PROBE_AT_ENTRY, &entry), 0);
	assert_int_equal(entry.points.count, plan.points.count);
	for (size_t i = 0; i < entry.points.count; i++)
		assert_int_equal(entry.points.items[i].placement.offset, 0);
	assert_int_not_equal(worker_pid(worker, WORKER_LANE_PER_FILE), first);
	assert_int_equal(worker_pid(worker, WORKER_LANE_AWAITED), 0);
	worker_end(worker, WORKER_LANE_PER_FILE);
	assert_int_equal(worker_pid(worker, WORKER_LANE_PER_FILE), 0);
	close(fd);
	worker_free(worker);
}

static void a_prefix_that_no_request_holds_is_refused(void **state)
{
	struct worker *worker = new_worker(0);
	char prefix[WIRE_MAX_PREFIX + 1];
	struct probe_plan plan = {0};
	int fd = open_own();

	(void)state;
	memset(prefix, 'a', sizeof(prefix));
	prefix[WIRE_MAX_PREFIX] = '\0';
	assert_int_equal(parse_plan(worker, fd, prefix, PROBE_AT_BEST, &plan), -ENAMETOOLONG);
	prefix[WIRE_MAX_PREFIX - 1] = '\0';
	assert_int_equal(parse_plan(worker, fd, prefix, PROBE_AT_BEST, &plan), 0);
	assert_int_equal(plan.points.count, 0);
	close(fd);
	worker_free(worker);
}

/* Address of a function of this program, in the file's numbering. */
static uint64_t own_vaddr(const void *function)
{
	struct link_map *map;
	Dl_info info;

	assert_true(dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP));
	return (uintptr_t)function - map->l_addr;
}

/* The file and line of a function of this program; the file is static. */
static int find_line(struct worker *worker, int fd, const void *function, uint32_t *line)
{
	struct line_request request = {.fd = fd, .alternate_fd = -1, .key = 1, .count = 1};
	struct line_answer answer = {0};
	int error;

	request.addresses[0] = own_vaddr(function);
	error = parse_lines_begin(worker, &request);
	if (!error)
		error = parse_lines_finish(worker, -1, &answer);
	if (error)
		return error;
	assert_int_equal(answer.count, 1);
	assert_int_equal(answer.ranges[0].count, 1);
	assert_non_null(strstr(answer.frames[0].file, "tests/unit/test_worker.c"));
	*line = answer.frames[0].line;
	line_answer_free(&answer);
	return 0;
}

enum { KNOWN_LINE = __LINE__ + 1 };
__attribute__((noinline)) static void known_function(void)
{
	__asm__ volatile("");
}

static void lines_are_found_also_after_a_release(void **state)
{
	struct worker *worker = new_worker(0);
	int fd = open_own();
	uint32_t line = 0;

	(void)state;
	known_function();
	assert_int_equal(worker_fd(worker, WORKER_LANE_BACKGROUND), -1);
	for (int turn = 0; turn < 3; turn++) {
		assert_int_equal(find_line(worker, fd, known_function, &line), 0);
		assert_in_range(line, KNOWN_LINE, KNOWN_LINE + 3);
		if (turn == 1)
			worker_release(worker, WORKER_LANE_BACKGROUND);
	}
	assert_int_equal(worker_pid(worker, WORKER_LANE_AWAITED), 0);
	close(fd);
	worker_free(worker);
}

static void lines_need_not_be_waited_for(void **state)
{
	struct line_request request = {.fd = open_own(), .alternate_fd = -1, .count = 1};
	struct worker *worker = new_worker(0);
	struct line_answer answer = {0};
	struct image image = {0};
	struct pollfd waited = {.events = POLLIN};
	uint32_t line;

	(void)state;
	assert_int_equal(find_line(worker, request.fd, known_function, &line), 0);
	request.addresses[0] = own_vaddr(known_function);
	kill(worker_pid(worker, WORKER_LANE_BACKGROUND), SIGSTOP);
	assert_int_equal(parse_lines_begin(worker, &request), 0);
	assert_int_equal(parse_lines_begin(worker, &request), -EBUSY);
	assert_int_equal(parse_lines_finish(worker, 0, &answer), -EAGAIN);
	/* Names come meanwhile. */
	assert_int_equal(parse_image(worker, request.fd, &image), 0);
	kill(worker_pid(worker, WORKER_LANE_BACKGROUND), SIGCONT);
	waited.fd = worker_fd(worker, WORKER_LANE_BACKGROUND);
	assert_int_equal(poll(&waited, 1, 10000), 1);
	assert_int_equal(parse_lines_finish(worker, -1, &answer), 0);
	assert_int_equal(answer.frames[0].line, line);
	assert_int_equal(parse_lines_finish(worker, -1, &answer), -ENOENT);
	assert_int_equal(worker_fd(worker, WORKER_LANE_BACKGROUND), -1);
	line_answer_free(&answer);
	image_free(&image);
	close(request.fd);
	worker_free(worker);
}

/* A file of the parsers' tests; a bigger number is another file. */
static int open_fixture(int number)
{
	struct elf_fixture elf = {0};
	int fd = memfd_create("fixture", MFD_CLOEXEC);

	fixture_init(&elf);
	assert_int_equal(write(fd, &elf, sizeof(elf)), sizeof(elf));
	assert_int_equal(ftruncate(fd, (off_t)sizeof(elf) + number), 0);
	return fd;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

static void assert_names(struct worker *worker, int fd)
{
	struct image image = {0};

	assert_int_equal(parse_image(worker, fd, &image), 0);
	assert_true(image.table.count > 0);
	image_free(&image);
}

static void a_file_that_hangs_the_parser_costs_that_file(void **state)
{
	struct worker *worker = new_worker(1000);
	int bad = open_fixture(1), good = open_fixture(2), other = open_own();
	struct image image = {0};
	pid_t first;
	int64_t start;

	(void)state;
	worker_begin_process(worker, 2); /* the start of a parser does not count here */
	assert_names(worker, good);
	worker_begin_process(worker, 1);
	first = worker_pid(worker, WORKER_LANE_AWAITED);
	kill(first, SIGSTOP);
	start = now_ms();
	assert_int_equal(parse_image(worker, bad, &image), -ETIMEDOUT);
	assert_in_range(now_ms() - start, 900, 5000);
	assert_string_equal(worker_failure(-ETIMEDOUT), "parsing the file took too long");
	/* It is not retried: the answer is known, and no parser was started for it. */
	assert_int_equal(parse_image(worker, bad, &image), -ETIMEDOUT);
	assert_int_equal(worker_pid(worker, WORKER_LANE_AWAITED), 0);
	assert_names(worker, good);
	assert_names(worker, other);
	assert_int_not_equal(worker_pid(worker, WORKER_LANE_AWAITED), first);
	worker_free(worker);
	assert_int_equal(kill(first, 0), -1);
	assert_int_equal(errno, ESRCH);
	close(bad);
	close(good);
	close(other);
}

static int64_t hang(struct worker *worker, int number)
{
	int good = open_fixture(0), bad = open_fixture(number);
	struct image image = {0};
	int64_t start;

	worker_begin_process(worker, 1 + number); /* the request that starts a parser */
	assert_names(worker, good);
	worker_begin_process(worker, 1);
	kill(worker_pid(worker, WORKER_LANE_AWAITED), SIGSTOP);
	start = now_ms();
	assert_int_equal(parse_image(worker, bad, &image), -ETIMEDOUT);
	close(good);
	close(bad);
	return now_ms() - start;
}

static void many_files_that_hang_cost_less_and_less(void **state)
{
	struct worker *worker = new_worker(1000);

	(void)state;
	assert_in_range(hang(worker, 1), 900, 5000);
	assert_in_range(hang(worker, 2), 400, 999);
	assert_in_range(hang(worker, 3), 200, 499);
	assert_in_range(hang(worker, 4), 80, 399);
	worker_free(worker);
}

/*
 * The sum: at most 2.8 times the deadline, plus a fiftieth of the time that goes by. Each gets at
 * least a 25th of the deadline, because less does not prove that a file hangs.
 */
static void all_files_of_a_process_that_hang_have_an_end(void **state)
{
	struct worker *worker = new_worker(1000);
	int error = -ETIMEDOUT, good = open_fixture(0);
	struct image image = {0};
	int64_t waited = 0;

	(void)state;
	for (int count = 1; error == -ETIMEDOUT; count++) {
		int bad = open_fixture(count);
		int64_t asked, took;

		assert_true(count < 100);
		worker_begin_process(worker, 1 + count); /* starts a parser */
		assert_names(worker, good);
		worker_begin_process(worker, 1);
		kill(worker_pid(worker, WORKER_LANE_AWAITED), SIGSTOP);
		asked = now_ms();
		error = parse_image(worker, bad, &image);
		took = now_ms() - asked;
		assert_true(error == -ETIME || took >= 39);
		waited += took;
		kill(worker_pid(worker, WORKER_LANE_AWAITED), SIGCONT);
		close(bad);
	}
	assert_int_equal(error, -ETIME);
	assert_in_range(waited, 2500, 10000);
	assert_string_equal(worker_failure(-ETIME),
			    "parsing the process's other files took too long");
	/* In another process that is harmless; and it was not the file's fault. */
	worker_begin_process(worker, 1000);
	assert_names(worker, good);
	close(good);
	worker_free(worker);
}

static void a_file_that_crashes_the_parser_costs_that_file(void **state)
{
	struct line_request request = {.fd = open_own(), .alternate_fd = -1, .count = 1};
	struct worker *worker = new_worker(0);
	struct line_answer answer = {0};
	int good = open_fixture(1);
	uint32_t line;
	pid_t pid;

	(void)state;
	assert_int_equal(find_line(worker, request.fd, known_function, &line), 0);
	pid = worker_pid(worker, WORKER_LANE_BACKGROUND);
	kill(pid, SIGSTOP);
	assert_int_equal(parse_lines_begin(worker, &request), 0);
	kill(pid, SIGABRT);
	kill(pid, SIGCONT);
	assert_int_equal(parse_lines_finish(worker, -1, &answer), -ECONNRESET);
	assert_string_equal(worker_failure(-ECONNRESET), "the file made the parser crash");
	assert_int_equal(parse_lines_begin(worker, &request), -ECONNRESET);
	/* Another parser has its symbols, and other files are unaffected. */
	assert_names(worker, request.fd);
	assert_names(worker, good);
	close(request.fd);
	close(good);
	worker_free(worker);
}

static void a_parser_that_dies_between_two_files_costs_none(void **state)
{
	struct worker *worker = new_worker(0);
	int fd = open_fixture(1);
	pid_t pid;

	(void)state;
	assert_names(worker, fd);
	pid = worker_pid(worker, WORKER_LANE_AWAITED);
	kill(pid, SIGKILL);
	/* It is not yet reaped: being dead suffices. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_names(worker, fd);
	assert_int_not_equal(worker_pid(worker, WORKER_LANE_AWAITED), pid);
	close(fd);
	worker_free(worker);
}

static void signals_for_the_monitor_do_not_end_the_parser(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGQUIT, SIGPIPE};
	struct worker *worker = new_worker(0);
	int fd = open_fixture(1);
	pid_t pid;

	(void)state;
	assert_names(worker, fd);
	pid = worker_pid(worker, WORKER_LANE_AWAITED);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		kill(pid, signals[i]);
	assert_names(worker, fd);
	assert_int_equal(worker_pid(worker, WORKER_LANE_AWAITED), pid);
	assert_int_not_equal(getpgid(pid), getpgid(0));
	close(fd);
	worker_free(worker);
}

static void a_file_that_is_not_elf_is_reported_as_such(void **state)
{
	struct worker *worker = new_worker(0);
	int fd = memfd_create("text", MFD_CLOEXEC);
	struct debug_description description;
	struct unwind_table table;
	struct probe_plan plan;
	struct elf_file file;
	struct image image;

	(void)state;
	assert_int_equal(write(fd, "text", 4), 4);
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(parse_image(worker, fd, &image), -ENOEXEC);
		assert_int_equal(parse_description(worker, fd, &description), -ENOEXEC);
		assert_int_equal(parse_unwind(worker, fd, &file, &table), -ENOEXEC);
		assert_int_equal(parse_plan(worker, fd, "", PROBE_AT_BEST, &plan), -ENOEXEC);
	}
	assert_null(worker_failure(-ENOEXEC));
	close(fd);
	worker_free(worker);
}

/* The value of a line "NAME:\tVALUE" of /proc/PID/status. */
static void assert_status(pid_t pid, const char *name, const char *value)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[256], wanted[256];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	snprintf(wanted, sizeof(wanted), "%s:\t%s\n", name, value);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':') {
			assert_string_equal(line, wanted);
			return;
		}
	}
	fail_msg("no %s", name);
}

static void assert_limit(pid_t pid, const char *name, const char *value)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/limits", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, strlen(name))) {
			assert_non_null(strstr(line, value));
			return;
		}
	}
	fail_msg("no %s", name);
}

static int count_files(pid_t pid)
{
	_cleanup_closedir_ DIR *directory = NULL;
	char path[64];
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = opendir(path);
	assert_non_null(directory);
	for (struct dirent *entry; (entry = readdir(directory));)
		count += entry->d_name[0] != '.';
	return count;
}

static void the_parser_has_no_rights(void **state)
{
	struct worker *worker = new_worker(0);
	int fd = open_fixture(1), noise = dup(fd); /* not for close-on-exec */
	pid_t pid;

	(void)state;
	assert_names(worker, fd);
	pid = worker_pid(worker, WORKER_LANE_AWAITED);
	assert_status(pid, "CapInh", "0000000000000000");
	assert_status(pid, "CapPrm", "0000000000000000");
	assert_status(pid, "CapEff", "0000000000000000");
	assert_status(pid, "CapAmb", "0000000000000000");
	assert_status(pid, "NoNewPrivs", "1");
	assert_status(pid, "Seccomp", "2");
	assert_status(pid, "Name", "leakmon-parser");
	assert_limit(pid, "Max file size ", " 0 ");
	assert_limit(pid, "Max open files ", " 128 ");
	assert_limit(pid, "Max core file size ", " 0 ");
	if (!SANDBOX_SANITIZED)
		assert_limit(pid, "Max address space ", " 1073741824 ");
	if (geteuid() == 0) {
		assert_status(pid, "CapBnd", "0000000000000000");
		assert_status(pid, "Uid", "65534\t65534\t65534\t65534");
		assert_status(pid, "Gid", "65534\t65534\t65534\t65534");
		assert_status(pid, "Groups", " ");
		/* Standard ones to nowhere, and its socket. */
		assert_int_equal(count_files(pid), 4);
	}
	close(fd);
	close(noise);
	worker_free(worker);
}

static void the_parser_ends_with_the_monitor(void **state)
{
	int ends[2];
	pid_t monitor, parser = 0;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	monitor = fork();
	if (monitor == 0) {
		struct worker *worker = new_worker(0);

		assert_names(worker, open_fixture(1));
		parser = worker_pid(worker, WORKER_LANE_AWAITED);
		/* A stopped process does not notice even the end of its socket. */
		kill(parser, SIGSTOP);
		_exit(write(ends[1], &parser, sizeof(parser)) != sizeof(parser));
	}
	assert_int_equal(read(ends[0], &parser, sizeof(parser)), sizeof(parser));
	assert_int_equal(waitpid(monitor, NULL, 0), monitor);
	for (int turn = 0; turn < 500; turn++) {
		char path[64], status[512] = "";
		_cleanup_close_ int fd = -1;

		snprintf(path, sizeof(path), "/proc/%d/stat", parser);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, status, sizeof(status) - 1) < 0 || strstr(status, ") Z "))
			break;
		assert_int_not_equal(turn, 499);
		poll(NULL, 0, 10);
	}
	close(ends[0]);
	close(ends[1]);
}

/* As many files and requests as in a long run. */
static void a_thousand_files_leave_no_descriptor_behind(void **state)
{
	struct worker *worker = new_worker(0);
	int before = -1, fd;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		fd = open_fixture(i);
		assert_names(worker, fd);
		close(fd);
		if (i == 0 && geteuid() == 0)
			before = count_files(worker_pid(worker, WORKER_LANE_AWAITED));
	}
	if (geteuid() == 0)
		assert_int_equal(count_files(worker_pid(worker, WORKER_LANE_AWAITED)), before);
	worker_free(worker);
}

static void without_a_descriptor_to_spare_the_file_is_not_blamed(void **state)
{
	struct worker *worker = new_worker(0);
	struct image image;

	(void)state;
	assert_int_equal(parse_image(worker, -1, &image), -EBADF);
	assert_int_equal(worker_pid(worker, WORKER_LANE_AWAITED), 0);
	worker_free(worker);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sandbox_reads_what_this_process_reads),
		cmocka_unit_test(the_parser_of_plans_is_replaced_on_request),
		cmocka_unit_test(a_prefix_that_no_request_holds_is_refused),
		cmocka_unit_test(lines_are_found_also_after_a_release),
		cmocka_unit_test(lines_need_not_be_waited_for),
		cmocka_unit_test(a_file_that_hangs_the_parser_costs_that_file),
		cmocka_unit_test(many_files_that_hang_cost_less_and_less),
		cmocka_unit_test(all_files_of_a_process_that_hang_have_an_end),
		cmocka_unit_test(a_file_that_crashes_the_parser_costs_that_file),
		cmocka_unit_test(a_parser_that_dies_between_two_files_costs_none),
		cmocka_unit_test(signals_for_the_monitor_do_not_end_the_parser),
		cmocka_unit_test(a_file_that_is_not_elf_is_reported_as_such),
		cmocka_unit_test(the_parser_has_no_rights),
		cmocka_unit_test(the_parser_ends_with_the_monitor),
		cmocka_unit_test(a_thousand_files_leave_no_descriptor_behind),
		cmocka_unit_test(without_a_descriptor_to_spare_the_file_is_not_blamed),
	};

	worker_process_enter(argc, argv, &parse_kinds);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
