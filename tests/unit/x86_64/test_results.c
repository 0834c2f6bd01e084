// SPDX-License-Identifier: GPL-2.0-or-later
/* Places of results: proven ones, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "binary/arch/decoder.h"
#include "binary/arch/machine.h"
#include "binary/parse/plan.h"
#include "leakmon_abi.h"
#include "unit/elf_fixture.h"

/* A second function, reachable from the first. */
#define OTHER 0x40
/* One that is probed itself. */
#define PROBED 0x80

struct example {
	const char *name;
	const char *code, *other; /* hex, blanks ignored; other: NULL: none */
	const char *expected; /* "offset:register:condition:words ...", or a part of the reason */
	enum results_kind kind;
};

static void code_from_hex(const char *hex, uint8_t *bytes)
{
	unsigned byte;

	for (; hex && *hex; hex += strspn(hex, " ")) {
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		*bytes++ = (uint8_t)byte;
		hex += 2;
	}
}

static size_t hex_size(const char *hex)
{
	size_t digits = 0;

	for (; hex && *hex; hex++)
		digits += *hex != ' ';
	return digits / 2;
}

static bool is_probed(const struct code_target *target, void *context)
{
	(void)context;
	return target->vaddr == FIXTURE_VADDR(code) + PROBED;
}

static void add_function(struct code *code, uint64_t at, size_t size)
{
	struct code_extent *fde = vec_push(&code->frames);

	assert_non_null(fde);
	fde->start = FIXTURE_VADDR(code) + at;
	fde->end = fde->start + size;
}

static struct code *code_new(const struct elf_file *file, const struct example *example)
{
	struct code *code = calloc(1, sizeof(*code));

	assert_non_null(code);
	code->file = file;
	assert_int_equal(decoder_open(&code->decoder), 0);
	cs_option(code->decoder, CS_OPT_DETAIL, CS_OPT_ON);
	code->instruction = cs_malloc(code->decoder);
	add_function(code, 0, hex_size(example->code));
	if (example->other)
		add_function(code, OTHER, hex_size(example->other));
	return code;
}

static void describe(const struct results *results, char *text)
{
	for (size_t i = 0; i < results->sites.count; i++) {
		const struct result_site *site = &results->sites.items[i];

		text += sprintf(text, "%s%x:%u:%u:%u", i ? " " : "",
				(unsigned)(site->vaddr - FIXTURE_VADDR(code)), site->number,
				site->condition, site->words);
	}
}

static void check(const struct example *example)
{
	struct results_request request = {.entry = FIXTURE_VADDR(code), .is_probed = is_probed};
	_cleanup_(results_free) struct results results = {0};
	struct elf_fixture elf;
	struct elf_file file;
	struct code *code;
	char text[1024] = "";

	fixture_init(&elf);
	memset(elf.code, 0, sizeof(elf.code));
	code_from_hex(example->code, elf.code);
	code_from_hex(example->other, elf.code + OTHER);
	assert_int_equal(elf_file_open_memory(&elf, sizeof(elf), &machine_abi, &file), 0);
	code = code_new(&file, example);
	assert_int_equal(results_find(code, &request, &results), 0);
	describe(&results, text);
	if (results.kind != example->kind ||
	    (example->kind == RESULTS_FOUND ? strcmp(text, example->expected) != 0
					    : !strstr(results.reason, example->expected)))
		fail_msg("%s: kind %d, %s, %s", example->name, results.kind, text, results.reason);
	code_close(&code);
	elf_file_close(&file);
}

static void check_all(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check(&examples[i]);
}

/* Conditions: 1 + code: je 5, jne 6, jb 3, jae 4. */
static void an_emulated_instruction_that_leads_to_the_return_is_taken(void **state)
{
	static const struct example examples[] = {
		{"branch not taken", "4885c0 7401 c3 0f0b", NULL, "3:0:6:0", RESULTS_FOUND},
		{"branch taken", "4885c0 7502 0f0b c3", NULL, "3:0:6:0", RESULTS_FOUND},
		{"near branch not taken", "4885c0 0f8401000000 c3 0f0b", NULL, "3:0:6:0",
		 RESULTS_FOUND},
		{"jump", "eb01 90 c3", NULL, "0:0:0:0", RESULTS_FOUND},
		{"the result in another register", "4885db 7404 4889d8 c3 0f0b", NULL, "3:3:6:0",
		 RESULTS_FOUND},
		{"in r11", "4d85db 7204 4c89d8 c3 0f0b", NULL, "3:11:4:0", RESULTS_FOUND},
		{"moved twice", "4885f6 7407 4889f1 4889c8 c3 0f0b", NULL, "3:6:6:0",
		 RESULTS_FOUND},
		{"what is popped is counted", "4885c0 7406 4883c408 5b c3 0f0b", NULL, "3:0:6:2",
		 RESULTS_FOUND},
		{"a push is before itself", "53 5b c3", NULL, "0:0:0:0", RESULTS_FOUND},
		{"two ways, two places", "4885c0 7403 90 eb02 eb00 c3", NULL, "6:0:0:0 8:0:0:0",
		 RESULTS_FOUND},
		{"a jump to another function", "eb3e", "4885c0 7401 c3 0f0b", "43:0:6:0",
		 RESULTS_FOUND},
	};

	(void)state;
	check_all(examples, ARRAY_SIZE(examples));
}

