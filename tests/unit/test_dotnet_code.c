// SPDX-License-Identifier: GPL-2.0-or-later
/* Methods that a small .NET made by hand has compiled, as frames of stacks are named by them. */
#include "unit/dotnet_fixture.h"

#include <errno.h>

#include "leakmon_abi.h"
#include "process/symbol/symbolizer.h"

#define MUTANTS 600
#define CODE_READER dotnet_code_reader
#include "unit/code_reading.h"

static void expect_name(struct opened *opened, uint64_t address, const char *function)
{
	const struct frame *frame;

	if (name(opened, address))
		fail_msg("no name, not %s", function);
	assert_int_equal(opened->frames.list.count, 1);
	frame = &opened->frames.list.items[0];
	assert_string_equal(frame->function, function);
	assert_string_equal(frame->module, FRAME_DOTNET);
	assert_null(frame->file);
	assert_int_equal(frame->address, LM_FRAME_ADDRESS(address));
	assert_int_equal(frame->module_offset, symbolizer_place_id(function, "", 0));
}

/* Return addresses: the last one of a method is where the next method begins. */
static void expect_all(const struct forged *forged)
{
	static const struct {
		uint32_t first, end;
		const char *name;
	} methods[] = {
		{FORGED_CODE_LEAK, FORGED_CODE_STEP, "Planted.Session.Leak"},
		{FORGED_CODE_STEP, FORGED_CODE_STUB, "Planted.Session.Step"},
		{FORGED_CODE_FILL, FORGED_CODE_DYNAMIC, "Planted.Box<Planted.Session>.Fill"},
		{FORGED_CODE_DYNAMIC, FORGED_CODE_END, FORGED_STUB},
	};
	struct opened opened;

	assert_int_equal(open_code(forged, &opened), 0);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		for (uint32_t at = methods[i].first; at < methods[i].end; at++)
			expect_name(&opened, forged_code(forged, at + 1), methods[i].name);
	}
	for (uint32_t at = FORGED_CODE_STUB; at < FORGED_CODE_FILL; at++)
		assert_int_equal(name(&opened, forged_code(forged, at + 1)), -ENOENT);
	assert_int_equal(name(&opened, forged_code(forged, 0x11)), -ENOENT);
	assert_int_equal(name(&opened, forged_code(forged, FORGED_CODE_END + 1)), -ENOENT);
	close_code(&opened);
}

static void every_address_of_a_method_has_its_name(void **state)
{
	expect_all(*state);
}

/* Writes the description of .NET 10. */
static void describe(const struct forged *forged, const char *contracts)
{
	uint64_t text = forged->memory.base + AT_CODE + 0x8000;
	int length = snprintf((char *)(uintptr_t)text, 4096, "{%s,%s", contracts,
			      (const char *)(uintptr_t)(forged->memory.base + AT_TEXT) + 1);

	forged_put_at(forged->memory.base + AT_DESCRIPTOR, 16, text);
	forged_put_half(forged->memory.base + AT_DESCRIPTOR, 12, (uint32_t)length);
}

static void a_map_with_pointers_leads_to_the_same(void **state)
{
	static const char *const contracts[] = {"\"contracts\":{\"ExecutionManager\":2}",
						"\"contracts\":{\"ExecutionManager\":\"c2\"}"};
	struct forged *forged = *state;

	forged_nibbles(forged, 2);
	for (size_t i = 0; i < ARRAY_SIZE(contracts); i++) {
		describe(forged, contracts[i]);
		expect_all(forged);
	}
}

static void where_a_signal_came_the_address_itself_counts(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	assert_int_equal(open_code(forged, &opened), 0);
	expect_name(&opened, forged_code(forged, FORGED_CODE_STEP) | LM_FRAME_EXACT,
		    "Planted.Session.Step");
	expect_name(&opened, forged_code(forged, FORGED_CODE_STEP), "Planted.Session.Leak");
	close_code(&opened);
}

static int name_anew(const struct forged *forged, uint32_t offset)
{
	struct opened opened;
	int error;

	assert_int_equal(open_code(forged, &opened), 0);
	error = name(&opened, forged_code(forged, offset));
	close_code(&opened);
	return error;
}

static void what_does_not_agree_has_no_name(void **state)
{
	struct forged *forged = *state;
	uint64_t header = forged->memory.base + AT_CODE_HEADERS;
	uint64_t session = forged_table(forged, FORGED_SESSION);
	const struct {
		uint64_t at;
		uint64_t word;
	} changes[] = {
		/* The header is another code's. */
		{header + FORGED_CODE_LEAK / 0x40 * 0x10 + 32, (uint64_t)0x80 << 32},
		/* The method has no class that knows itself. */
		{session + 40, session},
		/* The class has no such method: that is Box's. */
		{forged_method(forged, 0, 0), 3},
		{forged_method(forged, 0, 0), 0},
		{forged_method(forged, 0, 0), 4},
		/* The method is not in the chunk. */
		{forged_method(forged, 0, 0), 9ull << 16 | 1},
		/* No methods are there. */
		{forged->memory.base + AT_SECTION + 16, 4},
		{forged->memory.base + AT_FRAGMENT + 8, forged_code(forged, 0x2000)},
		{forged->memory.base + AT_NIBBLES, 0},
		{forged_code(forged, FORGED_CODE_LEAK) - 8, 3},
	};

	assert_int_equal(name_anew(forged, FORGED_CODE_LEAK + 8), 0);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		uint64_t kept = forged_word(changes[i].at);

		forged_put_at(changes[i].at, 0, changes[i].word);
		if (name_anew(forged, FORGED_CODE_LEAK + 8) != -ENOENT)
			fail_msg("change %zu", i);
		forged_put_at(changes[i].at, 0, kept);
	}
	assert_int_equal(name_anew(forged, FORGED_CODE_LEAK + 8), 0);
}

