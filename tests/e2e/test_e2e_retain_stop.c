// SPDX-License-Identifier: GPL-2.0-or-later
/* A process stopped by `leakmon retain` resumes unaffected, whatever happens to leakmon itself. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "retain_json.h"

/* Stops per kind of filter; LEAKMON_STOPS overrides it. */
#define STOPS 8
#define KILLS 20

static char state_of(pid_t pid)
{
	char path[64], line[512];
	const char *name_end;
	FILE *file;
	size_t got;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	got = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[got] = '\0';
	name_end = strrchr(line, ')');
	assert_non_null(name_end);
	return name_end[2];
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* False: not within that time. */
static bool comes_to(pid_t pid, const char *states, bool wanted, uint64_t limit_ms)
{
	uint64_t begin = now_ms();

	do {
		if ((strchr(states, state_of(pid)) != NULL) == wanted)
			return true;
		usleep(200);
	} while (now_ms() - begin < limit_ms);
	return false;
}

static void expect_undisturbed(struct child *target, json_t *truth)
{
	json_t *interrupted = json_object_get(truth, "interrupted"), *call;
	size_t i, wrong = 0;

	json_array_foreach(json_object_get(truth, "calls"), i, call)
	{
		json_int_t error = number_at(call, "error");

		/* Calls unsupported by the kernel, or forbidden in a container. */
		if (!number_at(call, "returns") ||
		    (number_at(call, "returns") == 1 && (error == ENOSYS || error == EINVAL)))
			continue;
		print_error("%s returned %lld times, first with error %lld\n",
			    text_at(call, "kind"), (long long)number_at(call, "returns"),
			    (long long)error);
		wrong++;
	}
	if (wrong)
		child_fail(target, "%zu kinds of call were disturbed", wrong);
	assert_int_equal(i, 52);
	assert_int_equal(number_at(interrupted, "others"), 0);
	assert_int_equal(number_at(interrupted, "failed"), number_at(interrupted, "handled"));
}

/* Its handler still runs, and its call still fails with EINTR. */
static void expect_interruptions(struct harness *harness, struct child *target)
{
	json_int_t before = number_at(
		json_object_get(workload_ask(harness, target, "truth"), "interrupted"), "failed");
	json_int_t after = before;

	for (int i = 0; i < 1000 && after < before + 10; i++) {
		wait_ms(1);
		after = number_at(
			json_object_get(workload_ask(harness, target, "truth"), "interrupted"),
			"failed");
	}
	assert_true(after >= before + 10);
}

static void stop_often(struct harness *harness, struct child *target, size_t stops)
{
	char count[24], *line;
	struct child *monitor;
	json_t *report;

	snprintf(count, sizeof(count), "%zu", stops);
	monitor = MONITOR(harness, "retain", "-p", target->pid_text, "--census", "--format", "json",
			  "0.001", count);
	for (size_t i = 0; i < stops; i++) {
		line = child_line(harness, monitor, &monitor->out);
		report = json_loads(line, 0, NULL);
		free(line);
		assert_non_null(report);
		if (!json_is_true(json_object_get(json_object_get(report, "picture"), "stopped")))
			print_message(
				"run %zu: %s\n", i,
				text_at(json_object_get(report, "picture"), "why_not_stopped"));
		json_decref(report);
	}
	assert_int_equal(child_end(harness, monitor), 0);
}

static void no_call_is_disturbed(void **state)
{
	static const char *const filters[] = {"none", "lenient", "errno", "strict"};
	struct harness *harness = harness_any(state);
	const char *given = getenv("LEAKMON_STOPS");
	size_t stops = given ? strtoul(given, NULL, 10) : STOPS;

	for (size_t i = 0; i < 4; i++) {
		struct child *target = WORKLOAD(harness, "waiter", filters[i]);

		workload_do(harness, target, "start");
		workload_do(harness, target, "more");
		stop_often(harness, target, stops);
		expect_undisturbed(target, workload_ask(harness, target, "truth"));
		expect_interruptions(harness, target);
		workload_send(target, "quit");
		assert_int_equal(child_end(harness, target), 0);
	}
}

/*
 * One second stays one second, however often the sleeper is stopped; except under a filter without
 * restart_syscall(2), where it starts over.
 */
static void a_time_limit_is_kept(void **state)
{
	static const struct {
		const char *filter;
		bool kept;
	} cases[] = {{"none", true}, {"lenient", true}, {"strict", false}};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < 3; i++) {
		struct child *target = WORKLOAD(harness, "waiter", cases[i].filter), *monitor;
		json_t *slept;

		monitor = MONITOR(harness, "retain", "-p", target->pid_text, "--census", "--format",
				  "json", "0.1", "20");
		free(child_line(harness, monitor, &monitor->out));
		slept = workload_ask(harness, target, "sleep");
		assert_int_equal(number_at(slept, "error"), 0);
		assert_true(number_at(slept, "ms") >= 1000);
		/* All twenty take two seconds at least. */
		assert_int_equal(state_of(monitor->pid) != 'Z' && number_at(slept, "ms") < 1900,
				 cases[i].kept);
		assert_int_equal(child_end(harness, monitor), 0);
		workload_send(target, "quit");
		assert_int_equal(child_end(harness, target), 0);
	}
}