static void without_a_proof_it_is_the_return_itself(void **state)
{
	static const struct example examples[] = {
		{"nothing is emulated", "4889f8 c3", NULL, "3:0:0:0", RESULTS_FOUND},
		{"the result comes from memory", "4885c0 7405 488b0424 c3 0f0b", NULL, "9:0:0:0",
		 RESULTS_FOUND},
		{"it is computed", "4885c0 7405 4883c001 c3 0f0b", NULL, "9:0:0:0", RESULTS_FOUND},
		{"half of it is written", "4885c0 7403 b001 c3 0f0b", NULL, "7:0:0:0",
		 RESULTS_FOUND},
		{"it comes from a call", "e800000000 c3", NULL, "5:0:0:0", RESULTS_FOUND},
		{"the stack is given up", "4885c0 7402 c9 c3 0f0b", NULL, "6:0:0:0", RESULTS_FOUND},
		{"a branch with both sides there", "7400 c3", NULL, "2:0:0:0", RESULTS_FOUND},
		{"another instruction with unknown effects", "4885c0 7403 4897 c3 0f0b", NULL,
		 "7:0:0:0", RESULTS_FOUND},
		{"one of two ways is unproven", "4885c0 7402 eb04 488b0424 c3", NULL, "b:0:0:0",
		 RESULTS_FOUND},
		{"the return is the first instruction", "c3", NULL, "0:0:0:0", RESULTS_FOUND},
	};

	(void)state;
	check_all(examples, ARRAY_SIZE(examples));
}

static void what_cannot_be_followed_is_refused(void **state)
{
	static const struct example examples[] = {
		{"computed jump", "ffe0", NULL, "is a computed jump", RESULTS_UNKNOWN},
		{"jump through memory", "ff20", NULL, "is a computed jump", RESULTS_UNKNOWN},
		{"it runs off its end", "4889f8", NULL, "runs off the end", RESULTS_UNKNOWN},
		{"undecodable", "06", NULL, "cannot be decoded", RESULTS_UNKNOWN},
		{"a jump to where nothing is known", "eb6e", NULL,
		 "in no function with a known end", RESULTS_UNKNOWN},
		{"a return that takes arguments", "c20800", NULL, "is no plain return",
		 RESULTS_UNKNOWN},
	};

	(void)state;
	check_all(examples, ARRAY_SIZE(examples));
}

static void a_function_that_always_calls_a_probed_one_needs_no_probe(void **state)
{
	static const struct example examples[] = {
		{"call", "e87b000000 c3", NULL, "functions that are probed", RESULTS_COME_BACK},
		{"jump", "e97b000000", NULL, "functions that are probed", RESULTS_COME_BACK},
		/* a fast path that does not: every return counts */
		{"not always", "4885c0 7406 e874000000 c3 c3", NULL, "a:0:0:0 3:0:5:0",
		 RESULTS_FOUND},
	};

	(void)state;
	check_all(examples, ARRAY_SIZE(examples));
}

static void the_cookie_says_where_the_result_is(void **state)
{
	const struct result_site site = {.number = 11, .condition = 6, .words = 4095};
	uint64_t cookie = result_cookie(&site);

	(void)state;
	assert_int_equal(cookie & LM_COOKIE_FUNCTION_MASK, 0);
	assert_int_equal(cookie >> LM_COOKIE_REGISTER_SHIFT & 0xf, 11);
	assert_int_equal(cookie >> LM_COOKIE_CONDITION_SHIFT & LM_COOKIE_CONDITION_MASK, 6);
	assert_int_equal(cookie >> LM_COOKIE_WORDS_SHIFT, 4095);
}

/* Libraries of Debian 12: every throwing operator is either probed or calls malloc. */
static void the_operators_of_real_allocators_are_understood(void **state)
{
	static const struct {
		const char *path;
		size_t results, stepped;
	} libraries[] = {
		{"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", 4, 1},
		{"/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", 9, 1},
		{"/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0", 13, 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		_cleanup_(probe_plan_free) struct probe_plan plan = {0};
		_cleanup_close_ int fd = open(libraries[i].path, O_RDONLY | O_CLOEXEC);
		size_t results = 0, stepped = 0;

		assert_int_equal(probe_plan_file(fd, "", PROBE_AT_BEST, &plan), 0);
		for (size_t j = 0; j < plan.points.count; j++) {
			assert_false(plan.points.items[j].placement.refused);
			results += plan.points.items[j].is_result;
			stepped += plan.points.items[j].is_result &&
				   !plan.points.items[j].placement.emulated;
		}
		if (results != libraries[i].results || stepped != libraries[i].stepped)
			fail_msg("%s: %zu results, %zu of them stepped", libraries[i].path, results,
				 stepped);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_emulated_instruction_that_leads_to_the_return_is_taken),
		cmocka_unit_test(without_a_proof_it_is_the_return_itself),
		cmocka_unit_test(what_cannot_be_followed_is_refused),
		cmocka_unit_test(a_function_that_always_calls_a_probed_one_needs_no_probe),
		cmocka_unit_test(the_cookie_says_where_the_result_is),
		cmocka_unit_test(the_operators_of_real_allocators_are_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
