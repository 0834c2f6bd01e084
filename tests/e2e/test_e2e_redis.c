// SPDX-License-Identifier: GPL-2.0-or-later
/* redis-server with its jemalloc, as Debian ships it, from its first allocation on. */
#include "harness.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "../truth/counts.h"

struct redis {
	struct harness *harness;
	struct child *monitor; /* it started the server */
	const volatile struct counts *counts;
	char socket[64];
};

/* redis-tools carries the server: it chooses by its name. */
static void link_server(struct harness *harness, char *path, size_t size)
{
	char program[PATH_MAX];

	if (!realpath("/usr/bin/redis-check-rdb", program))
		fail_msg("redis-server is not there: run scripts/deps.sh");
	snprintf(path, size, "%s/redis-server", harness->directory);
	assert_int_equal(symlink(program, path), 0);
}

static struct child *run(struct harness *harness, const char *path, const char *const *argv)
{
	struct child *child = child_start(harness, path, argv, NULL);
	int code = child_end(harness, child);

	if (code)
		child_fail(child, "%s ended with %d", path, code);
	return child;
}

#define CLI(redis, ...)                                                                            \
	run((redis)->harness, "/usr/bin/redis-cli",                                                \
	    ARGUMENTS("redis-cli", "-s", (redis)->socket, __VA_ARGS__))

static void wait_for_server(struct redis *redis)
{
	const struct timespec pause = {.tv_nsec = 50000000};

	for (int tries = 0; tries < 2400; tries++) {
		if (!access(redis->socket, F_OK)) {
			CLI(redis, "ping");
			return;
		}
		nanosleep(&pause, NULL);
	}
	child_fail(redis->monitor, "redis-server did not start");
}

static char preload[PATH_MAX + 32], counts_file[64]; /* for the child that is started next */

static void set_preload(void)
{
	setenv("LD_PRELOAD", preload, 1);
	setenv(COUNTS_VARIABLE, counts_file, 1);
	setenv(COUNTS_PROGRAM_VARIABLE, "redis-server", 1);
}

/* leakmon starts the server, below a library that counts the same calls. */
static void redis_start(struct redis *redis, struct harness *harness)
{
	const char *directory = getenv("LEAKMON_TRUTH");
	char server[64], library[PATH_MAX];
	int fd;

	redis->harness = harness;
	link_server(harness, server, sizeof(server));
	assert_non_null(realpath(directory ? directory : "build/truth", library));
	snprintf(preload, sizeof(preload), "%s/counting_preload.so", library);
	snprintf(counts_file, sizeof(counts_file), "%s/counts", harness->directory);
	snprintf(redis->socket, sizeof(redis->socket), "%s/socket", harness->directory);
	redis->monitor = monitor_start(harness,
				       ARGUMENTS("leakmon", "-o", "0", "--format", "json", "3600",
						 "--", server, "--port", "0", "--unixsocket",
						 redis->socket, "--save", "", "--hz", "1", "--dir",
						 harness->directory, "--logfile", "log"),
				       set_preload);
	wait_for_server(redis);
	fd = open(counts_file, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	redis->counts = mmap(NULL, sizeof(*redis->counts), PROT_READ, MAP_SHARED, fd, 0);
	assert_true(redis->counts != MAP_FAILED);
	close(fd);
}

static void benchmark(struct redis *redis)
{
	run(redis->harness, "/usr/bin/redis-benchmark",
	    ARGUMENTS("redis-benchmark", "-s", redis->socket, "-n", "10000", "-r", "50000", "-t",
		      "set,get,lpush", "-q"));
}

/* Returns a number from INFO. */
static json_int_t info(struct redis *redis, const char *section, const char *name)
{
	struct child *cli = CLI(redis, "info", section);
	const char *line = cli->out.text ? strstr(cli->out.text, name) : NULL;

	assert_non_null(line);
	return atoll(line + strlen(name));
}

static json_int_t used_memory(struct redis *redis)
{
	return info(redis, "memory", "used_memory:");
}

static bool waits_for_events(pid_t pid)
{
	char path[64];
	long call = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fscanf(file, "%ld", &call) != 1)
		call = -1;
	fclose(file);
	return call == SYS_epoll_wait || call == SYS_epoll_pwait;
}

