// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon retain` on third-party programs. */
#include "losing.h"
#include "retain_json.h"

#include <limits.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

static bool is_lost_here(json_t *class)
{
	json_t *frames = json_object_get(json_object_get(class, "site"), "frames");

	return !strcmp(text_at(json_array_get(frames, 0), "function"), "lose");
}

/*
 * Programs reuse memory without clearing it: all lost blocks are known by call stack, nearly all of
 * them are unreachable (stale words hide the rest), and nothing else is, except blocks lost before.
 */
static void expect_lost(json_t *report, const struct losing *losing, json_int_t before)
{
	json_int_t blocks = 0, unreachable = 0;
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!is_lost_here(class))
			continue;
		blocks += number_at(class, "count");
		unreachable += number_at(json_object_get(class, "unreachable"), "blocks");
	}
	assert_true(blocks > 50);
	assert_int_equal(before + blocks, lost_blocks(losing));
	assert_true(unreachable * 5 >= blocks * 4);
	assert_in_range(total_at(report, "unreachable", "blocks"), unreachable,
			unreachable + before);
}

static struct child *start_losing(struct harness *harness, const struct losing *losing,
				  const char *const *argv)
{
	const char *all[16] = {"env", losing->preload, losing->file};

	for (size_t i = 0; argv[i]; i++)
		all[i + 3] = argv[i];
	return child_start(harness, "/usr/bin/env", all, NULL);
}

static void a_leak_injected_into_sqlite_is_known_with_its_exact_count(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct losing losing = losing_in(harness);
	struct child *target = start_losing(harness, &losing, ARGUMENTS("sqlite3", ":memory:"));
	struct child *monitor;

	dprintf(target->in, ".print here\n");
	child_wait_text(harness, target, &target->out, "here");
	monitor = MONITOR_ATTACHED(harness, "retain", "-p", target->pid_text, "--format", "json",
				   "3600", "1");
	dprintf(target->in, "create table t(a, b);\n");
	for (int i = 0; i < 5000; i++)
		dprintf(target->in, "insert into t values(%d, 'some text %d');\n", i, i);
	dprintf(target->in, ".print done\n");
	child_wait_text(harness, target, &target->out, "done");
	child_signal(monitor, SIGUSR1);
	expect_lost(report_of(harness, monitor), &losing, 0);
}

/* Its arenas contain no blocks of malloc; its own objects lead to the blocks that they hold, from
 * the variable that keeps them. */
static void a_leak_injected_into_python_is_found_and_a_variable_holds_the_rest(void **state)
{
	static const char script[] = "import sys\n"
				     "keep = []\n"
				     "for line in sys.stdin:\n"
				     "    for i in range(int(line)):\n"
				     "        keep.append('x' * (600 + i % 50))\n"
				     "    print('done', line, flush=True)\n";
	struct harness *harness = harness_bpf(state);
	struct losing losing = losing_in(harness);
	struct child *target, *monitor;
	json_int_t before;
	json_t *report;

	target = start_losing(harness, &losing, ARGUMENTS("/usr/bin/python3", "-c", script));
	dprintf(target->in, "7\n");
	child_wait_text(harness, target, &target->out, "done 7");
	before = (json_int_t)lost_blocks(&losing);
	monitor = MONITOR_ATTACHED(harness, "retain", "-p", target->pid_text, "--format", "json",
				   "3600", "1");
	dprintf(target->in, "60000\n");
	child_wait_text(harness, target, &target->out, "done 60000");
	child_signal(monitor, SIGUSR1);
	report = report_of(harness, monitor);
	expect_lost(report, &losing, before);
	assert_string_equal(first_root(report), "module __main__ → keep");
	assert_true(total_at(report, "held", "bytes") + total_at(report, "through", "bytes") >=
		    total_at(report, "untracked", "bytes"));
}

static void request(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[512];

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(dprintf(fd, "GET / HTTP/1.0\r\n\r\n"), 18);
	while (read(fd, answer, sizeof(answer)) > 0)
		;
	close(fd);
}

