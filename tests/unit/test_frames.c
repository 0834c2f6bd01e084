// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "process/symbol/module.h"
#include "process/symbol/symbolizer.h"

static const struct frame outer = {
	.address = 0x1234,
	.function = "outer",
	.offset = 0x34,
	.module = "/bin/program",
	.module_offset = 0x234,
};

static void inlined_functions_come_before_the_one_that_holds_them(void **state)
{
	struct source_frame sources[] = {
		{"inner", "a.h", 1}, {"middle", "b.h", 2}, {NULL, "c.c", 3}};
	struct source_lines source = {.frames = sources, .count = 3};
	static const char *const functions[] = {"inner", "middle", "outer"};
	struct frames frames = {0};

	(void)state;
	assert_int_equal(frames_append(&frames, &outer, &source), 0);
	assert_int_equal(frames.list.count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct frame *frame = &frames.list.items[i];

		assert_string_equal(frame->function, functions[i]);
		assert_string_equal(frame->file, sources[i].file);
		assert_int_equal(frame->line, i + 1);
		assert_int_equal(frame->inlined, i < 2);
		assert_int_equal(frame->offset, i < 2 ? 0 : 0x34);
		assert_int_equal(frame->address, 0x1234);
		assert_string_equal(frame->module, "/bin/program");
	}
	vec_free(&frames.list);
}

static void without_lines_there_is_one_frame(void **state)
{
	struct source_frame nameless[] = {{NULL, "a.h", 1}, {NULL, NULL, 9}};
	struct source_lines cases[] = {{.count = 0}, {.frames = nameless, .count = 2}};

	(void)state;
	for (size_t i = 0; i <= ARRAY_SIZE(cases); i++) {
		struct frames frames = {0};

		assert_int_equal(
			frames_append(&frames, &outer, i < ARRAY_SIZE(cases) ? &cases[i] : NULL),
			0);
		assert_int_equal(frames.list.count, 1);
		assert_string_equal(frames.list.items[0].function, "outer");
		assert_null(frames.list.items[0].file);
		assert_int_equal(frames.list.items[0].line, 0);
		vec_free(&frames.list);
	}
}

static void what_is_inlined_does_not_change_the_id_of_a_stack(void **state)
{
	struct source_frame sources[] = {{"inner", "a.h", 1}, {NULL, "c.c", 3}};
	struct source_lines source = {.frames = sources, .count = 2};
	struct frames with = {0}, without = {0};

	(void)state;
	assert_int_equal(frames_append(&with, &outer, &source), 0);
	assert_int_equal(frames_append(&without, &outer, NULL), 0);
	assert_true(symbolizer_stack_id(&with) == symbolizer_stack_id(&without));
	assert_true(symbolizer_stack_id(&with) != 0);
	vec_free(&with.list);
	vec_free(&without.list);
}

static uint64_t native_id(const struct frame *list, size_t count)
{
	const struct frames frames = {
		.list = {.items = (struct frame *)list, .count = count, .capacity = count}};

	return symbolizer_native_id(&frames);
}

static void stacks_of_one_call_through_compiled_code_share_a_native_number(void **state)
{
	static const struct frame reads = {.module = "/lib/libnio.so", .module_offset = 0x10},
				  other = {.module = "/lib/libnio.so", .module_offset = 0x20};
	static const struct frame compiled[] = {
		{.address = 0x7f0010, .why = "anonymous code"},
		{.address = 0x7f2020, .module = FRAME_JIT, .function = "run"},
		{.address = 0x7f3030, .module = "/memfd:doublemapper", .module_offset = 0x30},
	};
	static const struct frame lost = {.address = 0x99, .why = "unmapped address"};
	const uint64_t id = native_id((struct frame[]){reads, compiled[0]}, 2);

	(void)state;
	assert_true(id != 0);
	for (size_t i = 0; i < ARRAY_SIZE(compiled); i++) {
		assert_true(native_id((struct frame[]){reads, compiled[i], outer}, 3) == id);
		/* Nothing before it distinguishes the calls. */
		assert_true(native_id((struct frame[]){compiled[i], outer}, 2) == 0);
	}
	assert_true(native_id((struct frame[]){other, compiled[0]}, 2) != id);
	assert_true(native_id((struct frame[]){reads, other, compiled[0]}, 3) != id);
	assert_true(native_id((struct frame[]){reads, lost, outer}, 3) == 0);
	assert_true(native_id((struct frame[]){reads, outer}, 2) == 0);
}

/* However the VM executes them at the moment. */
static void a_stack_of_java_has_a_native_number_of_its_own(void **state)
{
	static const struct frame reads = {.module = "/lib/libnio.so", .module_offset = 0x10},
				  pack = {.module = FRAME_JAVA, .module_offset = 7},
				  main = {.module = FRAME_JAVA, .module_offset = 8},
				  gone = {.why = "anonymous code"};
	struct frame inlined = pack;
	uint64_t id;

	(void)state;
	inlined.inlined = true;
	id = native_id((struct frame[]){reads, pack, main, outer}, 4);
	assert_true(id != 0);
	assert_true(native_id((struct frame[]){reads, inlined, main, outer}, 4) == id);
	assert_true(native_id((struct frame[]){reads, main, outer}, 3) != id);
	assert_true(native_id((struct frame[]){reads, pack, gone, outer}, 4) ==
		    native_id((struct frame[]){reads, pack, gone, main}, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_come_before_the_one_that_holds_them),
		cmocka_unit_test(without_lines_there_is_one_frame),
		cmocka_unit_test(what_is_inlined_does_not_change_the_id_of_a_stack),
		cmocka_unit_test(stacks_of_one_call_through_compiled_code_share_a_native_number),
		cmocka_unit_test(a_stack_of_java_has_a_native_number_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