/* The other threads would be stopped in vain. */
static void a_process_that_cannot_be_stopped_is_not_stopped(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "waiter");
	json_t *report, *picture;

	workload_do(harness, target, "start");
	workload_do(harness, target, "vfork");
	for (int i = 0; i < 3; i++) {
		report = RETAIN(harness, target);
		picture = json_object_get(report, "picture");
		/* Nor does the thread advance: its registers stay unknown. */
		assert_false(json_is_true(json_object_get(report, "settled")));
		assert_false(json_is_true(json_object_get(picture, "stopped")));
		assert_non_null(strstr(text_at(picture, "why_not_stopped"), "uninterruptible"));
		assert_int_equal(number_at(picture, "pause_ns"), 0);
	}
	expect_undisturbed(target, workload_ask(harness, target, "truth"));
	workload_send(target, "quit");
	assert_int_equal(child_end(harness, target), 0);
}

/* Takes the one CPU, and gives it away for 50 of 400 ms. */
static pid_t hog_start(size_t cpu)
{
	const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};
	cpu_set_t one;
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || sched_setscheduler(0, SCHED_RR, &lowest))
		_exit(1);
	for (;;) {
		for (uint64_t begin = now_ms(); now_ms() - begin < 350;)
			;
		wait_ms(50);
	}
}

/*
 * Reserves the first CPU for the target, the others for us and leakmon. Returns false if there is
 * only one.
 */
static bool part(const struct child *target, const cpu_set_t *all, size_t *cpu)
{
	cpu_set_t others = *all, one;

	for (*cpu = 0; !CPU_ISSET(*cpu, all);)
		++*cpu;
	CPU_ZERO(&one);
	CPU_SET(*cpu, &one);
	CPU_CLR(*cpu, &others);
	return CPU_COUNT(&others) && !sched_setaffinity(target->pid, sizeof(one), &one) &&
	       !sched_setaffinity(0, sizeof(others), &others);
}

/* Its threads stop long after leakmon has given up: their calls are restored nevertheless. */
static void no_call_is_disturbed_by_a_stop_that_fails_for_want_of_cpu_time(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "waiter");
	size_t failed = 0, cpu;
	cpu_set_t all;
	pid_t hog;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	if (!part(target, &all, &cpu)) {
		print_message("SKIP: it takes two CPUs\n");
		skip();
	}
	workload_do(harness, target, "start");
	hog = hog_start(cpu);
	for (int i = 0; i < 30 && failed < 3; i++) {
		json_t *picture =
			json_object_get(RETAIN(harness, target, "--max-pause", "10"), "picture");

		failed += strstr(text_at(picture, "why_not_stopped"), "--max-pause") != NULL;
	}
	kill(hog, SIGKILL);
	assert_int_equal(waitpid(hog, NULL, 0), hog);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(failed, 3);
	expect_undisturbed(target, workload_ask(harness, target, "truth"));
	workload_send(target, "quit");
	assert_int_equal(child_end(harness, target), 0);
}

/* Starts a process that is stopped for some tens of milliseconds. */
static struct child *large_target(struct harness *harness)
{
	struct child *target = WORKLOAD(harness, "holder", "300000", "3");

	workload_do(harness, target, "go");
	return target;
}

/* leakmon does not yield its processor meanwhile: observers need a higher priority. */
static void go_first(void)
{
	const struct sched_param above = {.sched_priority = sched_get_priority_min(SCHED_RR) + 2};

	if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &above))
		print_message("no real-time priority: a pause may be missed\n");
}

static struct child *monitor_in_pause(struct harness *harness, const struct child *target)
{
	struct child *monitor = MONITOR(harness, "retain", "-p", target->pid_text, "--census",
					"--format", "json", "--max-pause", "10000");

	if (!comes_to(target->pid, "t", true, 10000))
		child_fail(monitor, "the target was not stopped");
	return monitor;
}

/* Otherwise nothing could end it before leakmon. */
static void expect_let_go(const struct child *target, const struct child *monitor)
{
	if (comes_to(target->pid, "t", false, 5000))
		return;
	child_signal(monitor, SIGKILL);
	child_fail(monitor, "PID %s still stands", target->pid_text);
}