static int name_before(const struct forged *forged, size_t function)
{
	struct opened opened;
	int error;

	assert_int_equal(open_code(forged, &opened), 0);
	error = name(&opened, forged->memory.base + AT_IMAGE + forged_before[function][0] + 1);
	close_code(&opened);
	return error;
}

static void precompiled_methods_have_names(void **state)
{
	static const char *const names[] = {[FORGED_BEFORE_LEAK] = "Planted.Session.Leak",
					    [FORGED_BEFORE_FILL] = "Planted.Box.Fill",
					    [FORGED_BEFORE_OTHER] = NULL};
	const struct forged *forged = *state;
	uint64_t image = forged->memory.base + AT_IMAGE;
	struct opened opened;

	assert_int_equal(open_code(forged, &opened), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		for (uint32_t at = forged_before[i][0]; at < forged_before[i][1]; at++) {
			if (names[i])
				expect_name(&opened, image + at + 1, names[i]);
			else
				assert_int_equal(name(&opened, image + at + 1), -ENOENT);
		}
	}
	/* Before the first; between two and after the last, if their ends are known. */
	if (MACHINE_PE_FUNCTION_BYTES == 12)
		assert_int_equal(name(&opened, image + 0x2081), -ENOENT);
	assert_int_equal(name(&opened, image + 0x2000), -ENOENT);
	assert_int_equal(name(&opened, image + 0x2201), -ENOENT);
	close_code(&opened);
}

static void precompiled_code_of_another_shape_has_no_names(void **state)
{
	const struct forged *forged = *state;
	uint64_t header = forged->memory.base + AT_BEFORE, image = forged->memory.base + AT_IMAGE;
	unsigned char *methods =
		(unsigned char *)(uintptr_t)(forged->memory.base + AT_BEFORE_METHODS);

	assert_int_equal(name_before(forged, FORGED_BEFORE_LEAK), 0);
	forged_put_half(header, 8, 0x20);
	assert_int_equal(name_before(forged, FORGED_BEFORE_LEAK), -ENOENT);
	forged_put_half(header, 8, 0x4b);
	assert_int_equal(name_before(forged, FORGED_BEFORE_LEAK), 0);
	forged_put_short(image, 0x84, 0x14c);
	assert_int_equal(name_before(forged, FORGED_BEFORE_LEAK), -ENOENT);
	forged_put_short(image, 0x84, MACHINE_PE ^ 0x7b79);
	/* One function, two methods. */
	methods[FORGED_LAST_METHOD] = (FORGED_BEFORE_LEAK << 2 | 1) << 1;
	assert_int_equal(name_before(forged, FORGED_BEFORE_LEAK), -ENOENT);
	methods[FORGED_LAST_METHOD] = (FORGED_BEFORE_OTHER << 2 | 1) << 1;
	assert_int_equal(name_before(forged, FORGED_BEFORE_OTHER), 0);
	forged_put_half(header, 0, 0);
	assert_int_equal(name_before(forged, FORGED_BEFORE_LEAK), -ENOENT);
}

static void fragments_that_lead_in_a_circle_are_left(void **state)
{
	struct forged *forged = *state;
	uint64_t fragment = forged->memory.base + AT_FRAGMENT;

	forged_put_at(fragment, 0, fragment + 0x40);
	forged_put_at(fragment + 0x40, 0, fragment);
	assert_int_equal(name_anew(forged, FORGED_CODE_LEAK + 8), 0);
	forged_put_at(fragment, 16, forged_code(forged, 0));
	assert_int_equal(name_anew(forged, FORGED_CODE_LEAK + 8), -ENOENT);
}

static void names_are_those_of_the_moment(void **state)
{
	struct forged *forged = *state;
	struct opened opened;
	uint64_t address = forged_code(forged, FORGED_CODE_LEAK + 8);

	assert_int_equal(open_code(forged, &opened), 0);
	expect_name(&opened, address, "Planted.Session.Leak");
	forged_chunk(forged, 0, FORGED_BOX, 3, 1);
	target_memory_forget(&opened.memory);
	expect_name(&opened, address, "Planted.Box<Planted.Session>.Fill");
	close_code(&opened);
}

static void name_all(struct forged *forged, struct opened *opened, uint64_t *seed)
{
	name(opened, forged_code(forged, FORGED_CODE_LEAK + 8));
	name(opened, forged_code(forged, FORGED_CODE_STUB - 8));
	name(opened, forged_code(forged, FORGED_CODE_FILL + 8));
	name(opened, forged_code(forged, FORGED_CODE_DYNAMIC + 8));
	name(opened, FORGED_BASE + AT_IMAGE + 0x2008);
	name(opened, FORGED_BASE + forged_random(seed) % FORGED_BYTES);
}

static void nonsense_in_it_does_no_harm(void **state)
{
	expect_no_harm_of_code(*state, name_all);
}

#define CODE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CODE_TEST(every_address_of_a_method_has_its_name),
		CODE_TEST(a_map_with_pointers_leads_to_the_same),
		CODE_TEST(where_a_signal_came_the_address_itself_counts),
		CODE_TEST(what_does_not_agree_has_no_name),
		CODE_TEST(precompiled_methods_have_names),
		CODE_TEST(precompiled_code_of_another_shape_has_no_names),
		CODE_TEST(fragments_that_lead_in_a_circle_are_left),
		CODE_TEST(names_are_those_of_the_moment),
		CODE_TEST(nonsense_in_it_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
