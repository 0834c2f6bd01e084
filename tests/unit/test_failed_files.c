// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/clock.h"
#include "base/sandbox/failed_files.h"

/* Two kinds of requests. */
enum { IMAGE, LINES };

static struct file_identity file(uint64_t inode)
{
	return (struct file_identity){.device = 1, .inode = inode, .size = 10};
}

static void a_mark_holds_for_one_version_and_one_kind(void **state)
{
	struct failed_file crashed = {.identity = file(7), .kind = LINES, .error = -ECONNRESET};
	struct file_identity changed = crashed.identity, other = file(8);
	struct failed_files failed = {0};

	(void)state;
	changed.modified.tv_nsec = 1;
	assert_int_equal(failed_files_find(&failed, &crashed.identity, LINES), 0);
	failed_files_add(&failed, &crashed);
	assert_int_equal(failed_files_find(&failed, &crashed.identity, LINES), -ECONNRESET);
	assert_int_equal(failed_files_find(&failed, &crashed.identity, IMAGE), 0);
	assert_int_equal(failed_files_find(&failed, &changed, LINES), 0);
	assert_int_equal(failed_files_find(&failed, &other, LINES), 0);
	vec_free(&failed.list);
}

static void many_marks_push_out_the_oldest(void **state)
{
	struct file_identity first = file(0), second = file(1), last = file(1024);
	struct failed_files failed = {0};

	(void)state;
	for (uint64_t i = 0; i <= 1024; i++) {
		struct failed_file hung = {.identity = file(i), .kind = IMAGE, .error = -ETIMEDOUT};

		failed_files_add(&failed, &hung);
	}
	assert_int_equal(failed.list.count, 1024);
	assert_int_equal(failed_files_find(&failed, &first, IMAGE), 0);
	assert_int_equal(failed_files_find(&failed, &second, IMAGE), -ETIMEDOUT);
	assert_int_equal(failed_files_find(&failed, &last, IMAGE), -ETIMEDOUT);
	vec_free(&failed.list);
}

static void what_took_too_long_is_tried_again_later_and_later(void **state)
{
	struct failed_file hung = {.identity = file(7), .kind = IMAGE, .error = -ETIMEDOUT};
	struct failed_file *mark;
	struct failed_files failed = {0};
	uint64_t pause = 60000000000ull;

	(void)state;
	for (int times = 0; times < 3; times++, pause *= 2) {
		uint64_t before = monotonic_ns();

		failed_files_add(&failed, &hung);
		assert_int_equal(failed.list.count, 1);
		mark = &failed.list.items[0];
		assert_in_range(mark->until_ns, before + pause, monotonic_ns() + pause);
		assert_int_equal(failed_files_find(&failed, &hung.identity, IMAGE), -ETIMEDOUT);
		mark->until_ns = before; /* as if the time had passed */
		assert_int_equal(failed_files_find(&failed, &hung.identity, IMAGE), 0);
	}
	vec_free(&failed.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mark_holds_for_one_version_and_one_kind),
		cmocka_unit_test(many_marks_push_out_the_oldest),
		cmocka_unit_test(what_took_too_long_is_tried_again_later_and_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