/*
 * Kills it while threads come to their stop, and while they are stopped: calls are restored without
 * it.
 */
static void no_call_is_disturbed_by_a_kill(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "waiter");

	workload_do(harness, target, "start");
	workload_do(harness, target, "more");
	go_first();
	for (size_t i = 0; i < KILLS; i++) {
		struct child *monitor = MONITOR(harness, "retain", "-p", target->pid_text,
						"--census", "--format", "json", "0.001");

		/* The main thread is the first one. */
		if (!comes_to(target->pid, "t", true, 10000))
			child_fail(monitor, "the target was not stopped");
		usleep((useconds_t)i % 5 * 100);
		child_signal(monitor, SIGKILL);
		child_end(harness, monitor);
		assert_true(comes_to(target->pid, "t", false, 5000));
	}
	expect_undisturbed(target, workload_ask(harness, target, "truth"));
	expect_interruptions(harness, target);
	workload_send(target, "quit");
	assert_int_equal(child_end(harness, target), 0);
}

/* It stops at once, and the process continues; leakmon continues at SIGCONT, without that stop. */
static void stopped_itself_it_holds_nothing(void **state)
{
	static const int signals[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP};
	struct harness *harness = harness_any(state);
	struct child *target = large_target(harness);

	go_first();
	for (size_t i = 0; i < 8; i++) {
		struct child *monitor = monitor_in_pause(harness, target);
		json_t *picture;

		child_signal(monitor, signals[i % 4]);
		expect_let_go(target, monitor);
		assert_true(comes_to(monitor->pid, "T", true, 5000));
		wait_ms(30);
		assert_int_equal(state_of(monitor->pid), 'T');
		assert_int_not_equal(state_of(target->pid), 't');
		child_signal(monitor, SIGCONT);
		assert_int_equal(child_end(harness, monitor), 0);
		picture = json_object_get(monitor_report(harness, monitor), "picture");
		assert_true(json_is_false(json_object_get(picture, "stopped")));
		assert_string_equal(text_at(picture, "why_not_stopped"),
				    "leakmon was stopped (Ctrl-Z, SIGSTOP) during the pause");
	}
	workload_ask(harness, target, "truth");
}

/* Signals end it soon, even in a pause. */
static void ended_in_a_pause_it_holds_nothing(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGKILL};
	struct harness *harness = harness_any(state);
	struct child *target = large_target(harness);

	go_first();
	for (size_t i = 0; i < 4; i++) {
		struct child *monitor = monitor_in_pause(harness, target);

		child_signal(monitor, signals[i]);
		expect_let_go(target, monitor);
		child_end(harness, monitor);
		wait_ms(10);
		assert_int_not_equal(state_of(target->pid), 't');
	}
}

static void fill_stderr(void)
{
	static const char bytes[4096];
	int ends[2], flags;

	if (pipe(ends))
		_exit(126);
	flags = fcntl(ends[1], F_GETFL);
	fcntl(ends[1], F_SETFL, flags | O_NONBLOCK);
	while (write(ends[1], bytes, sizeof(bytes)) > 0)
		;
	fcntl(ends[1], F_SETFL, flags);
	/* The read end stays open, without a reader. */
	fcntl(ends[0], F_SETFD, 0);
	dup2(ends[1], STDERR_FILENO);
}

/* As with an idle pager. */
static void an_unread_output_holds_nothing_up(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = large_target(harness), *monitor;

	go_first();
	monitor = monitor_start(harness,
				ARGUMENTS("leakmon", "retain", "-v", "-p", target->pid_text,
					  "--census", "--max-pause", "10000"),
				fill_stderr);
	assert_true(comes_to(target->pid, "t", true, 10000));
	expect_let_go(target, monitor);
	/* It waits for its reader, and the process runs. */
	assert_true(comes_to(monitor->pid, "S", true, 5000));
	wait_ms(100);
	assert_int_not_equal(state_of(target->pid), 't');
	assert_int_equal(kill(monitor->pid, 0), 0);
	child_signal(monitor, SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(no_call_is_disturbed),
		e2e_test(a_time_limit_is_kept),
		e2e_test(a_process_that_cannot_be_stopped_is_not_stopped),
		e2e_test(no_call_is_disturbed_by_a_stop_that_fails_for_want_of_cpu_time),
		e2e_test(no_call_is_disturbed_by_a_kill),
		e2e_test(stopped_itself_it_holds_nothing),
		e2e_test(ended_in_a_pause_it_holds_nothing),
		e2e_test(an_unread_output_holds_nothing_up),
	};

	return cmocka_run_group_tests_name("e2e_retain_stop", tests, NULL, NULL);
}
