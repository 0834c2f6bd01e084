// SPDX-License-Identifier: GPL-2.0-or-later
/* How a result of `leakmon retain` is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/text/text.h"
#include "output/json/json.h"
#include "report/retain_diff.h"

static const char *keep(struct retain_result *result, const char *text)
{
	return intern_string(&result->strings, text);
}

static void add_root(struct retain_result *result, const struct retained_root *root)
{
	struct retained_root *added = vec_push(&result->roots);

	assert_non_null(added);
	*added = *root;
	added->name = keep(result, root->name);
	added->module = keep(result, root->module);
	result->retaining = result->roots.count;
}

/* Blocks held by two globals, one through untracked memory; one lost; names are hostile. */
static void make_result(struct retain_result *result, uint64_t blocks, uint32_t distance)
{
	struct retained_class *class = vec_push(&result->classes);
	struct retained_leak *leak = vec_push(&result->leaks);

	assert_non_null(class);
	assert_non_null(leak);
	result->pid = 42;
	memcpy(result->comm, "\033]0;x", sizeof("\033]0;x"));
	result->settled = true;
	result->numbers[NUMBER_BLOCKS] = 4;
	result->totals[VERDICT_HELD] = (struct retention_total){2, 64};
	result->totals[VERDICT_UNTRACKED] = (struct retention_total){1, 64};
	result->totals[VERDICT_LOST] = result->direct = (struct retention_total){1, 20};
	result->through = (struct retention_total){1, 64};
	add_root(result, &(struct retained_root){.kind = ROOT_GLOBAL,
						 .name = "evil\033[2J\n",
						 .module = "/a/b",
						 .led = {2, 64},
						 .retained = {1, 32}});
	add_root(result, &(struct retained_root){.kind = ROOT_GLOBAL,
						 .name = "server",
						 .module = "/bin/redis",
						 .through = true,
						 .led = {1, 64},
						 .retained = {1, 64}});
	*class = (struct retained_class){.kind = CLASS_CXX,
					 .name = keep(result, "\xff<T>"),
					 .total = {blocks, blocks * 21},
					 .distance = distance};
	*leak = (struct retained_leak){.direct = {1, 20}, .example = 0x1000};
	retain_result_identify(result);
}

/* Between two collections there is garbage, which is not growth; of native blocks all count. */
static void growth_of_a_managed_class_is_that_of_held_objects(void **state)
{
	static const struct {
		enum class_kind kind;
		uint64_t grown;
	} cases[] = {{CLASS_RUNTIME, 2}, {CLASS_CXX, 500}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(retain_result_free) struct retain_result before = {0}, after = {0};
		_cleanup_(retain_diff_free) struct retain_diff diff = {0};
		struct retained_class *was = vec_push(&before.classes);
		struct retained_class *is = vec_push(&after.classes);

		assert_non_null(was);
		assert_non_null(is);
		*was = (struct retained_class){
			.kind = cases[i].kind,
			.name = "app.Session",
			.total = {100, 1000},
			.verdicts[VERDICT_HELD] = {100, 1000},
		};
		*is = *was;
		is->total = (struct retention_total){600, 6000};
		is->verdicts[VERDICT_HELD] = (struct retention_total){102, 1020};
		is->verdicts[VERDICT_UNTRACKED] = (struct retention_total){498, 4980};
		retain_result_identify(&before);
		retain_result_identify(&after);
		assert_int_equal(retain_diff_build(&before, &after, &diff), 0);
		assert_int_equal(diff.classes.list.items[0].is.blocks -
					 diff.classes.list.items[0].was.blocks,
				 cases[i].grown);
	}
}

typedef int report_writer(FILE *out, const void *report);

static char *written(report_writer *write)
{
	_cleanup_(retain_result_free) struct retain_result before = {0}, after = {0};
	_cleanup_(retain_diff_free) struct retain_diff diff = {0};
	struct retain_report report = {
		.result = &after, .diff = &diff, .form = {.verbose = true, .bytes = true}};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	make_result(&before, 7, 2);
	make_result(&after, 4, 11);
	assert_int_equal(retain_diff_build(&before, &after, &diff), 0);
	assert_int_equal(write(out, &report), 0);
	fclose(out);
	return text;
}

static void text_names_leaks_roots_and_changes_and_lets_no_control_character_through(void **state)
{
	_cleanup_free_ char *text = written(text_retain_write);

	(void)state;
	assert_non_null(strstr(text, "process 42 \\x1b]0;x: retention of 4 blocks"));
	assert_non_null(strstr(text, "20 bytes in 1 blocks: class \xef\xbf\xbd<T>"));
	assert_non_null(strstr(text, "50.0%  64 bytes in 2 blocks, alone 25.0%: global "
				     "evil\\x1b[2J\\x0a [b]\n"));
	assert_non_null(strstr(text, "50.0%  64 bytes in 1 blocks, alone 50.0%: global server "
				     "[redis], through untracked memory\n"));
	/* Farther from a root, and fewer: no longer a chain. */
	assert_non_null(strstr(text, "(-3 blocks, -63 bytes)\n"));
	assert_null(strchr(text, '\033'));
}

static json_int_t number_at(json_t *object, const char *outer, const char *inner)
{
	return json_integer_value(json_object_get(json_object_get(object, outer), inner));
}

static void json_is_one_line_with_the_same_numbers(void **state)
{
	_cleanup_free_ char *text = written(json_retain_write);
	json_t *report = json_loads(text, 0, NULL), *root;

	(void)state;
	assert_non_null(report);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	root = json_array_get(json_object_get(report, "roots"), 0);
	assert_int_equal(json_integer_value(json_object_get(root, "retained_bytes")), 32);
	assert_int_equal(json_integer_value(json_object_get(root, "led_bytes")), 64);
	assert_string_equal(json_string_value(json_object_get(root, "name")), "evil\033[2J\n");
	assert_true(json_is_false(json_object_get(root, "through_untracked")));
	root = json_array_get(json_object_get(report, "roots"), 1);
	assert_true(json_is_true(json_object_get(root, "through_untracked")));
	assert_int_equal(number_at(json_object_get(report, "totals"), "through", "bytes"), 64);
	assert_int_equal(number_at(json_array_get(json_object_get(report, "classes"), 0), "change",
				   "farther"),
			 9);
	json_decref(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growth_of_a_managed_class_is_that_of_held_objects),
		cmocka_unit_test(
			text_names_leaks_roots_and_changes_and_lets_no_control_character_through),
		cmocka_unit_test(json_is_one_line_with_the_same_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