/* Unpacked, for its package would start a daemon. */
static void find_nginx(char *path)
{
	const char *root = getenv("LEAKMON_CONSUMERS");
	char program[PATH_MAX];

	snprintf(program, sizeof(program), "%s/usr/sbin/nginx",
		 root && *root ? root : "build/consumers");
	if (realpath(program, path))
		return;
	fprintf(stderr, "SKIPPED, nothing was tested: %s is not there (scripts/consumers.sh)\n",
		program);
	skip();
}

static struct child *start_nginx(struct harness *harness, const struct losing *losing,
				 const char *socket)
{
	const char *at = harness->directory;
	struct child *nginx;
	char path[64], program[PATH_MAX];
	FILE *file;

	find_nginx(program);
	snprintf(path, sizeof(path), "%s/nginx.conf", at);
	file = fopen(path, "we");
	assert_non_null(file);
	fprintf(file,
		"daemon off; master_process off; pid %s/pid; error_log stderr;\n"
		"events { }\n"
		"http { access_log off; client_body_temp_path %s/b; proxy_temp_path %s/p;\n"
		"fastcgi_temp_path %s/f; uwsgi_temp_path %s/u; scgi_temp_path %s/s;\n"
		"server { listen unix:%s; location / { return 200 \"hello\"; } } }\n",
		at, at, at, at, at, at, socket);
	fclose(file);
	nginx = MONITOR(harness, "retain", "--format", "json", "3600", "1", "--", "env",
			losing->preload, losing->file, program, "-e", "stderr", "-c", path);
	for (int tries = 0; access(socket, F_OK); tries++) {
		if (tries > 2400)
			child_fail(nginx, "nginx did not start");
		wait_ms(20);
	}
	return nginx;
}

static void a_leak_injected_into_nginx_is_found_and_its_cycle_holds_the_rest(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct losing losing = losing_in(harness);
	struct child *monitor;
	json_t *report;
	char socket[64];

	snprintf(socket, sizeof(socket), "%s/socket", harness->directory);
	monitor = start_nginx(harness, &losing, socket);
	for (int i = 0; i < 60000; i++)
		request(socket);
	child_signal(monitor, SIGUSR1);
	report = monitor_report(harness, monitor);
	expect_lost(report, &losing, 0);
	assert_string_equal(first_root(report), "ngx_cycle");
}

/* A server with jemalloc, known only from leakmon's tracking. */
struct redis {
	struct harness *harness;
	char server[64], socket[64];
};

#define REDIS_KEYS "100000"

/* Returns the output of redis-cli. */
static const char *redis_do(struct redis *redis, const char *const *command)
{
	const char *argv[12] = {"redis-cli", "-s", redis->socket};
	struct child *child;
	int code;

	for (size_t i = 0; command[i]; i++)
		argv[i + 3] = command[i];
	child = child_start(redis->harness, "/usr/bin/redis-cli", argv, NULL);
	code = child_end(redis->harness, child);
	if (code)
		child_fail(child, "redis-cli ended with %d", code);
	return child->out.text ? child->out.text : "";
}

static void redis_wait(struct redis *redis, struct child *server)
{
	for (int tries = 0; access(redis->socket, F_OK); tries++) {
		if (tries > 2400)
			child_fail(server, "redis-server did not start");
		wait_ms(20);
	}
	redis_do(redis, ARGUMENTS("ping"));
}

/* redis-tools carries the server: it chooses by its name. */
static struct redis redis_in(struct harness *harness)
{
	struct redis redis = {.harness = harness};
	char program[PATH_MAX];

	if (!realpath("/usr/bin/redis-check-rdb", program))
		fail_msg("redis-server is not there: run scripts/deps.sh");
	snprintf(redis.server, sizeof(redis.server), "%s/redis-server", harness->directory);
	assert_int_equal(symlink(program, redis.server), 0);
	snprintf(redis.socket, sizeof(redis.socket), "%s/socket", harness->directory);
	return redis;
}