/* Its own timer wakes it every second: it is stopped where it waits, inside no allocation. */
static void stop_idle(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = 20000000};

	for (int tries = 0; tries < 5000; tries++) {
		assert_int_equal(kill(pid, SIGSTOP), 0);
		nanosleep(&pause, NULL);
		if (waits_for_events(pid))
			return;
		kill(pid, SIGCONT);
		nanosleep(&pause, NULL);
	}
	fail_msg("redis-server is never idle");
}

/* A report during which nothing happened, with the counts that belong to it. */
static json_t *quiet_report(struct redis *redis, struct counts *counts)
{
	pid_t pid = (pid_t)info(redis, "server", "process_id:");
	json_t *report;

	stop_idle(pid);
	*counts = *redis->counts;
	child_signal(redis->monitor, SIGUSR1);
	report = monitor_report(redis->harness, redis->monitor);
	assert_memory_equal(counts, (const void *)redis->counts, sizeof(*counts));
	kill(pid, SIGCONT);
	return report;
}

static void expect_same_counts(json_t *report, const struct counts *counts)
{
	json_t *process = json_array_get(json_object_get(report, "processes"), 0);

	assert_int_equal(counts->lost, 0);
	assert_int_equal(dropped_sum(report), 0);
	assert_int_equal(ledger_at(report, "untracked_frees"), 0);
	assert_int_equal(ledger_at(report, "allocations"), counts->allocations);
	assert_int_equal(ledger_at(report, "frees"), counts->frees);
	assert_int_equal(ledger_at(report, "outstanding"), counts->allocations - counts->frees);
	assert_int_equal(ledger_at(report, "outstanding_bytes"), counts->bytes);
	assert_int_equal(number_at(process, "outstanding_bytes"), counts->bytes);
	if (!json_is_true(json_object_get(process, "exact")))
		fail_msg("%s", json_dumps(json_object_get(process, "inexact"), 0));
	expect_balance(report);
}

static void redis_holds_exactly_what_a_counting_library_counts(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct redis redis = {0};
	struct counts first, last;
	json_int_t used_first, used_last, rounding;
	json_t *report;

	redis_start(&redis, harness);
	used_first = used_memory(&redis);
	report = quiet_report(&redis, &first);
	expect_same_counts(report, &first);
	benchmark(&redis);
	used_last = used_memory(&redis);
	report = quiet_report(&redis, &last);
	expect_same_counts(report, &last);
	assert_true(last.allocations - first.allocations > 50000);
	/* redis counts the allocator's rounded sizes of its own blocks; its libraries hold a few
	 * further blocks that do not change. So the growth is the same, except for the needs of the
	 * commands in between. */
	rounding = (json_int_t)(last.usable - last.bytes);
	print_message("  %lld bytes in %lld blocks; rounded by the allocator %lld bytes more; "
		      "used_memory grew by %lld, the rounded blocks by %lld\n",
		      (long long)last.bytes, (long long)(last.allocations - last.frees),
		      (long long)rounding, (long long)(used_last - used_first),
		      (long long)(last.usable - first.usable));
	assert_in_range(llabs((used_last - used_first) - (json_int_t)(last.usable - first.usable)),
			0, 65536);
	/* jemalloc's size classes are at most a quarter apart, and the least is 8 bytes. */
	assert_in_range(rounding, 0,
			(json_int_t)last.bytes / 4 +
				8 * (json_int_t)(last.allocations - last.frees));
	CLI(&redis, "shutdown", "nosave");
	assert_int_equal(child_end(harness, redis.monitor), 0);
	munmap((void *)redis.counts, sizeof(*redis.counts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(redis_holds_exactly_what_a_counting_library_counts),
	};

	return cmocka_run_group_tests_name("e2e_redis", tests, NULL, NULL);
}
