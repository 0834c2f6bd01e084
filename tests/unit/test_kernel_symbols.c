// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/symbol/kernel_symbols.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static const char kallsyms[] =
	"ffffffff81000000 T _stext\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81000100 t helper\n"
	"ffffffff81000200 T alloc_pipe_info\n"
	"ffffffff81000300 T __kmalloc_noprof\n"
	"ffffffff81000400 T bpf_trace_run6\n"
	"ffffffff81000500 D a_variable\n"
	"ffffffff81000600 W weak_function\n"
	"0000000000000000 T hidden\n"
	"not a line\n"
	"ffffffffc0001000 t module_probe\t[some_module]\n"
	"ffffffffc0001100 t module_open\t[some_module]\n"
	"ffffffffc0003000 t other_open\t[other]\n"
	"ffffffffc0004000 t bpf_prog_0123456789abcdef_kernel_kmalloc\t[bpf]\n";

static struct kernel_symbols *symbols_of(const char *text)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");
	struct kernel_symbols *symbols = kernel_symbols_read(file);

	fclose(file);
	assert_non_null(symbols);
	return symbols;
}

static struct frames name(const struct kernel_symbols *symbols, const uint64_t *addresses,
			  size_t depth, const char **allocator)
{
	struct frames frames = {0};

	assert_int_equal(kernel_symbols_name(symbols, addresses, depth, &frames, allocator), 0);
	return frames;
}

static void an_address_belongs_to_the_function_before_it(void **state)
{
	static const struct {
		uint64_t address;
		const char *function, *module;
		uint64_t offset;
	} cases[] = {
		{0xffffffff81000180, "helper", "kernel", 0x80},
		/* A return address at the start of a function came from the end of the one
		 * before. */
		{0xffffffff81000200, "helper", "kernel", 0x100},
		{0xffffffff81000201, "alloc_pipe_info", "kernel", 1},
		/* The first of two names; data are not functions. */
		{0xffffffff81000010, "_stext", "kernel", 0x10},
		{0xffffffff81000580, "bpf_trace_run6", "kernel", 0x180},
		{0xffffffff81000610, "weak_function", "kernel", 0x10},
		{0xffffffffc0001010, "module_probe", "some_module", 0x10},
		{0xffffffffc0001110, "module_open", "some_module", 0x10},
		{0xffffffffc0003010, "other_open", "other", 0x10},
		{0xffffffff80fffff0, NULL, NULL, 0},
		{0xffffffff81200700, NULL, NULL, 0}, /* too far after the last one */
	};
	struct kernel_symbols *symbols = symbols_of(kallsyms);

	(void)state;
	assert_false(kernel_symbols_hidden(symbols));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *allocator;
		struct frames frames = name(symbols, &cases[i].address, 1, &allocator);
		const struct frame *frame = &frames.list.items[0];

		assert_int_equal(frames.list.count, i == 4 ? 0 : 1);
		if (frames.list.count && cases[i].function) {
			assert_string_equal(frame->function, cases[i].function);
			assert_string_equal(frame->module, cases[i].module);
			assert_int_equal(frame->offset, cases[i].offset);
		} else if (frames.list.count) {
			assert_null(frame->function);
			assert_string_equal(frame->why, "no symbol at this address");
		}
		vec_free(&frames.list);
	}
	kernel_symbols_free(symbols);
}

static void a_stack_begins_with_the_caller_of_the_allocator(void **state)
{
	static const uint64_t addresses[] = {
		0xffffffffc0009999, /* leakmon's own program, loaded after the names were read */
		0xffffffff81000410,
		0xffffffff81000310,
		0xffffffff81000210,
		/* an allocator further out did not allocate this block */
		0xffffffff81000110,
		0xffffffff81000310,
		0xffffffff81000110,
	};
	struct kernel_symbols *symbols = symbols_of(kallsyms);
	const char *allocator;
	struct frames frames = name(symbols, addresses, ARRAY_SIZE(addresses), &allocator);

	(void)state;
	assert_string_equal(allocator, "__kmalloc_noprof");
	assert_int_equal(frames.list.count, 4);
	assert_string_equal(frames.list.items[0].function, "alloc_pipe_info");
	assert_string_equal(frames.list.items[2].function, "__kmalloc_noprof");
	vec_free(&frames.list);
	kernel_symbols_free(symbols);
}

static void a_stack_of_nothing_but_the_allocator_keeps_its_last_frame(void **state)
{
	static const uint64_t addresses[] = {0xffffffff81000310, 0xffffffff81000320};
	struct kernel_symbols *symbols = symbols_of(kallsyms);
	const char *allocator;
	struct frames frames = name(symbols, addresses, ARRAY_SIZE(addresses), &allocator);

	(void)state;
	assert_int_equal(frames.list.count, 1);
	assert_int_equal(frames.list.items[0].address, 0xffffffff81000320);
	vec_free(&frames.list);
	kernel_symbols_free(symbols);
}

/* sysctl kernel.kptr_restrict=2, or no CAP_SYSLOG. */
static void hidden_addresses_are_recognised(void **state)
{
	static const uint64_t address = 0xffffffff81000310;
	struct kernel_symbols *symbols =
		symbols_of("0000000000000000 T _stext\n0000000000000000 T kfree\n");
	const char *allocator;
	struct frames frames = name(symbols, &address, 1, &allocator);

	(void)state;
	assert_true(kernel_symbols_hidden(symbols));
	assert_string_equal(frames.list.items[0].why, "hidden by kernel.kptr_restrict");
	assert_null(allocator);
	vec_free(&frames.list);
	kernel_symbols_free(symbols);
	assert_null(kernel_symbols_read(NULL));
}

/* KASLR moves the kernel: distances from its start stay. */
static void a_place_in_the_kernel_is_the_same_after_a_reboot(void **state)
{
	static const char moved[] = "ffffffff9a000000 T _stext\n"
				    "ffffffff9a000200 T alloc_pipe_info\n";
	static const uint64_t here = 0xffffffff81000210, there = 0xffffffff9a000210;
	struct kernel_symbols *one = symbols_of(kallsyms), *other = symbols_of(moved);
	const char *allocator;
	struct frames first = name(one, &here, 1, &allocator);
	struct frames second = name(other, &there, 1, &allocator);

	(void)state;
	assert_int_equal(first.list.items[0].module_offset, 0x210);
	assert_int_equal(second.list.items[0].module_offset, 0x210);
	vec_free(&first.list);
	vec_free(&second.list);
	kernel_symbols_free(one);
	kernel_symbols_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_belongs_to_the_function_before_it),
		cmocka_unit_test(a_stack_begins_with_the_caller_of_the_allocator),
		cmocka_unit_test(a_stack_of_nothing_but_the_allocator_keeps_its_last_frame),
		cmocka_unit_test(hidden_addresses_are_recognised),
		cmocka_unit_test(a_place_in_the_kernel_is_the_same_after_a_reboot),
	};

	return cmocka_run_group_tests_name("kernel_symbols", tests, NULL, NULL);
}