#define REDIS_ARGUMENTS(redis)                                                                     \
	(redis)->server, "--port", "0", "--unixsocket", (redis)->socket, "--save", "", "--dir",    \
		(redis)->harness->directory, "--logfile", "log", "--enable-debug-command", "yes"

/* At least 99 of 100 blocks are held, most of them by the server's own variable. */
static void expect_server(json_t *report)
{
	json_t *root = json_array_get(json_object_get(report, "roots"), 0);
	json_int_t blocks = number_at(json_object_get(report, "heap"), "blocks");

	assert_true(blocks >= 300000);
	assert_true(total_at(report, "held", "blocks") * 100 >= blocks * 99);
	assert_string_equal(text_at(root, "name"), "server");
	assert_string_equal(text_at(root, "kind"), "global");
	assert_false(json_is_true(json_object_get(root, "through_untracked")));
	assert_true(number_at(root, "led_blocks") * 100 >= blocks * 90);
}

static void redis_from_its_start_is_known_to_the_block_and_what_it_lost_too(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct losing losing = losing_in(harness);
	struct redis redis = redis_in(harness);
	struct child *monitor;
	json_t *report;

	monitor = MONITOR(harness, "retain", "--format", "json", "3600", "1", "--", "env",
			  losing.preload, losing.file, REDIS_ARGUMENTS(&redis));
	redis_wait(&redis, monitor);
	redis_do(&redis, ARGUMENTS("debug", "populate", REDIS_KEYS, "key", "24"));
	child_signal(monitor, SIGUSR1);
	child_wait_text(harness, monitor, &monitor->out, "}\n");
	redis_do(&redis, ARGUMENTS("shutdown", "nosave"));
	report = report_of(harness, monitor);
	expect_server(report);
	expect_lost(report, &losing, 0);
}

/* redis moves its environment to the heap; a large one would add blocks to those of `server`. */
static void forget_environment(void)
{
	static char *none[] = {NULL};

	environ = none;
}

static json_t *report_after_keys(struct redis *redis, struct child *server, const char *prefix)
{
	struct child *monitor = MONITOR_ATTACHED(redis->harness, "retain", "-p", server->pid_text,
						 "--format", "json", "3600", "1");

	redis_do(redis, ARGUMENTS("debug", "populate", REDIS_KEYS, prefix, "24"));
	child_signal(monitor, SIGUSR1);
	return report_of(redis->harness, monitor);
}

/* Its tables and the memory that leads to them predate the attach: jemalloc's records have them. */
static void redis_that_ran_before_is_held_by_its_root_to_the_block(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct redis redis = redis_in(harness);
	struct child *server = child_start(harness, redis.server,
					   ARGUMENTS(REDIS_ARGUMENTS(&redis)), forget_environment);
	json_t *report;

	redis_wait(&redis, server);
	redis_do(&redis, ARGUMENTS("debug", "populate", "1000", "old", "24"));
	report = report_after_keys(&redis, server, "key");
	/* Stopped in its clock's work, it had a word of old on its stack. */
	if (!strcmp(text_at(json_array_get(json_object_get(report, "roots"), 0), "kind"), "stack"))
		report = report_after_keys(&redis, server, "more");
	expect_server(report);
	assert_string_equal(text_at(json_object_get(report, "heap"), "allocator"),
			    "jemalloc 5.3.0");
	assert_int_equal(total_at(report, "unreachable", "blocks"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_leak_injected_into_sqlite_is_known_with_its_exact_count),
		e2e_test(a_leak_injected_into_python_is_found_and_a_variable_holds_the_rest),
		e2e_test(a_leak_injected_into_nginx_is_found_and_its_cycle_holds_the_rest),
		e2e_test(redis_from_its_start_is_known_to_the_block_and_what_it_lost_too),
		e2e_test(redis_that_ran_before_is_held_by_its_root_to_the_block),
	};

	return cmocka_run_group_tests_name("e2e_retain_programs", tests, NULL, NULL);
}
