// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines that arrive later than names, of this very program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/sandbox/worker_process.h"
#include "binary/parse/questions.h"
#include "process/symbol/symbolizer.h"
#include "unit/naming_fixture.h"

#define PROCESS 42

struct stage {
	struct worker *worker;
	struct symbolizer *symbolizer;
};

static struct stage set_stage(uint32_t deadline_ms)
{
	struct worker_limits limits = {.deadline_ms = deadline_ms};
	struct stage stage = {.worker = worker_new(&parse_kinds, &limits)};

	stage.symbolizer = naming_new(stage.worker);
	assert_non_null(stage.symbolizer);
	assert_int_equal(naming_refresh(stage.symbolizer, PROCESS, getpid()), 0);
	return stage;
}

static void clear_stage(struct stage *stage)
{
	naming_free(stage->symbolizer);
	worker_free(stage->worker);
}

static uint64_t known_address(void)
{
	return (uintptr_t)known_address + 1;
}

static struct frame name_one(const struct stage *stage, uint64_t address, enum frame_lines lines)
{
	struct frames frames = {0};
	struct frame frame;

	assert_int_equal(symbolizer_name(stage->symbolizer, PROCESS, &address, 1, lines, &frames),
			 0);
	assert_int_equal(frames.list.count, 1);
	frame = frames.list.items[0];
	vec_free(&frames.list);
	return frame;
}

static void assert_lineless(const struct frame *frame)
{
	assert_string_equal(frame->function, "known_address");
	assert_null(frame->file);
	assert_int_equal(frame->line, 0);
}

static void assert_line(const struct frame *frame)
{
	assert_string_equal(frame->function, "known_address");
	assert_non_null(frame->file);
	assert_non_null(strstr(frame->file, "test_module_lines.c"));
	assert_true(frame->line > 0);
}

/* The parser of lines, running, with nothing to do. */
static pid_t start_parser(const struct stage *stage)
{
	name_one(stage, (uintptr_t)set_stage + 1, LINES_WAIT);
	return worker_pid(stage->worker, WORKER_LANE_BACKGROUND);
}

static void names_come_first_and_lines_when_they_are_looked_for(void **state)
{
	struct stage stage = set_stage(0);
	struct frame frame = name_one(&stage, known_address(), LINES_KNOWN);

	(void)state;
	assert_lineless(&frame);
	assert_int_equal(symbolizer_lines_fd(stage.symbolizer), -1);
	assert_int_equal(symbolizer_find_lines(stage.symbolizer, -1), 0);
	frame = name_one(&stage, known_address(), LINES_KNOWN);
	assert_line(&frame);
	frame = name_one(&stage, known_address(), LINES_NONE);
	assert_lineless(&frame);
	clear_stage(&stage);
}

static void a_slow_parser_is_waited_for_no_longer_than_wanted(void **state)
{
	struct stage stage = set_stage(0);
	pid_t parser = start_parser(&stage);
	struct pollfd waited = {.events = POLLIN};
	struct frame frame;

	(void)state;
	kill(parser, SIGSTOP);
	name_one(&stage, known_address(), LINES_KNOWN);
	assert_int_equal(symbolizer_find_lines(stage.symbolizer, 0), -EAGAIN);
	assert_int_equal(symbolizer_find_lines(stage.symbolizer, 50), -EAGAIN);
	frame = name_one(&stage, known_address(), LINES_KNOWN);
	assert_lineless(&frame);
	/* Does nothing while the answer is awaited. */
	symbolizer_release_lines(stage.symbolizer);
	waited.fd = symbolizer_lines_fd(stage.symbolizer);
	assert_true(waited.fd >= 0);
	kill(parser, SIGCONT);
	assert_int_equal(poll(&waited, 1, 10000), 1);
	assert_int_equal(symbolizer_find_lines(stage.symbolizer, 10000), 0);
	frame = name_one(&stage, known_address(), LINES_KNOWN);
	assert_line(&frame);
	clear_stage(&stage);
}

static void a_crash_costs_lines_and_no_names(void **state)
{
	struct stage stage = set_stage(0);
	pid_t parser = start_parser(&stage);
	struct frame frame;

	(void)state;
	kill(parser, SIGSTOP);
	name_one(&stage, known_address(), LINES_KNOWN);
	assert_int_equal(symbolizer_find_lines(stage.symbolizer, 0), -EAGAIN);
	kill(parser, SIGABRT);
	kill(parser, SIGCONT);
	assert_int_equal(symbolizer_find_lines(stage.symbolizer, -1), 0);
	frame = name_one(&stage, known_address(), LINES_KNOWN);
	assert_lineless(&frame);
	/* Nothing is requested again: its absence is known. */
	frame = name_one(&stage, (uintptr_t)clear_stage + 1, LINES_WAIT);
	assert_string_equal(frame.function, "clear_stage");
	assert_null(frame.file);
	assert_int_equal(worker_pid(stage.worker, WORKER_LANE_BACKGROUND), 0);
	/* Earlier results stay. */
	frame = name_one(&stage, (uintptr_t)set_stage + 1, LINES_KNOWN);
	assert_non_null(frame.file);
	clear_stage(&stage);
}

static void a_hang_ends_at_the_deadline(void **state)
{
	struct stage stage = set_stage(300);
	struct frame frame;

	(void)state;
	kill(start_parser(&stage), SIGSTOP);
	name_one(&stage, known_address(), LINES_KNOWN);
	assert_int_equal(symbolizer_find_lines(stage.symbolizer, -1), 0);
	frame = name_one(&stage, known_address(), LINES_KNOWN);
	assert_lineless(&frame);
	clear_stage(&stage);
}

/* Every byte of the text around here, which is more than one request takes. */
static void many_lines_are_found_in_several_requests(void **state)
{
	struct stage stage = set_stage(0);
	uint64_t addresses[3 * WIRE_MAX_ADDRESSES + 7];
	struct frames frames = {0};
	size_t found = 0, named = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		addresses[i] = (uintptr_t)many_lines_are_found_in_several_requests + 1 + i;
	assert_int_equal(symbolizer_name(stage.symbolizer, PROCESS, addresses,
					 ARRAY_SIZE(addresses), LINES_WAIT, &frames),
			 0);
	for (size_t i = 0; i < frames.list.count; i++) {
		found += frames.list.items[i].file != NULL;
		if (frames.list.items[i].inlined)
			continue;
		assert_true(named < ARRAY_SIZE(addresses));
		assert_int_equal(frames.list.items[i].address, addresses[named++]);
	}
	assert_int_equal(named, ARRAY_SIZE(addresses));
	assert_true(found > WIRE_MAX_ADDRESSES);
	vec_free(&frames.list);
	clear_stage(&stage);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_come_first_and_lines_when_they_are_looked_for),
		cmocka_unit_test(a_slow_parser_is_waited_for_no_longer_than_wanted),
		cmocka_unit_test(a_crash_costs_lines_and_no_names),
		cmocka_unit_test(a_hang_ends_at_the_deadline),
		cmocka_unit_test(many_lines_are_found_in_several_requests),
	};

	worker_process_enter(argc, argv, &parse_kinds);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
