// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of code in no file, through the symbolizer and a parser in its sandbox. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/sandbox/worker_process.h"
#include "binary/parse/questions.h"
#include "process/symbol/symbolizer.h"
#include "unit/naming_fixture.h"

#define PROCESS 7

struct stage {
	struct worker *worker;
	struct symbolizer *symbolizer;
	uint8_t *code;
	FILE *map;
	char path[64];
};

static struct stage set_stage(void)
{
	struct stage stage = {.worker = worker_new(&parse_kinds, NULL)};

	stage.symbolizer = naming_new(stage.worker);
	assert_non_null(stage.symbolizer);
	stage.code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(stage.code != MAP_FAILED);
	snprintf(stage.path, sizeof(stage.path), "/tmp/perf-%d.map", getpid());
	stage.map = fopen(stage.path, "wxe");
	assert_non_null(stage.map);
	return stage;
}

static void clear_stage(struct stage *stage)
{
	unlink(stage->path);
	fclose(stage->map);
	munmap(stage->code, 8192);
	naming_free(stage->symbolizer);
	worker_free(stage->worker);
}

static void write_line(const struct stage *stage, const uint8_t *start, const char *name)
{
	fprintf(stage->map, "%" PRIxPTR " 40 %s\n", (uintptr_t)start, name);
	fflush(stage->map);
}

static struct frame name_one(const struct stage *stage, const uint8_t *code)
{
	uint64_t address = (uintptr_t)code;
	struct frames frames = {0};
	struct frame frame;

	assert_int_equal(
		symbolizer_name(stage->symbolizer, PROCESS, &address, 1, LINES_WAIT, &frames), 0);
	assert_int_equal(frames.list.count, 1);
	frame = frames.list.items[0];
	vec_free(&frames.list);
	return frame;
}

static void refresh(const struct stage *stage)
{
	assert_int_equal(naming_refresh(stage->symbolizer, PROCESS, getpid()), 0);
}

static void assert_anonymous(const struct frame *frame)
{
	assert_null(frame->function);
	assert_null(frame->module);
	assert_string_equal(frame->why, "anonymous code");
}

static void compiled_code_has_the_name_that_its_map_gives(void **state)
{
	struct stage stage = set_stage();
	struct frame frame;

	(void)state;
	write_line(&stage, stage.code + 0x100, "LazyCompile:*run /srv/app.js:10");
	write_line(&stage, stage.code + 0x140, "_ZN3app3runEi");
	refresh(&stage);
	frame = name_one(&stage, stage.code + 0x140);
	assert_string_equal(frame.function, "LazyCompile:*run /srv/app.js:10");
	assert_int_equal(frame.offset, 0x40);
	assert_string_equal(frame.module, FRAME_JIT);
	assert_int_equal(frame.module_offset, 0);
	assert_null(frame.why);
	assert_null(frame.build_id);
	frame = name_one(&stage, stage.code + 0x141);
	assert_string_equal(frame.function, "app::run(int)");
	frame = name_one(&stage, stage.code + 0x100);
	assert_anonymous(&frame);
	clear_stage(&stage);
}

static void a_map_that_grew_is_read_at_the_next_refresh(void **state)
{
	struct stage stage = set_stage();
	struct frame frame;

	(void)state;
	write_line(&stage, stage.code, "first");
	refresh(&stage);
	frame = name_one(&stage, stage.code + 0x41);
	assert_anonymous(&frame);
	write_line(&stage, stage.code + 0x40, "second");
	frame = name_one(&stage, stage.code + 0x41);
	assert_anonymous(&frame);
	refresh(&stage);
	frame = name_one(&stage, stage.code + 0x41);
	assert_string_equal(frame.function, "second");
	frame = name_one(&stage, stage.code + 1);
	assert_string_equal(frame.function, "first");
	clear_stage(&stage);
}

static void a_map_that_was_removed_still_names(void **state)
{
	struct stage stage = set_stage();
	struct frame frame;

	(void)state;
	write_line(&stage, stage.code, "first");
	refresh(&stage);
	unlink(stage.path);
	write_line(&stage, stage.code + 0x40, "last");
	refresh(&stage);
	frame = name_one(&stage, stage.code + 0x41);
	assert_string_equal(frame.function, "last");
	clear_stage(&stage);
}

static void names_of_files_cannot_be_replaced(void **state)
{
	struct stage stage = set_stage();
	struct frame frame;

	(void)state;
	write_line(&stage, (const uint8_t *)(uintptr_t)set_stage, "forged");
	refresh(&stage);
	frame = name_one(&stage, (const uint8_t *)(uintptr_t)set_stage + 1);
	assert_string_equal(frame.function, "set_stage");
	clear_stage(&stage);
}

static void a_stack_keeps_its_number_when_its_compiled_code_gets_a_name(void **state)
{
	struct stage stage = set_stage();
	uint64_t addresses[] = {(uintptr_t)stage.code + 1, (uintptr_t)set_stage + 1};
	struct frames before = {0}, after = {0};

	(void)state;
	refresh(&stage);
	assert_int_equal(
		symbolizer_name(stage.symbolizer, PROCESS, addresses, 2, LINES_NONE, &before), 0);
	write_line(&stage, stage.code, "named");
	refresh(&stage);
	assert_int_equal(
		symbolizer_name(stage.symbolizer, PROCESS, addresses, 2, LINES_NONE, &after), 0);
	assert_null(before.list.items[0].function);
	assert_string_equal(after.list.items[0].function, "named");
	assert_true(symbolizer_stack_id(&before) == symbolizer_stack_id(&after));
	vec_free(&before.list);
	vec_free(&after.list);
	clear_stage(&stage);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compiled_code_has_the_name_that_its_map_gives),
		cmocka_unit_test(a_map_that_grew_is_read_at_the_next_refresh),
		cmocka_unit_test(a_map_that_was_removed_still_names),
		cmocka_unit_test(names_of_files_cannot_be_replaced),
		cmocka_unit_test(a_stack_keeps_its_number_when_its_compiled_code_gets_a_name),
	};

	worker_process_enter(argc, argv, &parse_kinds);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
