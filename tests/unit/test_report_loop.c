// SPDX-License-Identifier: GPL-2.0-or-later
/* The loop of every command: which reports come, and in which order. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/monitor/report_loop.h"
#include "base/interrupt.h"

/* A report that answers each cause with a signal, an error, or the end of the watched processes. */
struct script {
	int raise_at_first, error_at_first;
	bool done_after_first;
	char causes[16]; /* I, A and L: requests of the loop */
};

static int take(void *context, enum report_cause cause)
{
	struct script *script = context;
	size_t count = strlen(script->causes);

	assert_true(count + 1 < sizeof(script->causes));
	script->causes[count] = "IAL"[cause];
	if (count)
		return 0;
	if (script->raise_at_first)
		raise(script->raise_at_first);
	return script->error_at_first;
}

static bool is_done(void *context)
{
	const struct script *script = context;

	return script->done_after_first && *script->causes;
}

static int run(struct script *script, uint64_t count)
{
	const struct schedule schedule = {.interval_ns = 1000000, .count = count};
	const struct run_hooks hooks = {.context = script, .report = take, .is_done = is_done};
	struct report_loop loop = REPORT_LOOP_CLOSED;
	int error;

	assert_int_equal(report_loop_open(&loop, &schedule, false), 0);
	error = report_loop_run(&loop, &hooks);
	report_loop_close(&loop);
	return error;
}

static void count_ends_with_the_last_report(void **state)
{
	struct script one = {0}, three = {0};

	(void)state;
	assert_int_equal(run(&one, 1), 0);
	assert_string_equal(one.causes, "L");
	assert_int_equal(run(&three, 3), 0);
	assert_string_equal(three.causes, "IIL");
}

static void a_report_asked_for_is_not_counted(void **state)
{
	struct script script = {.raise_at_first = SIGUSR1};

	(void)state;
	assert_int_equal(run(&script, 3), 0);
	assert_string_equal(script.causes, "IAIL");
}

static void a_signal_to_end_brings_the_last_report(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct script script = {.raise_at_first = signals[i]};

		assert_int_equal(run(&script, 0), 0);
		assert_string_equal(script.causes, "IL");
		assert_int_equal(interrupt_exit_code(0), 128 + signals[i]);
		interrupt_close();
	}
}

static void the_end_of_what_is_watched_brings_the_last_report(void **state)
{
	struct script script = {.done_after_first = true};

	(void)state;
	assert_int_equal(run(&script, 0), 0);
	assert_string_equal(script.causes, "IL");
}

static void an_error_ends_without_a_last_report(void **state)
{
	struct script script = {.error_at_first = -ENOSPC};

	(void)state;
	assert_int_equal(run(&script, 0), -ENOSPC);
	assert_string_equal(script.causes, "I");
}

struct pipes {
	struct script script;
	int in, out;
	char read[4];
};

static int wait_for_pipe(void *context, struct pollfds *fds)
{
	struct pipes *pipes = context;
	int error = pollfds_add(fds, -1); /* passed over */

	return error ? error : pollfds_add(fds, pipes->in);
}

static int read_pipe(void *context, const struct pollfd *fds, size_t count)
{
	struct pipes *pipes = context;

	assert_int_equal(count, 2);
	assert_int_equal(fds[0].revents, 0);
	if (fds[1].revents)
		assert_int_equal(read(pipes->in, pipes->read, 1), 1);
	return *pipes->read ? raise(SIGTERM) : 0;
}

static int take_nothing(void *context, enum report_cause cause)
{
	struct pipes *pipes = context;

	return take(&pipes->script, cause);
}

static void descriptors_of_the_hooks_are_waited_for(void **state)
{
	const struct schedule schedule = {.interval_ns = 3600 * 1000000000ull};
	struct report_loop loop = REPORT_LOOP_CLOSED;
	struct pipes pipes = {0};
	const struct run_hooks hooks = {.context = &pipes,
					.report = take_nothing,
					.wait_for = wait_for_pipe,
					.handle = read_pipe};
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pipes.in = fds[0];
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(report_loop_open(&loop, &schedule, false), 0);
	assert_int_equal(report_loop_run(&loop, &hooks), 0);
	report_loop_close(&loop);
	interrupt_close();
	assert_string_equal(pipes.read, "x");
	assert_string_equal(pipes.script.causes, "L");
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(count_ends_with_the_last_report),
		cmocka_unit_test(a_report_asked_for_is_not_counted),
		cmocka_unit_test(a_signal_to_end_brings_the_last_report),
		cmocka_unit_test(the_end_of_what_is_watched_brings_the_last_report),
		cmocka_unit_test(an_error_ends_without_a_last_report),
		cmocka_unit_test(descriptors_of_the_hooks_are_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
